// SPDX-License-Identifier: Apache-2.0
// MPU: a background region that forbids everything, so that a speculative read (the Cortex-M7
// makes them to any normal memory) meets no address without a memory behind it; then what there is.
// Of overlapping regions the one with the highest number counts (v7-M B3.5). A guard below address
// 0x20 catches null pointers, another below the stack its overflow.
#include "firmware/ports/rt1062/memory_setup.h"

#include "firmware/ports/rt1062/image.h"
#include "firmware/ports/rt1062/rt1062_registers.h"

namespace millrace::rt1062 {
namespace {

// MPU_RASR, v7-M B3.5.9 and table B3-15.
constexpr uint32_t kExecuteNever = 1u << 28;
constexpr uint32_t kNoAccess = 0u << 24, kReadWrite = 3u << 24, kReadOnly = 6u << 24;
constexpr uint32_t kStronglyOrdered = 0;              // TEX 0, C 0, B 0
constexpr uint32_t kDevice = 2u << 19;                // TEX 2: device, not shared
constexpr uint32_t kNormalUncached = 1u << 19;        // TEX 1, C 0, B 0
constexpr uint32_t kWriteBack = 1u << 19 | 3u << 16;  // TEX 1, C 1, B 1: write-back, allocating
constexpr uint32_t kItcmRegion = 1;

// `log2_size`: 5 (32 bytes) to 32 (everything).
void set_region(uint32_t number, uint32_t start, uint32_t log2_size, uint32_t attributes) {
  MPU_RBAR.write(start | 1u << 4 | number);  // VALID: selects the region too
  MPU_RASR.write(attributes | (log2_size - 1) << 1 | 1u);
}

// What DCISW and DCCISW take: a way in the upper bits, a set in the lower ones (v7-M B3.2.2). The
// geometry comes from CCSIDR (B4.8.3).
struct Geometry {
  uint32_t last_way;  // in place
  uint32_t way_step;
  uint32_t last_set;  // in place
  uint32_t set_step;
};

Geometry dcache_geometry() {
  SCB_CSSELR.write(0);  // level 1, data
  data_barrier();
  const uint32_t value = SCB_CCSIDR.read();
  const uint32_t last_set = value >> 13 & 0x7fff;
  const uint32_t last_way = value >> 3 & 0x3ff;
  const uint32_t set_shift = (value & 7) + 4;
  const uint32_t way_shift = static_cast<uint32_t>(__builtin_clz(last_way));
  return {last_way << way_shift, 1u << way_shift, last_set << set_shift, 1u << set_shift};
}

// `operation` on every line, after CCR has been set to `ccr`. In one piece of assembly, because in
// between nothing may be written to the stack: with the cache just turned off, the write would go
// to memory, and the clean of the dirty line over it would bring the old content back.
void set_ccr_then_for_each_line(uint32_t ccr, Register operation) {
  Geometry g = dcache_geometry();
  uint32_t set, line;
  __asm__ volatile(
      "dsb\n\t"
      "str %[ccr], [%[ccr_address]]\n\t"
      "dsb\n\t"
      "isb\n"
      "1:\n\t"
      "mov %[set], %[last_set]\n"
      "2:\n\t"
      "orr %[line], %[way], %[set]\n\t"
      "str %[line], [%[operation]]\n\t"
      "subs %[set], %[set], %[set_step]\n\t"
      "bhs 2b\n\t"
      "subs %[way], %[way], %[way_step]\n\t"
      "bhs 1b\n\t"
      "dsb\n\t"
      "isb"
      : [way] "+&r"(g.last_way), [set] "=&r"(set), [line] "=&r"(line)
      : [ccr] "r"(ccr), [ccr_address] "r"(SCB_CCR.address), [last_set] "r"(g.last_set),
        [set_step] "r"(g.set_step), [way_step] "r"(g.way_step), [operation] "r"(operation.address)
      : "cc", "memory");
}

bool dcache_on() { return (SCB_CCR.read() & SCB_CCR_DC) != 0; }

}  // namespace

void enable_icache(bool on) {
  data_barrier();
  instruction_barrier();
  SCB_CCR.modify(SCB_CCR_IC, 0);
  SCB_ICIALLU.write(0);
  data_barrier();
  instruction_barrier();
  if (on) SCB_CCR.set_bits(SCB_CCR_IC);
  data_barrier();
  instruction_barrier();
}

void enable_dcache(bool on) {
  if (on == dcache_on()) return;
  const uint32_t ccr = SCB_CCR.read();
  if (on) {
    set_ccr_then_for_each_line(ccr, SCB_DCISW);
    SCB_CCR.set_bits(SCB_CCR_DC);
    data_barrier();
    instruction_barrier();
  } else {
    // Off first: while it is on, lines can be filled again behind the loop (M7, "Disabling").
    set_ccr_then_for_each_line(ccr & ~SCB_CCR_DC, SCB_DCCISW);
  }
}

void clean_dcache() { set_ccr_then_for_each_line(SCB_CCR.read(), SCB_DCCISW); }

void make_itcm_writable(bool on) {
  data_barrier();
  set_region(kItcmRegion, 0x00000000, 19, kNormalUncached | (on ? kReadWrite : kReadOnly));
  data_barrier();
  instruction_barrier();
}

void set_up_memory() {
  data_barrier();
  MPU_CTRL.write(0);
  set_region(0, 0x00000000, 32, kStronglyOrdered | kNoAccess | kExecuteNever);
  set_region(kItcmRegion, 0x00000000, 19, kNormalUncached | kReadOnly);
  set_region(2, 0x00000000, 5, kStronglyOrdered | kNoAccess | kExecuteNever);
  set_region(3, 0x20000000, 19, kNormalUncached | kReadWrite | kExecuteNever);  // DTCM
  set_region(4, 0x20200000, 19, kWriteBack | kReadWrite | kExecuteNever);       // OCRAM
  set_region(5, 0x40000000, 26, kDevice | kReadWrite | kExecuteNever);          // peripherals
  set_region(6, 0x60000000, 23, kWriteBack | kReadOnly);                        // flash
  set_region(7, address_of(image_stack_guard), 5, kStronglyOrdered | kNoAccess | kExecuteNever);
  for (uint32_t number = 8; number < 16; ++number) {
    MPU_RBAR.write(1u << 4 | number);
    MPU_RASR.write(0);
  }
  MPU_CTRL.write(MPU_CTRL_ENABLE);
  data_barrier();
  instruction_barrier();
  enable_icache(true);
  enable_dcache(true);
}

}  // namespace millrace::rt1062
