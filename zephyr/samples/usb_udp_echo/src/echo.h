// SPDX-License-Identifier: Apache-2.0
// A UDP echo in a blocking loop, and its counters over UDP: what a Zephyr application does with
// sockets, as plain as it gets, so that what is measured is the network stack beneath.
//
// Plain C over five calls that echo_sockets.h names. src/zephyr/ has them for Zephyr, host/ for
// Linux, where the same loop is tested.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "echo_sockets.h"

// Of spec/echo_counters.md.
enum echo_port {
  ECHO_PORT = 7,
  ECHO_SAMPLE_PORT = 4242,
  ECHO_COUNTERS_PORT = 4243,
};
enum echo_counter {
  ECHO_REQUESTS = 5,
  ECHO_REPLIES = 6,
  ECHO_COUNTER_REQUESTS = 7,
  ECHO_DROPPED_LENGTH = 21,
  ECHO_DROPPED_SOURCE = 24,
  ECHO_DROPPED_NO_ROOM = 26,
  ECHO_LINK_UPS = 40,
  ECHO_COUNTERS = 43,
};

// A datagram that fits into an Ethernet frame has at most 1,472 bytes.
enum { ECHO_BUFFER_BYTES = 1500, ECHO_COUNTERS_HEADER_BYTES = 12 };

// One a thread: each counts into its own, so that none needs a lock. They wrap.
struct echo_counts {
  uint32_t values[ECHO_COUNTERS];
};

// A socket that receives datagrams to `port`, or what echo_open_socket() says is wrong: below 0.
int echo_open(uint16_t port);

// Waits for one datagram and sends it back. Datagrams from port 7 are counted and not answered: two
// echo servers would never end. Below 0: nothing can be received; the caller decides whether to go
// on. `buffer` is used between the calls by nobody else.
int echo_serve_one(int socket, uint8_t* buffer, size_t size, struct echo_counts* counts);

// Waits for one request of spec/echo_counters.md and answers it with the sums of `counts`, `n` of
// them. The first one is this thread's own and counts the request.
int echo_counters_serve_one(int socket, struct echo_counts* const* counts, size_t n);

// Serves until nothing can be received for a second.
int echo_serve(int socket, struct echo_counts* counts);

// Of main.c: replies so far, on both ports; wraps.
uint32_t echo_replies(void);
