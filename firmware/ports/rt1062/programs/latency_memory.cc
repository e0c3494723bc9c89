// SPDX-License-Identifier: Apache-2.0
// How many core cycles a memory access takes, by memory, pattern and cache.
//
//   chase     loads of which each needs the one before, one in every cache line, in random order:
//             the latency. "4K" fits into the 32 KB D-cache, "64K" does not.
//   read      16 independent word loads in address order: the bandwidth.
//   write     the same with stores.
//   register  reads (and writes) of one peripheral register, of the IPG bus or of the core's own.
//   code      a straight run of 2048 two-byte additions, each needing the one before, so that
//             nothing but fetching can make one take more or less than a cycle.
//
// Figures are core cycles an access and contain the loop: two instructions every 16 accesses, and
// in "chase" the address mode base + offset. Interrupts are off. With the D-cache off the same
// loops show the buses themselves; a TCM never passes the caches.
#include <cstdint>

#include "firmware/ports/rt1062/console.h"
#include "firmware/ports/rt1062/image.h"
#include "firmware/ports/rt1062/memory_setup.h"
#include "firmware/ports/rt1062/rt1062_registers.h"
#include "firmware/ports/rt1062/ticks.h"

namespace millrace::rt1062 {
namespace {

constexpr uint32_t kLineBytes = 32;
constexpr uint32_t kLineWords = kLineBytes / 4;

// A table in which the word at offset x holds the offset of the line to visit after x: one cycle
// through all lines in random order (Sattolo's algorithm on a linear congruential generator,
// Knuth's constants for 2^32).
template <uint32_t kBytes>
struct ChaseTable {
  static constexpr uint32_t kLines = kBytes / kLineBytes;
  alignas(32) uint32_t words[kBytes / 4];

