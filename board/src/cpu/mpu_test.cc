// SPDX-License-Identifier: Apache-2.0
// MPU and default memory map (Armv7-M ARM B3.1, B3.5).
#include "cpu/mpu.h"

#include "cpu/testing/scs_fixture.h"

namespace millrace::board {
namespace {

constexpr uint32_t kType = 0xE000ED90;
constexpr uint32_t kCtrl = 0xE000ED94;
constexpr uint32_t kRnr = 0xE000ED98;
constexpr uint32_t kRbar = 0xE000ED9C;
constexpr uint32_t kRasr = 0xE000EDA0;
constexpr uint32_t kCacr = 0xE000EF9C;

constexpr uint32_t kFull = 3u << 24;
constexpr uint32_t kXn = 1u << 28;
constexpr uint32_t size_field(unsigned log2) { return ((log2 - 1) << 1) | 1; }

// "rwx" and the memory type: SO/Device 'D', not cached 'N', write-through 'T', write-back 'B'
// (without write-allocate 'b').
std::string text(const MemoryAttributes& a) {
  std::string out;
  out += a.readable ? 'r' : '-';
  out += a.writable ? 'w' : '-';
  out += a.executable ? 'x' : '-';
  out += ' ';
  out += a.device ? 'D' : !a.cacheable ? 'N' : !a.write_back ? 'T' : a.write_allocate ? 'B' : 'b';
  return out;
}

class MpuTest : public testing::ScsFixture {
 protected:
  void region(unsigned number, uint32_t base, uint32_t rasr) {
    poke(kRbar, base | 0x10 | number);
    poke(kRasr, rasr);
  }
  std::string at(uint32_t address, bool privileged = true) {
    return text(scs.attributes(address, privileged));
  }
};

TEST_F(MpuTest, TypeSaysSixteenUnifiedRegions) { EXPECT_EQ(peek(kType), 0x1000u); }

// Table B3-1.
TEST_F(MpuTest, DefaultMap) {
  const std::pair<uint32_t, const char*> map[] = {
      {0x00000000, "rwx T"}, {0x1FFFFFFF, "rwx T"}, {0x20000000, "rwx B"}, {0x3FFFFFFF, "rwx B"},
      {0x40000000, "rw- D"}, {0x5FFFFFFF, "rw- D"}, {0x60000000, "rwx B"}, {0x7FFFFFFF, "rwx B"},
      {0x80000000, "rwx T"}, {0x9FFFFFFF, "rwx T"}, {0xA0000000, "rw- D"}, {0xDFFFFFFF, "rw- D"},
      {0xE0000000, "rw- D"}, {0xE0100000, "rw- D"}, {0xFFFFFFFF, "rw- D"}};
  for (const auto& [address, expected] : map) {
    EXPECT_EQ(at(address), expected) << std::hex << address;
    if (address != 0xE0000000) {
      EXPECT_EQ(at(address, false), expected) << std::hex << address;
    }
  }
}

// Table B3-15: AP for privileged and unprivileged code, without and with XN.
TEST_F(MpuTest, AccessPermissions) {
  const std::pair<const char*, const char*> table[8] = {
      {"--- N", "--- N"}, {"rwx N", "--- N"}, {"rwx N", "r-x N"}, {"rwx N", "rwx N"},
      {"--- N", "--- N"}, {"r-x N", "--- N"}, {"r-x N", "r-x N"}, {"r-x N", "r-x N"}};
  poke(kCtrl, 1);
  for (uint32_t ap = 0; ap < 8; ++ap) {
    const uint32_t normal = 1u << 19;
    region(0, 0x20000000, (ap << 24) | normal | size_field(16));
    EXPECT_EQ(at(0x20000000, true), table[ap].first) << ap;
    EXPECT_EQ(at(0x20000000, false), table[ap].second) << ap;
    region(0, 0x20000000, kXn | (ap << 24) | normal | size_field(16));
    EXPECT_FALSE(scs.attributes(0x20000000, true).executable);
  }
}

// Table B3-14, with the Cortex-M7's rule that shareable memory is not cached (TRM 5.2).
TEST_F(MpuTest, MemoryTypes) {
  struct Row {
    uint32_t tex, c, b;
    char plain, shared;
  };
  const Row rows[] = {{0, 0, 0, 'D', 'D'}, {0, 0, 1, 'D', 'D'}, {0, 1, 0, 'T', 'N'},
                      {0, 1, 1, 'b', 'N'}, {1, 0, 0, 'N', 'N'}, {1, 1, 1, 'B', 'N'},
                      {2, 0, 0, 'D', 'D'}, {4, 0, 0, 'N', 'N'}, {4, 0, 1, 'B', 'N'},
                      {4, 1, 0, 'T', 'N'}, {4, 1, 1, 'b', 'N'}, {7, 0, 1, 'B', 'N'}};
  poke(kCtrl, 1);
  for (const Row& row : rows) {
    const uint32_t rasr = kFull | (row.tex << 19) | (row.c << 17) | (row.b << 16) | size_field(20);
    region(0, 0x20000000, rasr);
    EXPECT_EQ(at(0x20000000).back(), row.plain) << row.tex << row.c << row.b;
    EXPECT_EQ(scs.attributes(0x20000000, true).executable, row.plain != 'D');
    region(0, 0x20000000, rasr | (1u << 18));
    EXPECT_EQ(at(0x20000000).back(), row.shared) << row.tex << row.c << row.b;
  }
}

TEST_F(MpuTest, CacheControlOverridesPolicies) {
  poke(kCtrl, 1);
  region(0, 0x20000000, kFull | (1u << 19) | (7u << 16) | size_field(20));
  EXPECT_EQ(at(0x20000000), "rwx N");
  poke(kCacr, 1);  // SIWT
  EXPECT_EQ(at(0x20000000), "rwx T");
  region(0, 0x20000000, kFull | (1u << 19) | (3u << 16) | size_field(20));
  EXPECT_EQ(at(0x20000000), "rwx B");
  poke(kCacr, 4);  // FORCEWT
  EXPECT_EQ(at(0x20000000), "rwx T");
}

// B3.5.3: of overlapping regions the highest number wins; a disabled one does not count.
TEST_F(MpuTest, HighestRegionWins) {
  region(2, 0x20000000, kFull | (1u << 19) | size_field(20));
  region(15, 0x20001000, (5u << 24) | (1u << 19) | size_field(12));
  poke(kCtrl, 1);
  EXPECT_EQ(at(0x20000FFF), "rwx N");
  EXPECT_EQ(at(0x20001000), "r-x N");
  EXPECT_EQ(at(0x20001FFF), "r-x N");
  EXPECT_EQ(at(0x20002000), "rwx N");
  region(15, 0x20001000, 0);
  EXPECT_EQ(at(0x20001000), "rwx N");
}

// B3.5.1: outside all regions, PRIVDEFENA gives the default map to privileged code only.
TEST_F(MpuTest, BackgroundRegionIsForPrivilegedCode) {
  poke(kCtrl, 1);
  EXPECT_EQ(at(0x20000000), "--- N");
  poke(kCtrl, 5);
  EXPECT_EQ(at(0x20000000), "rwx B");
  EXPECT_EQ(at(0x20000000, false), "--- N");
}

// B3.5.9 SRD: eight sub-regions from 256 bytes up; one switched off shows what is below.
TEST_F(MpuTest, SubregionsUncoverWhatIsBelow) {
  region(0, 0x20000000, kFull | (1u << 19) | size_field(20));
  region(1, 0x20000000, (0b10000010u << 8) | (1u << 19) | size_field(8));
  poke(kCtrl, 1);
  for (uint32_t sub = 0; sub < 8; ++sub) {
    const bool off = sub == 1 || sub == 7;
    EXPECT_EQ(at(0x20000000 + 32 * sub), off ? "rwx N" : "--- N");
    EXPECT_EQ(at(0x2000001F + 32 * sub), off ? "rwx N" : "--- N");
  }
  region(1, 0x20000000, (0xFFu << 8) | (1u << 19) | size_field(7));  // 128 bytes: SRD ignored
  EXPECT_EQ(at(0x20000000), "--- N");
  EXPECT_EQ(at(0x20000080), "rwx N");
}

TEST_F(MpuTest, RegionOfFourGigabytesCoversEverythingButTheBus) {
  region(0, 0, (1u << 24) | (1u << 19) | size_field(32));
  poke(kCtrl, 1);
  EXPECT_EQ(at(0x00000000), "rwx N");
  EXPECT_EQ(at(0xDFFFFFFF), "rwx N");
  EXPECT_EQ(at(0xE0200000), "rw- N");  // the system region is never executed
  EXPECT_EQ(at(0xE000E100), "rw- D");
}

// B3.5.8: VALID selects the region; the aliases reach the same pair of registers.
TEST_F(MpuTest, BaseRegisterSelectsAndAliasesRepeat) {
  poke(kRnr, 3);
  poke(kRbar, 0x20000000);
  EXPECT_EQ(peek(kRbar), 0x20000003u);
  poke(kRbar, 0x60000000 | 0x10 | 7);
  EXPECT_EQ(peek(kRnr), 7u);
  EXPECT_EQ(peek(kRbar), 0x60000007u);
  for (unsigned alias = 1; alias <= 3; ++alias) {
    poke(kRbar + 8 * alias, (0x10000000u * alias) | 0x10 | alias);
    poke(kRasr + 8 * alias, kFull | size_field(20));
  }
  for (unsigned alias = 1; alias <= 3; ++alias) {
    poke(kRnr, alias);
    EXPECT_EQ(peek(kRbar), (0x10000000u * alias) | alias);
    EXPECT_EQ(peek(kRasr + 8 * alias), kFull | size_field(20));
  }
}

// B3.5.5 HFNMIENA: at negative priority the MPU is off unless this bit is set.
TEST_F(MpuTest, HardFaultRunsOnTheDefaultMapUnlessAskedOtherwise) {
  poke(kCtrl, 1);
  region(0, 0x20000000, kFull | (1u << 19) | size_field(20));
  const unsigned before = memory.attributes_changes;
  scs.fault(state, FaultCause::undefined_instruction, 0);
  step();
  ASSERT_EQ(state.ipsr, kHardFault);
  EXPECT_EQ(memory.attributes_changes, before + 1);
  EXPECT_EQ(at(0x20000000), "rwx B");
  poke(kCtrl, 3);
  EXPECT_EQ(at(0x20000000), "rwx N");
  EXPECT_EQ(at(0x40000000), "--- N");
  poke(kCtrl, 1);
  leave();
  EXPECT_EQ(at(0x20000000), "rwx N");
  scs.write_special(state, 19, 1, 0);  // FAULTMASK counts as well
  EXPECT_EQ(at(0x20000000), "rwx B");
}

// Only what a region covered or covers is announced: a stack guard is moved on every context
// switch.
TEST_F(MpuTest, ChangesAreAnnouncedForTheirAddresses) {
  using Range = std::pair<uint32_t, uint32_t>;
  region(3, 0x20001000, kFull | size_field(5));
  EXPECT_EQ(memory.attributes_changes, 0u);  // the MPU is off
  poke(kCtrl, 5);
  EXPECT_EQ(memory.changed, Range(0, 0xFFFFFFFF));
  unsigned before = memory.attributes_changes;
  region(3, 0x20001000, kFull | size_field(5));  // nothing new
  EXPECT_EQ(memory.attributes_changes, before);
  poke(kRbar, 0x20003000 | 0x10 | 3);
  EXPECT_EQ(memory.changed, Range(0x20001000, 0x2000301F));
  poke(kRasr, 0);
  EXPECT_EQ(memory.changed, Range(0x20003000, 0x2000301F));
  before = memory.attributes_changes;
  poke(kRbar, 0x20005000 | 0x10 | 3);  // a region that is off
  EXPECT_EQ(memory.attributes_changes, before);
}

// uniform_page() agrees with attributes() wherever it answers.
TEST_F(MpuTest, UniformPagesAgreeWithTheirAddresses) {
  region(0, 0x20000000, kFull | (1u << 19) | size_field(20));
  region(1, 0x20004000, (0x81u << 8) | (5u << 24) | (1u << 19) | size_field(14));
  region(2, 0x20010000, (0x0Fu << 8) | (1u << 24) | (1u << 19) | size_field(15));
  region(3, 0x20020020, kXn | size_field(5));
  poke(kCtrl, 5);
  unsigned uniform = 0;
  for (uint32_t page = 0x20000000; page < 0x20100000; page += kPageBytes) {
    for (const bool privileged : {false, true}) {
      MemoryAttributes attributes;
      const bool answered = scs.uniform_page(page, privileged, &attributes);
      const bool split = (page >= 0x20004000 && page < 0x20008000) || page == 0x20020000;
      EXPECT_EQ(answered, !split) << std::hex << page;
      if (answered) {
        ++uniform;
        for (uint32_t offset = 0; offset < kPageBytes; offset += 32) {
          ASSERT_EQ(text(attributes), at(page + offset, privileged)) << std::hex << page;
        }
      }
    }
  }
  EXPECT_EQ(uniform, 2u * (256 - 5));
}

}  // namespace
}  // namespace millrace::board
