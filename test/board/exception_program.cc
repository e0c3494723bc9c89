// SPDX-License-Identifier: Apache-2.0
// Handlers keep r4 = EXC_RETURN, r5 = their frame, r7 = whether they used floating point. Pending
// and calling is bounded by a budget in memory, so that every storm ends.
#include "exception_program.h"

#include <random>

#include "diff_packets.h"
#include "thumb_emitter.h"

namespace millrace::board::diff {
namespace {

constexpr uint32_t kIpr = 0xE000E400;
constexpr uint32_t kIcsr = 0xE000ED04;
constexpr uint32_t kCfsr = 0xE000ED28;
constexpr uint32_t kBudget = kVariables + 4;
constexpr uint32_t kMainStack = 0x2000F000;
constexpr uint32_t kProcessStack = 0x2000A000;
constexpr unsigned kFirstIrq = 24;
constexpr unsigned kIrqs = 8;

class Generator : private ThumbEmitter {
 public:
  Generator(uint64_t seed, unsigned actions) : random_(seed), actions_(actions) {}

  ExceptionProgram run() {
    bytes_.resize(kCode);
    patch_word(0, kMainStack);
    entry_log();
    exit_log();
    for (const unsigned exception : {2u, 3u, 6u, 11u, 14u, 15u}) handler(exception);
    for (unsigned k = 0; k < kIrqs; ++k) handler(16 + kFirstIrq + k);
    patch_word(4, here() | 1);
    setup();
    for (unsigned k = 0; k < actions_; ++k) thread_step(k);
    piece();
    unmask();
    dump_and_exit(kVariables, kRecords);
    program_.bytes = std::move(bytes_);
    return std::move(program_);
  }

