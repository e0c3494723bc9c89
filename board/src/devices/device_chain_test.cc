// SPDX-License-Identifier: Apache-2.0
// The devices of the timing group together: wired as on the board, and under firmware that writes
// anything anywhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "devices/adc.h"
#include "devices/adc_etc.h"
#include "devices/clocks.h"
#include "devices/dmamux.h"
#include "devices/edma.h"
#include "devices/flexpwm.h"
#include "devices/flexspi.h"
#include "devices/gpt.h"
#include "devices/lpuart.h"
#include "devices/nor_flash.h"
#include "devices/pit.h"
#include "devices/psram.h"
#include "devices/qtmr.h"
#include "devices/xbara.h"

namespace millrace::board {
namespace {

constexpr uint32_t kMemoryBase = 0x20200000, kMemoryBytes = 65536;

class WiredDevices final : public DeviceHost {
 public:
  WiredDevices() {
    Clocks::Rates rates = Clocks::kBootRates;
    rates[static_cast<size_t>(Clock::core)] = 600'000'000;
    rates[static_cast<size_t>(Clock::ipg)] = 150'000'000;
    rates[static_cast<size_t>(Clock::perclk)] = 24'000'000;
    rates[static_cast<size_t>(Clock::uart)] = 24'000'000;
    rates[static_cast<size_t>(Clock::flexspi2)] = 100'000'000;
    clocks.set(rates, 0);
    edma.set_served([this](unsigned channel) { dmamux.served(channel); });
  }

  void set_interrupt(unsigned irq, bool level) override { lines.at(irq) = level; }
  void report_unknown(const Device&, uint32_t, bool) override { ++unknown; }
  bool dma_read(uint32_t address, uint8_t* out, uint32_t size) override {
    if (uint8_t* bytes = memory_at(address, size)) {
      std::memcpy(out, bytes, size);
      return true;
    }
    uint32_t offset = 0;
    Device* device = find(address, &offset);
    if (device == nullptr || size > 4 || offset % size != 0) return false;
    const uint32_t value = device->read(offset, size, queue.now());
    std::memcpy(out, &value, size);
    return true;
  }
  bool dma_write(uint32_t address, const uint8_t* in, uint32_t size) override {
    if (uint8_t* bytes = memory_at(address, size)) {
      std::memcpy(bytes, in, size);
      return true;
    }
    uint32_t offset = 0;
    Device* device = find(address, &offset);
    if (device == nullptr || size > 4 || offset % size != 0) return false;
    uint32_t value = 0;
    std::memcpy(&value, in, size);
    device->write(offset, size, value, queue.now());
    return true;
  }
  EventQueue& events() override { return queue; }

  void run_to(Cycles when) {
    while (queue.next() <= when) {
      queue.advance(queue.next());
      queue.run_due();
    }
    queue.advance(when);
  }
  void put(Device& device, uint32_t offset, uint32_t value, unsigned size = 4) {
    device.write(offset, size, value, queue.now());
  }
  SerialStore store(std::vector<uint8_t>& bytes) {
    return {.size = static_cast<uint32_t>(bytes.size()),
            .read = [&bytes](uint32_t at, uint8_t* out,
                             uint32_t size) { std::memcpy(out, &bytes.at(at), size); },
            .write = [&bytes](uint32_t at, const uint8_t* in,
                              uint32_t size) { std::memcpy(&bytes.at(at), in, size); }};
  }
  void snapshot(Snapshot& s) {
    queue.snapshot(s);
    for (Lpuart* part : {&uart, &uart2}) part->snapshot(s);
    pit.snapshot(s);
    gpt.snapshot(s);
    qtmr.snapshot(s);
    pwm.snapshot(s);
    flash.snapshot(s);
    psram.snapshot(s);
    nor.snapshot(s);
    chip.snapshot(s);
    edma.snapshot(s);
    dmamux.snapshot(s);
    xbar.snapshot(s);
    adc1.snapshot(s);
    adc2.snapshot(s);
    etc.snapshot(s);
  }

  EventQueue queue;
  std::array<bool, 160> lines{};
  uint64_t unknown = 0;
  std::vector<uint8_t> memory = std::vector<uint8_t>(kMemoryBytes);
  std::vector<uint8_t> flash_bytes = std::vector<uint8_t>(1 << 17, 0xFF);
  std::vector<uint8_t> psram_bytes = std::vector<uint8_t>(1 << 16);
  std::vector<std::pair<char, Cycles>> sent;
  Clocks clocks;

