// SPDX-License-Identifier: Apache-2.0
// The calls of echo.c, over Zephyr's sockets. The address types have their names without NET_ up to
// Zephyr 4.3, and from 4.4 on with CONFIG_NET_NAMESPACE_COMPAT_MODE, which is on by default.
#pragma once

#include <errno.h>
#include <string.h>
#include <zephyr/kernel.h>
#include <zephyr/net/socket.h>

struct echo_peer {
  struct sockaddr_in address;
};

// A socket, or the negative errno.
static inline int echo_open_socket(uint16_t port) {
  struct sockaddr_in address;
  memset(&address, 0, sizeof(address));
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  const int socket = zsock_socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
  if (socket < 0) return -errno;
  if (zsock_bind(socket, (struct sockaddr*)&address, sizeof(address)) < 0) {
    const int error = errno;
    zsock_close(socket);
    return -error;
  }
  return socket;
}

// Bytes of the datagram, at most `size`; or the negative errno.
static inline int echo_receive(int socket, uint8_t* data, size_t size, struct echo_peer* peer) {
  socklen_t length = sizeof(peer->address);
  const ssize_t received =
      zsock_recvfrom(socket, data, size, 0, (struct sockaddr*)&peer->address, &length);
  return received < 0 ? -errno : (int)received;
}

// A reply that finds no room is dropped, and counted by echo.c. A send that waits for room tries on
// for seconds and takes no request meanwhile, whose packets USB's thread may be waiting for.
static inline int echo_send(int socket, const uint8_t* data, size_t size,
                            const struct echo_peer* peer) {
  const ssize_t sent = zsock_sendto(socket, data, size, ZSOCK_MSG_DONTWAIT,
                                    (const struct sockaddr*)&peer->address, sizeof(peer->address));
  return sent < 0 ? -errno : (int)sent;
}

static inline uint16_t echo_peer_port(const struct echo_peer* peer) {
  return ntohs(peer->address.sin_port);
}

static inline void echo_pause_ms(int ms) { k_msleep(ms); }
