// SPDX-License-Identifier: Apache-2.0
// Registers, FIFOs and interrupts; how a command runs is in flexspi_sequence.cc.
//
// The FIFOs are windows (chapter 27): reading RFDRn looks n words past the head, and writing
// 1 to INTR.IPRXWA drops a watermark's worth; writing TFDRn fills a window that IPTXWE pushes. An
// entry is 8 bytes even if the command had fewer. With DMA on, the access to the last byte of the
// watermark's window does what the interrupt flag does.
#include "devices/flexspi.h"

#include <algorithm>

#include "devices/flexspi_registers.h"

namespace millrace::board {
namespace {

using namespace flexspi;  // NOLINT: register names

// Reset values: 27.7.
constexpr RegisterSpec kTable[] = {
    {kMcr0, "MCR0", 0xFFFF80C2},
    {kMcr1, "MCR1", 0xFFFFFFFF},
    {kMcr2, "MCR2", 0x200081F7},
    {kAhbcr, "AHBCR", 0x18, 0x7F},
    {kInten, "INTEN", 0, 0x1FFF},
    {kIntr, "INTR", 0, 0},
    {kLutkey, "LUTKEY", kLutkeyValue, 0},
    {kLutcr, "LUTCR", 2, 3},
    {0x020, "AHBRXBUF0CR0", 0x80000020},
    {0x024, "AHBRXBUF1CR0", 0x80010020},
    {0x028, "AHBRXBUF2CR0", 0x80020020},
    {0x02C, "AHBRXBUF3CR0", 0x80030020},
    {kFlshcr0, "FLSHA1CR0", 0x10000, 0x7FFFFF},
    {0x064, "FLSHA2CR0", 0x10000, 0x7FFFFF},
    {0x068, "FLSHB1CR0", 0x10000, 0x7FFFFF},
    {0x06C, "FLSHB2CR0", 0x10000, 0x7FFFFF},
    {kFlshcr1, "FLSHA1CR1", 0x63},
    {0x074, "FLSHA2CR1", 0x63},
    {0x078, "FLSHB1CR1", 0x63},
    {0x07C, "FLSHB2CR1", 0x63},
    {0x080, "FLSHA1CR2"},
    {0x084, "FLSHA2CR2"},
    {0x088, "FLSHB1CR2"},
    {0x08C, "FLSHB2CR2"},
    {0x094, "FLSHCR4", 0, 0xD},
    {kIpcr0, "IPCR0"},
    {kIpcr1, "IPCR1", 0, 0x870FFFFF},
    {kIpcmd, "IPCMD", 0, 0},
    {kIprxfcr, "IPRXFCR", 0, 0x3E},
    {kIptxfcr, "IPTXFCR", 0, 0x3E},
    {kDllacr, "DLLACR", 0x100, 0x7F7B},
    {kDllbcr, "DLLBCR", 0x100, 0x7F7B},
    {kSts0, "STS0", 0, 0},
    {kSts1, "STS1", 0, 0},
    {kSts2, "STS2", 0x01000100, 0},
    {0x0EC, "AHBSPNDSTS", 0, 0},
    {kIprxfsts, "IPRXFSTS", 0, 0},
    {kIptxfsts, "IPTXFSTS", 0, 0},
};

}  // namespace

Flexspi::Flexspi(DeviceHost& host, Clocks& clocks, FlexspiOptions options)
    : host_(host),
      clocks_(clocks),
      clock_(options.number == 1 ? Clock::flexspi1 : Clock::flexspi2),
      options_(std::move(options)),
      name_("FLEXSPI" + std::to_string(options_.number)),
      registers_(kTable, 4, *this, host),
      event_(&Flexspi::on_event, this) {
  clocks.add_user(*this);
  ticks_.start(host.events().now(), clocks.hz(clock_), clocks.hz(Clock::core));
  reset();
}

std::vector<std::pair<uint32_t, uint32_t>> Flexspi::rom_values(bool prefetch) {
  return {{kMcr0, 0xFFFF8010},  // RXCLKSRC 1, MDIS 0, no AHB access to the FIFOs
          {kAhbcr, 0x18u | (prefetch ? kPrefetchen : 0)},
          {kFlshcr0, 0x2000}};
}

void Flexspi::before_clock_change(Cycles now) { settle(now); }

void Flexspi::after_clock_change(Cycles now) {
  ticks_.change(now, clocks_.hz(clock_), clocks_.hz(Clock::core));
  update();
}

void Flexspi::on_event(void* context, Cycles when) {
  Flexspi* self = static_cast<Flexspi*>(context);
  self->settle(when);
  self->update();
}

void Flexspi::software_reset() {
  received_.clear();
  to_send_.clear();
  window_.fill(0);
  flags_ = error_ = popped_ = pushed_ = 0;
  phase_ = Phase::idle;
  next_ = UINT64_MAX;
}

void Flexspi::reset() {
  const bool prefetch = (registers_[kAhbcr] & kPrefetchen) != 0;
  registers_.reset();
  for (const auto& [offset, value] : options_.boot_values) registers_[offset] = value;
  table_.fill(0);
  key_ = false;
  software_reset();
  const bool on = (registers_[kAhbcr] & kPrefetchen) != 0;
  if (on != prefetch && options_.prefetch) options_.prefetch(on);
  update();
}

uint32_t Flexspi::receive_watermark() const { return 8 * ((registers_[kIprxfcr] >> 2 & 0xF) + 1); }

uint32_t Flexspi::transmit_watermark() const { return 8 * ((registers_[kIptxfcr] >> 2 & 0xF) + 1); }

uint32_t Flexspi::interrupt_flags() const {
  uint32_t value = flags_;
  if (received_.size() >= receive_watermark()) value |= kIprxwa;
  if (kFifoBytes - to_send_.size() >= transmit_watermark()) value |= kIptxwe;
  return value;
}

void Flexspi::update() {
  const uint32_t flags = interrupt_flags();
  const bool level = (flags & registers_[kInten]) != 0;
  if (level != level_) {
    level_ = level;
    host_.set_interrupt(options_.number == 1 ? kIrq1 : kIrq2, level);
  }
  schedule_at(host_.events(), event_, next_ == UINT64_MAX ? kNever : ticks_.when(next_));
  if (!options_.dma) return;
  const unsigned source = options_.number == 1 ? 28 : 60;  // RX, then TX
  const bool receive = (registers_[kIprxfcr] & kDmaEnable) != 0 && (flags & kIprxwa) != 0;
  const bool transmit = (registers_[kIptxfcr] & kDmaEnable) != 0 && (flags & kIptxwe) != 0;
  if (receive != receive_request_) {
    receive_request_ = receive;
    options_.dma(source, receive);
  }
  if (transmit != transmit_request_) {
    transmit_request_ = transmit;
    options_.dma(source + 1, transmit);
  }
}

void Flexspi::pop_receive() {
  const size_t count = std::min<size_t>(receive_watermark(), received_.size());
  received_.erase(received_.begin(), received_.begin() + static_cast<ptrdiff_t>(count));
  popped_ += static_cast<uint32_t>(count / 8);
}

void Flexspi::push_transmit() {
  const size_t count = std::min<size_t>(transmit_watermark(), kFifoBytes - to_send_.size());
  to_send_.insert(to_send_.end(), window_.begin(), window_.begin() + static_cast<ptrdiff_t>(count));
  pushed_ += static_cast<uint32_t>(count / 8);
}

// A sequence that waits for a FIFO looks again.
void Flexspi::resume(Cycles now) {
  if (phase_ == Phase::data && chunk_ == 0) start_chunk(ticks_.count(now));
}

uint32_t Flexspi::read_receive_window(const Lanes& lanes) {
  const uint32_t at = lanes.offset - kRfdr;
  uint32_t value = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    if (at + i < received_.size()) value |= uint32_t{received_[at + i]} << (8 * i);
  }
  const bool last = at + 4 == receive_watermark() && (lanes.mask >> 24) != 0;
  if ((registers_[kIprxfcr] & kDmaEnable) != 0 && last) pop_receive();
  return value;
}

