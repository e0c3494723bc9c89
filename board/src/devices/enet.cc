// SPDX-License-Identifier: Apache-2.0
// A management frame is 64 bits of MDC, or 32 without preamble; MDC is the IPG clock divided by
// 2 (MII_SPEED + 1), and stands still while MII_SPEED is 0.
#include "devices/enet.h"

#include <array>
#include <cstddef>
#include <iterator>

namespace millrace::board {

namespace {

constexpr uint32_t kEir = 0x04;
constexpr uint32_t kEimr = 0x08;
constexpr uint32_t kRdar = 0x10;
constexpr uint32_t kEcr = 0x24;
constexpr uint32_t kMmfr = 0x40;
constexpr uint32_t kMscr = 0x44;
constexpr uint32_t kTcr = 0xC4;

constexpr uint32_t kMacReset = 1;  // ECR
constexpr uint32_t kEtherEnable = 2;
constexpr uint32_t kMii = 1u << 23;  // EIR
constexpr uint32_t kGracefulStop = 1u << 28;
constexpr uint32_t kStopTransmit = 1;      // TCR
constexpr uint32_t kNoPreamble = 1u << 7;  // MSCR
constexpr uint32_t kReadOperation = 2;

constexpr RegisterSpec kControl[] = {
    {0x004, "EIR", 0x00000000, 0x7FFF8000, RegisterKind::one_clears},
    {0x008, "EIMR", 0x00000000, 0x7FFF8000},
    {0x010, "RDAR", 0x00000000, 0x01000000},
    {0x024, "ECR", 0x70000000, 0x0000015F},
    {0x040, "MMFR"},
    {0x044, "MSCR", 0x00000000, 0x000007FE},
    {0x064, "MIBC", 0xC0000000, 0xA0000000},
    {0x084, "RCR", 0x05EE0001, 0x7FFFF33F},
    {0x0C4, "TCR", 0x00000000, 0x000003ED},
    {0x0E4, "PALR"},
    {0x0E8, "PAUR", 0x00008808, 0xFFFF0000},
    {0x0EC, "OPD", 0x00010000, 0x0000FFFF},
    {0x0F0, "TXIC", 0x00000000, 0xCFF0FFFF},
    {0x100, "RXIC", 0x00000000, 0xCFF0FFFF},
    {0x118, "IAUR"},
    {0x11C, "IALR"},
    {0x120, "GAUR"},
    {0x124, "GALR"},
    {0x144, "TFWR", 0x00000000, 0x0000013F},
    {0x180, "RDSR", 0x00000000, 0xFFFFFFF8},
    {0x184, "TDSR", 0x00000000, 0xFFFFFFF8},
    {0x188, "MRBR", 0x00000000, 0x00003FF0},
    {0x190, "RSFL", 0x00000000, 0x000000FF},
    {0x194, "RSEM", 0x00000000, 0x001F00FF},
    {0x198, "RAEM", 0x00000004, 0x000000FF},
    {0x19C, "RAFL", 0x00000004, 0x000000FF},
    {0x1A0, "TSEM", 0x00000000, 0x000000FF},
    {0x1A4, "TAEM", 0x00000004, 0x000000FF},
    {0x1A8, "TAFL", 0x00000008, 0x000000FF},
    {0x1AC, "TIPG", 0x0000000C, 0x0000001F},
    {0x1B0, "FTRL", 0x000007FF, 0x00003FFF},
    {0x1C0, "TACC", 0x00000000, 0x00000019},
    {0x1C4, "RACC", 0x00000000, 0x000000C7},
};

// The counters of frames sent and received, all 0.
constexpr uint32_t kFirstCount = 0x200;
constexpr uint32_t kLastCount = 0x2E0;
constexpr size_t kCounts = (kLastCount - kFirstCount) / 4 + 1;

constexpr std::array<RegisterSpec, std::size(kControl) + kCounts> full_table() {
  std::array<RegisterSpec, std::size(kControl) + kCounts> table{};
  size_t i = 0;
  for (const RegisterSpec& spec : kControl) table[i++] = spec;
  for (uint32_t offset = kFirstCount; offset <= kLastCount; offset += 4) {
    table[i++] = {offset, "MIB", 0, 0};
  }
  return table;
}

constexpr auto kTable = full_table();

}  // namespace

Enet::Enet(DeviceHost& host, Clocks& clocks, unsigned number)
    : host_(host),
      clocks_(clocks),
      number_(number),
      registers_(kTable, 4, *this, host),
      frame_end_(&Enet::on_frame_end, this) {
  clocks.add_user(*this);
}

void Enet::reset() {
  registers_.reset();
  busy_ = false;
  host_.events().cancel(frame_end_);
  update_line();
}

void Enet::after_clock_change(Cycles now) {
  ticks_.change(now, clocks_.hz(Clock::ipg), clocks_.hz(Clock::core));
  schedule();
}

uint32_t Enet::read(uint32_t offset, unsigned size, Cycles) {
  return registers_.read(offset, size);
}

void Enet::write(uint32_t offset, unsigned size, uint32_t value, Cycles now) {
  const RegisterChange change = registers_.write(offset, size, value);
  if (!change.known) return;
  switch (change.offset) {
    case kEcr:
      if ((change.after & kMacReset) != 0) {
        reset();
      } else if ((change.after & kEtherEnable) == 0) {
        registers_[kRdar] = 0;  // disabling the MAC stops both rings
      }
      break;
    case kRdar:  // any write sets the bit, while the MAC is enabled
      registers_[kRdar] = (registers_[kEcr] & kEtherEnable) != 0 ? 0x01000000 : 0;
      break;
    case kMmfr:
      start_frame(now);
      break;
    case kMscr:
      // To set MII_SPEED with data waiting in MMFR starts the frame.
      if ((change.before & 0x7E) == 0 && registers_[kMmfr] != 0) start_frame(now);
      break;
    case kTcr:
      if ((change.after & ~change.before & kStopTransmit) != 0) {
        registers_[kEir] |= kGracefulStop;  // nothing is under way
      }
      break;
    default:
      break;
  }
  update_line();
}

uint64_t Enet::bus_clocks_per_frame() const {
  const uint32_t mscr = registers_[kMscr];
  const uint64_t speed = mscr >> 1 & 0x3F;
  if (speed == 0) return 0;
  return ((mscr & kNoPreamble) != 0 ? uint64_t{32} : 64) * 2 * (speed + 1);
}

void Enet::start_frame(Cycles now) {
  busy_ = bus_clocks_per_frame() != 0;
  ticks_.start(now, clocks_.hz(Clock::ipg), clocks_.hz(Clock::core));
  schedule();
}

void Enet::schedule() {
  const Cycles when = busy_ ? ticks_.when(bus_clocks_per_frame()) : kNever;
  if (when == kNever) {
    host_.events().cancel(frame_end_);
  } else {
    host_.events().schedule(frame_end_, when);
  }
}

void Enet::on_frame_end(void* context, Cycles) {
  Enet& enet = *static_cast<Enet*>(context);
  enet.busy_ = false;
  uint32_t& frame = enet.registers_[kMmfr];
  if ((frame >> 28 & 3) == kReadOperation) frame |= 0xFFFF;
  enet.registers_[kEir] |= kMii;
  enet.update_line();
}

void Enet::update_line() {
  const bool level = (registers_[kEir] & registers_[kEimr]) != 0;
  host_.set_interrupt(number_ == 1 ? kIrq1 : kIrq2, level);
}

void Enet::snapshot(Snapshot& s) {
  registers_.snapshot(s);
  s.field("busy", busy_);
  ticks_.snapshot(s);
  host_.events().snapshot(s, frame_end_);
}

}  // namespace millrace::board
