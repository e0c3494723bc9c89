// SPDX-License-Identifier: Apache-2.0
// Encodings are drawn at random within the groups of the instruction set and kept if the decoder
// calls them something that may run here: no UNPREDICTABLE, no branch, no write to SP or PC. Loads
// and stores get their base register set just before them, so that every access falls into the
// scratch area. A packet ends in a call of the recorder, which stores all registers, the flags and
// a hash of the scratch area, and puts everything back but LR and SP.
#include "diff_packets.h"

#include <bit>
#include <random>

#include "cpu/decoder.h"
#include "thumb_emitter.h"

namespace millrace::board::diff {
namespace {

class Generator : private ThumbEmitter {
 public:
  explicit Generator(const Options& options) : options_(options), random_(options.seed) {}

  Image run() {
    image_.record_words = kRecordWords + (options_.fp ? kFpWords : 0);
    bytes_.resize(kCode);
    vectors();
    recorder();
    start();
    for (unsigned k = 0; k < options_.packets; ++k) {
      image_.packet_address.push_back(here());
      packet();
    }
    image_.packet_address.push_back(here());
    finish();
    image_.bytes = std::move(bytes_);
    return std::move(image_);
  }

 private:
  uint32_t draw(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  uint16_t half() { return static_cast<uint16_t>(random_()); }

  void vectors() {
    patch_word(0, kStack);
    for (uint32_t v = 4; v < 64; v += 4) {
      patch_word(v, (kCode - 64) | 1);  // faults: straight to the end
    }
  }

  void recorder() {
    recorder_ = here();
    emit_all({0x4668,            // mov r0, sp
              0xF3EF, 0x8100});  // mrs r1, apsr
    constant(3, kVariables);
    emit_all({0x681A,          // ldr r2, [r3]
              0xC8F0, 0xC2F0,  // ldmia r0!, {r4-r7}; stmia r2!, {r4-r7}
              0xC8F0, 0xC2F0, 0xC8F0, 0xC2F0, 0xC830,
              0xC230,    // ldmia r0!, {r4, r5}; stmia r2!, {r4, r5}
              0xC203});  // stmia r2!, {r0, r1}
    constant(4, kScratch);
    constant(5, kScratch + kScratchBytes);
    constant(6, 0x01000193);
    emit_all({0x2700,          // movs r7, #0
              0xF854, 0x8B04,  // 1: ldr.w r8, [r4], #4
              0xEA87, 0x0708,  // eor.w r7, r7, r8
              0x4377,          // muls r7, r6
              0xEA4F, 0x27F7,  // mov.w r7, r7, ror #11
              0x42AC,          // cmp r4, r5
              0xD1F6,          // bne 1b
              0xC280});        // stmia r2!, {r7}
    if (options_.fp) {
      emit_all({0xEEF1, 0x4A10,    // vmrs r4, fpscr
                0xC210,            // stmia r2!, {r4}
                0xECA2, 0x0A20});  // vstmia r2!, {s0-s31}
    }
    emit_all({0x601A,            // str r2, [r3]
              0xF1A0, 0x0038});  // sub.w r0, r0, #56
    constant(4, kStack);
    emit_all({0x46A5,          // mov sp, r4
              0xB500,          // push {lr}
              0x4686,          // mov lr, r0
              0xF381, 0x8C00,  // msr APSR_nzcvqg, r1
              0xE89E, 0x1FFF,  // ldmia.w lr, {r0-r12}
              0xBD00});        // pop {pc}
  }

  void start() {
    patch_word(4, here() | 1);
    if (options_.fp) {
      constant(0, 0xE000ED88);
      constant(1, 0x00F00000);
      emit_all({0x6001, 0xF3BF, 0x8F4F, 0xF3BF, 0x8F6F});  // str r1, [r0]; dsb; isb
    }
    constant(0, kVariables);
    constant(1, kRecords);
    emit(0x6001);  // str r1, [r0]
    constant(0, kStack);
    emit(0x4685);  // mov sp, r0
    if (options_.fp) {
      for (unsigned s = 0; s < 32; ++s) {
        constant(0, static_cast<uint32_t>(random_()));
        emit(static_cast<uint16_t>(0xEE00 | s >> 1), static_cast<uint16_t>(0x0A10 | (s & 1) << 7));
      }
    }
    for (unsigned r = 0; r < 13; ++r) {
      constant(r, interesting());
    }
    emit(0xF380, 0x8C00);  // msr APSR_nzcvqg, r0: the flags are UNKNOWN after reset
  }

  // A value at or near where carries, signs and saturation change.
  uint32_t interesting() {
    constexpr uint32_t kEdges[] = {0,          1,          0xFFFFFFFF, 0x7FFFFFFF, 0x80000000,
                                   0x0000FFFF, 0x00008000, 0x7FFF7FFF, 0x80008000, 0x00FF00FF};
    switch (draw(4)) {
      case 0:
        return kEdges[draw(10)];
      case 1:
        return kEdges[draw(10)] + draw(5) - 2;
      case 2:
        return static_cast<uint32_t>(random_()) >> draw(32);
      default:
        return static_cast<uint32_t>(random_());
    }
  }

  void packet() {
    sp_offset_ = 0;
    constant(draw(13), interesting());
    constant(14, interesting());
    for (unsigned k = 0; k < 18; ++k) {
      const unsigned kind = draw(20);
      if (kind < 11) {
        plain(0, nullptr);
      } else if (kind < 16) {
        memory(0, nullptr);
      } else if (kind < 18) {
        it_block();
      } else {
        skip();
      }
    }
    emit(0xE92D, 0x5FFF);  // push.w {r0-r12, lr}
    branch_link(recorder_);
  }

  static bool is_plain(const Insn& i) {
    if (i.kind == Kind::mrs || i.kind == Kind::msr) {
      return i.imm == 0 && (i.kind == Kind::mrs || i.ra != 0);
    }
    if (i.kind == Kind::nop) {
      return i.size == 2;
    }
    return (i.kind >= Kind::and_op && i.kind <= Kind::qadd && i.kind != Kind::mov_pc &&
            i.kind != Kind::add_pc);
  }
  static bool writes_sp(const Insn& i) {
    const bool compare =
        i.kind == Kind::tst || i.kind == Kind::teq || i.kind == Kind::cmp || i.kind == Kind::cmn;
    return !compare && i.rd == 13;
  }
  static bool is_vfp(const Insn& i) {
    return i.kind == Kind::vfp_data || (i.kind >= Kind::vmov_core_single && i.kind <= Kind::vmrs);
  }

  void draw_encoding(uint16_t* a, uint16_t* b) {
    *b = half();
    switch (draw(options_.fp ? 9 : 6)) {
      case 0:
      case 1:
        *a = static_cast<uint16_t>(draw(0xB000));
        break;
      case 2:  // shifted register
        *a = static_cast<uint16_t>(0xEA00 | (half() & 0x1FF));
        *b &= 0x7FFF;
        break;
      case 3:  // immediates
        *a = static_cast<uint16_t>(0xF000 | (half() & 0x7FF));
        *b &= 0x7FFF;
        break;
      case 4:
        *a = static_cast<uint16_t>(0xFA00 | (half() & 0xFF));
        *b |= 0xF000;
        if (draw(4) == 0) {  // REV, CLZ want the register twice
          *a = static_cast<uint16_t>((*a & 0xFFF0) | (*b & 15));
        }
        break;
      case 5:
        *a = static_cast<uint16_t>(0xFB00 | (half() & 0xFF));
        if ((*a & 0xF0) == 0x90 || (*a & 0xF0) == 0xB0) {
          *b |= 0xF0F0;
        }
        break;
      default:
        *a = static_cast<uint16_t>((draw(6) == 0 ? 0xFE00 : 0xEE00) | (half() & 0xFF));
        *b = static_cast<uint16_t>((*b & 0xF1FF) | 0x0A00);
        if (draw(8) != 0) {
          *b &= 0xFFEF;
        }
        if (draw(3) != 0) {  // D16-D31 do not exist
          *a &= 0xFFBF;
          *b &= 0xFF5F;
        }
        break;
    }
  }

  // One instruction that touches registers only.
  void plain(uint32_t itstate, uint32_t* next_itstate) {
    for (;;) {
      uint16_t a = 0;
      uint16_t b = 0;
      draw_encoding(&a, &b);
      const Insn i = decode(a, b, here(), itstate);
      if (writes_sp(i) || !(is_plain(i) || (options_.fp && is_vfp(i)))) {
        continue;
      }
      put(i, a, b, itstate, next_itstate);
      return;
    }
  }
  void put(const Insn& i, uint16_t a, uint16_t b, uint32_t itstate, uint32_t* next_itstate) {
    emit(a);
    if (i.size == 4) {
      emit(b);
    }
    ++image_.instructions;
    if (next_itstate != nullptr) {
      *next_itstate = advance_itstate(itstate);
    }
  }

  void draw_memory(uint16_t* a, uint16_t* b) {
    *b = half();
    switch (draw(options_.fp ? 9 : 7)) {
      case 0:
        *a = static_cast<uint16_t>(0x5000 + draw(0x5000));
        break;
      case 1:
        *a = static_cast<uint16_t>((draw(2) != 0 ? 0xC000 : 0xB400) | (half() & 0x0FFF));
        break;
      case 2:
        *a = static_cast<uint16_t>(0xE800 | (half() & 0x1FF));
        *b &= 0x5FFF;
        if (draw(4) == 0) {
          *b |= 0x0F4F;  // exclusives
        }
        break;
      case 3:
      case 4:
        *a = static_cast<uint16_t>(0xF800 | (half() & 0x17F));
        *b = static_cast<uint16_t>((*b & 0xF03F) | (draw(2) != 0 ? 0x0800 | (half() & 0x07FF) : 0));
        break;
      case 5:
      case 6:
        *a = static_cast<uint16_t>(0xF880 | (half() & 0x17F));
        *b &= 0xF0FF;
        break;
      default:
        *a = static_cast<uint16_t>(0xEC00 | (half() & 0x1FF));
        *b = static_cast<uint16_t>((*b & 0xF01F) | 0x0A00 | (half() & 0x100));
        break;
    }
  }

  static bool is_exclusive(Kind k) { return k >= Kind::ldrex && k <= Kind::strexh; }
  static bool is_store_exclusive(Kind k) { return k >= Kind::strex && k <= Kind::strexh; }

  // Whether the access can be made to fall into the scratch area.
  bool memory_allowed(const Insn& i) {
    const bool vfp = i.kind == Kind::vldr || i.kind == Kind::vstr || i.kind == Kind::vldm ||
                     i.kind == Kind::vstm;
    if (!((i.kind >= Kind::ldr && i.kind <= Kind::preload) || vfp)) {
      return false;
    }
    const bool multiple = i.kind == Kind::ldm || i.kind == Kind::stm;
    if (!vfp && !multiple && (i.rd == 13 || i.rd == 15)) {
      return false;
    }
    if (multiple && ((i.list & 0xA000) != 0 ||
                     (i.kind == Kind::stm && (i.list & (1u << i.rn)) != 0 && i.writeback) ||
                     (i.kind == Kind::ldm && (i.list & (1u << i.rn)) != 0))) {
      return false;
    }
    if (i.kind == Kind::strd && i.rd == i.rn) {
      return false;
    }
    // Whether a store-exclusive long after the load succeeds is for the implementation to say.
    if (is_exclusive(i.kind) && i.rn == 13) {
      return false;
    }
    if (i.rn == 13) {
      return push_pop_allowed(i) ||
             (i.immediate && !i.writeback && !multiple && i.imm <= 128 && i.kind != Kind::vldm &&
              i.kind != Kind::vstm && (i.add || i.imm <= 64));
    }
    if (i.literal) {
      return i.kind == Kind::ldr || i.kind == Kind::ldrb || i.kind == Kind::ldrsh;
    }
    return i.immediate ? i.imm <= 255 : i.rm != i.rn && i.rm != 13;
  }

  bool push_pop_allowed(const Insn& i) {
    const bool multiple = i.kind == Kind::ldm || i.kind == Kind::stm;
    if (!multiple || !i.writeback || i.add != (i.kind == Kind::ldm)) {
      return false;
    }
    const int bytes = 4 * std::popcount(i.list);
    const int offset = sp_offset_ + (i.kind == Kind::ldm ? bytes : -bytes);
    if (offset < -96 || offset > 96) {
      return false;
    }
    pending_sp_ = offset;
    return true;
  }

  void set_base(const Insn& i) {
    const bool may_be_unaligned = i.kind >= Kind::ldr && i.kind <= Kind::strh;
    uint32_t base = kScratch + 256 + draw(64) * 4;
    if (may_be_unaligned && draw(3) == 0) {
      base += draw(4);
    }
    constant(i.rn, base);
    if (!i.immediate && i.kind >= Kind::ldr && i.kind <= Kind::strh) {
      constant(i.rm, draw(2) != 0 ? draw(32) : 0 - draw(24));
    }
  }

  // One load or store, with its base register set before; in an IT block, relative to SP.
  void memory(uint32_t itstate, uint32_t* next_itstate) {
    for (;;) {
      uint16_t a = 0;
      uint16_t b = 0;
      draw_memory(&a, &b);
      pending_sp_ = sp_offset_;
      const Insn i = decode(a, b, here(), itstate);
      if (!memory_allowed(i)) {
        continue;
      }
      if (itstate != 0 && (i.rn != 13 || pending_sp_ != sp_offset_)) {
        continue;
      }
      if (i.rn != 13 && !i.literal && i.kind != Kind::preload && i.kind != Kind::clrex) {
        set_base(i);
      }
      if (is_store_exclusive(i.kind)) {
        if (draw(4) != 0) {
          exclusive_load(i, b);
        } else {
          emit(0xF3BF, 0x8F2F);  // clrex
        }
      }
      sp_offset_ = pending_sp_;
      put(i, a, b, itstate, next_itstate);
      return;
    }
  }
  // The load that makes the store succeed, into a register that is neither base nor data.
  void exclusive_load(const Insn& i, uint16_t b) {
    uint32_t rt = draw(13);
    while (rt == i.rn || rt == i.rd) {
      rt = draw(13);
    }
    if (i.kind == Kind::strex) {
      emit(static_cast<uint16_t>(0xE850 | i.rn),
           static_cast<uint16_t>(rt << 12 | 0xF00 | (b & 0xFF)));
    } else {
      emit(static_cast<uint16_t>(0xE8D0 | i.rn),
           static_cast<uint16_t>(rt << 12 | 0xF0F | (i.kind == Kind::strexb ? 0x40 : 0x50)));
    }
    ++image_.instructions;
  }

  void it_block() {
    const uint32_t cond = draw(15);
    uint32_t mask = 1 + draw(15);
    if (cond == 14) {
      mask = 1u << draw(4);
    }
    emit(static_cast<uint16_t>(0xBF00 | cond << 4 | mask));
    ++image_.instructions;
    uint32_t itstate = cond << 4 | mask;
    while ((itstate & 15) != 0) {
      uint32_t next = 0;
      if (draw(4) == 0) {
        memory(itstate, &next);
      } else {
        plain(itstate, &next);
      }
      itstate = next;
    }
  }

  // A conditional forward branch, CBZ or BL over nothing.
  void skip() {
    const uint32_t at = here();
    ++image_.instructions;
    if (draw(5) == 0) {
      branch_link(at + 4);
      return;
    }
    const bool compare = draw(3) == 0;
    emit(0);
    for (unsigned k = 1 + draw(2); k > 0; --k) {
      const int before = sp_offset_;
      memory_or_plain_without_sp(before);
    }
    const uint32_t offset = here() - (at + 4);
    if (compare) {
      patch(at, static_cast<uint16_t>(0xB100 | draw(2) << 11 | ((offset >> 6) & 1) << 9 |
                                      ((offset >> 1) & 31) << 3 | draw(8)));
    } else {
      patch(at, static_cast<uint16_t>(0xD000 | draw(14) << 8 | ((offset >> 1) & 0xFF)));
    }
  }
  // What may be skipped must leave SP alone: its offset is known here only if it always executes.
  void memory_or_plain_without_sp(int before) {
    if (draw(2) == 0) {
      plain(0, nullptr);
      return;
    }
    for (;;) {
      const size_t size = bytes_.size();
      const uint64_t count = image_.instructions;
      memory(0, nullptr);
      if (sp_offset_ == before) {
        return;
      }
      bytes_.resize(size);
      image_.instructions = count;
      sp_offset_ = before;
    }
  }

  // Semihosting: open dump.bin, write the records, exit. The virtual core stops at the first BKPT.
  void finish() {
    const uint32_t end = here();
    dump_and_exit(kVariables, kRecords);
    // Faults come here too.
    const uint32_t save = kCode - 64;
    const uint32_t offset = end - (save + 4);
    const uint32_t j1 = ((offset >> 23) & 1) ^ 1;
    const uint32_t j2 = ((offset >> 22) & 1) ^ 1;
    patch(save, static_cast<uint16_t>(0xF000 | ((offset >> 12) & 0x3FF)));
    patch(save + 2, static_cast<uint16_t>(0x9000 | j1 << 13 | j2 << 11 | ((offset >> 1) & 0x7FF)));
  }

  Options options_;
  std::mt19937_64 random_;
  Image image_;
  uint32_t recorder_ = 0;
  int sp_offset_ = 0;   // of SP at this point of the packet
  int pending_sp_ = 0;  // behind the instruction being drawn
};

}  // namespace

Image generate(const Options& options) { return Generator(options).run(); }

}  // namespace millrace::board::diff
