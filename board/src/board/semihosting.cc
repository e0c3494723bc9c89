// SPDX-License-Identifier: Apache-2.0
#include "board/semihosting.h"

#include <array>

#include "core/bytes.h"

namespace millrace::board {
namespace {

// IHI 0109 section 6.
enum Operation : uint32_t {
  kOpen = 0x01,
  kClose = 0x02,
  kWriteC = 0x03,
  kWrite0 = 0x04,
  kWrite = 0x05,
  kRead = 0x06,
  kReadC = 0x07,
  kIsError = 0x08,
  kIsTty = 0x09,
  kSeek = 0x0A,
  kFileLength = 0x0C,
  kClock = 0x10,
  kTime = 0x11,
  kErrno = 0x13,
  kExit = 0x18,
  kExitExtended = 0x20,
  kElapsed = 0x30,
  kTickFrequency = 0x31,
};

constexpr uint32_t kFailed = 0xFFFFFFFF;
constexpr uint32_t kApplicationExit = 0x20026;  // ADP_Stopped_ApplicationExit
constexpr uint32_t kConsole = 1;                // the handle of ":tt"
constexpr uint32_t kLongest = 1 << 20;          // of one string or write

uint32_t word_at(MemorySystem& memory, uint32_t address) {
  std::array<uint8_t, 4> bytes{};
  memory.debug_read(address, bytes.data(), 4);
  return load_le(bytes.data(), 4);
}

}  // namespace

// Returns the bytes that were not written.
uint32_t Semihosting::write(MemorySystem& memory, uint32_t address, uint32_t size) {
  uint8_t byte = 0;
  for (uint32_t i = 0; i < size; ++i) {
    if (i == kLongest || !memory.debug_read(address + i, &byte, 1)) return size - i;
    put(byte);
  }
  return 0;
}

void Semihosting::call(CpuState& state, MemorySystem& memory, uint64_t ns) {
  const uint32_t operation = state.r[0];
  const uint32_t block = state.r[1];
  uint32_t& result = state.r[0];
  uint8_t byte = 0;
  switch (operation) {
    case kOpen: {
      std::array<uint8_t, 4> name{};
      memory.debug_read(word_at(memory, block), name.data(), 4);
      const bool console = name == std::array<uint8_t, 4>{':', 't', 't', 0};
      result = console && word_at(memory, block + 8) == 3 ? kConsole : kFailed;
      return;
    }
    case kClose:
    case kIsError:
      result = 0;
      return;
    case kWriteC:
      if (memory.debug_read(block, &byte, 1)) put(byte);
      return;
    case kWrite0:
      for (uint32_t i = 0; i < kLongest; ++i) {
        if (!memory.debug_read(block + i, &byte, 1) || byte == 0) return;
        put(byte);
      }
      return;
    case kWrite:
      result = write(memory, word_at(memory, block + 4), word_at(memory, block + 8));
      return;
    case kRead:  // end of file: nothing was read
      result = word_at(memory, block + 8);
      return;
    case kIsTty:
      result = 1;
      return;
    case kClock:  // centiseconds
      result = static_cast<uint32_t>(ns / 10'000'000);
      return;
    case kTime:  // of a world that began at power-on
      result = static_cast<uint32_t>(ns / 1'000'000'000);
      return;
    case kErrno:
    case kFileLength:
      result = 0;
      return;
    case kExit:
      exited_ = true;
      exit_code_ = block == kApplicationExit ? 0 : 1;
      return;
    case kExitExtended:
      exited_ = true;
      exit_code_ = word_at(memory, block) == kApplicationExit
                       ? static_cast<int>(word_at(memory, block + 4) & 0xFF)
                       : 1;
      return;
    case kElapsed: {  // ticks of a nanosecond
      std::array<uint8_t, 8> ticks{};
      store_le(ticks.data(), 4, static_cast<uint32_t>(ns));
      store_le(ticks.data() + 4, 4, static_cast<uint32_t>(ns >> 32));
      result = memory.debug_write(block, ticks.data(), 8) ? 0 : kFailed;
      return;
    }
    case kTickFrequency:
      result = 1'000'000'000;
      return;
    case kReadC:
    case kSeek:
    default:
      result = kFailed;
  }
}

}  // namespace millrace::board
