// SPDX-License-Identifier: Apache-2.0
// echo.c over the fake socket. Exits with the line of the first check that fails.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "echo.h"

struct fake_socket fake;

#define CHECK(condition)                                      \
  do {                                                        \
    if (!(condition)) {                                       \
      fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
      exit(1);                                                \
    }                                                         \
  } while (0)

static uint32_t le32(const uint8_t* from) {
  return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

static void comes(const void* data, size_t size, uint16_t port) {
  fake.in = data;
  fake.in_size = size;
  fake.in_port = port;
  fake.out_size = 0;
}

static void echoes_what_came(void) {
  static uint8_t data[1472], buffer[ECHO_BUFFER_BYTES];
  struct echo_counts counts = {{0}};
  for (size_t i = 0; i < sizeof(data); ++i) data[i] = (uint8_t)(i * 7);
  for (size_t size = 0; size <= sizeof(data); ++size) {
    comes(data, size, 40000);
    CHECK(echo_serve_one(3, buffer, sizeof(buffer), &counts) == 0);
    CHECK(fake.out_size == size && memcmp(fake.out, data, size) == 0);
  }
  CHECK(counts.values[ECHO_REQUESTS] == 1473 && counts.values[ECHO_REPLIES] == 1473);
}

static void answers_no_echo_server(void) {
  uint8_t buffer[ECHO_BUFFER_BYTES];
  struct echo_counts counts = {{0}};
  fake.sent = 0;
  comes("x", 1, 7);
  CHECK(echo_serve_one(3, buffer, sizeof(buffer), &counts) == 0 && fake.sent == 0);
  CHECK(counts.values[ECHO_DROPPED_SOURCE] == 1 && counts.values[ECHO_REPLIES] == 0);
}

static void counts_what_had_no_room(void) {
  uint8_t buffer[ECHO_BUFFER_BYTES];
  struct echo_counts counts = {{0}};
  comes("x", 1, 40000);
  fake.refuse = 2;
  for (int i = 0; i < 3; ++i) CHECK(echo_serve_one(3, buffer, sizeof(buffer), &counts) == 0);
  CHECK(counts.values[ECHO_REQUESTS] == 3 && counts.values[ECHO_REPLIES] == 1);
  CHECK(counts.values[ECHO_DROPPED_NO_ROOM] == 2);
}

static void gives_up_a_dead_socket(void) {
  struct echo_counts counts = {{0}};
  fake.in = NULL;
  fake.in_size = 107;
  fake.pauses = 0;
  CHECK(echo_serve(3, &counts) == -107 && fake.pauses == 100);
}

// The worked example of spec/echo_counters.md: tag CAFE0001.
static void answers_with_its_counters(void) {
  const uint8_t request[] = {0xf2, 0x4d, 0x52, 0x45, 1, 1, 0, 0, 1, 0, 0xfe, 0xca, 0x55};
  struct echo_counts own = {{0}}, first = {{0}}, second = {{0}};
  struct echo_counts* const counts[] = {&own, &first, &second};
  first.values[ECHO_REPLIES] = 5;
  second.values[ECHO_REPLIES] = 0xfffffffe;  // sums wrap as counters do
  for (size_t size = 12; size <= sizeof(request); ++size) {
    comes(request, size, 40000);
    CHECK(echo_counters_serve_one(3, counts, 3) == 0 && fake.out_size == 12 + 4 * 43);
    const uint8_t header[] = {0xf2, 0x4d, 0x52, 0x45, 1, 2, 43, 0, 1, 0, 0xfe, 0xca};
    CHECK(memcmp(fake.out, header, 12) == 0);
    CHECK(le32(fake.out + 12 + 4 * 6) == 3 && le32(fake.out + 12 + 4 * 7) == size - 11);
  }
  fake.sent = 0;
  for (size_t size = 0; size < 12; ++size) {
    comes(request, size, 40000);
    CHECK(echo_counters_serve_one(3, counts, 3) == 0);
  }
  for (size_t at = 0; at < 6; ++at) {
    uint8_t wrong[12];
    memcpy(wrong, request, 12);
    wrong[at] ^= 4;
    comes(wrong, 12, 40000);
    CHECK(echo_counters_serve_one(3, counts, 3) == 0);
  }
  CHECK(fake.sent == 0 && own.values[ECHO_DROPPED_LENGTH] == 18);
}

int main(void) {
  echoes_what_came();
  answers_no_echo_server();
  counts_what_had_no_room();
  gives_up_a_dead_socket();
  answers_with_its_counters();
  fake.open_result = -24;
  CHECK(echo_open(7) == -24);
  return 0;
}
