// SPDX-License-Identifier: Apache-2.0
#include "devices/edma.h"

#include <gtest/gtest.h>

#include <vector>

#include "devices/dmamux.h"
#include "devices/testing/device_fixture.h"

namespace millrace::board {
namespace {

constexpr uint32_t kCr = 0x00, kEs = 0x04, kErq = 0x0C, kSeei = 0x19, kCerq = 0x1A, kSerq = 0x1B,
                   kCdne = 0x1C, kSsrt = 0x1D, kCerr = 0x1E, kCint = 0x1F, kInt = 0x24, kErr = 0x2C,
                   kHrs = 0x34;
constexpr uint32_t kEmlm = 1u << 7, kGrp1pri = 1u << 10;
constexpr uint32_t kDone = 0x80, kActive = 0x40, kMajorelink = 0x20, kEsg = 0x10, kDreq = 8,
                   kInthalf = 4, kIntmajor = 2, kStart = 1;
constexpr EdmaTiming kTiming;

struct Tcd {
  uint32_t saddr = 0x20200000;
  uint32_t soff = 4;
  uint32_t attr = 0x0202;
  uint32_t nbytes = 4;
  uint32_t slast = 0;
  uint32_t daddr = 0x20210000;
  uint32_t doff = 4;
  uint32_t citer = 1;
  uint32_t dlastsga = 0;
  uint32_t csr = 0;
};

class EdmaTest : public testing::DeviceFixture {
 protected:
  EdmaTest() {
    for (uint32_t i = 0; i < 256; ++i) host.memory[0x20200000 + i] = static_cast<uint8_t>(i + 1);
  }
  static constexpr uint32_t at(unsigned channel, uint32_t offset) {
    return 0x1000 + 32 * channel + offset;
  }
  void set(unsigned channel, const Tcd& t) {
    put(dma, at(channel, 0x1C), 0, 2);
    put(dma, at(channel, 0x00), t.saddr);
    put(dma, at(channel, 0x04), t.soff, 2);
    put(dma, at(channel, 0x06), t.attr, 2);
    put(dma, at(channel, 0x08), t.nbytes);
    put(dma, at(channel, 0x0C), t.slast);
    put(dma, at(channel, 0x10), t.daddr);
    put(dma, at(channel, 0x14), t.doff, 2);
    put(dma, at(channel, 0x16), t.citer, 2);
    put(dma, at(channel, 0x18), t.dlastsga);
    put(dma, at(channel, 0x1E), t.citer, 2);
    put(dma, at(channel, 0x1C), t.csr, 2);
  }
  uint32_t word(uint32_t address) {
    return host.memory[address] | host.memory[address + 1] << 8 | host.memory[address + 2] << 16 |
           static_cast<uint32_t>(host.memory[address + 3]) << 24;
  }
  void poke(uint32_t address, uint32_t value, unsigned size = 4) {
    for (unsigned i = 0; i < size; ++i) {
      host.memory[address + i] = static_cast<uint8_t>(value >> (8 * i));
    }
  }
  uint32_t csr(unsigned channel) { return get(dma, at(channel, 0x1C), 2); }
  void later(Cycles cycles = 5'000) { run_to(host.queue.now() + cycles); }

  Edma dma{host};
};

TEST_F(EdmaTest, ResetValues) {
  EXPECT_EQ(get(dma, kCr), 0x400u);
  EXPECT_EQ(get(dma, 0x100), 0x00010203u);  // DCHPRI3 is the first byte
  EXPECT_EQ(get(dma, 0x11C), 0x1C1D1E1Fu);
}

TEST_F(EdmaTest, AStartedChannelMovesAMinorLoopInItsTime) {
  set(3, {.nbytes = 16, .citer = 1, .csr = kIntmajor | kStart});
  EXPECT_EQ(csr(3), kActive | kIntmajor);
  EXPECT_EQ(get(dma, kCr) >> 31, 1u);
  const Cycles length = kTiming.service + 4 * (kTiming.read + kTiming.write);
  run_to(length - 1);
  EXPECT_FALSE(host.lines[3]);
  run_to(length);
  EXPECT_TRUE(host.lines[3]);
  EXPECT_EQ(csr(3), kDone | kIntmajor);
  for (uint32_t i = 0; i < 16; i += 4) EXPECT_EQ(word(0x20210000 + i), word(0x20200000 + i));
  EXPECT_EQ(get(dma, at(3, 0)), 0x20200010u);
  EXPECT_EQ(get(dma, at(3, 0x10)), 0x20210010u);
  put(dma, kCint, 3, 1);
  EXPECT_FALSE(host.lines[3]);
}

TEST_F(EdmaTest, ChannelsShareLinesByPairs) {
  set(19, {.csr = kIntmajor});
  put(dma, kSsrt, 19, 1);
  later();
  EXPECT_EQ(get(dma, kInt), 1u << 19);
  EXPECT_TRUE(host.lines[3]);
  put(dma, kInt, 1u << 19);
  EXPECT_FALSE(host.lines[3]);
}

TEST_F(EdmaTest, AMajorLoopTakesAsManyStartsAsItCounts) {
  set(0, {.slast = static_cast<uint32_t>(-12),
          .citer = 3,
          .dlastsga = static_cast<uint32_t>(-12),
          .csr = kInthalf});
  for (uint32_t left = 2; left != 0; --left) {
    put(dma, kSsrt, 0, 1);
    later();
    EXPECT_EQ(get(dma, at(0, 0x16), 2), left);
    EXPECT_EQ(get(dma, kInt), left == 1 ? 1u : 0u);  // half of 3 is 1
    EXPECT_EQ(csr(0) & kDone, 0u);
  }
  put(dma, kSsrt, 0, 1);
  later();
  EXPECT_EQ(csr(0) & kDone, kDone);
  EXPECT_EQ(get(dma, at(0, 0x16), 2), 3u);
  EXPECT_EQ(get(dma, at(0, 0x00)), 0x20200000u);
  EXPECT_EQ(get(dma, at(0, 0x10)), 0x20210000u);
  put(dma, kCdne, 0, 1);
  EXPECT_EQ(csr(0) & kDone, 0u);
}

TEST_F(EdmaTest, SizesMayDiffer) {
  set(0, {.soff = 1, .attr = 0x0002, .nbytes = 8, .csr = kStart});  // bytes to words
  later();
  EXPECT_EQ(word(0x20210004), 0x08070605u);
  set(1, {.attr = 0x0501, .nbytes = 32, .daddr = 0x20220000, .doff = 2, .csr = kStart});
  set(1, {.soff = 32, .attr = 0x0501, .nbytes = 32, .daddr = 0x20220000, .doff = 2, .csr = kStart});
  later();
  EXPECT_EQ(word(0x2022001C), 0x201F1E1Du);
}

TEST_F(EdmaTest, ModuloKeepsTheHighBits) {
  // DMOD 3: 8 bytes; SOFF 0 reads one place.
  set(0,
      {.soff = 0, .attr = 0x0200 | 3 << 3 | 2, .nbytes = 12, .daddr = 0x20210004, .csr = kStart});
  later();
  EXPECT_EQ(get(dma, at(0, 0x10)), 0x20210000u);  // 4, 0, 4 were written
  EXPECT_EQ(word(0x20210000), 0x04030201u);
  EXPECT_EQ(word(0x20210008), 0u);
}

TEST_F(EdmaTest, MinorLoopOffsetIsReplacedByTheLastAdjustmentAtTheEnd) {
  put(dma, kCr, kGrp1pri | kEmlm);
  // SMLOE, MLOFF -8, NBYTES 8.
  const uint32_t nbytes = 1u << 31 | (static_cast<uint32_t>(-8) & 0xFFFFF) << 10 | 8;
  set(0, {.nbytes = nbytes, .slast = static_cast<uint32_t>(-8), .citer = 2});
  put(dma, kSsrt, 0, 1);
  later();
  EXPECT_EQ(get(dma, at(0, 0x00)), 0x20200000u);
  EXPECT_EQ(get(dma, at(0, 0x10)), 0x20210008u);
  put(dma, kSsrt, 0, 1);
  later();
  EXPECT_EQ(get(dma, at(0, 0x00)), 0x20200000u);
}

TEST_F(EdmaTest, RequestsAreServedWhileTheirLevelLasts) {
  unsigned served = 0;
  dma.set_served([&](unsigned channel) {
    EXPECT_EQ(channel, 5u);
    if (++served == 3) dma.set_request(5, false);
  });
  set(5, {.citer = 10});
  dma.set_request(5, true);
  EXPECT_EQ(get(dma, kHrs), 1u << 5);
  later();
  EXPECT_EQ(served, 0u);  // not enabled
  put(dma, kSerq, 5, 1);
  EXPECT_EQ(get(dma, kErq), 1u << 5);
  later();
  EXPECT_EQ(served, 3u);
  EXPECT_EQ(get(dma, at(5, 0x16), 2), 7u);
  put(dma, kCerq, 5, 1);
  EXPECT_EQ(get(dma, kErq), 0u);
}

TEST_F(EdmaTest, DreqEndsTheRequestsWithTheMajorLoop) {
  set(5, {.citer = 4, .csr = kDreq});
  dma.set_request(5, true);
  put(dma, kErq, 1u << 5);
  later();
  EXPECT_EQ(get(dma, kErq), 0u);
  EXPECT_EQ(csr(5), kDone | kDreq);
}

TEST_F(EdmaTest, LinksStartOtherChannels) {
  // Channel 1 links to 2 after its first minor loop and to 3 after its last.
  set(2, {.daddr = 0x20212000, .citer = 2});
  set(3, {.daddr = 0x20213000, .csr = kIntmajor});
  set(1, {.citer = 0x8000 | 2 << 9 | 2, .csr = kMajorelink | 3 << 8});
  put(dma, kSsrt, 1, 1);
  later();
  EXPECT_EQ(word(0x20212000), 0x04030201u);
  EXPECT_EQ(word(0x20213000), 0u);
  put(dma, kSsrt, 1, 1);
  later();
  EXPECT_EQ(word(0x20213000), 0x04030201u);
  EXPECT_EQ(get(dma, at(2, 0x16), 2), 1u);
  EXPECT_EQ(get(dma, kInt), 1u << 3);
}

TEST_F(EdmaTest, ScatterGatherLoadsTheNextDescriptor) {
  const uint32_t next = 0x20230000;
  poke(next + 0x00, 0x20200010);
  poke(next + 0x04, 4, 2);
  poke(next + 0x06, 0x0202, 2);
  poke(next + 0x08, 4);
  poke(next + 0x10, 0x20240000);
  poke(next + 0x14, 4, 2);
  poke(next + 0x16, 1, 2);
  poke(next + 0x1C, kStart | kIntmajor, 2);
  poke(next + 0x1E, 1, 2);
  set(0, {.dlastsga = next, .csr = kEsg | kStart});
  later();
  EXPECT_EQ(word(0x20240000), 0x14131211u);
  EXPECT_EQ(csr(0), kDone | kIntmajor);
  EXPECT_EQ(get(dma, kInt), 1u);
}

TEST_F(EdmaTest, WhileDoneIsSetEsgAndMajorelinkCannotBeSet) {
  set(0, {.csr = kStart});
  later();
  put(dma, at(0, 0x1C), kEsg | kMajorelink | kDone | kIntmajor, 2);
  EXPECT_EQ(csr(0), kDone | kIntmajor);
  put(dma, at(0, 0x1C), 0, 2);
  put(dma, at(0, 0x1C), kEsg | kDone, 2);
  EXPECT_EQ(csr(0), kEsg);
}

TEST_F(EdmaTest, HigherPrioritiesGoFirst) {
  put(dma, kCr, kGrp1pri | 1u << 5);  // HALT
  set(0, {.daddr = 0x20210000, .doff = 0, .csr = kStart});
  set(7, {.daddr = 0x20210000, .doff = 0, .csr = kStart});
  set(16, {.daddr = 0x20210000, .doff = 0, .csr = kStart});
  later();
  std::vector<unsigned> order;
  dma.set_served([&](unsigned channel) { order.push_back(channel); });
  put(dma, kCr, kGrp1pri);
  later();
  EXPECT_EQ(order, (std::vector<unsigned>{16, 7, 0}));  // group 1 first
}

TEST_F(EdmaTest, ConfigurationErrorsAreNamed) {
  const struct {
    Tcd tcd;
    uint32_t bits;
  } cases[] = {
      {{.saddr = 0x20200002}, 0x80}, {{.soff = 2}, 0x40},      {{.daddr = 0x20210001}, 0x20},
      {{.doff = 1}, 0x10},           {{.nbytes = 6}, 0x08},    {{.citer = 0}, 0x08},
      {{.nbytes = 0}, 0x08},         {{.attr = 0x0402}, 0xC8},
  };
  for (const auto& c : cases) {
    put(dma, kSeei, 9, 1);
    set(9, c.tcd);
    put(dma, kSsrt, 9, 1);
    later();
    EXPECT_EQ(get(dma, kEs), 1u << 31 | 9u << 8 | c.bits);
    EXPECT_EQ(get(dma, kErr), 1u << 9);
    EXPECT_TRUE(host.lines[16]);
    put(dma, kCerr, 9, 1);
    EXPECT_EQ(get(dma, kEs) >> 31, 0u);
    EXPECT_FALSE(host.lines[16]);
  }
  set(9, {.dlastsga = 0x20230004, .csr = kEsg | kStart});
  later();
  EXPECT_EQ(get(dma, kEs), 1u << 31 | 9u << 8 | 4u);
}

TEST_F(EdmaTest, EqualPrioritiesAreAnError) {
  put(dma, 0x103, 1, 1);  // DCHPRI0
  set(0, {.csr = kStart});
  later();
  EXPECT_EQ(get(dma, kEs), 1u << 31 | 1u << 14);
}

TEST_F(EdmaTest, AChannelThatLinksToItselfLetsTimePass) {
  set(0, {.citer = 1, .csr = kMajorelink | 0 << 8});
  put(dma, kSsrt, 0, 1);
  unsigned served = 0;
  dma.set_served([&](unsigned) { ++served; });
  run_to(76'000);
  EXPECT_EQ(served, 76'000u / (kTiming.service + kTiming.read + kTiming.write));
}

TEST_F(EdmaTest, AHugeMinorLoopIsCutIntoSlices) {
  set(0, {.soff = 0, .attr = 0, .nbytes = 0x3FFFFFFF, .doff = 0, .csr = kStart});
  run_to(100 * 256 * (kTiming.read + kTiming.write));
  EXPECT_EQ(csr(0), kActive);
}

TEST_F(EdmaTest, CommandsByWordTakeEachByte) {
  // CEEI nop, SEEI 1, CERQ nop, SERQ 2.
  put(dma, 0x18, 0x02800180);
  EXPECT_EQ(get(dma, kErq), 4u);
  EXPECT_EQ(get(dma, 0x14), 2u);
  put(dma, kSerq, 0x40, 1);
  EXPECT_EQ(get(dma, kErq), 0xFFFFFFFFu);
}

TEST_F(EdmaTest, ASnapshotInTheMiddleOfALoopGoesOn) {
  set(0, {.nbytes = 64, .csr = kIntmajor | kStart});
  run_to(100);
  Edma other(host);
  ASSERT_TRUE(copy_state(dma, other));
  run_to(10'000);
  EXPECT_EQ(get(other, at(0, 0)), 0x20200040u);
  EXPECT_EQ(get(other, kInt), 1u);
}

TEST_F(EdmaTest, UnknownRegistersAndPreemptionAreReported) {
  get(dma, 0x50);
  put(dma, 0x103, 0x80, 1);
  const std::vector<testing::FakeHost::Unknown> expected = {{0x50, false}, {0x103, true}};
  EXPECT_EQ(host.unknown, expected);
}

class DmamuxTest : public testing::DeviceFixture {
 protected:
  std::vector<std::pair<unsigned, bool>> requests, watches;
  std::vector<unsigned> acknowledged;
  Dmamux mux{host,
             {.request =
                  [this](unsigned n, bool level) {
                    requests.push_back({n, level});
                  },
              .watch =
                  [this](unsigned n, bool on) {
                    watches.push_back({n, on});
                  },
              .served = [this](unsigned source) { acknowledged.push_back(source); }}};
  using Log = std::vector<std::pair<unsigned, bool>>;
};

TEST_F(DmamuxTest, AnEnabledChannelFollowsItsSource) {
  mux.set_source(70, true);
  EXPECT_TRUE(requests.empty());
  put(mux, 4 * 9, 1u << 31 | 70);
  mux.set_source(70, false);
  mux.set_source(71, true);
  EXPECT_EQ(requests, (Log{{9, true}, {9, false}}));
  mux.served(9);
  EXPECT_EQ(acknowledged, std::vector<unsigned>{70});
}

TEST_F(DmamuxTest, AlwaysOnNeedsNoSource) {
  put(mux, 0, 1u << 31 | 1u << 29);
  put(mux, 0, 0);
  EXPECT_EQ(requests, (Log{{0, true}, {0, false}}));
}

TEST_F(DmamuxTest, TheTimerOpensTheGateForOneService) {
  put(mux, 8, 7u << 29);
  EXPECT_EQ(watches, (Log{{2, true}}));
  EXPECT_TRUE(requests.empty());
  mux.trigger(2);
  mux.served(2);
  EXPECT_EQ(requests, (Log{{2, true}, {2, false}}));
  put(mux, 8, 0);
  EXPECT_EQ(watches, (Log{{2, true}, {2, false}}));
}

TEST_F(DmamuxTest, ATriggerWithoutARequestIsLost) {
  put(mux, 0, 3u << 30 | 24);
  mux.trigger(0);
  mux.set_source(24, true);
  EXPECT_TRUE(requests.empty());
  mux.trigger(0);
  EXPECT_EQ(requests, (Log{{0, true}}));
}

TEST_F(DmamuxTest, ASnapshotKeepsLevels) {
  put(mux, 4, 1u << 31 | 100);
  mux.set_source(100, true);
  Dmamux other(host, {});
  ASSERT_TRUE(copy_state(mux, other));
  EXPECT_EQ(get(other, 4), 1u << 31 | 100);
}

}  // namespace
}  // namespace millrace::board
