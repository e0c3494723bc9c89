// SPDX-License-Identifier: Apache-2.0
#include "testing/link_schedule.h"

#include <algorithm>
#include <random>

namespace millrace::link::testing {
namespace {

constexpr uint64_t kLimitUs = 60'000'000;

uint32_t payload_of(const Schedule& s) { return 1u << std::clamp(s.payload_exponent, 4u, 16u); }

// Not so much damage that no frame of this size gets through.
double rate(const Schedule& s, uint32_t every) {
  return every == 0 ? 0 : 1.0 / std::max(every, 2 * payload_of(s));
}

RigSetup setup_of(const Schedule& s) {
  RigSetup setup;
  setup.seed = s.seed;
  setup.first_sequence = s.first_sequence;
  const uint32_t payload = payload_of(s);
  setup.in.resize(2);
  setup.in[0].max_payload = payload;
  setup.in[0].unit_bytes = 4;
  setup.in[0].ring_bytes = std::max<size_t>(16384, 4 * (payload + kLinkOverhead));
  setup.in[0].slots = 64;
  setup.in[0].credit_bytes = std::max<uint32_t>(32768, 4 * payload);
  setup.in[0].receiver_slots = 32;
  setup.in[0].priority = 1;
  setup.in[1].stream = 5;
  setup.in[1].max_payload = 64;
  setup.in[1].ring_bytes = 2048;
  setup.in[1].slots = 32;
  setup.in[1].credit_bytes = 1024;
  setup.out.resize(1);
  setup.out[0].max_payload = std::min(payload, 1024u);
  setup.out[0].ring_bytes = 16384;
  setup.out[0].credit_bytes = 4096;
  setup.out[0].receiver_slots = 8;
  if (s.speed > 1) {  // two steps fit into each memory
    const uint32_t memory = 16384 * s.speed;
    setup.bytes_per_s *= s.speed;
    setup.cable_bytes *= s.speed;
    setup.in[0].ring_bytes = setup.in[0].credit_bytes = memory;
    setup.in[0].slots = setup.in[0].receiver_slots = 512;
  }
  return setup;
}

void apply(Rig& rig, const Schedule& s, double factor) {
  for (Cable* cable : {&rig.to_host, &rig.to_device}) {
    cable->faults.flip = factor * rate(s, s.flip_every);
    cable->faults.drop = factor * rate(s, s.drop_every);
    cable->faults.duplicate = factor * rate(s, s.duplicate_every);
    cable->faults.insert = factor * rate(s, s.insert_every);
    cable->faults.split = s.split;
  }
}

void start_producers(Rig& rig, const Schedule& s) {
  End::Producer& samples = rig.device->producers[0];
  samples.total = s.in_bytes & ~3u;
  samples.may_drop = s.may_drop;
  samples.block = 400;
  samples.in_place = s.speed > 1 && !s.may_drop;
  if (s.may_drop && s.speed > 1) samples.block = 4000;
  if (s.may_drop) samples.bytes_per_step = 6000 * s.speed;
  End::Producer& log = rig.device->producers[1];
  log.total = s.in_bytes / 50;
  log.block = 50;
  log.messages = s.messages;
  rig.host->producers[0].total = s.out_bytes;
  rig.host->producers[0].block = 300;
}

struct Runner {
  Rig rig;
  const Schedule& schedule;
  std::string error;
  // A reset or a new host makes the loss of the session legitimate; nothing else does.
  bool may_restart = false;
  bool may_be_unknown = false;

  bool step() {
    rig.step();
    error = rig.error();
    if (!error.empty()) return false;
    if (rig.host->peer->state() != LinkState::failed) return true;
    const LinkFailure failure = rig.host->peer->failure();
    const bool legitimate = (failure == LinkFailure::device_restarted && may_restart) ||
                            (failure == LinkFailure::session_unknown && may_be_unknown);
    if (!legitimate) {
      error = "the host failed with " + std::to_string(static_cast<int>(failure));
      return false;
    }
    rig.new_host();
    return true;
  }

  bool run_for(uint64_t us) {
    for (const uint64_t end = rig.now_us + us; rig.now_us < end;) {
      if (!step()) return false;
    }
    return true;
  }

