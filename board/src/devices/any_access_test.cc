// SPDX-License-Identifier: Apache-2.0
// Firmware may access any register at any time in any size. No device may crash, stop time or
// depend on more than its accesses: two equal sequences end in equal snapshots.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "devices/ccm.h"
#include "devices/ccm_analog.h"
#include "devices/dcdc.h"
#include "devices/enet.h"
#include "devices/gpc.h"
#include "devices/gpio.h"
#include "devices/iomuxc.h"
#include "devices/ocotp.h"
#include "devices/snvs.h"
#include "devices/src.h"
#include "devices/testing/fake_host.h"
#include "devices/trng.h"
#include "devices/usdhc.h"
#include "devices/wdog.h"

namespace millrace::board {
namespace {

// The devices of the system group, wired as the board does.
struct SystemGroup {
  SystemGroup() {
    gpr.on_gpio_select(
        [this](unsigned pair, uint32_t fast, Cycles now) { gpio.select_fast(pair, fast, now); });
    for (unsigned bank = 1; bank <= GpioBanks::kBanks; ++bank) devices.push_back(&gpio.bank(bank));
  }
  std::vector<uint8_t> snapshot() {
    Snapshot s;
    host.queue.snapshot(s);
    clocks.snapshot(s);
    analog.snapshot(s);
    ccm.snapshot(s);
    pads.snapshot(s);
    gpr.snapshot(s);
    gpio.snapshot(s);
    ocotp.snapshot(s);
    snvs.snapshot(s);
    for (Wdog* dog : {&wdog1, &wdog2}) dog->snapshot(s);
    rtwdog.snapshot(s);
    src.snapshot(s);
    trng.snapshot(s);
    usdhc.snapshot(s);
    enet.snapshot(s);
    return s.take();
  }

  testing::FakeHost host;
  Clocks clocks;
  CcmAnalog analog{host, clocks};
  Ccm ccm{host, clocks, analog};
  Iomuxc pads{host};
  IomuxcGpr gpr{host};
  GpioBanks gpio{host};
  Dcdc dcdc{host};
  Ocotp ocotp{host, make_fuses({})};
  Snvs snvs{host, clocks};
  Wdog wdog1{host, clocks, 1};
  Wdog wdog2{host, clocks, 2};
  Rtwdog rtwdog{host, clocks};
  Src src{host};
  Gpc gpc{host};
  Trng trng{host, clocks, 1};
  Usdhc usdhc{host, clocks, 1};
  Enet enet{host, clocks, 1};
  std::vector<Device*> devices = {&analog, &ccm,    &pads, &gpr, &dcdc, &ocotp, &snvs, &wdog1,
                                  &wdog2,  &rtwdog, &src,  &gpc, &trng, &usdhc, &enet};
};

uint64_t next(uint64_t& state) {
  state = state * 6364136223846793005 + 1442695040888963407;
  return state >> 16;
}

void run(SystemGroup& group, uint64_t seed, int accesses) {
  for (int i = 0; i < accesses; ++i) {
    Device& device = *group.devices[next(seed) % group.devices.size()];
    const unsigned size = 1u << next(seed) % 3;
    // Mostly the first registers, now and then anything in the page.
    const uint64_t range = next(seed) % 8 == 0 ? 0x4000 : 0x140;
    const uint32_t offset = static_cast<uint32_t>(next(seed) % range) & ~(size - 1);
    const uint64_t bits = next(seed);
    const Cycles now = group.host.queue.now() + next(seed) % 40;
    if (next(seed) % 3 == 0) {
      device.read(offset, size, now);
    } else {
      const uint32_t mask = size == 4 ? 0xFFFFFFFF : (1u << (8 * size)) - 1;
      device.write(offset, size, static_cast<uint32_t>(bits) >> (bits >> 40 & 31) & mask, now);
    }
    if (next(seed) % 4 == 0) {
      group.host.run_to(group.host.queue.now() + (next(seed) >> (next(seed) % 40)) % 100'000);
    }
    if (next(seed) % 500 == 0) device.reset();
    if (next(seed) % 50 == 0) {
      group.gpio.set_input(1 + static_cast<unsigned>(next(seed) % 5),
                           static_cast<unsigned>(next(seed) % 32), next(seed) % 2 == 0);
    }
    group.host.unknown.clear();
  }
}

TEST(SystemGroup, SurvivesAnyAccessAndIsDeterministic) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    SystemGroup first, second;
    run(first, seed, 20000);
    run(second, seed, 20000);
    EXPECT_EQ(first.snapshot(), second.snapshot());
  }
}

}  // namespace
}  // namespace millrace::board
