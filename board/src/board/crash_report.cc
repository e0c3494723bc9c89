// SPDX-License-Identifier: Apache-2.0
// The backtrace does not unwind: firmware without frame pointers and unwind tables has nothing to
// unwind by. It lists the words on the stack that are return addresses by their form (odd, in
// executable memory, behind a BL or BLX), which are the true callers and, rarely, old ones.
#include "board/crash_report.h"

#include <fmt/core.h>

#include <array>

#include "core/bytes.h"
#include "millrace/board/symbols.h"

namespace millrace::board {
namespace {

constexpr uint32_t kStackWords = 512;
constexpr unsigned kMostFrames = 12;

std::string_view cause_text(FaultCause cause) {
  switch (cause) {
    case FaultCause::undefined_instruction:
      return "an undefined instruction";
    case FaultCause::invalid_state:
      return "a jump to an even address (the core has no Arm state)";
    case FaultCause::invalid_pc:
      return "an invalid EXC_RETURN value";
    case FaultCause::no_coprocessor:
      return "a floating-point instruction while CPACR forbids it";
    case FaultCause::unaligned:
      return "an unaligned access";
    case FaultCause::divide_by_zero:
      return "a division by zero";
    case FaultCause::bus_instruction:
      return "execution where there is no memory";
    case FaultCause::bus_data:
      return "an access that no memory or device answers";
    case FaultCause::mpu_instruction:
      return "execution from memory marked no-execute";
    case FaultCause::mpu_data:
      return "an access that the MPU forbids";
    case FaultCause::breakpoint:
      return "a BKPT instruction without a debugger";
    case FaultCause::supervisor_call:
      return "an SVC instruction where SVCall cannot be taken (priority or masks)";
    case FaultCause::stacking:
      return "no memory for the registers that an exception saves on the stack";
    case FaultCause::unstacking:
      return "no memory where an exception's return takes the registers from";
    case FaultCause::lazy_stacking:
      return "no memory for the floating-point registers that an exception saves";
    case FaultCause::vector_read:
      return "no memory where the vector table is";
  }
  return "a fault";
}

bool has_address(FaultCause cause) {
  return cause == FaultCause::bus_data || cause == FaultCause::mpu_data ||
         cause == FaultCause::unaligned || cause >= FaultCause::stacking;
}

std::string registers_text(const std::array<uint32_t, 16>& r, uint32_t xpsr) {
  static constexpr std::array<const char*, 17> kNames = {"r0",  "r1", "r2", "r3", "r4",  "r5",
                                                         "r6",  "r7", "r8", "r9", "r10", "r11",
                                                         "r12", "sp", "lr", "pc", "xpsr"};
  std::string text;
  for (size_t i = 0; i < kNames.size(); ++i) {
    text +=
        fmt::format("{}{:>4} {:08x}", i % 6 == 0 ? "\n " : " ", kNames[i], i < 16 ? r[i] : xpsr);
  }
  return text;
}

uint32_t half_at(MemorySystem& memory, uint32_t address) {
  std::array<uint8_t, 2> bytes{};
  if (!memory.debug_read(address, bytes.data(), 2)) return 0;
  return load_le(bytes.data(), 2);
}

// Behind a BL (F000 D000 with the link bit) or a BLX register.
bool is_return_address(MemorySystem& memory, uint32_t value) {
  if ((value & 1) == 0 || value < 4 || value >= 0xE0000000) return false;
  const uint32_t address = value & ~1u;
  const uint32_t second = half_at(memory, address - 2);
  if ((second & 0xFF87) == 0x4780) return true;
  return (half_at(memory, address - 4) & 0xF800) == 0xF000 && (second & 0xD000) == 0xD000;
}

std::string backtrace_text(const Image& image, MemorySystem& memory,
                           const std::array<uint32_t, 16>& r) {
  std::string text = fmt::format("\n  at   {}", symbol_at(image, r[15]));
  unsigned frames = 0;
  if (is_return_address(memory, r[14])) {
    text += fmt::format("\n  from {}", symbol_at(image, r[14] & ~1u));
    ++frames;
  }
  for (uint32_t i = 0; i < kStackWords && frames < kMostFrames; ++i) {
    std::array<uint8_t, 4> bytes{};
    if (!memory.debug_read((r[13] & ~3u) + 4 * i, bytes.data(), 4)) break;
    const uint32_t value = load_le(bytes.data(), 4);
    if (!is_return_address(memory, value)) continue;
    text += fmt::format("\n  from {}", symbol_at(image, value & ~1u));
    ++frames;
  }
  return text;
}

std::string cause_sentence(const Image& image, const FaultRecord& fault) {
  const uint32_t pc = fault.r[15];
  std::string text = fmt::format("{} at {}", cause_text(fault.cause), symbol_at(image, pc));
  if (function_at(image, pc) != nullptr) text += fmt::format(" (0x{:08X})", pc);
  if (has_address(fault.cause)) text += fmt::format(", address 0x{:08X}", fault.address);
  return text;
}

std::string status_text(const SystemControlM7& system) {
  return fmt::format("\n  CFSR 0x{:08X} HFSR 0x{:08X} MMFAR 0x{:08X} BFAR 0x{:08X} VTOR 0x{:08X}",
                     system.cfsr(), system.hfsr(), system.mmfar(), system.bfar(), system.vtor());
}

}  // namespace

std::string fault_report(const Image& image, const SystemControlM7& system, MemorySystem& memory) {
  const FaultRecord& fault = system.faults();
  std::string text = cause_sentence(image, fault);
  if (fault.repeated != 0) text += fmt::format(", {} times in a row", fault.repeated + 1);
  return text + registers_text(fault.r, fault.xpsr) + status_text(system) +
         backtrace_text(image, memory, fault.r);
}

std::string lockup_report(const Image& image, const SystemControlM7& system, const CpuState& state,
                          MemorySystem& memory) {
  const FaultRecord& fault = system.faults();
  std::string text = fault.count != 0 ? cause_sentence(image, fault)
                                      : std::string("the vector of a fault cannot be read");
  text += state.ipsr == 0 ? " in thread mode" : fmt::format(" in exception {}", state.ipsr);
  return text + registers_text(state.r, state.xpsr()) + status_text(system) +
         backtrace_text(image, memory, state.r);
}

}  // namespace millrace::board