  Edma edma{*this};
  Dmamux dmamux{*this,
                {.request = [this](unsigned n, bool level) { edma.set_request(n, level); },
                 .watch = [this](unsigned n, bool on) { pit.watch(n, on); },
                 .served =
                     [this](unsigned source) {
                       xbar.dma_served(source);
                       pwm.dma_served(source);
                     }}};
  DmaLine line = [this](unsigned source, bool level) { dmamux.set_source(source, level); };
  Lpuart uart{*this, clocks, 6,
              [this](uint8_t byte, Cycles when) {
                sent.push_back({static_cast<char>(byte), when});
              },
              line};
  Lpuart uart2{*this, clocks, 2, {}, line};
  Pit pit{*this, clocks, [this](unsigned channel, Cycles when) {
            dmamux.trigger(channel);
            xbar.pulse(Xbara::kInPit + channel, when);
          }};
  Gpt gpt{*this, clocks, 1};
  Qtmr qtmr{*this, clocks, 4,
            [this](unsigned channel, bool level, Cycles when) {
              xbar.set_input(Xbara::kInQtimer4 + channel, level, when);
            },
            line};
  Flexpwm pwm{*this, clocks, 1,
              [this](unsigned submodule, unsigned, Cycles when) {
                xbar.pulse(Xbara::kInPwm1 + submodule, when);
              },
              line};
  Xbara xbar{*this,
             {.watch = [this](unsigned input, bool on) { watch(input, on); },
              .output =
                  [this](unsigned output, bool level, Cycles when) {
                    if (output >= Xbara::kOutAdcEtc && output < Xbara::kOutAdcEtc + 8 && level) {
                      etc.trigger(output - Xbara::kOutAdcEtc, when);
                    }
                  },
              .dma = line}};
  AdcSignal signal = [](unsigned, unsigned channel, double) { return 0.1 * channel; };
  Adc adc1{*this, clocks, 1, signal, line};
  Adc adc2{*this, clocks, 2, signal, line};
  AdcEtc etc{*this, clocks, adc1, adc2, line};
  NorFlash nor{store(flash_bytes)};
  Psram chip{store(psram_bytes)};
  Flexspi flash{*this,
                clocks,
                {.number = 1,
                 .chips = {&nor},
                 .boot_values = Flexspi::rom_values(true),
                 .prefetch = {},
                 .dma = line}};
  Flexspi psram{*this, clocks, {.number = 2, .chips = {&chip}, .dma = line}};

  struct Place {
    uint32_t base;
    uint32_t bytes;  // what a driver would touch
    Device* device;
  };
  const std::vector<Place> places = {
      {uart.base(), 0x34, &uart},     {uart2.base(), 0x34, &uart2},  {Pit::kBase, 0x144, &pit},
      {Gpt::kBase1, 0x2C, &gpt},      {qtmr.base(), 0x84, &qtmr},    {Flexpwm::kBase1, 0x198, &pwm},
      {flash.base(), 0x304, &flash},  {psram.base(), 0x304, &psram}, {Edma::kBase, 0x1404, &edma},
      {Dmamux::kBase, 0x84, &dmamux}, {Xbara::kBase, 0x8C, &xbar},   {Adc::kBase1, 0x60, &adc1},
      {Adc::kBase2, 0x60, &adc2},     {AdcEtc::kBase, 0x154, &etc},
  };

