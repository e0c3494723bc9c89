// SPDX-License-Identifier: Apache-2.0
// How an IP command runs (chapter 27, look-up table): up to 8 instructions of the look-up table, of
// which command, address, mode and dummy cycles make one phase and the data another, in chunks of 8
// bytes, so that the FIFOs are filled and emptied as time goes on and can stop the clock.
//
// The chip sees the transaction as one call: a read when the data phase begins, anything else at
// its end. The root clock moves one bit a pad and tick, in single data rate (a serial clock a tick)
// and in double data rate (a serial clock every two ticks, two bits).
#include <algorithm>

#include "devices/flexspi.h"
#include "devices/flexspi_registers.h"

namespace millrace::board {

using namespace flexspi;  // NOLINT: register names

namespace {

// Instructions of the look-up table; with kDdr their double data rate forms.
constexpr uint32_t kStop = 0x00, kCommand = 0x01, kRowAddress = 0x02, kColumnAddress = 0x03,
                   kMode1 = 0x04, kMode2 = 0x05, kMode4 = 0x06, kMode8 = 0x07, kWrite = 0x08,
                   kRead = 0x09, kDummy = 0x0C, kDummyRwds = 0x0D, kJumpOnCs = 0x1F, kDdr = 0x20;
// STS1.IPCMDERRCODE.
constexpr uint8_t kErrorJump = 0x2, kErrorOpcode = 0x3, kErrorRange = 0x6;

}  // namespace

Flexspi::Sequence Flexspi::parse(unsigned index) {
  Sequence sequence;
  for (unsigned i = 0; i < 8; ++i) {
    const uint32_t instruction = table_[4 * index + i / 2] >> (16 * (i % 2)) & 0xFFFF;
    const uint32_t opcode = instruction >> 10;
    const uint8_t pads = static_cast<uint8_t>(1u << (instruction >> 8 & 3));
    const uint32_t operand = instruction & 0xFF;
    const bool ddr = (opcode & kDdr) != 0;
    uint32_t bits = 0;
    switch (opcode == kJumpOnCs ? kJumpOnCs : opcode & ~kDdr) {
      case kStop:
        return sequence;
      case kCommand:
        sequence.command = static_cast<uint8_t>(operand);
        sequence.command_pads = pads;
        bits = 8;
        break;
      case kRowAddress:
        sequence.has_address = true;
        bits = operand;
        break;
      case kColumnAddress:
        host_.report_unknown(*this, kLut + 16 * index, false);
        bits = operand;
        break;
      case kMode1:
      case kMode2:
      case kMode4:
      case kMode8:
        bits = 1u << ((opcode & ~kDdr) - kMode1);
        break;
      case kDummy:
      case kDummyRwds:
        sequence.clocks += ddr ? 2 * operand : operand;
        break;
      case kRead:
      case kWrite:
        sequence.kind = (opcode & ~kDdr) == kRead ? Kind::read : Kind::write;
        sequence.data_pads = pads;
        sequence.data_size = operand;
        return sequence;
      default:
        sequence.error = opcode == kJumpOnCs ? kErrorJump : kErrorOpcode;
        sequence.error_at = static_cast<uint8_t>(i);
        return sequence;
    }
    sequence.clocks += (bits + pads - 1) / pads;
  }
  return sequence;
}

int Flexspi::select_chip(uint32_t address, uint32_t* within) const {
  uint64_t start = 0;
  for (int chip = 0; chip < 4; ++chip) {
    const uint64_t bytes = uint64_t{registers_[kFlshcr0 + 4 * static_cast<uint32_t>(chip)]} << 10;
    if (address < start + bytes) {
      *within = static_cast<uint32_t>(address - start);
      return chip;
    }
    start += bytes;
  }
  return -1;
}

void Flexspi::start_command(uint64_t tick) {
  // A module that is off has no clock; a command during another is lost (IPCMD).
  if (phase_ != Phase::idle || (registers_[kMcr0] & kMdis) != 0) return;
  const uint32_t control = registers_[kIpcr1];
  index_ = static_cast<uint8_t>(control >> 16 & 0xF);
  sequences_ = static_cast<uint8_t>(control >> 24 & 7);
  chip_ = select_chip(registers_[kIpcr0], &address_);
  if (chip_ < 0) return finish(kErrorRange, 0);
  start_sequence(tick);
}

void Flexspi::start_sequence(uint64_t tick) {
  sequence_ = parse(index_);
  if (sequence_.error != 0) return finish(sequence_.error, sequence_.error_at);
  const uint32_t size = registers_[kIpcr1] & 0xFFFF;
  data_.clear();
  if (sequence_.kind != Kind::none) data_.assign(size != 0 ? size : sequence_.data_size, 0xFF);
  done_ = chunk_ = 0;
  phase_ = Phase::command;
  const uint32_t chip_select = registers_[kFlshcr1 + 4 * static_cast<uint32_t>(chip_)];
  const uint32_t setup = chip_select & 0x1F, hold = chip_select >> 5 & 0x1F;
  next_ = tick + setup + sequence_.clocks + hold + 1;
}

// Hands the whole transaction to the chip.
void Flexspi::carry_out(uint64_t tick) {
  SerialMemory* chip = options_.chips[static_cast<size_t>(chip_)];
  if (chip == nullptr) return;
  SerialTransfer transfer{.command = sequence_.command,
                          .command_pads = sequence_.command_pads,
                          .has_address = sequence_.has_address,
                          .address = address_,
                          .read = {},
                          .sent = {}};
  if (sequence_.kind == Kind::read) transfer.read = data_;
  if (sequence_.kind == Kind::write) transfer.sent = data_;
  if (!chip->transfer(transfer, ticks_.when(tick), clocks_.hz(Clock::core))) {
    host_.report_unknown(*this, kIpcmd, true);
  }
}

void Flexspi::start_chunk(uint64_t tick) {
  const uint32_t left = static_cast<uint32_t>(data_.size()) - done_;
  const uint32_t size = std::min(left, 8u);
  if (sequence_.kind == Kind::read) {
    if (received_.size() + 8 > kFifoBytes) {
      flags_ |= kSckstopbyrd;
      return;
    }
  } else {
    if (to_send_.empty()) {
      flags_ |= kSckstopbywr;
      return;
    }
    std::copy_n(to_send_.begin(), size, data_.begin() + done_);
    to_send_.erase(to_send_.begin(), to_send_.begin() + 8);
  }
  chunk_ = size;
  next_ = tick + (8 * size + sequence_.data_pads - 1) / sequence_.data_pads;
}

void Flexspi::end_chunk(uint64_t tick) {
  if (sequence_.kind == Kind::read) {
    const auto from = data_.begin() + done_;
    received_.insert(received_.end(), from, from + chunk_);
    received_.resize((received_.size() + 7) / 8 * 8);
  }
  done_ += chunk_;
  chunk_ = 0;
  if (done_ == data_.size()) return end_sequence(tick);
  start_chunk(tick);
}

void Flexspi::end_sequence(uint64_t tick) {
  if (sequence_.kind != Kind::read) carry_out(tick);
  if (sequences_ == 0) return finish(0, 0);
  --sequences_;
  index_ = (index_ + 1) & 0xF;
  start_sequence(tick);
}

void Flexspi::finish(uint8_t error_code, unsigned error_at) {
  phase_ = Phase::idle;
  next_ = UINT64_MAX;
  flags_ |= kIpcmddone;  // also after an error (INTR)
  if (error_code != 0) {
    flags_ |= kIpcmderr;
    error_ = uint32_t{error_code} << 24 | error_at << 16;
  }
}

void Flexspi::settle(Cycles now) {
  const uint64_t tick = ticks_.count(now);
  while (next_ <= tick) {
    const uint64_t due = next_;
    next_ = UINT64_MAX;
    if (phase_ == Phase::data) {
      end_chunk(due);
      continue;
    }
    if (sequence_.kind == Kind::read) carry_out(due);
    if (data_.empty()) {
      end_sequence(due);
    } else {
      phase_ = Phase::data;
      start_chunk(due);
    }
  }
}

}  // namespace millrace::board
