// SPDX-License-Identifier: Apache-2.0
// The calls of echo.c without a network: one datagram in, one out. For echo_test.c, and for any
// compiler.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct echo_peer {
  uint16_t port;
};

struct fake_socket {
  int open_result;
  const uint8_t* in;  // null: receiving fails with -in_size
  size_t in_size;
  uint16_t in_port;
  int refuse;  // sending fails so often
  uint8_t out[4096];
  size_t out_size;
  unsigned sent, pauses;
};
extern struct fake_socket fake;

static inline int echo_open_socket(uint16_t port) {
  (void)port;
  return fake.open_result;
}

static inline int echo_receive(int socket, uint8_t* data, size_t size, struct echo_peer* peer) {
  (void)socket;
  if (fake.in == NULL) return -(int)fake.in_size;
  const size_t bytes = fake.in_size < size ? fake.in_size : size;
  for (size_t i = 0; i < bytes; ++i) data[i] = fake.in[i];
  peer->port = fake.in_port;
  return (int)bytes;
}

static inline int echo_send(int socket, const uint8_t* data, size_t size,
                            const struct echo_peer* peer) {
  (void)socket;
  if (fake.refuse > 0) {
    --fake.refuse;
    return -12;
  }
  for (size_t i = 0; i < size; ++i) fake.out[i] = data[i];
  fake.out_size = size;
  ++fake.sent;
  return peer->port == fake.in_port ? (int)size : -1;
}

static inline uint16_t echo_peer_port(const struct echo_peer* peer) { return peer->port; }

static inline void echo_pause_ms(int ms) {
  (void)ms;
  ++fake.pauses;
}
