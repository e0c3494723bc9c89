// SPDX-License-Identifier: Apache-2.0
// Floating-point loads, stores and transfers; the arithmetic is in fpu.cc.
#include "cpu/exec.h"
#include "cpu/fpu.h"

namespace millrace::board {
namespace {

constexpr Cpu::AccessKind word(unsigned number) {
  return {.size = 4, .aligned_only = true, .after = static_cast<uint8_t>(number)};
}

// VLDR, VSTR. Op: ra = words (1 or 2), rm = 1: literal.
template <bool is_load>
Next single(Cpu& cpu, const Op* op) {
  if (!cpu.prepare_fp(op)) {
    return Next::fault;
  }
  CpuState& s = cpu.state;
  const uint32_t address = op->rm != 0 ? op->imm : s.r[op->rn] + op->imm;
  std::array<uint32_t, 2> words{s.s[op->rd], op->ra == 2 ? s.s[op->rd + 1u] : 0};
  Access access = Access::done;
  for (unsigned k = 0; k < op->ra; ++k) {
    const Access a = is_load ? cpu.load_slow(op, address + 4 * k, word(k), &words[k])
                             : cpu.store_slow(op, address + 4 * k, word(k), words[k]);
    if (a == Access::fault) {
      return Next::fault;
    }
    access = a == Access::done ? access : a;
  }
  if constexpr (is_load) {
    s.s[op->rd] = words[0];
    if (op->ra == 2) {
      s.s[op->rd + 1u] = words[1];
    }
  }
  return next_after(cpu, op, access);
}

// VLDM, VSTM. Op: ra = words, imm = bytes of the base's step, rm bit 0: write-back, bit 1: down.
template <bool is_load>
Next multiple(Cpu& cpu, const Op* op) {
  if (!cpu.prepare_fp(op)) {
    return Next::fault;
  }
  CpuState& s = cpu.state;
  const bool down = (op->rm & 2) != 0;
  const uint32_t address = down ? s.r[op->rn] - op->imm : s.r[op->rn];
  Access access = Access::done;
  uint8_t* p = cpu.fast_words(address, op->ra, !is_load);
  std::array<uint32_t, 32> words{};
  for (unsigned k = 0; k < op->ra; ++k) {
    if (p != nullptr) {
      if constexpr (is_load) {
        words[k] = load_le32(p + size_t{4} * k);
      } else {
        store_le32(p + size_t{4} * k, s.s[op->rd + k]);
      }
      continue;
    }
    const Access a = is_load ? cpu.load_slow(op, address + 4 * k, word(k), &words[k])
                             : cpu.store_slow(op, address + 4 * k, word(k), s.s[op->rd + k]);
    if (a == Access::fault) {
      return Next::fault;
    }
    access = a == Access::done ? access : a;
  }
  if constexpr (is_load) {
    for (unsigned k = 0; k < op->ra; ++k) {
      s.s[op->rd + k] = words[k];
    }
  }
  if ((op->rm & 1) != 0) {
    s.r[op->rn] = down ? address : s.r[op->rn] + op->imm;
  }
  return next_after(cpu, op, access);
}

// Op: rd (and ra) core registers, rn the S register.
template <bool to_core>
Next move_word(Cpu& cpu, const Op* op) {
  if (!cpu.prepare_fp(op)) {
    return Next::fault;
  }
  CpuState& s = cpu.state;
  if constexpr (to_core) {
    s.r[op->rd] = s.s[op->rn];
  } else {
    s.s[op->rn] = s.r[op->rd];
  }
  return next_op(cpu, op);
}
template <bool to_core>
Next move_pair(Cpu& cpu, const Op* op) {
  if (!cpu.prepare_fp(op)) {
    return Next::fault;
  }
  CpuState& s = cpu.state;
  if constexpr (to_core) {
    s.r[op->rd] = s.s[op->rn];
    s.r[op->ra] = s.s[op->rn + 1u];
  } else {
    s.s[op->rn] = s.r[op->rd];
    s.s[op->rn + 1u] = s.r[op->ra];
  }
  return next_op(cpu, op);
}

// FPSCR bits that exist: NZCV, AHP, DN, FZ, RMode, and the cumulative flags but for the traps.
constexpr uint32_t kFpscrBits = 0xF7C0009Fu;

Next vmrs(Cpu& cpu, const Op* op) {
  if (!cpu.prepare_fp(op)) {
    return Next::fault;
  }
  CpuState& s = cpu.state;
  if (op->rd == 15) {
    s.n_source = s.fpscr;
    s.z_source = (s.fpscr & 0x40000000u) != 0 ? 0 : 1;
    s.c = (s.fpscr >> 29) & 1;
    s.v = (s.fpscr >> 28) & 1;
  } else {
    s.r[op->rd] = s.fpscr;
  }
  return next_op(cpu, op);
}
Next vmsr(Cpu& cpu, const Op* op) {
  if (!cpu.prepare_fp(op)) {
    return Next::fault;
  }
  cpu.state.fpscr = cpu.state.r[op->rd] & kFpscrBits;
  return next_op(cpu, op);
}

}  // namespace

Handler vfp_handler(const Insn& i) {
  switch (i.kind) {
    case Kind::vfp_data:
      return fp_handler(i.imm);
    case Kind::vldr:
      return &single<true>;
    case Kind::vstr:
      return &single<false>;
    case Kind::vldm:
      return &multiple<true>;
    case Kind::vstm:
      return &multiple<false>;
    case Kind::vmov_core_single:
    case Kind::vmov_core_lane:
      return i.to_core ? &move_word<true> : &move_word<false>;
    case Kind::vmov_core_pair:
      return i.to_core ? &move_pair<true> : &move_pair<false>;
    case Kind::vmrs:
      return &vmrs;
    case Kind::vmsr:
      return &vmsr;
    default:
      return nullptr;
  }
}

}  // namespace millrace::board
