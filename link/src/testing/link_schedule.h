// SPDX-License-Identifier: Apache-2.0
// One random history of a link: traffic, damage, stalls, restarts; and what must hold whatever
// happens: bytes in order and right, gaps exactly where the producer was refused, a restarted
// device reported, and everything delivered in the end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "testing/link_rig.h"

namespace millrace::link::testing {

enum class EventKind : uint8_t {
  stall_host,
  stall_device,
  replug,
  restart_host,
  reset_device,
  new_host,  // wants a new session: the old one's data are given up
  bad_weather,
  count,
};

struct ScheduleEvent {
  EventKind kind = EventKind::stall_host;
  uint32_t after_us = 0;  // the event before
  uint32_t length_us = 0;
};

struct Schedule {
  uint32_t seed = 1;
  uint32_t in_bytes = 100'000;
  uint32_t out_bytes = 20'000;
  // Damage, one in so many bytes; 0: none.
  uint32_t flip_every = 0;
  uint32_t drop_every = 0;
  uint32_t duplicate_every = 0;
  uint32_t insert_every = 0;
  uint32_t split = 0;
  uint32_t payload_exponent = 10;  // of DATA frames: 2^n, 4..16
  uint32_t speed = 1;              // times 30 MB/s; the memories grow with it
  uint32_t first_sequence = 0;
  bool may_drop = false;
  bool messages = false;
  std::vector<ScheduleEvent> events;
};

struct ScheduleResult {
  std::string error;             // empty: all held
  uint64_t delivered_bytes = 0;  // compared byte by byte, in sessions that were given up too
  uint64_t gap_bytes = 0;        // explicit, and where the producer was refused
  uint64_t damages = 0;
  uint64_t again_bytes = 0;
};

ScheduleResult run_schedule(const Schedule& schedule);
// Everything drawn from one number, as the long run does.
Schedule random_schedule(uint64_t number);
// The same with tens of megabytes in large frames over a fast cable: for volume.
Schedule random_bulk_schedule(uint64_t number);
// One line from which a failure can be repeated.
std::string to_text(const Schedule& schedule);

}  // namespace millrace::link::testing