void Flexspi::write_transmit_window(const Lanes& lanes) {
  const uint32_t at = lanes.offset - kTfdr;
  for (uint32_t i = 0; i < 4; ++i) {
    if ((lanes.mask >> (8 * i) & 0xFF) != 0) {
      window_[at + i] = static_cast<uint8_t>(lanes.bits >> (8 * i));
    }
  }
  const bool last = at + 4 == transmit_watermark() && (lanes.mask >> 24) != 0;
  if ((registers_[kIptxfcr] & kDmaEnable) != 0 && last) push_transmit();
}

uint32_t Flexspi::read(uint32_t offset, unsigned size, Cycles now) {
  settle(now);
  const Lanes lanes(offset, size);
  uint32_t value = 0;
  if (lanes.offset >= kRfdr && lanes.offset < kTfdr) {
    value = read_receive_window(lanes);
    resume(now);
  } else if (lanes.offset >= kTfdr && lanes.offset < kLut) {
    value = 0;  // write only
  } else if (lanes.offset >= kLut && lanes.offset < kLut + 4 * table_.size()) {
    value = table_[(lanes.offset - kLut) / 4];
  } else {
    switch (lanes.offset) {
      case kIntr:
        value = interrupt_flags();
        break;
      case kSts0:  // ARBCMDSRC 2: an IP command
        value = phase_ == Phase::idle ? 3 : 2u << 2;
        break;
      case kSts1:
        value = error_;
        break;
      case kSts2:  // the delay lines lock at once
        value = registers_[kSts2] | ((registers_[kDllacr] & 1) != 0 ? 3 : 0) |
                ((registers_[kDllbcr] & 1) != 0 ? 3u << 16 : 0);
        break;
      case kIprxfsts:
        value = (popped_ & 0xFFFF) << 16 | static_cast<uint32_t>(received_.size() / 8);
        break;
      case kIptxfsts:
        value = (pushed_ & 0xFFFF) << 16 | static_cast<uint32_t>(to_send_.size() / 8);
        break;
      default:
        value = registers_.read(offset, size) << lanes.shift;
    }
  }
  update();
  return lanes.extract(value);
}

