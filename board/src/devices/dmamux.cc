// SPDX-License-Identifier: Apache-2.0
#include "devices/dmamux.h"

#include <array>

namespace millrace::board {
namespace {

constexpr uint32_t kEnbl = 1u << 31, kTrig = 1u << 30, kAlwaysOn = 1u << 29, kSource = 0x7F;

constexpr std::array<RegisterSpec, Dmamux::kChannels> make_table() {
  std::array<RegisterSpec, Dmamux::kChannels> table{};
  for (uint32_t i = 0; i < Dmamux::kChannels; ++i) {
    table[i] = {4 * i, "CHCFG", 0, kEnbl | kTrig | kAlwaysOn | kSource};
  }
  return table;
}
constexpr auto kTable = make_table();

}  // namespace

Dmamux::Dmamux(DeviceHost& host, Outputs outputs)
    : outputs_(std::move(outputs)), registers_(kTable, 4, *this, host) {}

bool Dmamux::gated(unsigned channel) const {
  const uint32_t config = registers_[4 * channel];
  return channel < kTriggers && (config & (kEnbl | kTrig)) == (kEnbl | kTrig);
}

void Dmamux::update(unsigned channel) {
  const uint32_t config = registers_[4 * channel];
  const uint32_t bit = 1u << channel;
  const bool gate = gated(channel);
  if (!gate) triggered_ &= ~bit;
  if (gate != ((watched_ & bit) != 0)) {
    watched_ ^= bit;
    if (outputs_.watch) outputs_.watch(channel, gate);
  }
  const bool source = (config & kAlwaysOn) != 0 || levels_[config & kSource];
  const bool level = (config & kEnbl) != 0 && source && (!gate || (triggered_ & bit) != 0);
  if (level != ((requests_ & bit) != 0)) {
    requests_ ^= bit;
    if (outputs_.request) outputs_.request(channel, level);
  }
}

void Dmamux::set_source(unsigned source, bool level) {
  if (source >= kSources || levels_[source] == level) return;
  levels_[source] = level;
  for (unsigned i = 0; i < kChannels; ++i) {
    if ((registers_[4 * i] & kSource) == source) update(i);
  }
}

// A trigger without a request is lost (chapter 5, periodic triggering).
void Dmamux::trigger(unsigned channel) {
  const uint32_t config = registers_[4 * channel];
  if (!gated(channel)) return;
  if ((config & kAlwaysOn) == 0 && !levels_[config & kSource]) return;
  triggered_ |= 1u << channel;
  update(channel);
}

void Dmamux::served(unsigned channel) {
  triggered_ &= ~(1u << channel);
  const uint32_t config = registers_[4 * channel];
  const bool always = (config & kAlwaysOn) != 0;
  if ((config & kEnbl) != 0 && !always && outputs_.served) outputs_.served(config & kSource);
  update(channel);
}

void Dmamux::reset() {
  registers_.reset();
  triggered_ = 0;
  for (unsigned i = 0; i < kChannels; ++i) update(i);
}

uint32_t Dmamux::read(uint32_t offset, unsigned size, Cycles) {
  return registers_.read(offset, size);
}

void Dmamux::write(uint32_t offset, unsigned size, uint32_t value, Cycles) {
  const RegisterChange change = registers_.write(offset, size, value);
  if (change.known) update(change.offset / 4);
}

void Dmamux::snapshot(Snapshot& s) {
  registers_.snapshot(s);
  for (unsigned word = 0; word < kSources; word += 32) {
    uint32_t bits = 0;
    for (unsigned i = 0; i < 32; ++i) bits |= (levels_[word + i] ? 1u : 0u) << i;
    s.field("levels", bits);
    for (unsigned i = 0; i < 32; ++i) levels_[word + i] = (bits >> i & 1) != 0;
  }
  s.field("triggered", triggered_);
  s.field("watched", watched_);
  s.field("requests", requests_);
}

}  // namespace millrace::board
