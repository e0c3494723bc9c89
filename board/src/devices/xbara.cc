// SPDX-License-Identifier: Apache-2.0
#include "devices/xbara.h"

#include <algorithm>

namespace millrace::board {
namespace {

constexpr uint32_t kCtrl0 = 0x84;
constexpr uint32_t kSelectors = 66;  // of two outputs each
constexpr unsigned kLogicHigh = 1;
// Of an output's byte in CTRL0 and CTRL1.
constexpr uint32_t kDen = 1, kIen = 2, kSts = 0x10;
constexpr std::array<unsigned, 4> kSources = {30, 31, 94, 95};

constexpr std::array<RegisterSpec, kSelectors + 2> make_table() {
  std::array<RegisterSpec, kSelectors + 2> table{};
  for (uint32_t i = 0; i < kSelectors; ++i) table[i] = {2 * i, "SEL", 0, 0x7F7F};
  table[kSelectors] = {kCtrl0, "CTRL0", 0, 0x0F0F};
  table[kSelectors + 1] = {kCtrl0 + 2, "CTRL1", 0, 0x0F0F};
  return table;
}
constexpr auto kTable = make_table();

bool modelled_input(unsigned input) { return input <= kLogicHigh || (input >= 32 && input < 60); }

bool modelled_output(unsigned output) {
  return output < 4 || (output >= Xbara::kOutAdcEtc && output < Xbara::kOutAdcEtc + 8);
}

}  // namespace

Xbara::Xbara(DeviceHost& host, Outputs outputs)
    : host_(host), outputs_(std::move(outputs)), registers_(kTable, 2, *this, host) {}

unsigned Xbara::selected(unsigned output) const {
  return registers_[output / 2 * 2] >> (8 * (output % 2)) & 0x7F;
}

bool Xbara::level(unsigned input) const { return input == kLogicHigh || levels_[input]; }

void Xbara::edge(unsigned output, bool level, Cycles when) {
  if (outputs_.output) outputs_.output(output, level, when);
  if (output >= 4) return;
  const uint32_t control = registers_[kCtrl0 + output / 2 * 2] >> (8 * (output % 2));
  // EDGE: bit 0 rising, bit 1 falling.
  if ((control >> 2 & (level ? 1u : 2u)) != 0) status_ |= static_cast<uint8_t>(1u << output);
}

void Xbara::set_input(unsigned input, bool level, Cycles when) {
  if (input >= kInputs || input <= kLogicHigh || levels_[input] == level) return;
  levels_[input] = level;
  for (unsigned i = 0; i < kOutputs; ++i) {
    if (selected(i) == input) edge(i, level, when);
  }
  update();
}

void Xbara::pulse(unsigned input, Cycles when) {
  set_input(input, true, when);
  set_input(input, false, when);
}

void Xbara::dma_served(unsigned source) {
  for (unsigned i = 0; i < 4; ++i) {
    const uint32_t control = registers_[kCtrl0 + i / 2 * 2] >> (8 * (i % 2));
    if (source == kSources[i] && (control & kDen) != 0) {
      status_ &= static_cast<uint8_t>(~(1u << i));
    }
  }
  update();
}

void Xbara::select(unsigned output, unsigned before, unsigned after, Cycles when) {
  if (before == after) return;
  if (after != 0 && (!modelled_output(output) || !modelled_input(after))) {
    host_.report_unknown(*this, output, true);
  }
  if (outputs_.watch && modelled_output(output)) {
    if (before > kLogicHigh && modelled_input(before)) outputs_.watch(before, false);
    if (after > kLogicHigh && modelled_input(after)) outputs_.watch(after, true);
  }
  if (level(before) != level(after)) edge(output, level(after), when);
}

void Xbara::update() {
  uint8_t lines = 0, requests = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const uint32_t control = registers_[kCtrl0 + i / 2 * 2] >> (8 * (i % 2));
    const bool set = (status_ >> i & 1) != 0;
    if (set && (control & kIen) != 0) lines |= static_cast<uint8_t>(1u << i / 2);
    if (set && (control & kDen) != 0) requests |= static_cast<uint8_t>(1u << i);
  }
  const uint8_t lines_changed = lines ^ lines_, requests_changed = requests ^ requests_;
  lines_ = lines;
  requests_ = requests;
  if ((lines_changed & 1) != 0) host_.set_interrupt(kIrq01, (lines & 1) != 0);
  if ((lines_changed & 2) != 0) host_.set_interrupt(kIrq23, (lines & 2) != 0);
  for (unsigned i = 0; i < 4 && outputs_.dma; ++i) {
    if ((requests_changed >> i & 1) != 0) outputs_.dma(kSources[i], (requests >> i & 1) != 0);
  }
}

void Xbara::reset() {
  for (unsigned i = 0; i < kOutputs; ++i) select(i, selected(i), 0, host_.events().now());
  registers_.reset();
  status_ = 0;
  update();
}

uint32_t Xbara::read(uint32_t offset, unsigned size, Cycles) {
  uint32_t value = registers_.read(offset, size);
  for (unsigned i = 0; i < size; ++i) {
    const uint32_t at = offset + i;
    if (at < kCtrl0 || at >= kCtrl0 + 4) continue;
    if ((status_ >> (at - kCtrl0) & 1) != 0) value |= kSts << (8 * i);
  }
  return value;
}

void Xbara::write(uint32_t offset, unsigned size, uint32_t value, Cycles now) {
  std::array<unsigned, 4> before{};
  const bool selectors = offset + size <= kOutputs;
  for (unsigned i = 0; i < size && selectors; ++i) before[i] = selected(offset + i);
  registers_.write(offset, size, value);
  for (unsigned i = 0; i < size && selectors; ++i) {
    select(offset + i, before[i], selected(offset + i), now);
  }
  for (unsigned i = 0; i < size; ++i) {  // STS is cleared by writing 1
    const uint32_t at = offset + i;
    if (at < kCtrl0 || at >= kCtrl0 + 4 || (value >> (8 * i) & kSts) == 0) continue;
    status_ &= static_cast<uint8_t>(~(1u << (at - kCtrl0)));
  }
  update();
}

void Xbara::snapshot(Snapshot& s) {
  registers_.snapshot(s);
  for (unsigned word = 0; word < kInputs; word += 32) {
    uint32_t bits = 0;
    for (unsigned i = 0; i < 32; ++i) bits |= (levels_[word + i] ? 1u : 0u) << i;
    s.field("levels", bits);
    for (unsigned i = 0; i < 32; ++i) levels_[word + i] = (bits >> i & 1) != 0;
  }
  s.field("status", status_);
  s.field("requests", requests_);
  s.field("lines", lines_);
}

}  // namespace millrace::board
