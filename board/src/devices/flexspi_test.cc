// SPDX-License-Identifier: Apache-2.0
// The firmware's side is written as the Teensy core does it (startup.c, eeprom.c).
#include "devices/flexspi.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "devices/nor_flash.h"
#include "devices/psram.h"
#include "devices/testing/device_fixture.h"

namespace millrace::board {
namespace {

constexpr uint32_t kMcr0 = 0x00, kAhbcr = 0x0C, kInten = 0x10, kIntr = 0x14, kLutkey = 0x18,
                   kLutcr = 0x1C, kFlsha1cr0 = 0x60, kFlsha1cr1 = 0x70, kIpcr0 = 0xA0,
                   kIpcr1 = 0xA4, kIpcmd = 0xB0, kIprxfcr = 0xB8, kIptxfcr = 0xBC, kSts0 = 0xE0,
                   kSts1 = 0xE4, kIprxfsts = 0xF0, kRfdr = 0x100, kTfdr = 0x180, kLut = 0x200;
constexpr uint32_t kDone = 1, kError = 8, kRxwa = 32, kTxwe = 64;
constexpr uint32_t kCmd = 1, kAddr = 2, kWrite = 8, kRead = 9, kDummy = 12;

uint32_t instruction(uint32_t opcode, uint32_t pads, uint32_t operand) {
  const uint32_t code = pads == 4 ? 2 : pads == 2 ? 1 : 0;
  return opcode << 10 | code << 8 | operand;
}

class Bytes {
 public:
  explicit Bytes(uint32_t size) : bytes(size, 0xFF) {}
  SerialStore store() {
    return {.size = static_cast<uint32_t>(bytes.size()),
            .read = [this](uint32_t at, uint8_t* out,
                           uint32_t size) { std::memcpy(out, &bytes.at(at), size); },
            .write = [this](uint32_t at, const uint8_t* in,
                            uint32_t size) { std::memcpy(&bytes.at(at), in, size); }};
  }
  std::vector<uint8_t> bytes;
};

class FlexspiTest : public testing::DeviceFixture {
 protected:
  FlexspiTest() {
    // Root clocks of 100 MHz: 6 cycles a bit a pad. FLSHA1CR1's reset value asks for a setup of 3
    // and a hold of 3 clocks.
    Clocks::Rates rates = clocks.rates();
    rates[static_cast<size_t>(Clock::flexspi1)] = 100'000'000;
    rates[static_cast<size_t>(Clock::flexspi2)] = 100'000'000;
    clocks.set(rates, 0);
    put(psram, kMcr0, 0xFFFF0010);
  }
  void sequence(Device& spi, unsigned index, std::vector<uint32_t> instructions) {
    put(spi, kLutkey, 0x5AF05AF0);
    put(spi, kLutcr, 2);
    instructions.resize(8);
    for (unsigned i = 0; i < 4; ++i) {
      put(spi, kLut + 16 * index + 4 * i, instructions[2 * i] | instructions[2 * i + 1] << 16);
    }
  }
  void start(Device& spi, unsigned index, uint32_t address, uint32_t size) {
    put(spi, kIpcr0, address);
    put(spi, kIpcr1, index << 16 | size);
    put(spi, kIpcmd, 1);
  }
  void wait(Device& spi, uint32_t flag = kDone) {
    for (int i = 0; i < 100'000 && (get(spi, kIntr) & flag) == 0; ++i) {
      run_to(host.queue.now() + 100);
    }
    ASSERT_NE(get(spi, kIntr) & flag, 0u);
  }
  void command(Device& spi, unsigned index, uint32_t address, uint32_t size = 0) {
    start(spi, index, address, size);
    wait(spi);
    put(spi, kIntr, kDone);
  }
  uint32_t psram_id(uint32_t address) {
    command(psram, 3, address, 4);
    const uint32_t id = get(psram, kRfdr);
    put(psram, kIntr, kRxwa);
    return id;
  }
  uint32_t flash_status() {
    sequence(flash, 15, {instruction(kCmd, 1, 0x05), instruction(kRead, 1, 1)});
    put(flash, kIprxfcr, 1);
    command(flash, 15, 0, 1);
    return get(flash, kRfdr, 1);
  }
  void write_enable() {
    sequence(flash, 15, {instruction(kCmd, 1, 0x06)});
    command(flash, 15, 0);
  }
  // As the core's eepromemu_flash_write: the data follow the command, 8 bytes for each IPTXWE.
  void program(uint32_t address, const std::string& text) {
    write_enable();
    sequence(flash, 15,
             {instruction(kCmd, 1, 0x32), instruction(kAddr, 1, 24), instruction(kWrite, 4, 1)});
    put(flash, kIptxfcr, 1);
    start(flash, 15, address, static_cast<uint32_t>(text.size()));
    size_t at = 0;
    for (int i = 0; i < 1000 && (get(flash, kIntr) & kDone) == 0; ++i) {
      for (size_t k = 0; k < 8 && at < text.size(); ++k, ++at) {
        put(flash, kTfdr + static_cast<uint32_t>(k), static_cast<uint8_t>(text[at]), 1);
      }
      put(flash, kIntr, kTxwe);
      run_to(host.queue.now() + 1000);
    }
    put(flash, kIntr, kDone | kTxwe);
  }
  std::string stored(uint32_t address, uint32_t size) {
    return {reinterpret_cast<const char*>(&flash_bytes.bytes[address]), size};
  }

