// SPDX-License-Identifier: Apache-2.0
// The end of a program that went wrong: prints the cause and the registers, and halts.
#include <cstdint>

#include "firmware/ports/rt1062/console.h"
#include "firmware/ports/rt1062/image.h"
#include "firmware/ports/rt1062/rt1062_registers.h"

namespace millrace::rt1062 {
namespace {

void print_register(const char* name, uint32_t value) {
  print_padded(name, 6);
  print_hex(value);
  print_char('\n');
}

const char* exception_name(uint32_t number) {
  switch (number) {
    case 2:
      return "NMI";
    case 3:
      return "HardFault";
    case 4:
      return "MemManage";
    case 5:
      return "BusFault";
    case 6:
      return "UsageFault";
    case 11:
      return "SVCall";
    case 12:
      return "DebugMonitor";
    case 14:
      return "PendSV";
    default:
      return number < 16 ? "exception" : "interrupt";
  }
}

}  // namespace
}  // namespace millrace::rt1062

extern "C" {

using namespace millrace::rt1062;

// `frame`: r0-r3, r12, lr, pc, xpsr as the exception entry stacked them (v7-M B1.5.6). After a
// stack overflow they stand in no memory: the handler prints from a fresh stack, and reads the
// frame only where the stack can be.
[[gnu::used, noreturn]] void report_fault(const uint32_t* frame, uint32_t exc_return) {
  uint32_t ipsr;
  __asm__ volatile("mrs %0, ipsr" : "=r"(ipsr));
  print("\nfault: ");
  print(exception_name(ipsr));
  print_char(' ');
  print_decimal(ipsr);
  print_char('\n');
  const uint32_t address = reinterpret_cast<uint32_t>(frame);
  const uint32_t lowest = address_of(image_stack_guard) + 32;
  if (address >= lowest && address <= address_of(image_stack_top) - 32) {
    static constexpr const char* const kNames[] = {"r0",  "r1", "r2", "r3",
                                                   "r12", "lr", "pc", "xpsr"};
    for (unsigned i = 0; i < 8; ++i) print_register(kNames[i], frame[i]);
  } else {
    print("stack overflow: no frame\n");
  }
  print_register("sp", address);
  print_register("exc", exc_return);
  print_register("cfsr", SCB_CFSR.read());
  print_register("hfsr", SCB_HFSR.read());
  print_register("mmfar", SCB_MMFAR.read());
  print_register("bfar", SCB_BFAR.read());
  print("halted\n");
  flush_console();
  while (true) wait_for_interrupt();
}

}  // extern "C"
