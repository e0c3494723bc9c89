// SPDX-License-Identifier: Apache-2.0
#include "board/peripherals.h"

#include <algorithm>
#include <utility>

#include "devices/adc.h"
#include "devices/adc_etc.h"
#include "devices/ccm.h"
#include "devices/ccm_analog.h"
#include "devices/dcdc.h"
#include "devices/dmamux.h"
#include "devices/edma.h"
#include "devices/enet.h"
#include "devices/flexpwm.h"
#include "devices/flexspi.h"
#include "devices/gpc.h"
#include "devices/gpio.h"
#include "devices/gpt.h"
#include "devices/iomuxc.h"
#include "devices/lpuart.h"
#include "devices/nor_flash.h"
#include "devices/ocotp.h"
#include "devices/pit.h"
#include "devices/psram.h"
#include "devices/qtmr.h"
#include "devices/snvs.h"
#include "devices/src.h"
#include "devices/trng.h"
#include "devices/usdhc.h"
#include "devices/wdog.h"
#include "devices/xbara.h"
#include "memory/rt1062_memory.h"
#include "usb/usb_otg.h"
#include "usb/usb_phy.h"

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
constexpr unsigned kTimers = 4;  // quad timers, and FlexPWMs
constexpr Window kPeripheralSpace[] = {{0x40000000, 0x40400000}, {0x42000000, 0x42100000}};

}  // namespace

struct Peripherals::Devices {
  Devices(DeviceHost& host, Clocks& clocks, Rt1062Memory& memory, const BoardOptions& options,
          const Timing& timing, PeripheralHooks&& hooks);
  void dma_served(unsigned source) {
    for (const auto& pwm : pwms) pwm->dma_served(source);
    xbara.dma_served(source);
  }
  // Of quad timers 3 and 4, which the crossbar has inputs for.
  static unsigned timer_input(unsigned number) {
    return number == 3 ? Xbara::kInQtimer3 : Xbara::kInQtimer4;
  }
  void watch_input(unsigned input, bool on) {
    if (input >= Xbara::kInQtimer3 && input < Xbara::kInPwm1) {
      const unsigned number = input < Xbara::kInQtimer4 ? 3 : 4;
      timers[number - 1]->watch(input - timer_input(number), on);
    } else if (input >= Xbara::kInPwm1 && input < Xbara::kInPit) {
      pwms[(input - Xbara::kInPwm1) / 4]->watch((input - Xbara::kInPwm1) % 4, on);
    } else if (input >= Xbara::kInPit && input < Xbara::kInPit + Pit::kChannels) {
      pit.watch(input - Xbara::kInPit, on);
    }
  }
  void crossbar_output(unsigned output, bool level, Cycles when) {
    if (level && output >= Xbara::kOutAdcEtc && output < Xbara::kOutAdcEtc + AdcEtc::kTriggers) {
      adc_etc.trigger(output - Xbara::kOutAdcEtc, when);
    }
  }
  DmaLine dma_line() {
    return [this](unsigned source, bool level) { dmamux.set_source(source, level); };
  }

  CcmAnalog analog;
  Ccm ccm;
  Iomuxc iomuxc;
  IomuxcGpr gpr;
  IomuxcSnvs snvs_mux;
  IomuxcSnvsGpr snvs_gpr;
  Dcdc dcdc;
  Ocotp ocotp;
  Snvs snvs;
  Src src;
  Gpc gpc;
  Wdog wdog1, wdog2;
  Rtwdog rtwdog;
  Trng trng;
  GpioBanks gpio;
  Edma edma;
  Dmamux dmamux;
  Xbara xbara;
  Pit pit;
  Gpt gpt1, gpt2;
  std::vector<std::unique_ptr<Qtmr>> timers;
  std::vector<std::unique_ptr<Flexpwm>> pwms;
  Adc adc1, adc2;
  AdcEtc adc_etc;
  NorFlash flash;
  std::vector<std::unique_ptr<Psram>> psram;
  Flexspi flexspi1, flexspi2;
  Usdhc usdhc1, usdhc2;
  Enet enet1, enet2;
  UsbPhy usbphy1, usbphy2;
  UsbNc usbnc;
  UsbOtg usb1, usb2;
  std::vector<std::unique_ptr<Lpuart>> uarts;
};