  Bytes flash_bytes{1 << 20}, psram_bytes{1 << 16}, psram2_bytes{1 << 16};
  NorFlash nor{flash_bytes.store()};
  Psram chip{psram_bytes.store()}, chip2{psram2_bytes.store()};
  std::vector<bool> prefetch;
  std::map<unsigned, bool> dma;
  Flexspi flash{host, clocks,
                FlexspiOptions{.number = 1,
                               .chips = {&nor},
                               .boot_values = Flexspi::rom_values(true),
                               .prefetch = [this](bool on) { prefetch.push_back(on); },
                               .dma = [this](unsigned n, bool level) { dma[n] = level; }}};
  Flexspi psram{host, clocks, FlexspiOptions{.number = 2, .chips = {&chip, &chip2}}};
};

TEST_F(FlexspiTest, ResetValuesAndThoseOfTheRom) {
  EXPECT_EQ(flash.base(), 0x402A8000u);
  EXPECT_EQ(psram.base(), 0x402A4000u);
  EXPECT_EQ(get(flash, 0x08), 0x200081F7u);
  EXPECT_EQ(get(flash, kAhbcr), 0x38u);
  EXPECT_EQ(get(psram, kAhbcr), 0x18u);
  EXPECT_EQ(get(flash, kFlsha1cr0), 0x2000u);
  EXPECT_EQ(get(flash, kIprxfcr), 0u);
  EXPECT_EQ(get(flash, kIptxfcr), 0u);
  EXPECT_EQ(get(flash, kIntr), kTxwe);
  EXPECT_EQ(get(flash, kSts0), 3u);
  EXPECT_EQ(prefetch, std::vector<bool>{true});
}

TEST_F(FlexspiTest, SoftwareResetClearsItselfAndTheFifos) {
  flash_status();
  EXPECT_EQ(get(flash, kIprxfsts), 1u);
  put(flash, kMcr0, get(flash, kMcr0) | 1);
  EXPECT_EQ(get(flash, kMcr0) & 1, 0u);
  EXPECT_EQ(get(flash, kIprxfsts), 0u);
}

TEST_F(FlexspiTest, TheTableNeedsItsKey) {
  put(flash, kLutkey, 0x5AF05AF0);
  put(flash, kLutcr, 1);
  put(flash, kLut, 0x1234);
  EXPECT_EQ(get(flash, kLut), 0u);
  put(flash, kLutcr, 2);  // without the key
  put(flash, kLut, 0x1234);
  EXPECT_EQ(get(flash, kLut), 0u);
  put(flash, kLutkey, 0x5AF05AF0);
  put(flash, kLutcr, 2);
  put(flash, kLut, 0x1234);
  EXPECT_EQ(get(flash, kLut), 0x1234u);
}

TEST_F(FlexspiTest, JedecIdAndTheTimeOfACommand) {
  sequence(flash, 1, {instruction(kCmd, 1, 0x9F), instruction(kRead, 1, 3)});
  start(flash, 1, 0, 3);
  EXPECT_EQ(get(flash, kSts0), 8u);
  // Setup 3, command 8, hold 3, one to end the phase, 24 bits of data: 39 clocks of 6 cycles.
  run_to(39 * 6 - 1);
  EXPECT_EQ(get(flash, kIntr) & kDone, 0u);
  run_to(39 * 6);
  EXPECT_EQ(get(flash, kIntr) & kDone, kDone);
  EXPECT_EQ(get(flash, kRfdr), 0x001740EFu);  // EF first; the entry is filled up with 0
}

TEST_F(FlexspiTest, DoneInterruptFollowsItsEnable) {
  sequence(flash, 1, {instruction(kCmd, 1, 0x06)});
  put(flash, kInten, kDone);
  start(flash, 1, 0, 0);
  run_to(10'000);
  EXPECT_TRUE(host.lines[108]);
  put(flash, kIntr, kDone);
  EXPECT_FALSE(host.lines[108]);
}

TEST_F(FlexspiTest, ProgramClearsBitsAndTakesItsTime) {
  program(0x1234, "twelve bytes");
  EXPECT_EQ(stored(0x1234, 13), "twelve bytes\xFF");
  EXPECT_EQ(flash_status(), 1u);
  run_to(host.queue.now() + 400 * 600);  // 0.4 ms
  EXPECT_EQ(flash_status(), 0u);
  program(0x1234, "\x0F");
  EXPECT_EQ(stored(0x1234, 1), std::string(1, 't' & 0x0F));
}

TEST_F(FlexspiTest, ProgramWrapsInItsPage) {
  program(0x1FE, "abcd");
  EXPECT_EQ(stored(0x1FE, 2), "ab");
  EXPECT_EQ(stored(0x100, 2), "cd");
  EXPECT_EQ(stored(0x200, 1), "\xFF");
}

TEST_F(FlexspiTest, WithoutWriteEnableNothingIsErased) {
  flash_bytes.bytes[0x5000] = 7;
  sequence(flash, 2, {instruction(kCmd, 1, 0x20), instruction(kAddr, 1, 24)});
  command(flash, 2, 0x5123);
  EXPECT_EQ(flash_bytes.bytes[0x5000], 7);
  write_enable();
  EXPECT_EQ(flash_status(), 2u);
  command(flash, 2, 0x5123);
  EXPECT_EQ(flash_bytes.bytes[0x5000], 0xFF);
  EXPECT_EQ(flash_status(), 1u);  // busy, WEL cleared
}

TEST_F(FlexspiTest, BlockErasesAreAligned) {
  flash_bytes.bytes.assign(flash_bytes.bytes.size(), 0);
  write_enable();
  sequence(flash, 2, {instruction(kCmd, 1, 0xD8), instruction(kAddr, 1, 24)});
  command(flash, 2, 0x23456);
  EXPECT_EQ(flash_bytes.bytes[0x1FFFF], 0);
  EXPECT_EQ(flash_bytes.bytes[0x20000], 0xFF);
  EXPECT_EQ(flash_bytes.bytes[0x2FFFF], 0xFF);
  EXPECT_EQ(flash_bytes.bytes[0x30000], 0);
}

TEST_F(FlexspiTest, ALongReadStopsAtAFullFifoAndGoesOn) {
  for (unsigned i = 0; i < 256; ++i) flash_bytes.bytes[i] = static_cast<uint8_t>(i);
  sequence(flash, 3,
           {instruction(kCmd, 1, 0xEB), instruction(kAddr, 4, 24), instruction(kDummy, 4, 6),
            instruction(kRead, 4, 4)});
  start(flash, 3, 0, 200);
  run_to(100'000);
  EXPECT_EQ(get(flash, kIprxfsts) & 0xFF, 16u);  // 128 bytes
  EXPECT_EQ(get(flash, kIntr) & (kDone | kRxwa | 0x100), kRxwa | 0x100u);
  for (unsigned at = 0; at < 200; at += 8) {
    wait(flash, kRxwa);
    EXPECT_EQ(get(flash, kRfdr), at | (at + 1) << 8 | (at + 2) << 16 | (at + 3) << 24);
    EXPECT_EQ(get(flash, kRfdr + 7, 1), at + 7);
    put(flash, kIntr, kRxwa);
  }
  EXPECT_EQ(get(flash, kIntr) & (kDone | kRxwa), kDone);
  EXPECT_EQ(get(flash, kIprxfsts), 25u << 16);
}

TEST_F(FlexspiTest, DmaRequestsAndPopsByTheLastByteOfTheWatermark) {
  for (unsigned i = 0; i < 32; ++i) flash_bytes.bytes[i] = static_cast<uint8_t>(i);
  sequence(flash, 3,
           {instruction(kCmd, 1, 0x03), instruction(kAddr, 1, 24), instruction(kRead, 1, 4)});
  put(flash, kIprxfcr, 1 << 2 | 2);  // 16 bytes, DMA
  command(flash, 3, 0, 24);
  EXPECT_TRUE(dma[28]);
  EXPECT_EQ(get(flash, kRfdr), 0x03020100u);
  EXPECT_EQ(get(flash, kRfdr + 12), 0x0F0E0D0Cu);
  EXPECT_FALSE(dma[28]);  // 8 remain
  EXPECT_EQ(get(flash, kRfdr), 0x13121110u);
}

TEST_F(FlexspiTest, ErrorsEndTheCommandWithTheirCode) {
  sequence(flash, 4, {instruction(kCmd, 1, 0x06), instruction(0x1E, 1, 0)});
  start(flash, 4, 0, 0);
  EXPECT_EQ(get(flash, kIntr) & (kDone | kError), kDone | kError);
  EXPECT_EQ(get(flash, kSts1), 0x03010000u);
  put(flash, kIntr, kDone | kError);
  EXPECT_EQ(get(flash, kSts1), 0u);
  start(flash, 4, 0xFFFFFFF0, 0);
  EXPECT_EQ(get(flash, kSts1), 0x06000000u);
}

TEST_F(FlexspiTest, AModuleThatIsOffRunsNothing) {
  put(flash, kMcr0, 2);
  start(flash, 15, 0, 0);
  run_to(1'000'000);
  EXPECT_EQ(get(flash, kIntr) & kDone, 0u);
}

TEST_F(FlexspiTest, UnknownCommandsAreReported) {
  sequence(flash, 4, {instruction(kCmd, 1, 0x5A)});  // SFDP
  command(flash, 4, 0);
  const std::vector<testing::FakeHost::Unknown> expected = {{kIpcmd, true}};
  EXPECT_EQ(host.unknown, expected);
}

class PsramTest : public FlexspiTest {
 protected:
  PsramTest() {
    sequence(psram, 0, {instruction(kCmd, 4, 0xF5)});
    sequence(psram, 1, {instruction(kCmd, 1, 0x66)});
    sequence(psram, 2, {instruction(kCmd, 1, 0x99)});
    sequence(psram, 3,
             {instruction(kCmd, 1, 0x9F), instruction(kDummy, 1, 24), instruction(kRead, 1, 1)});
    sequence(psram, 4, {instruction(kCmd, 1, 0x35)});
    sequence(psram, 5,
             {instruction(kCmd, 4, 0xEB), instruction(kAddr, 4, 24), instruction(kDummy, 4, 6),
              instruction(kRead, 4, 1)});
    sequence(psram, 6,
             {instruction(kCmd, 4, 0x38), instruction(kAddr, 4, 24), instruction(kWrite, 4, 1)});
  }
};

TEST_F(PsramTest, IsFoundAsTheCoreLooksForIt) {
  for (unsigned i = 0; i < 3; ++i) command(psram, i, 0);
  EXPECT_EQ(psram_id(0) & 0xFFFF, 0x5D0Du);
  put(psram, kFlsha1cr0, 8 << 10);
  command(psram, 4, 0);
  EXPECT_TRUE(chip.quad_mode());
  EXPECT_FALSE(chip2.quad_mode());
  for (unsigned i = 0; i < 3; ++i) command(psram, i, 8 << 20);
  EXPECT_TRUE(chip.quad_mode());  // the second chip select
  EXPECT_EQ(psram_id(8 << 20) & 0xFFFF, 0x5D0Du);
}

TEST_F(PsramTest, WithoutAChipTheLinesAreHigh) {
  Flexspi empty(host, clocks, FlexspiOptions{.number = 2});
  put(empty, kMcr0, 0xFFFF0010);
  sequence(empty, 3,
           {instruction(kCmd, 1, 0x9F), instruction(kDummy, 1, 24), instruction(kRead, 1, 1)});
  command(empty, 3, 0, 4);
  EXPECT_EQ(get(empty, kRfdr), 0xFFFFFFFFu);
}

TEST_F(PsramTest, WritesAndReadsInQuadMode) {
  command(psram, 4, 0);
  put(psram, kTfdr, 0x44332211);
  put(psram, kTfdr + 4, 0x88776655);
  put(psram, kIntr, kTxwe);
  command(psram, 6, 0x100, 6);
  EXPECT_EQ(psram_bytes.bytes[0x105], 0x66);
  EXPECT_EQ(psram_bytes.bytes[0x106], 0xFF);
  put(psram, kIprxfcr, 1);
  command(psram, 5, 0x102, 4);
  EXPECT_EQ(get(psram, kRfdr), 0x66554433u);
}

TEST_F(PsramTest, ASnapshotInTheMiddleOfAReadGoesOn) {
  for (unsigned i = 0; i < 16; ++i) psram_bytes.bytes[i] = static_cast<uint8_t>(i);
  command(psram, 4, 0);
  start(psram, 5, 0, 16);
  run_to(host.queue.now() + 6 * (3 + 2 + 6 + 6 + 3 + 1 + 4));  // some way into the data
  Flexspi other(host, clocks, FlexspiOptions{.number = 2, .chips = {&chip, &chip2}});
  ASSERT_TRUE(copy_state(psram, other));
  run_to(host.queue.now() + 10'000);
  EXPECT_EQ(get(other, kRfdr + 12), 0x0F0E0D0Cu);
  EXPECT_EQ(get(other, kIntr), get(psram, kIntr));
  put(psram, kFlsha1cr1, 0);
  EXPECT_NE(get(other, kFlsha1cr1), 0u);
}

TEST_F(FlexspiTest, PrefetchSwitchIsToldOnce) {
  put(flash, kAhbcr, 0x18);
  put(flash, kAhbcr, 0x58);
  put(flash, kAhbcr, 0x78);
  EXPECT_EQ(prefetch, (std::vector<bool>{true, false, true}));
}

}  // namespace
}  // namespace millrace::board
