// SPDX-License-Identifier: Apache-2.0
#include "devices/clocks.h"

namespace millrace::board {

namespace {

using Wide = unsigned __int128;
constexpr Cycles kFarthest = Cycles{1} << 62;

}  // namespace

void Clocks::set(const Rates& rates, Cycles now) {
  if (rates == rates_) return;
  for (ClockUser* user : users_) user->before_clock_change(now);
  rates_ = rates;
  for (ClockUser* user : users_) user->after_clock_change(now);
}

void Ticks::start(Cycles now, uint64_t hz, uint64_t core_hz) {
  base_ = now;
  counted_ = 0;
  fraction_ = 0;
  hz_ = hz;
  core_hz_ = core_hz;
}

void Ticks::change(Cycles now, uint64_t hz, uint64_t core_hz) {
  if (now < base_) now = base_;
  const Wide passed = Wide{now - base_} * hz_ + fraction_;
  counted_ += static_cast<uint64_t>(passed / core_hz_);
  // The part of a tick, in units of the new core clock.
  fraction_ = static_cast<uint64_t>(passed % core_hz_ * core_hz / core_hz_);
  base_ = now;
  hz_ = hz;
  core_hz_ = core_hz;
}

uint64_t Ticks::count(Cycles now) const {
  if (now <= base_) return counted_;
  return counted_ + static_cast<uint64_t>((Wide{now - base_} * hz_ + fraction_) / core_hz_);
}

Cycles Ticks::when(uint64_t count) const {
  if (count <= counted_) return base_;
  if (hz_ == 0) return kNever;
  const Wide need = Wide{count - counted_} * core_hz_ - fraction_;
  const Wide cycles = (need + hz_ - 1) / hz_;
  if (cycles > kFarthest) return kNever;
  return base_ + static_cast<Cycles>(cycles);
}

void Ticks::snapshot(Snapshot& s) {
  s.field("base", base_);
  s.field("counted", counted_);
  s.field("fraction", fraction_);
  s.field("hz", hz_);
  s.field("core_hz", core_hz_);
  if (core_hz_ == 0) s.fail("core_hz", "is 0");
}

}  // namespace millrace::board