namespace {

AdcSignal adc_signal(const BoardOptions& options) {
  AdcSignal signal;  // Board::create() has looked at the text
  if (!options.adc_signal.empty()) static_cast<void>(parse_adc_signal(options.adc_signal, &signal));
  return signal;
}

SerialStore store_at(Rt1062Memory& memory, uint32_t base, uint32_t size) {
  return {size,
          [&memory, base](uint32_t address, uint8_t* out, uint32_t count) {
            memory.dma_read(base + address, out, count);
          },
          [&memory, base](uint32_t address, const uint8_t* in, uint32_t count) {
            memory.program(base + address, in, count);
          }};
}

std::vector<std::unique_ptr<Psram>> make_psram(Rt1062Memory& memory, uint32_t bytes) {
  std::vector<std::unique_ptr<Psram>> chips;
  for (uint32_t at = 0; at < bytes; at += Psram::kBytes) {
    chips.push_back(std::make_unique<Psram>(store_at(memory, kPsramBase + at, Psram::kBytes)));
  }
  return chips;
}

FlexspiOptions flexspi_options(Rt1062Memory& memory, unsigned number) {
  FlexspiOptions options;
  options.number = number;
  options.prefetch = [&memory, number](bool on) { memory.set_flexspi_prefetch(number - 1, on); };
  return options;
}

FlexspiOptions flash_options(Rt1062Memory& memory, NorFlash& flash, const Timing& timing) {
  FlexspiOptions options = flexspi_options(memory, 1);
  options.chips[0] = &flash;
  options.boot_values = Flexspi::rom_values(timing.flexspi_prefetch != 0);
  return options;
}

FlexspiOptions psram_options(Rt1062Memory& memory,
                             const std::vector<std::unique_ptr<Psram>>& psram) {
  FlexspiOptions options = flexspi_options(memory, 2);
  for (size_t i = 0; i < psram.size(); ++i) options.chips[i] = psram[i].get();
  return options;
}

}  // namespace

Peripherals::Devices::Devices(DeviceHost& host, Clocks& clocks, Rt1062Memory& memory,
                              const BoardOptions& options, const Timing& timing,
                              PeripheralHooks&& hooks)
    : analog(host, clocks),
      ccm(host, clocks, analog),
      iomuxc(host),
      gpr(host),
      snvs_mux(host),
      snvs_gpr(host),
      dcdc(host),
      ocotp(host, make_fuses({})),
      snvs(host, clocks),
      src(host),
      gpc(host),
      wdog1(host, clocks, 1),
      wdog2(host, clocks, 2),
      rtwdog(host, clocks),
      trng(host, clocks, options.seed),
      gpio(host),
      edma(host),
      dmamux(host,
             {.request = [this](unsigned channel, bool level) { edma.set_request(channel, level); },
              .watch = [this](unsigned channel, bool on) { pit.watch(channel, on); },
              .served = [this](unsigned source) { dma_served(source); }}),
      xbara(host, {.watch = [this](unsigned input, bool on) { watch_input(input, on); },
                   .output = [this](unsigned output, bool level,
                                    Cycles when) { crossbar_output(output, level, when); },
                   .dma = dma_line()}),
      pit(host, clocks,
          [this](unsigned channel, Cycles when) {
            dmamux.trigger(channel);
            xbara.pulse(Xbara::kInPit + channel, when);
          }),
      gpt1(host, clocks, 1),
      gpt2(host, clocks, 2),
      adc1(host, clocks, 1, adc_signal(options), dma_line()),
      adc2(host, clocks, 2, adc_signal(options), dma_line()),
      adc_etc(host, clocks, adc1, adc2, dma_line()),
      flash(store_at(memory, kFlashBase, kFlashBytes)),
      psram(make_psram(memory, options.psram_bytes)),
      flexspi1(host, clocks, flash_options(memory, flash, timing)),
      flexspi2(host, clocks, psram_options(memory, psram)),
      usdhc1(host, clocks, 1),
      usdhc2(host, clocks, 2),
      enet1(host, clocks, 1),
      enet2(host, clocks, 2),
      usbphy1(host, 1),
      usbphy2(host, 2),
      usbnc(host, usbphy1, usbphy2),
      usb1(host, clocks, timing, usbphy1, 1),
      usb2(host, clocks, timing, usbphy2, 2) {
  usb1.on_vbus([this](bool present) { analog.set_vbus(0, present); });
  usb2.on_vbus([this](bool present) { analog.set_vbus(1, present); });
  gpr.on_flexram([&memory](uint32_t gpr16, uint32_t gpr17) { memory.set_flexram(gpr16, gpr17); });
  gpr.on_gpio_select(
      [this](unsigned pair, uint32_t fast, Cycles now) { gpio.select_fast(pair, fast, now); });
  ccm.on_wait_mode(std::move(hooks.wait_mode));
  snvs.on_power_off([off = std::move(hooks.power_off)](Cycles) { off(); });
  const auto reset_by = [this, request = std::move(hooks.reset_request)](uint32_t cause) {
    return [this, request, cause](Cycles) {
      src.note_reset(cause);
      request();
    };
  };
  src.on_reset_request(reset_by(Src::kLockupOrSysResetReq));
  wdog1.on_reset_request(reset_by(Src::kWdog));
  wdog2.on_reset_request(reset_by(Src::kWdog));
  rtwdog.on_reset_request(reset_by(Src::kWdog3));
  edma.set_served([this](unsigned channel) { dmamux.served(channel); });
  for (unsigned number = 1; number <= kTimers; ++number) {
    timers.push_back(std::make_unique<Qtmr>(
        host, clocks, number,
        [this, number](unsigned channel, bool level, Cycles when) {
          if (number >= 3) xbara.set_input(timer_input(number) + channel, level, when);
        },
        dma_line()));
    pwms.push_back(std::make_unique<Flexpwm>(
        host, clocks, number,
        [this, number](unsigned submodule, unsigned, Cycles when) {
          xbara.pulse(Xbara::kInPwm1 + 4 * (number - 1) + submodule, when);
        },
        dma_line()));
  }
  for (unsigned number = 1; number <= kUarts; ++number) {
    Lpuart::Output output;
    if (options.uart_output) {
      output = [number, to = options.uart_output](uint8_t byte, Cycles) { to(number, byte); };
    }
    uarts.push_back(std::make_unique<Lpuart>(host, clocks, number, std::move(output), dma_line()));
  }
}