 private:
  uint8_t* memory_at(uint32_t address, uint32_t size) {
    const uint32_t at = address - kMemoryBase;
    return at < kMemoryBytes && size <= kMemoryBytes - at ? &memory[at] : nullptr;
  }
  Device* find(uint32_t address, uint32_t* offset) {
    for (const Place& place : places) {
      if (address - place.base >= 0x4000) continue;
      *offset = address - place.base;
      return place.device;
    }
    return nullptr;
  }
  void watch(unsigned input, bool on) {
    if (input >= Xbara::kInPit) {
      pit.watch(input - Xbara::kInPit, on);
    } else if (input >= Xbara::kInPwm1 && input < Xbara::kInPwm1 + 4) {
      pwm.watch(input - Xbara::kInPwm1, on);
    } else if (input >= Xbara::kInQtimer4 && input < Xbara::kInQtimer4 + 4) {
      qtmr.watch(input - Xbara::kInQtimer4, on);
    }
  }
};

// One TCD: `count` minor loops of `bytes`.
void set_tcd(WiredDevices& b, unsigned channel, uint32_t source, uint32_t soff,
             uint32_t destination, uint32_t doff, uint32_t attributes, uint32_t bytes,
             uint32_t count, uint32_t csr) {
  const uint32_t at = 0x1000 + 32 * channel;
  b.put(b.edma, at + 0x00, source);
  b.put(b.edma, at + 0x04, soff | attributes << 16);
  b.put(b.edma, at + 0x08, bytes);
  b.put(b.edma, at + 0x10, destination);
  b.put(b.edma, at + 0x14, doff | count << 16);
  b.put(b.edma, at + 0x1C, csr | count << 16);
}

TEST(DeviceChain, DmaFeedsAUartAtItsBaudRate) {
  WiredDevices b;
  const std::string text = "a frame for every request, back to back";
  std::copy(text.begin(), text.end(), b.memory.begin());
  // 24 MHz / 16 / 13: 52,000 cycles a frame, the first an idle one.
  b.put(b.uart, 0x10, 0x0F00000D | 1u << 23);
  b.put(b.uart, 0x18, 1u << 19);
  set_tcd(b, 7, kMemoryBase, 1, b.uart.base() + 0x1C, 0, 0, 1, static_cast<uint32_t>(text.size()),
          1 << 3 | 1 << 1);  // DREQ, INTMAJOR
  b.put(b.dmamux, 4 * 7, 1u << 31 | 70);
  b.put(b.edma, 0x1B, 7, 1);
  b.run_to(52'000 * (text.size() + 5));
  ASSERT_EQ(b.sent.size(), text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    EXPECT_EQ(b.sent[i], std::make_pair(text[i], 52'000 * (Cycles{i} + 2)));
  }
  EXPECT_TRUE(b.lines[7]);
  EXPECT_EQ(b.unknown, 0u);
}

TEST(DeviceChain, APeriodicTimerPacesAnAlwaysOnChannel) {
  WiredDevices b;
  for (uint32_t i = 0; i < 64; ++i) b.memory[i] = static_cast<uint8_t>(i);
  b.put(b.pit, 0, 0);
  b.put(b.pit, 0x110, 239);  // 10 us: 6000 cycles
  set_tcd(b, 1, kMemoryBase, 4, kMemoryBase + 1024, 4, 0x0202, 4, 16, 1 << 3);
  b.put(b.edma, 0x1B, 1, 1);
  b.put(b.dmamux, 4, 7u << 29);
  b.put(b.pit, 0x118, 1);
  b.run_to(3 * 6000 + 3000);
  EXPECT_EQ(b.memory[1024 + 11], 11);
  EXPECT_EQ(b.memory[1024 + 13], 0);
  b.run_to(17 * 6000);
  EXPECT_TRUE(std::equal(b.memory.begin(), b.memory.begin() + 64, b.memory.begin() + 1024));
}

TEST(DeviceChain, APwmSamplesAnAdcIntoMemory) {
  WiredDevices b;
  b.put(b.adc1, 0x44, 1u << 13 | 3 << 5 | 2 << 2 | 1);
  b.put(b.adc1, 0x00, 16);
  b.put(b.etc, 0x00, 1);
  b.put(b.etc, 0x0C, 1);
  b.put(b.etc, 0x10 + 0x08, 1 << 4 | 3);
  b.put(b.xbar, Xbara::kOutAdcEtc, Xbara::kInPwm1, 1);
  // The result's halfword, for each finished chain; clearing DMA_CTRL's request is channel 3's.
  set_tcd(b, 2, AdcEtc::kBase + 0x10 + 0x18, 0, kMemoryBase, 2, 0x0101, 2, 8,
          1 << 5 | 3 << 8);  // the last minor loop links to 3
  set_tcd(b, 3, kMemoryBase + 4096, 0, AdcEtc::kBase + 0x0C, 0, 0x0202, 4, 1, 0);
  b.put(b.edma, 0x1000 + 32 * 2 + 0x16, 0x8000 | 3 << 9 | 8, 2);
  b.put(b.edma, 0x1000 + 32 * 2 + 0x1E, 0x8000 | 3 << 9 | 8, 2);
  b.memory[4096] = 1;
  b.memory[4096 + 2] = 1;
  b.put(b.dmamux, 8, 1u << 31 | 23);
  b.put(b.edma, 0x1B, 2, 1);
  b.put(b.pwm, 0x0E, 1499, 2);  // 10 us
  b.put(b.pwm, 0x12, 700, 2);
  b.put(b.pwm, 0x2A, 1 << 2, 2);
  b.put(b.pwm, 0x188, 1, 2);
  b.put(b.pwm, 0x188, 0x100, 2);
  b.run_to(9 * 6000);
  // 0.3 V of 3.3 V in 12 bits: 372.4.
  for (unsigned i = 0; i < 8; ++i) {
    EXPECT_EQ(b.memory[2 * i] | b.memory[2 * i + 1] << 8, 372) << i;
  }
}

// Writes that mean little, most of them to places that exist, with much time and little.
void write_anything(WiredDevices& b, uint32_t seed, unsigned accesses) {
  auto random = [engine = std::mt19937(seed)]() mutable { return static_cast<uint32_t>(engine()); };
  for (unsigned i = 0; i < accesses; ++i) {
    const WiredDevices::Place& place = b.places[random() % b.places.size()];
    const unsigned size = 1u << random() % 3;
    const uint32_t offset = random() % place.bytes / size * size;
    uint32_t value = random();
    if (random() % 4 == 0) value &= 0xFF;
    if (random() % 8 == 0) value = kMemoryBase + random() % kMemoryBytes;
    if (random() % 8 == 0) value = place.base + random() % place.bytes;
    // An access reaches its device a little later than the instruction began.
    const Cycles at = b.queue.now() + random() % 40;
    if (random() % 3 == 0) {
      place.device->read(offset, size, at);
    } else {
      place.device->write(offset, size, value, at);
    }
    if (random() % 16 == 0) b.uart.receive(static_cast<uint8_t>(value));
    const Cycles jump = random() % 64 == 0 ? 20'000 : 60;
    b.run_to(b.queue.now() + random() % jump);
    if (random() % 512 == 0) place.device->reset();
    if (random() % 256 == 0) {
      Clocks::Rates rates = b.clocks.rates();
      rates[static_cast<size_t>(Clock::core)] = random() % 2 == 0 ? 600'000'000 : 396'000'000;
      b.clocks.set(rates, b.queue.now());
    }
  }
}

TEST(DeviceChain, FirmwareThatWritesAnythingNeitherCrashesNorHangs) {
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    WiredDevices b;
    write_anything(b, seed, 10'000);
  }
}

TEST(DeviceChain, EqualRunsGiveEqualStates) {
  WiredDevices a, b;
  write_anything(a, 77, 5'000);
  write_anything(b, 77, 5'000);
  Snapshot of_a, of_b;
  a.snapshot(of_a);
  b.snapshot(of_b);
  EXPECT_EQ(of_a.take(), of_b.take());
  EXPECT_EQ(a.memory, b.memory);
}

// The state without what an event that is not scheduled remembers of its last time.
std::vector<uint8_t> state_of(WiredDevices& devices) {
  Snapshot saved;
  devices.snapshot(saved);
  WiredDevices fresh;
  Snapshot restored(saved.take());
  fresh.snapshot(restored);
  EXPECT_TRUE(restored.ok()) << restored.error();
  Snapshot again;
  fresh.snapshot(again);
  return again.take();
}

TEST(DeviceChain, RestoredDevicesGoOnAsTheOthers) {
  WiredDevices a, b;
  write_anything(a, 5, 3'000);
  Snapshot saved;
  a.snapshot(saved);
  b.lines = a.lines;  // the NVIC's
  b.memory = a.memory;
  b.flash_bytes = a.flash_bytes;
  b.psram_bytes = a.psram_bytes;
  b.clocks.set(a.clocks.rates(), 0);
  Snapshot restored(saved.take());
  b.snapshot(restored);
  ASSERT_TRUE(restored.ok()) << restored.error();
  write_anything(a, 6, 1'000);
  write_anything(b, 6, 1'000);
  EXPECT_EQ(a.memory, b.memory);
  EXPECT_EQ(a.lines, b.lines);
  EXPECT_EQ(state_of(a), state_of(b));
}

}  // namespace
}  // namespace millrace::board