  constexpr ChaseTable() : words() { fill(); }
  constexpr void fill() {
    for (uint32_t i = 0; i < kLines; ++i) words[i * kLineWords] = i * kLineBytes;
    uint32_t random = 1;
    for (uint32_t i = kLines - 1; i > 0; --i) {
      random = 1664525 * random + 1013904223;
      const uint32_t j = (random >> 16) % i;
      const uint32_t swap = words[i * kLineWords];
      words[i * kLineWords] = words[j * kLineWords];
      words[j * kLineWords] = swap;
    }
  }
};

[[gnu::section(".flash_constants")]] constexpr ChaseTable<4096> flash_4k;
[[gnu::section(".flash_constants")]] constexpr ChaseTable<65536> flash_64k;
[[gnu::section(".bss.scratch_itcm"), gnu::aligned(32)]] uint32_t itcm_area[1024];
[[gnu::section(".bss.scratch_dtcm"), gnu::aligned(32)]] uint32_t dtcm_area[16384];
[[gnu::section(".bss.scratch_ocram"), gnu::aligned(32)]] uint32_t ocram_area[16384];

// Straight-line code for "code": one in flash and one in ITCM in every variant.
#define MILLRACE_RUN_OF_ADDITIONS \
  __asm__ volatile(               \
      ".rept 2048\n\t"            \
      "adds r0, r0, #1\n\t"       \
      ".endr\n\t"                 \
      "bx lr")
[[gnu::section(".flash_code"), gnu::naked, gnu::noinline]] void run_in_flash() {
  MILLRACE_RUN_OF_ADDITIONS;
}
[[gnu::section(".itcm_code"), gnu::naked, gnu::noinline]] void run_in_itcm() {
  MILLRACE_RUN_OF_ADDITIONS;
}
#undef MILLRACE_RUN_OF_ADDITIONS

}  // namespace

// Outside the anonymous namespace: fast_functions.txt names these, so that in `mixed` and `itcm`
// nothing but the measured memory is on the buses.
extern "C" {

[[gnu::noinline]] uint32_t probe_chase(const uint32_t* base, uint32_t loads) {
  uint32_t offset = 0;
  const uint32_t start = cycles();
  for (uint32_t i = loads; i > 0; i -= 16) {
    __asm__ volatile(
        ".rept 16\n\t"
        "ldr %0, [%1, %0]\n\t"
        ".endr"
        : "+r"(offset)
        : "r"(base)
        : "memory");
  }
  __asm__ volatile("" ::"r"(offset));
  return cycles() - start;
}

[[gnu::noinline]] uint32_t probe_read(const uint32_t* base, uint32_t loads) {
  const uint32_t start = cycles();
  for (uint32_t i = loads; i > 0; i -= 16) {
    __asm__ volatile(
        "ldr r2, [%0, #0]\n\tldr r3, [%0, #4]\n\tldr r2, [%0, #8]\n\tldr r3, [%0, #12]\n\t"
        "ldr r2, [%0, #16]\n\tldr r3, [%0, #20]\n\tldr r2, [%0, #24]\n\tldr r3, [%0, #28]\n\t"
        "ldr r2, [%0, #32]\n\tldr r3, [%0, #36]\n\tldr r2, [%0, #40]\n\tldr r3, [%0, #44]\n\t"
        "ldr r2, [%0, #48]\n\tldr r3, [%0, #52]\n\tldr r2, [%0, #56]\n\tldr r3, [%0, #60]\n\t"
        "adds %0, %0, #64"
        : "+l"(base)
        :
        : "r2", "r3", "cc", "memory");
  }
  return cycles() - start;
}

[[gnu::noinline]] uint32_t probe_write(uint32_t* base, uint32_t stores) {
  const uint32_t start = cycles();
  for (uint32_t i = stores; i > 0; i -= 16) {
    __asm__ volatile(
        "str %0, [%0, #0]\n\tstr %0, [%0, #4]\n\tstr %0, [%0, #8]\n\tstr %0, [%0, #12]\n\t"
        "str %0, [%0, #16]\n\tstr %0, [%0, #20]\n\tstr %0, [%0, #24]\n\tstr %0, [%0, #28]\n\t"
        "str %0, [%0, #32]\n\tstr %0, [%0, #36]\n\tstr %0, [%0, #40]\n\tstr %0, [%0, #44]\n\t"
        "str %0, [%0, #48]\n\tstr %0, [%0, #52]\n\tstr %0, [%0, #56]\n\tstr %0, [%0, #60]\n\t"
        "adds %0, %0, #64"
        : "+l"(base)
        :
        : "cc", "memory");
  }
  data_barrier();
  return cycles() - start;
}

[[gnu::noinline]] uint32_t probe_register_read(uint32_t address, uint32_t reads) {
  uint32_t value;
  const uint32_t start = cycles();
  for (uint32_t i = reads; i > 0; i -= 16) {
    __asm__ volatile(
        ".rept 16\n\t"
        "ldr %0, [%1]\n\t"
        ".endr"
        : "=&r"(value)
        : "r"(address)
        : "memory");
  }
  return cycles() - start;
}

[[gnu::noinline]] uint32_t probe_register_write(uint32_t address, uint32_t writes) {
  const uint32_t start = cycles();
  for (uint32_t i = writes; i > 0; i -= 16) {
    __asm__ volatile(
        ".rept 16\n\t"
        "str %0, [%1]\n\t"
        ".endr"
        :
        : "r"(0), "r"(address)
        : "memory");
  }
  data_barrier();
  return cycles() - start;
}

[[gnu::noinline]] uint32_t probe_code(void (*code)()) {
  const uint32_t start = cycles();
  code();
  return cycles() - start;
}

}  // extern "C"

namespace {

constexpr uint32_t kSmallBytes = sizeof(flash_4k), kBigBytes = sizeof(flash_64k);

void print_cycles(uint32_t spent, uint32_t accesses) {
  print_fixed(static_cast<uint32_t>(static_cast<uint64_t>(spent) * 100 / accesses), 2, 10);
}

template <uint32_t kBytes>
const uint32_t* place(const ChaseTable<kBytes>& table, uint32_t* area) {
  if (area == nullptr) return table.words;
  for (uint32_t i = 0; i < kBytes / 4; ++i) area[i] = table.words[i];
  clean_dcache();
  return area;
}

// `area` is null for the flash itself, where the tables are. `area_bytes`: kSmallBytes or
// kBigBytes. A row is printed after it was measured: the console would fill the caches.
void measure_memory(const char* name, uint32_t* area, uint32_t area_bytes) {
  const bool has_big = area_bytes >= kBigBytes;
  const uint32_t* table = place(flash_4k, area);
  probe_chase(table, kSmallBytes / kLineBytes);  // into the cache
  const uint32_t chase_small = probe_chase(table, 8 * kSmallBytes / kLineBytes);
  const uint32_t read_small = probe_read(table, kSmallBytes / 4);
  uint32_t chase_big = 0, read_big = 0, write = 0;
  if (has_big) {
    table = place(flash_64k, area);
    chase_big = probe_chase(table, kBigBytes / kLineBytes);
    read_big = probe_read(table, kBigBytes / 4);
  }
  if (area != nullptr) write = probe_write(area, area_bytes / 4);

  constexpr const char* kNone = "         -";
  print_padded(name, 18);
  print_cycles(chase_small, 8 * kSmallBytes / kLineBytes);
  has_big ? print_cycles(chase_big, kBigBytes / kLineBytes) : print(kNone);
  print_cycles(read_small, kSmallBytes / 4);
  has_big ? print_cycles(read_big, kBigBytes / 4) : print(kNone);
  area != nullptr ? print_cycles(write, area_bytes / 4) : print(kNone);
  print_char('\n');
}

void measure_register(const char* name, Register reg, bool writable) {
  const uint32_t read =
      (probe_register_read(reg.address, 16), probe_register_read(reg.address, 256));
  const uint32_t write = writable ? probe_register_write(reg.address, 256) : 0;
  print_padded(name, 18);
  print_cycles(read, 256);
  if (writable) print_cycles(write, 256);
  print_char('\n');
}

void measure_code(const char* name, void (*code)()) {
  enable_icache(true);  // invalidates
  const uint32_t cold = probe_code(code);
  const uint32_t warm = probe_code(code);
  enable_icache(false);
  const uint32_t off = probe_code(code);
  enable_icache(true);
  print_padded(name, 18);
  print_cycles(cold, 2048);
  print_cycles(warm, 2048);
  print_cycles(off, 2048);
  print_char('\n');
}

}  // namespace

void run_program() {
  disable_interrupts();
  print("cycles an access    chase 4K chase 64K   read 4K  read 64K     write\n");
  make_itcm_writable(true);
  measure_memory("ITCM", itcm_area, sizeof(itcm_area));
  make_itcm_writable(false);
  measure_memory("DTCM", dtcm_area, sizeof(dtcm_area));
  measure_memory("OCRAM", ocram_area, sizeof(ocram_area));
  measure_memory("flash", nullptr, kBigBytes);
  enable_dcache(false);
  measure_memory("OCRAM, D off", ocram_area, sizeof(ocram_area));
  measure_memory("flash, D off", nullptr, kBigBytes);
  enable_dcache(true);

  print("\ncycles an access        read     write\n");
  measure_register("IPG PIT_LDVAL0", PIT_LDVAL0, true);
  measure_register("IPG LPUART6_STAT", LPUART6_STAT, false);
  measure_register("IPG CCM_CCGR1", CCM_CCGR1, false);
  measure_register("PPB DWT_CYCCNT", DWT_CYCCNT, false);
  measure_register("PPB SYST_CVR", SYST_CVR, false);

  print("\ncycles an instr.        cold      warm     I off\n");
  measure_code("code in flash", run_in_flash);
  measure_code("code in ITCM", run_in_itcm);
  enable_interrupts();
}

}  // namespace millrace::rt1062
