// SPDX-License-Identifier: Apache-2.0
#include "devices/gpio.h"

namespace millrace::board {

namespace {

constexpr uint32_t kDr = 0x00;
constexpr uint32_t kGdir = 0x04;
constexpr uint32_t kPsr = 0x08;
constexpr uint32_t kIcr1 = 0x0C;
constexpr uint32_t kIcr2 = 0x10;
constexpr uint32_t kImr = 0x14;
constexpr uint32_t kIsr = 0x18;
constexpr uint32_t kEdgeSel = 0x1C;
constexpr uint32_t kDrSet = 0x84;
constexpr uint32_t kDrClear = 0x88;
constexpr uint32_t kDrToggle = 0x8C;

constexpr RegisterSpec kTable[] = {
    {0x00, "DR"},
    {0x04, "GDIR"},
    {0x08, "PSR", 0, 0},
    {0x0C, "ICR1"},
    {0x10, "ICR2"},
    {0x14, "IMR"},
    {0x18, "ISR", 0, 0xFFFFFFFF, RegisterKind::one_clears},
    {0x1C, "EDGE_SEL"},
    {0x84, "DR_SET", 0, 0},  // these three are written only
    {0x88, "DR_CLEAR", 0, 0},
    {0x8C, "DR_TOGGLE", 0, 0},
};

constexpr std::array<std::string_view, GpioBanks::kBanks> kNames = {
    "GPIO1", "GPIO2", "GPIO3", "GPIO4", "GPIO5", "GPIO6", "GPIO7", "GPIO8", "GPIO9"};
constexpr std::array<uint32_t, GpioBanks::kBanks> kBases = {0x401B8000, 0x401BC000, 0x401C0000,
                                                            0x401C4000, 0x400C0000, 0x42000000,
                                                            0x42004000, 0x42008000, 0x4200C000};
constexpr unsigned kFirstFast = 6;

// Bits of the pins whose 2-bit code in ICR1 and ICR2 is `code`: 0 low level, 1 high level, 2
// rising, 3 falling edge.
uint32_t pins_with(uint32_t icr1, uint32_t icr2, uint32_t code) {
  uint32_t pins = 0;
  for (unsigned pin = 0; pin < 32; ++pin) {
    const uint32_t icr = pin < 16 ? icr1 : icr2;
    if ((icr >> (2 * (pin % 16)) & 3) == code) pins |= 1u << pin;
  }
  return pins;
}

}  // namespace

GpioBanks::GpioBanks(DeviceHost& host) : host_(host) {
  for (unsigned number = 1; number <= kBanks; ++number) {
    banks_[number - 1] = std::make_unique<Gpio>(host, *this, number);
  }
}

GpioBanks::~GpioBanks() = default;

Gpio& GpioBanks::bank(unsigned number) { return *banks_.at(number - 1); }

uint32_t GpioBanks::base(unsigned number) { return kBases.at(number - 1); }

void GpioBanks::set_input(unsigned bank, unsigned pin, bool level) {
  uint32_t& levels = input_.at(bank - 1);
  levels = (levels & ~(1u << pin)) | (level ? 1u << pin : 0);
  this->bank(bank).input_ = levels;
  this->bank(bank).sense();
  if (bank >= kPadBanks) return;
  Gpio& fast = this->bank(bank - 1 + kFirstFast);
  fast.input_ = levels;
  fast.sense();
}

void GpioBanks::select_fast(unsigned pair, uint32_t fast, Cycles now) {
  fast_.at(pair) = fast;
  Gpio& slow_bank = bank(pair + 1);
  Gpio& fast_bank = bank(pair + kFirstFast);
  slow_bank.owned_ = ~fast;
  fast_bank.owned_ = fast;
  slow_bank.sense();
  fast_bank.sense();
  outputs_changed(pair + 1, now);
}

void GpioBanks::outputs_changed(unsigned number, Cycles now) {
  const unsigned pads = (number - 1) % kPadBanks;
  uint32_t driven = 0;
  uint32_t levels = 0;
  for (unsigned i = pads; i < kBanks; i += kPadBanks) {
    const Gpio& owner = *banks_[i];
    const uint32_t outputs = owner.registers_[kGdir] & owner.owned_;
    driven |= outputs;
    levels |= outputs & owner.registers_[kDr];
  }
  const std::pair<uint32_t, uint32_t> now_driven = {driven, levels};
  if (now_driven == told_[pads]) return;
  told_[pads] = now_driven;
  if (output_) output_(pads + 1, driven, levels, now);
}

void GpioBanks::update_lines(unsigned number) {
  if (number >= kFirstFast) {
    uint32_t any = 0;
    for (unsigned i = kFirstFast; i <= kBanks; ++i) any |= bank(i).pending();
    host_.set_interrupt(kFastIrq, any != 0);
    return;
  }
  const uint32_t pending = bank(number).pending();
  const unsigned irq = kCombinedIrq + 2 * (number - 1);
  host_.set_interrupt(irq, (pending & 0xFFFF) != 0);
  host_.set_interrupt(irq + 1, pending >> 16 != 0);
  if (number != 1) return;
  for (unsigned pin = 0; pin < 8; ++pin) {
    host_.set_interrupt(kPinIrq + pin, (pending >> pin & 1) != 0);
  }
}

void GpioBanks::reset() {
  for (unsigned pair = 0; pair < fast_.size(); ++pair) {
    select_fast(pair, 0, host_.events().now());
  }
  for (const std::unique_ptr<Gpio>& bank : banks_) bank->reset();
}

void GpioBanks::snapshot(Snapshot& s) {
  s.field("input", input_);
  s.field("fast", fast_);
  for (std::pair<uint32_t, uint32_t>& told : told_) {
    s.field("driven", told.first);
    s.field("levels", told.second);
  }
  for (const std::unique_ptr<Gpio>& bank : banks_) bank->snapshot(s);
}

Gpio::Gpio(DeviceHost& host, GpioBanks& banks, unsigned number)
    : banks_(banks),
      number_(number),
      registers_(kTable, 4, *this, host),
      owned_(number < kFirstFast ? 0xFFFFFFFF : 0) {}

std::string_view Gpio::name() const { return kNames[number_ - 1]; }

void Gpio::reset() {
  registers_.reset();
  last_pads_ = pads();
  sense();
  banks_.outputs_changed(number_, banks_.host_.events().now());
}

uint32_t Gpio::pads() const {
  const uint32_t outputs = registers_[kGdir];
  return ((registers_[kDr] & outputs) | (input_ & ~outputs)) & owned_;
}

uint32_t Gpio::pending() const { return registers_[kIsr] & registers_[kImr]; }

uint32_t Gpio::read(uint32_t offset, unsigned size, Cycles) {
  switch (offset & ~3u) {
    case kDr: {  // inputs read as their pads; the register itself keeps what was written
      const uint32_t kept = registers_[kDr];
      registers_[kDr] = (kept & registers_[kGdir]) | (pads() & ~registers_[kGdir]);
      const uint32_t value = registers_.read(offset, size);
      registers_[kDr] = kept;
      return value;
    }
    case kPsr:
      registers_[kPsr] = pads();
      break;
    default:
      break;
  }
  return registers_.read(offset, size);
}

void Gpio::write(uint32_t offset, unsigned size, uint32_t value, Cycles now) {
  const RegisterChange change = registers_.write(offset, size, value);
  if (!change.known) return;
  switch (change.offset) {
    case kDrSet:
      registers_[kDr] |= change.written;
      break;
    case kDrClear:
      registers_[kDr] &= ~change.written;
      break;
    case kDrToggle:
      registers_[kDr] ^= change.written;
      break;
    default:
      break;
  }
  sense();
  banks_.outputs_changed(number_, now);
}

// A flag is set whether it is masked or not; that of a level comes back as long as the level lasts.
void Gpio::sense() {
  const uint32_t levels = pads();
  const uint32_t changed = levels ^ last_pads_;
  last_pads_ = levels;
  const uint32_t icr1 = registers_[kIcr1];
  const uint32_t icr2 = registers_[kIcr2];
  const uint32_t both = registers_[kEdgeSel];
  uint32_t flags = pins_with(icr1, icr2, 0) & ~levels & ~both;
  flags |= pins_with(icr1, icr2, 1) & levels & ~both;
  flags |= pins_with(icr1, icr2, 2) & changed & levels;
  flags |= pins_with(icr1, icr2, 3) & changed & ~levels;
  flags |= both & changed;
  registers_[kIsr] |= flags & owned_;
  banks_.update_lines(number_);
}

void Gpio::snapshot(Snapshot& s) {
  registers_.snapshot(s);
  s.field("owned", owned_);
  s.field("input", input_);
  s.field("last_pads", last_pads_);
}

}  // namespace millrace::board