  bool carry_out(const ScheduleEvent& event) {
    switch (event.kind) {
      case EventKind::stall_host:
        rig.to_host.stall(event.length_us);
        break;
      case EventKind::stall_device:
        rig.to_device.stall(event.length_us);
        break;
      case EventKind::replug:
        rig.replug();
        break;
      case EventKind::restart_host:
        rig.restart_host();
        break;
      case EventKind::reset_device:
        may_restart = true;
        rig.reset_device();
        break;
      case EventKind::new_host:
        may_be_unknown = true;
        rig.new_host();
        break;
      case EventKind::bad_weather:
      case EventKind::count:
        apply(rig, schedule, 20);
        if (!run_for(event.length_us)) return false;
        apply(rig, schedule, 1);
        break;
    }
    return true;
  }
};

std::string check_end(Rig& rig) {
  for (End* end : {rig.device.get(), rig.host.get()}) {
    End* other = end == rig.device.get() ? rig.host.get() : rig.device.get();
    for (size_t i = 0; i < end->senders.size(); ++i) {
      if (other->consumers[i].expected_offset != end->producers[i].total) {
        return "stream " + std::to_string(i) + " ended at " +
               std::to_string(other->consumers[i].expected_offset);
      }
      if (other->consumers[i].gaps != end->producers[i].gaps) {
        return "stream " + std::to_string(i) + ": other gaps than the producer's";
      }
      if (other->receivers[i]->counters().mismatches != 0) return "offset mismatch";
    }
  }
  return "";
}

}  // namespace

ScheduleResult run_schedule(const Schedule& schedule) {
  Runner runner{Rig(setup_of(schedule)), schedule, "", false, false};
  Rig& rig = runner.rig;
  ScheduleResult result;
  start_producers(rig, schedule);
  apply(rig, schedule, 1);
  rig.host->peer->connect(0, 0, rig.now_us);
  bool good = true;
  for (const ScheduleEvent& event : schedule.events) {
    good = good && runner.run_for(event.after_us) && runner.carry_out(event);
  }
  const uint64_t end = rig.now_us + kLimitUs;
  while (good && !rig.all_delivered()) {
    good = runner.step();
    if (good && rig.now_us > end) {
      runner.error = "no progress: not everything was delivered";
      good = false;
    }
  }
  result.error = runner.error;
  if (good) result.error = check_end(rig);
  for (const End* e : {rig.device.get(), rig.host.get()}) {
    result.delivered_bytes += e->verified;
    for (const auto& c : e->consumers) {
      for (const auto& gap : c.gaps) result.gap_bytes += gap.second;
    }
    for (const auto& s : e->senders) result.again_bytes += s->counters().bytes_again;
  }
  result.damages = rig.to_host.damages + rig.to_device.damages;
  return result;
}

Schedule random_schedule(uint64_t number) {
  std::mt19937_64 random(number);
  const auto up_to = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
  const auto damage = [&]() { return up_to(2) == 0 ? 0 : 1000u << up_to(10); };
  Schedule s;
  s.seed = static_cast<uint32_t>(number);
  s.in_bytes = 1000u << up_to(11);
  s.out_bytes = 100u << up_to(9);
  s.flip_every = damage();
  s.drop_every = damage();
  s.duplicate_every = damage();
  s.insert_every = damage();
  s.split = up_to(3) == 0 ? 1 + up_to(600) : 0;
  s.payload_exponent = 4 + up_to(10);
  s.first_sequence = up_to(2) == 0 ? 0xFFFFFFFF - up_to(300) : up_to(UINT32_MAX);
  s.may_drop = up_to(2) == 0;
  s.messages = up_to(2) == 0;
  for (uint32_t i = up_to(4); i > 0; --i) {
    ScheduleEvent event;
    event.kind = static_cast<EventKind>(up_to(static_cast<uint32_t>(EventKind::count)));
    event.after_us = up_to(30'000);
    event.length_us = 1u << up_to(20);
    if (event.kind == EventKind::bad_weather) event.length_us %= 50'000;
    s.events.push_back(event);
  }
  return s;
}

Schedule random_bulk_schedule(uint64_t number) {
  Schedule s = random_schedule(number);
  std::mt19937_64 random(~number);
  const auto up_to = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
  const auto damage = [&]() { return up_to(2) == 0 ? 0 : 100'000u << up_to(8); };
  s.speed = 32;
  s.in_bytes = (32u << 20) << up_to(3);
  s.out_bytes = 1u << up_to(20);
  s.flip_every = damage();
  s.drop_every = damage();
  s.duplicate_every = damage();
  s.insert_every = damage();
  s.split = up_to(3) == 0 ? 1000 + up_to(100'000) : 0;
  s.payload_exponent = 11 + up_to(6);
  s.may_drop = up_to(4) == 0;
  return s;
}

std::string to_text(const Schedule& s) {
  std::string out =
      "seed " + std::to_string(s.seed) + " in " + std::to_string(s.in_bytes) + " out " +
      std::to_string(s.out_bytes) + " flip " + std::to_string(s.flip_every) + " drop " +
      std::to_string(s.drop_every) + " duplicate " + std::to_string(s.duplicate_every) +
      " insert " + std::to_string(s.insert_every) + " split " + std::to_string(s.split) +
      " payload 2^" + std::to_string(s.payload_exponent) + " first " +
      std::to_string(s.first_sequence) + (s.speed > 1 ? " speed " + std::to_string(s.speed) : "") +
      (s.may_drop ? " may_drop" : "") + (s.messages ? " messages" : "") + " events";
  for (const ScheduleEvent& e : s.events) {
    out += ' ' + std::to_string(static_cast<int>(e.kind)) + '@' + std::to_string(e.after_us) + 'x' +
           std::to_string(e.length_us);
  }
  return out;
}

}  // namespace millrace::link::testing