 private:
  uint32_t draw(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  void piece() { program_.pieces.push_back(here()); }
  // DSB, ISB, NOP: what was pended comes before the NOP, which is in the same piece.
  void barrier() { emit_all({0xF3BF, 0x8F4F, 0xF3BF, 0x8F6F, 0xBF00}); }
  void load_from(unsigned rd, uint32_t address) {
    constant(rd, address);
    emit(static_cast<uint16_t>(0x6800 | rd << 3 | rd));  // ldr rd, [rd]
  }
  // r2 points behind the last record; r0 goes there.
  void put_r0() { emit(0xC201); }  // stmia r2!, {r0}
  void put_special(uint16_t sysm) {
    emit(0xF3EF, static_cast<uint16_t>(0x8000 | sysm));  // mrs r0, ...
    put_r0();
  }
  void put_memory(uint32_t address, uint32_t mask) {
    load_from(0, address);
    constant(1, mask);
    emit(0x4008);  // ands r0, r1
    put_r0();
  }
  void begin_record(uint32_t tag) {
    load_from(2, kVariables);
    constant(0, tag);
    put_r0();
  }
  void end_record() {
    constant(3, kVariables);
    emit(0x601A);  // str r2, [r3]
  }
  void put_masks() {
    put_special(17);  // BASEPRI
    put_special(16);  // PRIMASK
    put_special(19);  // FAULTMASK
    put_special(20);  // CONTROL
  }

  void entry_log() {
    piece();
    entry_log_ = here();
    begin_record(kEntryRecord | kEntryWords);
    put_special(5);  // IPSR
    emit(0xC230);    // stmia r2!, {r4, r5}
    put_masks();
    put_memory(kIcsr, 0x001FF9FF);       // VECTPENDING, RETTOBASE, VECTACTIVE
    put_memory(0xE000ED24, 0x0007FFFF);  // SHCSR
    put_memory(kCfsr, 0xFFFFFFFF);
    put_memory(0xE000ED2C, 0xC0000000);                           // HFSR
    emit(0x462E);                                                 // mov r6, r5
    for (unsigned k = 0; k < 4; ++k) emit_all({0xCE03, 0xC203});  // ldmia r6!; stmia r2!, {r0, r1}
    emit(0x2000);  // movs r0, #0: no return address where a frame could show it
    end_record();
    emit(0x4770);
  }

  void exit_log() {
    piece();
    exit_log_ = here();
    begin_record(kExitRecord | kExitWords);
    put_special(5);
    put_masks();
    put_memory(kIcsr, 0x001FF9FF);
    put_memory(0xE000EF34, 1);  // FPCCR.LSPACT
    end_record();
    // If floating point was used and the frame has room for it, it is there now.
    emit_all({0x2F00,    // cmp r7, #0
              0xD016});  // beq out (patched below)
    const uint32_t skip_unused = here() - 2;
    emit_all({0x06E0,    // lsls r0, r4, #27: EXC_RETURN bit 4
              0xD400});  // bmi out
    const uint32_t skip_basic = here() - 2;
    begin_record(kExitRecord | kFpExitWords);
    emit_all({0xF105, 0x0620});  // add.w r6, r5, #32
    for (unsigned k = 0; k < kFpExitWords; ++k) emit_all({0xCE01, 0xC201});
    end_record();
    for (const uint32_t at : {skip_unused, skip_basic}) {
      const uint16_t condition = at == skip_unused ? 0xD000 : 0xD400;
      patch(at, static_cast<uint16_t>(condition | ((here() - at - 4) / 2)));
    }
    emit(0x4770);
  }

  void handler(unsigned exception) {
    piece();
    patch_word(4 * exception, here() | 1);
    emit_all({0xB5F0,            // push {r4-r7, lr}
              0x4674,            // mov r4, lr
              0xAD05,            // add r5, sp, #20
              0x2700,            // movs r7, #0
              0x0760,            // lsls r0, r4, #29: the process stack?
              0xBF48,            // it mi
              0xF3EF, 0x8509});  // mrsmi r5, psp
    branch_link(entry_log_);
    if (exception == 3 || exception == 6) mend();
    for (unsigned k = draw(4); k > 0; --k) action(exception);
    piece();
    branch_link(exit_log_);
    if (draw(2) == 0) {
      emit(0xBDF0);  // pop {r4-r7, pc}
    } else {
      emit_all({0xE8BD, 0x40F0, 0x4770});  // pop.w {r4-r7, lr}; bx lr
    }
  }

  // Clears CFSR and HFSR; steps over an undefined instruction.
  void mend() {
    constant(0, kCfsr);
    emit_all({0x6801,    // ldr r1, [r0]
              0x6001,    // str r1, [r0]
              0x6842,    // ldr r2, [r0, #4]
              0x6042,    // str r2, [r0, #4]
              0x03C9,    // lsls r1, r1, #15: UNDEFINSTR
              0xD502,    // bpl +3
              0x69AA,    // ldr r2, [r5, #24]
              0x3202,    // adds r2, #2
              0x61AA});  // str r2, [r5, #24]
  }

  void store_word(uint32_t address, uint32_t value) {
    constant(2, address);
    constant(1, value);
    emit(0x6011);  // str r1, [r2]
  }
  // What follows happens only while there is budget left; returns the branch to patch.
  uint32_t begin_budgeted() {
    constant(0, kBudget);
    emit_all({0x6801,    // ldr r1, [r0]
              0x3901,    // subs r1, #1
              0xD400,    // bmi (patched)
              0x6001});  // str r1, [r0]
    return here() - 4;
  }
  void end_budgeted(uint32_t at) {
    patch(at, static_cast<uint16_t>(0xD400 | ((here() - at - 4) / 2)));
  }

  void pend() {
    const uint32_t at = begin_budgeted();
    switch (draw(8)) {
      case 0:
        store_word(kIcsr, 1u << 28);  // PendSV
        break;
      case 1:
        store_word(kIcsr, 1u << 26);  // SysTick
        break;
      case 2:
        store_word(kIcsr, draw(3) == 0 ? 1u << 31 : 5u << 26);  // NMI; both of the above
        break;
      case 3:
        store_word(0xE000E200, (1u + draw(255)) << kFirstIrq);
        break;
      default:
        store_word(0xE000E200, 1u << (kFirstIrq + draw(kIrqs)));
        break;
    }
    barrier();
    end_budgeted(at);
  }

  // SVC or an undefined instruction; not where that locks the core up.
  void call(bool undefined) {
    const uint32_t at = begin_budgeted();
    emit_all({0xF3EF, 0x8013,  // mrs r0, faultmask
              0xB928,          // cbnz r0, +5
              0xF3EF, 0x8005,  // mrs r0, ipsr
              0x3802,          // subs r0, #2
              0x2801,          // cmp r0, #1
              0xD900});        // bls +1 (NMI and HardFault)
    emit(undefined ? uint16_t{0xDE00} : static_cast<uint16_t>(0xDF00 | draw(256)));
    end_budgeted(at);
  }

  // qemu lets FAULTMASK be set in NMI and HardFault, which the manual does not (B5.2.1).
  void mask(unsigned exception) {
    const bool faultmask = exception != 2 && exception != 3;
    switch (draw(6)) {
      case 0:
        emit(draw(2) == 0 ? 0xB672 : 0xB662);  // cpsid i, cpsie i
        break;
      case 1:
        emit(draw(2) == 0 && faultmask ? 0xB671 : 0xB661);  // cpsid f, cpsie f
        break;
      case 2:
        constant(0, draw(2));
        emit(0xF380,
             static_cast<uint16_t>(0x8800 |
                                   (draw(3) == 0 && faultmask ? 19 : 16)));  // FAULTMASK, PRIMASK
        break;
      default:
        constant(0, draw(16) << 4);
        emit(0xF380,
             static_cast<uint16_t>(0x8800 | (draw(3) == 0 ? 18 : 17)));  // BASEPRI_MAX, BASEPRI
        break;
    }
    barrier();
  }

  void change_nvic() {
    const uint32_t irq = 1u << (kFirstIrq + draw(kIrqs));
    switch (draw(5)) {
      case 0:
        store_word(0xE000E100, 0xFFu << kFirstIrq);  // enable all
        break;
      case 1:
        store_word(0xE000E180, irq);  // disable
        break;
      case 2:
        store_word(0xE000E280, irq);  // clear pending
        break;
      default: {
        // Priorities of IRQs, SVCall, PendSV, SysTick, UsageFault.
        constexpr uint32_t kHandlers[] = {0xE000ED1F, 0xE000ED22, 0xE000ED23, 0xE000ED1A};
        constant(2, draw(2) == 0 ? kHandlers[draw(4)] : kIpr + kFirstIrq + draw(kIrqs));
        constant(1, draw(16) << 4);
        emit(0x7011);  // strb r1, [r2]
        break;
      }
    }
    barrier();
  }

  void floating_point(bool in_handler) {
    constexpr uint16_t kOps[][2] = {{0xEE30, 0x0A20},   // vadd.f32 s0, s0, s1
                                    {0xEE21, 0x1A01},   // vmul.f32 s2, s2, s2
                                    {0xEE07, 0x0A90},   // vmov s15, r0
                                    {0xEEB0, 0x8A40}};  // vmov.f32 s16, s0
    const unsigned k = draw(4);
    emit(kOps[k][0], kOps[k][1]);
    if (in_handler) emit(0x2701);  // movs r7, #1
  }

  void action(unsigned exception) {
    piece();
    switch (draw(12)) {
      case 0:
      case 1:
        mask(exception);
        break;
      case 2:
        change_nvic();
        break;
      case 3:
        floating_point(exception != 0);
        break;
      case 4:
        call(false);
        break;
      case 5:
        call(true);
        break;
      case 6:
        emit(0xB081);  // sub sp, #4: the frame is aligned
        pend();
        emit(0xB001);
        break;
      default:
        pend();
        break;
    }
  }

  void unmask() {
    emit_all({0x2000, 0xF380, 0x8811, 0xB662, 0xB661});  // msr basepri, #0; cpsie i; cpsie f
    barrier();
  }

  void thread_step(unsigned number) {
    piece();
    store_word(kBudget, draw(7));
    begin_record(kThreadRecord | 5);
    constant(0, number);
    put_r0();
    put_masks();
    end_record();
    if (draw(6) == 0) {
      // The other stack: CONTROL.SPSEL.
      emit_all({0xF3EF, 0x8014, 0xF080, 0x0002, 0xF380, 0x8814});
      barrier();
    }
    action(0);
    if (draw(4) == 0) unmask();
  }

  void setup() {
    piece();
    store_word(0xE000ED88, 0x00F00000);  // CPACR
    barrier();
    for (unsigned s = 0; s < 32; ++s) {
      constant(0, 0x3F800000 + (s << 12));
      emit(static_cast<uint16_t>(0xEE00 | s >> 1), static_cast<uint16_t>(0x0A10 | (s & 1) << 7));
    }
    // Lazy stacking or none; FPCA is clear again. At once (ASPEN without LSPEN) is left out:
    // qemu 7.2 does not write the frame of a handler that is preempted then.
    store_word(0xE000EF34, draw(4) == 0 ? 0 : 3u << 30);
    emit_all({0x2000, 0xF380, 0x8814});  // msr control, #0
    barrier();
    store_word(0xE000ED0C, 0x05FA0000 | draw(8) << 8);        // AIRCR.PRIGROUP
    store_word(0xE000ED24, draw(2) << 18);                    // USGFAULTENA
    store_word(0xE000ED18, draw(16) << 20);                   // UsageFault
    store_word(0xE000ED1C, draw(16) << 28);                   // SVCall
    store_word(0xE000ED20, draw(16) << 20 | draw(16) << 28);  // PendSV, SysTick
    for (unsigned k = 0; k < kIrqs; k += 4) {
      store_word(kIpr + kFirstIrq + k,
                 draw(16) << 4 | draw(16) << 12 | draw(16) << 20 | draw(16) << 28);
    }
    store_word(kVariables, kRecords);
    store_word(kBudget, 0);
    constant(0, kProcessStack);
    emit(0xF380, 0x8809);                        // msr psp, r0
    store_word(0xE000E100, 0xFFu << kFirstIrq);  // enable
    for (unsigned r = 0; r < 13; ++r) constant(r, 0x1000 + r);
    emit(0xF380, 0x8C00);  // msr APSR_nzcvqg, r0
  }

  std::mt19937_64 random_;
  unsigned actions_;
  ExceptionProgram program_;
  uint32_t entry_log_ = 0;
  uint32_t exit_log_ = 0;
};

}  // namespace

ExceptionProgram generate_exceptions(uint64_t seed, unsigned actions) {
  return Generator(seed, actions).run();
}

}  // namespace millrace::board::diff
