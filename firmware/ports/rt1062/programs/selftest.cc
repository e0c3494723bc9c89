// SPDX-License-Identifier: Apache-2.0
// Checks the processor and the devices that our firmware relies on. Every expected value follows
// from the architecture manual (v7-M), the chip's manual (RM) or arithmetic, as its line says.
#include <cstdint>

#include "firmware/ports/rt1062/checks.h"
#include "firmware/ports/rt1062/clocks.h"
#include "firmware/ports/rt1062/console.h"
#include "firmware/ports/rt1062/image.h"
#include "firmware/ports/rt1062/memory_setup.h"
#include "firmware/ports/rt1062/programs/selftest/handlers.h"
#include "firmware/ports/rt1062/rt1062_registers.h"
#include "firmware/ports/rt1062/ticks.h"

namespace millrace::rt1062 {
namespace {

[[gnu::section(".bss.scratch_ocram"), gnu::aligned(32)]] uint32_t ocram_words[2048];
[[gnu::section(".bss.scratch_dtcm"), gnu::aligned(32)]] uint32_t dtcm_words[2048];
[[gnu::section(".bss.scratch_itcm"), gnu::aligned(32)]] uint32_t itcm_words[256];

void set_priority(uint32_t line, uint32_t priority) {
  const uint32_t shift = 8 * (line % 4);
  NVIC_IPR0.at(line / 4).modify(0xffu << shift, priority << shift);
}
uint32_t priority_of(uint32_t line) {
  return NVIC_IPR0.at(line / 4).read() >> 8 * (line % 4) & 0xff;
}

uint32_t bits_of(float value) { return __builtin_bit_cast(uint32_t, value); }
uint32_t high_bits_of(double value) {
  return static_cast<uint32_t>(__builtin_bit_cast(uint64_t, value) >> 32);
}

void check_identity(Checks& checks) {
  // M7, table "CPUID bit assignments": implementer 41, architecture F, part C27. Revision: any.
  checks.equal("CPUID is a Cortex-M7", SCB_CPUID.read() & 0xff0ffff0, 0x410fc270);
  // RM "Cortex-M7 platform": 16 MPU regions (DREGION), 32 KB I-cache, 32 KB D-cache.
  checks.equal("MPU has 16 regions", MPU_TYPE.read(), 16u << 8);
  // CCSIDR: line of 8 words = code 1, ways - 1, sets - 1: 256 sets of 4, 512 sets of 2.
  SCB_CSSELR.write(0);
  data_barrier();
  checks.equal("D-cache of 32 KB", SCB_CCSIDR.read() & 0x0fffffff, 255u << 13 | 3u << 3 | 1);
  SCB_CSSELR.write(1);
  data_barrier();
  checks.equal("I-cache of 32 KB", SCB_CCSIDR.read() & 0x0fffffff, 511u << 13 | 1u << 3 | 1);
  checks.equal("caches are on", SCB_CCR.read() & (SCB_CCR_IC | SCB_CCR_DC),
               SCB_CCR_IC | SCB_CCR_DC);
  // The words that the boot ROM looked for: FCB tag and IVT header.
  checks.equal("FCB tag in flash", Register{0x60000000}.read(), 0x42464346);
  checks.equal("IVT header in flash", Register{0x60001000}.read(), 0x432000d1);
}

void check_integer(Checks& checks) {
  uint32_t low = opaque(0xffffffffu), high = opaque(0xffffffffu), result;
  // (2^32 - 1)^2 = 2^64 - 2^33 + 1.
  __asm__("umull %0, %1, %0, %1" : "+r"(low), "+r"(high));
  checks.equal("UMULL high", high, 0xfffffffe);
  checks.equal("UMULL low", low, 1);
  // Rounds towards zero; 0x80000000 / -1 overflows to 0x80000000; x / 0 = 0 (v7-M A7.7.127).
  checks.equal("SDIV rounds to zero", static_cast<uint32_t>(opaque(-7) / opaque(2)), 0xfffffffd);
  result = opaque(0x80000000u);
  __asm__("sdiv %0, %0, %1" : "+r"(result) : "r"(opaque(-1)));
  checks.equal("SDIV overflow", result, 0x80000000);
  result = opaque(5u);
  __asm__("udiv %0, %0, %1" : "+r"(result) : "r"(opaque(0)));
  checks.equal("UDIV by zero", result, 0);
  // 64-bit addition: the carry of ADDS goes into ADC.
  const uint64_t sum = opaque(uint64_t{0x00000000ffffffff}) + opaque(uint64_t{1});
  checks.equal("ADC takes the carry", static_cast<uint32_t>(sum >> 32), 1);
  __asm__("qadd %0, %1, %2" : "=r"(result) : "r"(0x7fffffff), "r"(1));
  checks.equal("QADD saturates", result, 0x7fffffff);
  // Byte by byte: ff + 01 wraps, 80 + 80 wraps, 01 + 01, 00 + 00. SEL takes bytes by the carries.
  __asm__("uadd8 %0, %1, %2\n\tsel %0, %1, %2"
          : "=&r"(result)
          : "r"(0xff800100), "r"(0x01800122)
          : "cc");
  checks.equal("UADD8 and SEL", result, 0xff800122);
  // 16-bit products 3 * 5 + 2 * 7 + 100.
  __asm__("smlad %0, %1, %2, %3" : "=r"(result) : "r"(0x00020003), "r"(0x00070005), "r"(100));
  checks.equal("SMLAD", result, 129);
  __asm__("rbit %0, %1" : "=r"(result) : "r"(0x00000001));
  checks.equal("RBIT", result, 0x80000000);
  __asm__("bfi %0, %1, #8, #12" : "=r"(result) : "r"(0xfff), "0"(0));
  checks.equal("BFI", result, 0x000fff00);
  __asm__(
      "movs %0, #0\n\tcmp %0, #1\n\titete lo\n\taddlo %0, #1\n\taddhs %0, #16\n\t"
      "addlo %0, #2\n\taddhs %0, #32"
      : "=&l"(result)
      :
      : "cc");
  checks.equal("IT block", result, 3);
  // Little-endian words at any alignment (v7-M A3.2.1).
  alignas(4) static volatile uint8_t bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  __asm__ volatile("ldr %0, [%1, #1]" : "=r"(result) : "r"(bytes) : "memory");
  checks.equal("unaligned LDR", result, 0x05040302);
}

void check_floating(Checks& checks) {
  // 1/3 = 0x3eaaaaab rounded to nearest; sqrt(2) = 0x3fb504f3; both IEEE 754 tables.
  checks.equal("single division", bits_of(opaque(1.0f) / opaque(3.0f)), 0x3eaaaaab);
  float root;
  __asm__("vsqrt.f32 %0, %1" : "=t"(root) : "t"(2.0f));
  checks.equal("single square root", bits_of(root), 0x3fb504f3);
  double big_root;
  __asm__("vsqrt.f64 %P0, %P1" : "=w"(big_root) : "w"(2.0));
  checks.equal("double square root", high_bits_of(big_root), 0x3ff6a09e);
  // (1 + 2^-12)^2 - (1 + 2^-11) = 2^-24, which only a fused multiply-add keeps.
  float fused = -(1.0f + 0x1p-11f);
  __asm__("vfma.f32 %0, %1, %2" : "+t"(fused) : "t"(1.0f + 0x1p-12f), "t"(1.0f + 0x1p-12f));
  checks.equal("fused multiply-add", bits_of(fused), bits_of(0x1p-24f));
  // Conversion saturates (v7-M A7.7.238 on FPToFixed): 3e9 to INT32_MAX, NaN to 0.
  int32_t integer;
  __asm__("vcvt.s32.f32 %0, %1\n\t" : "=t"(integer) : "t"(3e9f));
  checks.equal("conversion saturates", static_cast<uint32_t>(integer), 0x7fffffff);
  __asm__("vcvt.s32.f32 %0, %1\n\t" : "=t"(integer) : "t"(__builtin_nanf("")));
  checks.equal("NaN converts to 0", static_cast<uint32_t>(integer), 0);
  // 0.1 + 0.2 in double: 0x3fd3333333333334.
  checks.equal("double addition",
               static_cast<uint32_t>(__builtin_bit_cast(uint64_t, opaque(0.1) + opaque(0.2))),
               0x33333334);
}

// Walks a pattern through `words`: each word its own address, then the complement.
uint32_t count_memory_errors(volatile uint32_t* words, uint32_t count) {
  uint32_t errors = 0;
  for (uint32_t i = 0; i < count; ++i) words[i] = reinterpret_cast<uint32_t>(&words[i]);
  for (uint32_t i = 0; i < count; ++i) {
    errors += words[i] != reinterpret_cast<uint32_t>(&words[i]);
    words[i] = ~words[i];
  }
  for (uint32_t i = count; i > 0; --i) {
    errors += words[i - 1] != ~reinterpret_cast<uint32_t>(&words[i - 1]);
  }
  volatile uint8_t* bytes = reinterpret_cast<volatile uint8_t*>(words);
  bytes[5] = 0x5a;
  errors += words[1] != ((~reinterpret_cast<uint32_t>(&words[1]) & 0xffff00ff) | 0x5a00);
  return errors;
}

void check_memories(Checks& checks) {
  checks.equal("DTCM holds what is written", count_memory_errors(dtcm_words, 2048), 0);
  checks.equal("OCRAM holds what is written", count_memory_errors(ocram_words, 2048), 0);
  make_itcm_writable(true);
  checks.equal("ITCM holds what is written", count_memory_errors(itcm_words, 256), 0);
  make_itcm_writable(false);

  // The cache holds data of its own: a store that is invalidated before it is cleaned is lost, and
  // with the cache off the memory shows what was cleaned.
  disable_interrupts();
  volatile uint32_t* word = &ocram_words[64];
  *word = 0x11111111;
  clean_dcache();
  *word = 0x22222222;
  data_barrier();
  SCB_DCIMVAC.write(reinterpret_cast<uint32_t>(word));
  data_barrier();
  const uint32_t after_invalidate = *word;
  *word = 0x33333333;
  enable_dcache(false);
  const uint32_t behind = *word;
  *word = 0x44444444;
  enable_dcache(true);
  const uint32_t refilled = *word;
  enable_interrupts();
  checks.equal("invalidated store is lost", after_invalidate, 0x11111111);
  checks.equal("cleaned store is in OCRAM", behind, 0x33333333);
  checks.equal("line is filled from OCRAM", refilled, 0x44444444);

  uint32_t value, status;
  volatile uint32_t* cell = &dtcm_words[0];
  __asm__ volatile("ldrex %0, [%2]\n\tadd %0, #1\n\tstrex %1, %0, [%2]"
                   : "=&r"(value), "=&r"(status)
                   : "r"(cell)
                   : "memory");
  checks.equal("STREX after LDREX", status, 0);
  __asm__ volatile("ldrex %0, [%2]\n\tclrex\n\tstrex %1, %0, [%2]"
                   : "=&r"(value), "=&r"(status)
                   : "r"(cell)
                   : "memory");
  checks.equal("STREX after CLREX", status, 1);
}

void check_exceptions(Checks& checks) {
  NVIC_ISER0.at(kIrqSoftware / 32).write(1u << kIrqSoftware % 32);
  const Register pend = NVIC_ISPR0.at(kIrqSoftware / 32);
  const uint32_t bit = 1u << kIrqSoftware % 32;

  supervisor_argument = 0;
  __asm__ volatile("movs r0, #42\n\tsvc #7" ::: "r0", "memory");
  checks.equal("SVC passes r0", supervisor_argument, 42);

  trace_clear();
  pend.write(bit);
  data_barrier();
  instruction_barrier();
  checks.equal("pended interrupt runs", trace_value(), 0x2);

  // PRIMASK holds it back, clearing PRIMASK lets it in (v7-M B1.4.3).
  trace_clear();
  disable_interrupts();
  pend.write(bit);
  data_barrier();
  instruction_barrier();
  checks.equal("PRIMASK masks", trace_value(), 0);
  enable_interrupts();
  instruction_barrier();
  checks.equal("unmasked interrupt runs", trace_value(), 0x2);

  // The handler of line 70 (priority 0x80) pends PendSV (0x40, preempts it) and traces 2 after.
  set_priority(kIrqSoftware, 0x80);
  SCB_SHPR3.modify(0x00ff0000, 0x00400000);
  trace_clear();
  software_pends_pendsv = true;
  pend.write(bit);
  data_barrier();
  instruction_barrier();
  checks.equal("higher priority preempts", trace_value(), 0x12);
  // 0xc0, lower: tail-chained behind it.
  SCB_SHPR3.modify(0x00ff0000, 0x00c00000);
  trace_clear();
  pend.write(bit);
  data_barrier();
  instruction_barrier();
  checks.equal("lower priority waits", trace_value(), 0x21);
  software_pends_pendsv = false;

  // Four priority bits: the lower four read as zero (RM "Interrupts": 16 levels).
  set_priority(kIrqSoftware, 0xff);
  checks.equal("four priority bits", priority_of(kIrqSoftware), 0xf0);
  set_priority(kIrqSoftware, 0x80);
  trace_clear();
  __asm__ volatile("msr basepri, %0\n\tisb" ::"r"(0x80) : "memory");
  pend.write(bit);
  data_barrier();
  instruction_barrier();
  const uint32_t masked = trace_value();
  __asm__ volatile("msr basepri, %0\n\tisb" ::"r"(0) : "memory");
  checks.equal("BASEPRI masks", masked, 0);
  checks.equal("BASEPRI cleared", trace_value(), 0x2);

  // The handler uses the FPU: lazy stacking must give the thread its registers back.
  float before = 1.5f;
  software_uses_fpu = true;
  __asm__ volatile(
      "vmov.f32 s3, %0\n\tvmov.f32 s15, %0\n\tstr %2, [%1]\n\tdsb\n\tisb\n\t"
      "vadd.f32 %0, s3, s15"
      : "+t"(before)
      : "r"(pend.address), "r"(bit)
      : "s3", "s15", "memory");
  software_uses_fpu = false;
  checks.equal("FPU registers survive", bits_of(before), bits_of(3.0f));

  // Thread on the process stack: EXC_RETURN says so (v7-M table B1-8: 0xfffffffd, with FP state
  // 0xffffffed).
  trace_clear();
  alignas(8) static uint32_t process_stack[64];
  __asm__ volatile(
      "msr psp, %0\n\tmrs r3, control\n\torr r2, r3, #2\n\tmsr control, r2\n\tisb\n\t"
      "str %2, [%1]\n\tdsb\n\tisb\n\t"
      "msr control, r3\n\tisb" ::"r"(process_stack + 64),
      "r"(pend.address), "r"(bit)
      : "r2", "r3", "memory");
  checks.equal("EXC_RETURN names the PSP", software_exc_return & ~0x10u, 0xffffffed);
}

void check_faults(Checks& checks) {
  // DACCVIOL | MMARVALID = 0x82, address in MMFAR (v7-M B3.2.15).
  clear_faults();
  probe_read(8);
  checks.equal("null pointer faults", fault_status, 0x82);
  checks.equal("MMFAR holds its address", fault_address, 8);
  clear_faults();
  probe_write(0x40);
  checks.equal("ITCM is read-only", fault_status, 0x82);
  clear_faults();
  probe_read(address_of(image_stack_guard));
  checks.equal("stack guard faults", fault_status, 0x82);
  // IACCVIOL = 1: execute-never.
  clear_faults();
  probe_call(reinterpret_cast<uint32_t>(dtcm_words) | 1);
  checks.equal("DTCM is not executable", fault_status, 0x01);
  // UNDEFINSTR = 1 << 16, DIVBYZERO = 1 << 25, UNALIGNED = 1 << 24.
  clear_faults();
  __asm__ volatile("udf.w #0" ::: "memory");
  checks.equal("UDF faults", fault_status, 1u << 16);
  clear_faults();
  SCB_CCR.set_bits(SCB_CCR_DIV_0_TRP);
  data_barrier();
  instruction_barrier();
  uint32_t quotient = 1;
  __asm__ volatile("udiv %0, %0, %1" : "+r"(quotient) : "r"(0) : "memory");
  SCB_CCR.clear_bits(SCB_CCR_DIV_0_TRP);
  data_barrier();
  instruction_barrier();
  checks.equal("division by zero faults", fault_status, 1u << 25);
  clear_faults();
  __asm__ volatile("ldmia.w %0, {r2, r3}" ::"r"(reinterpret_cast<uint32_t>(dtcm_words) + 1)
                   : "r2", "r3", "memory");
  checks.equal("unaligned LDM faults", fault_status, 1u << 24);
}

void check_time(Checks& checks) {
  // Ten SysTick milliseconds of the 100 kHz clock against core cycles: both come from the crystal.
  // 0.1 % either way for the lines that code in flash has to fetch at one end and not at the other.
  const uint32_t first = milliseconds();
  while (milliseconds() == first) wait_for_interrupt();
  uint32_t start = cycles();
  while (milliseconds() - first < 11) wait_for_interrupt();
  checks.within("10 ms of SysTick in cycles", cycles() - start, 10 * (kCoreHz / 1000) - 6000,
                10 * (kCoreHz / 1000) + 6000);

  // 24000 PIT steps = 1 ms (RM "PIT": the flag sets when the counter reaches 0, after LDVAL + 1).
  PIT_LDVAL0.write(kOscillatorHz / 1000 - 1);
  PIT_TFLG0.write(PIT_TFLG_TIF);
  start = cycles();
  PIT_TCTRL0.write(PIT_TCTRL_TEN);
  while ((PIT_TFLG0.read() & PIT_TFLG_TIF) == 0) {
  }
  checks.within("1 ms of PIT in cycles", cycles() - start, kCoreHz / 1000 - 200,
                kCoreHz / 1000 + 400);
  PIT_TFLG0.write(PIT_TFLG_TIF);
  checks.equal("PIT flag clears by writing 1", PIT_TFLG0.read() & PIT_TFLG_TIF, 0);
  checks.within("PIT counts down", PIT_CVAL0.read(), 1, kOscillatorHz / 1000 - 1);
  PIT_TCTRL0.write(0);

  // A character of 10 bits takes 10 * 16 * 13 periods of 24 MHz = 52000 core cycles. It may have
  // to wait for the next bit time to begin: up to 5200 more.
  flush_console();
  start = cycles();
  print_char('\n');
  flush_console();
  checks.within("one character in cycles", cycles() - start, 51'800, 57'400);
}

}  // namespace

void run_program() {
  Checks checks;
  check_identity(checks);
  check_integer(checks);
  check_floating(checks);
  check_memories(checks);
  check_exceptions(checks);
  check_faults(checks);
  check_time(checks);
  checks.print_summary("selftest");
}

}  // namespace millrace::rt1062