Peripherals::Peripherals(DeviceHost& host, Clocks& clocks, Rt1062Memory& memory,
                         const BoardOptions& options, const Timing& timing, PeripheralHooks hooks)
    : memory_(memory),
      devices_(std::make_unique<Devices>(host, clocks, memory, options, timing, std::move(hooks))) {
  Devices& d = *devices_;
  add(d.analog, CcmAnalog::kBase, CcmAnalog::kSize);
  add(d.ccm, Ccm::kBase, Ccm::kSize);
  add(d.iomuxc, Iomuxc::kBase, Iomuxc::kSize);
  add(d.gpr, IomuxcGpr::kBase, IomuxcGpr::kSize);
  add(d.snvs_mux, IomuxcSnvs::kBase, IomuxcSnvs::kSize);
  add(d.snvs_gpr, IomuxcSnvsGpr::kBase, IomuxcSnvsGpr::kSize);
  add(d.dcdc, Dcdc::kBase, Dcdc::kSize);
  add(d.ocotp, Ocotp::kBase, Ocotp::kSize);
  add(d.snvs, Snvs::kBase, Snvs::kSize);
  add(d.src, Src::kBase, Src::kSize);
  add(d.gpc, Gpc::kBase, Gpc::kSize);
  add(d.wdog1, Wdog::kBase1, Wdog::kSize);
  add(d.wdog2, Wdog::kBase2, Wdog::kSize);
  add(d.rtwdog, Rtwdog::kBase, Rtwdog::kSize);
  add(d.trng, Trng::kBase, Trng::kSize);
  for (unsigned bank = 1; bank <= GpioBanks::kBanks; ++bank) {
    attach(d.gpio.bank(bank), GpioBanks::base(bank), GpioBanks::kSize);
  }
  snapshots_.push_back([&d](Snapshot& s) { d.gpio.snapshot(s); });
  add(d.edma, Edma::kBase, Edma::kSize);
  add(d.dmamux, Dmamux::kBase, Dmamux::kSize);
  add(d.xbara, Xbara::kBase, Xbara::kSize);
  add(d.pit, Pit::kBase, Pit::kSize);
  add(d.gpt1, d.gpt1.base(), Gpt::kSize);
  add(d.gpt2, d.gpt2.base(), Gpt::kSize);
  for (const auto& timer : d.timers) add(*timer, timer->base(), Qtmr::kSize);
  for (const auto& pwm : d.pwms) add(*pwm, pwm->base(), Flexpwm::kSize);
  add(d.adc1, Adc::kBase1, Adc::kSize);
  add(d.adc2, Adc::kBase2, Adc::kSize);
  add(d.adc_etc, AdcEtc::kBase, AdcEtc::kSize);
  add(d.flexspi1, Flexspi::kBase1, Flexspi::kSize);
  add(d.flexspi2, Flexspi::kBase2, Flexspi::kSize);
  snapshots_.push_back([&d](Snapshot& s) {
    d.flash.snapshot(s);
    for (const auto& chip : d.psram) chip->snapshot(s);
  });
  add(d.usdhc1, Usdhc::kBase1, Usdhc::kSize);
  add(d.usdhc2, Usdhc::kBase2, Usdhc::kSize);
  add(d.enet1, Enet::kBase1, Enet::kSize);
  add(d.enet2, Enet::kBase2, Enet::kSize);
  add(d.usbphy1, UsbPhy::base(1), UsbPhy::kSize);
  add(d.usbphy2, UsbPhy::base(2), UsbPhy::kSize);
  add(d.usb1, UsbOtg::base(1), UsbOtg::kSize);
  add(d.usb2, UsbOtg::base(2), UsbOtg::kSize);
  add(d.usbnc, UsbNc::kBase, UsbNc::kSize);
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

UsbOtg& Peripherals::usb(unsigned number) { return number == 1 ? devices_->usb1 : devices_->usb2; }

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
