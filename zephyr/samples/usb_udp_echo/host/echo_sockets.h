// SPDX-License-Identifier: Apache-2.0
// The calls of echo.c, over POSIX sockets. Interrupted calls are repeated.
#pragma once

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct echo_peer {
  struct sockaddr_in address;
};

static inline int echo_open_socket(uint16_t port) {
  struct sockaddr_in address;
  memset(&address, 0, sizeof(address));
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int handle = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
  if (handle < 0) return -errno;
  if (bind(handle, (struct sockaddr*)&address, sizeof(address)) < 0) {
    const int error = errno;
    close(handle);
    return -error;
  }
  return handle;
}

static inline int echo_receive(int handle, uint8_t* data, size_t size, struct echo_peer* peer) {
  while (1) {
    socklen_t length = sizeof(peer->address);
    const ssize_t received =
        recvfrom(handle, data, size, 0, (struct sockaddr*)&peer->address, &length);
    if (received >= 0) return (int)received;
    if (errno != EINTR) return -errno;
  }
}

static inline int echo_send(int handle, const uint8_t* data, size_t size,
                            const struct echo_peer* peer) {
  const ssize_t sent =
      sendto(handle, data, size, 0, (const struct sockaddr*)&peer->address, sizeof(peer->address));
  return sent < 0 ? -errno : (int)sent;
}

static inline uint16_t echo_peer_port(const struct echo_peer* peer) {
  return ntohs(peer->address.sin_port);
}

static inline void echo_pause_ms(int ms) {
  const struct timespec pause = {ms / 1000, (ms % 1000) * 1000000L};
  nanosleep(&pause, NULL);
}
