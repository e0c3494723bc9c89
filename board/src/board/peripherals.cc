// SPDX-License-Identifier: Apache-2.0
#include "board/peripherals.h"

#include <algorithm>
#include <utility>

#include "devices/ccm.h"
#include "devices/ccm_analog.h"
#include "devices/dcdc.h"
#include "devices/gpio.h"
#include "devices/iomuxc.h"
#include "devices/lpuart.h"
#include "devices/ocotp.h"
#include "devices/pit.h"
#include "devices/snvs.h"
#include "memory/rt1062_memory.h"

namespace millrace::board {
namespace {

// Part of the peripheral space that no device of the model claims.
class Gap final : public Device {
 public:
  explicit Gap(DeviceHost& host) : host_(host) {}
  std::string_view name() const override { return "not modelled"; }
  uint32_t read(uint32_t offset, unsigned, Cycles) override {
    host_.report_unknown(*this, offset, false);
    return 0;
  }
  void write(uint32_t offset, unsigned, uint32_t, Cycles) override {
    host_.report_unknown(*this, offset, true);
  }
  void reset() override {}

 private:
  DeviceHost& host_;
};

// IMXRT1060RM chapter 2: AIPS-1 to AIPS-4, and AIPS-5 with the fast GPIO.
struct Window {
  uint32_t base;
  uint32_t end;
};
constexpr unsigned kUarts = 8;
constexpr Window kPeripheralSpace[] = {{0x40000000, 0x40400000}, {0x42000000, 0x42100000}};

}  // namespace

struct Peripherals::Devices {
  Devices(DeviceHost& host, Clocks& clocks, Rt1062Memory& memory, const BoardOptions& options,
          PeripheralHooks&& hooks)
      : analog(host, clocks),
        ccm(host, clocks, analog),
        pit(host, clocks),
        iomuxc(host),
        gpr(host),
        snvs_mux(host),
        snvs_gpr(host),
        dcdc(host),
        ocotp(host, make_fuses({})),
        snvs(host, clocks),
        gpio(host) {
    gpr.on_gpio_select(
        [this](unsigned pair, uint32_t fast, Cycles now) { gpio.select_fast(pair, fast, now); });
    snvs.on_power_off([off = std::move(hooks.power_off)](Cycles) { off(); });
    gpr.on_flexram([&memory](uint32_t gpr16, uint32_t gpr17) { memory.set_flexram(gpr16, gpr17); });
    for (unsigned number = 1; number <= kUarts; ++number) {
      Lpuart::Output output;
      if (options.uart_output) {
        output = [number, to = options.uart_output](uint8_t byte, Cycles) { to(number, byte); };
      }
      uarts.push_back(std::make_unique<Lpuart>(host, clocks, number, std::move(output)));
    }
  }

  CcmAnalog analog;
  Ccm ccm;
  Pit pit;
  Iomuxc iomuxc;
  IomuxcGpr gpr;
  IomuxcSnvs snvs_mux;
  IomuxcSnvsGpr snvs_gpr;
  Dcdc dcdc;
  Ocotp ocotp;
  Snvs snvs;
  GpioBanks gpio;
  std::vector<std::unique_ptr<Lpuart>> uarts;
};

Peripherals::Peripherals(DeviceHost& host, Clocks& clocks, Rt1062Memory& memory,
                         const BoardOptions& options, PeripheralHooks hooks)
    : memory_(memory),
      devices_(std::make_unique<Devices>(host, clocks, memory, options, std::move(hooks))) {
  Devices& d = *devices_;
  add(d.analog, CcmAnalog::kBase, CcmAnalog::kSize);
  add(d.ccm, Ccm::kBase, Ccm::kSize);
  add(d.pit, Pit::kBase, Pit::kSize);
  add(d.iomuxc, Iomuxc::kBase, Iomuxc::kSize);
  add(d.gpr, IomuxcGpr::kBase, IomuxcGpr::kSize);
  add(d.snvs_mux, IomuxcSnvs::kBase, IomuxcSnvs::kSize);
  add(d.snvs_gpr, IomuxcSnvsGpr::kBase, IomuxcSnvsGpr::kSize);
  add(d.dcdc, Dcdc::kBase, Dcdc::kSize);
  add(d.ocotp, Ocotp::kBase, Ocotp::kSize);
  add(d.snvs, Snvs::kBase, Snvs::kSize);
  for (unsigned bank = 1; bank <= GpioBanks::kBanks; ++bank) {
    attach(d.gpio.bank(bank), GpioBanks::base(bank), GpioBanks::kSize);
  }
  snapshots_.push_back([&d](Snapshot& s) { d.gpio.snapshot(s); });
  for (const auto& uart : d.uarts) add(*uart, uart->base(), Lpuart::kSize);
  attach_gaps(host);
}

Peripherals::~Peripherals() = default;

void Peripherals::attach(Device& device, uint32_t base, uint32_t size) {
  memory_.attach(device, base, size);
  attachments_.push_back({&device, base, size});
}

void Peripherals::attach_gaps(DeviceHost& host) {
  std::vector<Attachment> known = attachments_;
  std::sort(known.begin(), known.end(),
            [](const Attachment& a, const Attachment& b) { return a.base < b.base; });
  for (const Window& window : kPeripheralSpace) {
    uint32_t at = window.base;
    const auto fill_to = [&](uint32_t end) {
      if (end <= at) return;
      gaps_.push_back(std::make_unique<Gap>(host));
      attach(*gaps_.back(), at, end - at);
    };
    for (const Attachment& a : known) {
      if (a.base < window.base || a.base >= window.end) continue;
      fill_to(a.base);
      at = a.base + a.size;
    }
    fill_to(window.end);
  }
}

uint32_t Peripherals::base_of(const Device& device) const {
  for (const Attachment& a : attachments_) {
    if (a.device == &device) return a.base;
  }
  return 0;
}

void Peripherals::reset() {
  for (const Attachment& a : attachments_) a.device->reset();
}

void Peripherals::snapshot(Snapshot& s) {
  for (const auto& part : snapshots_) part(s);
}

bool Peripherals::uart_input(unsigned uart, uint8_t byte) {
  return uart >= 1 && uart <= kUarts && devices_->uarts[uart - 1]->receive(byte);
}

}  // namespace millrace::board
