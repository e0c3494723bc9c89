// SPDX-License-Identifier: Apache-2.0
#include "echo.h"

#include <string.h>

static const uint8_t kMagic[4] = {0xF2, 0x4D, 0x52, 0x45};
enum { kVersion = 1, kRequest = 1, kReply = 2, kTries = 100, kPauseMs = 10 };

static void store_le32(uint8_t* to, uint32_t value) {
  to[0] = (uint8_t)value;
  to[1] = (uint8_t)(value >> 8);
  to[2] = (uint8_t)(value >> 16);
  to[3] = (uint8_t)(value >> 24);
}

int echo_open(uint16_t port) { return echo_open_socket(port); }

static void answer(int socket, const uint8_t* data, size_t size, const struct echo_peer* peer,
                   uint32_t* sent, uint32_t* refused) {
  // A stack without a buffer refuses at once. Trying again would only wait for what the next
  // request needs, too.
  if (echo_send(socket, data, size, peer) == (int)size) {
    ++*sent;
  } else {
    ++*refused;
  }
}

int echo_serve_one(int socket, uint8_t* buffer, size_t size, struct echo_counts* counts) {
  struct echo_peer peer;
  const int received = echo_receive(socket, buffer, size, &peer);
  if (received < 0) return received;
  counts->values[ECHO_REQUESTS]++;
  if (echo_peer_port(&peer) == ECHO_PORT) {
    counts->values[ECHO_DROPPED_SOURCE]++;
    return 0;
  }
  answer(socket, buffer, (size_t)received, &peer, &counts->values[ECHO_REPLIES],
         &counts->values[ECHO_DROPPED_NO_ROOM]);
  return 0;
}

int echo_counters_serve_one(int socket, struct echo_counts* const* counts, size_t n) {
  // Behind a request there may be bytes; a longer one is cut here, and still a request.
  uint8_t message[ECHO_COUNTERS_HEADER_BYTES + 4 * ECHO_COUNTERS];
  struct echo_peer peer;
  const int received = echo_receive(socket, message, sizeof(message), &peer);
  if (received < 0) return received;
  struct echo_counts* const own = counts[0];
  if (received < ECHO_COUNTERS_HEADER_BYTES || memcmp(message, kMagic, sizeof(kMagic)) != 0 ||
      message[4] != kVersion || message[5] != kRequest) {
    own->values[ECHO_DROPPED_LENGTH]++;
    return 0;
  }
  own->values[ECHO_COUNTER_REQUESTS]++;
  message[5] = kReply;
  message[6] = ECHO_COUNTERS;
  message[7] = 0;
  for (size_t counter = 0; counter < ECHO_COUNTERS; ++counter) {
    uint32_t sum = 0;
    for (size_t i = 0; i < n; ++i) {
      sum += *(const volatile uint32_t*)&counts[i]->values[counter];
    }
    store_le32(message + ECHO_COUNTERS_HEADER_BYTES + 4 * counter, sum);
  }
  uint32_t sent = 0;
  answer(socket, message, sizeof(message), &peer, &sent, &own->values[ECHO_DROPPED_NO_ROOM]);
  return 0;
}

int echo_serve(int socket, struct echo_counts* counts) {
  uint8_t buffer[ECHO_BUFFER_BYTES];
  int result = 0;
  for (int tries = 0; tries < kTries; ++tries) {
    while ((result = echo_serve_one(socket, buffer, sizeof(buffer), counts)) == 0) tries = 0;
    echo_pause_ms(kPauseMs);
  }
  return result;
}