void Flexspi::write_flags(uint32_t bits) {
  flags_ &= ~bits;
  if ((bits & kIpcmderr) != 0) error_ = 0;  // STS1's IP half goes with the flag
  if ((bits & kIprxwa) != 0) pop_receive();
  if ((bits & kIptxwe) != 0) push_transmit();
}

void Flexspi::write(uint32_t offset, unsigned size, uint32_t value, Cycles now) {
  settle(now);
  const Lanes lanes(offset, size, value);
  const bool unlocking = key_;
  key_ = false;
  if (lanes.offset >= kRfdr && lanes.offset < kTfdr) {
    // read only
  } else if (lanes.offset >= kTfdr && lanes.offset < kLut) {
    write_transmit_window(lanes);
  } else if (lanes.offset >= kLut && lanes.offset < kLut + 4 * table_.size()) {
    uint32_t& entry = table_[(lanes.offset - kLut) / 4];
    if ((registers_[kLutcr] & 2) != 0) entry = lanes.merge(entry);
  } else if (lanes.offset == kLutcr) {
    if (unlocking) registers_.write(offset, size, value);
  } else {
    const RegisterChange change = registers_.write(offset, size, value);
    switch (lanes.offset) {
      case kMcr0:
        if ((change.after & kSwreset) != 0) software_reset();
        registers_[kMcr0] &= ~kSwreset;  // done before the next access
        break;
      case kMcr2:
        registers_[kMcr2] &= ~kClrlearnphase;
        break;
      case kAhbcr:
        if (((change.before ^ change.after) & kPrefetchen) != 0 && options_.prefetch) {
          options_.prefetch((change.after & kPrefetchen) != 0);
        }
        break;
      case kLutkey:
        key_ = lanes.bits == kLutkeyValue;
        break;
      case kIntr:
        write_flags(lanes.bits);
        break;
      case kIpcmd:
        if ((lanes.bits & 1) != 0) start_command(ticks_.count(now));
        break;
      case kIprxfcr:
        if ((lanes.bits & 1) != 0) {
          received_.clear();
          popped_ = 0;
        }
        break;
      case kIptxfcr:
        if ((lanes.bits & 1) != 0) {
          to_send_.clear();
          pushed_ = 0;
        }
        break;
      default:
        break;
    }
  }
  resume(now);
  update();
}

void Flexspi::snapshot(Snapshot& s) {
  registers_.snapshot(s);
  ticks_.snapshot(s);
  s.field("table", table_);
  s.field("key", key_);
  s.field("received", received_, kFifoBytes);
  s.field("to_send", to_send_, kFifoBytes);
  s.field("window", window_);
  s.field("flags", flags_);
  s.field("error", error_);
  s.field("popped", popped_);
  s.field("pushed", pushed_);
  s.field("phase", phase_);
  s.field("command", sequence_.command);
  s.field("command_pads", sequence_.command_pads);
  s.field("data_pads", sequence_.data_pads);
  s.field("has_address", sequence_.has_address);
  s.field("kind", sequence_.kind);
  s.field("index", index_);
  s.field("sequences", sequences_);
  s.field("address", address_);
  s.field("chip", chip_);
  s.field("data", data_, kMaxData);
  s.field("done", done_);
  s.field("chunk", chunk_);
  s.field("next", next_);
  s.field("level", level_);
  s.field("transmit_request", transmit_request_);
  s.field("receive_request", receive_request_);
  if (phase_ > Phase::data || sequence_.kind > Kind::write || sequence_.data_pads == 0 ||
      chip_ > 3 || chip_ < -1 || (phase_ != Phase::idle && chip_ < 0) || done_ > data_.size() ||
      chunk_ > data_.size() - done_) {
    s.fail("phase", "is no state of a command");
    software_reset();
  }
  host_.events().snapshot(s, event_);
}

}  // namespace millrace::board
