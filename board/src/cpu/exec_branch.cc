// SPDX-License-Identifier: Apache-2.0
// Branches and IT guards. Every branch is followed by the end op of its block, whose imm is the
// address behind it.
#include "cpu/exec.h"

namespace millrace::board {
namespace {

Next taken_to(Cpu& cpu, uint32_t target) {
  cpu.state.r[15] = target;
  return Next::taken;
}

template <unsigned cond>
Next branch(Cpu& cpu, const Op* op) {
  if (condition_passed(cpu.state, cond)) {
    return taken_to(cpu, op->imm);
  }
  cpu.state.r[15] = op[1].imm;
  return Next::fall;
}

template <unsigned cond>
Next guard(Cpu& cpu, const Op* op) {
  if (condition_passed(cpu.state, cond)) {
    return next_op(cpu, op);
  }
  const Op* behind = op + 1 + op->imm;
  return behind->handler(cpu, behind);
}

template <bool non_zero>
Next compare_branch(Cpu& cpu, const Op* op) {
  if ((cpu.state.r[op->rn] != 0) == non_zero) {
    return taken_to(cpu, op->imm);
  }
  cpu.state.r[15] = op[1].imm;
  return Next::fall;
}

Next bl(Cpu& cpu, const Op* op) {
  cpu.state.r[14] = op[1].imm | 1;
  return taken_to(cpu, op->imm);
}

// BX PC reads an even address: imm.
template <bool link>
Next branch_register(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  const uint32_t target = op->rm == 15 ? op->imm : s.r[op->rm];
  if constexpr (link) {
    // BLX does not return from exceptions (A7.7.19).
    s.r[14] = op[1].imm | 1;
    return cpu.call_exchange(target);
  }
  return cpu.branch_exchange(op, target);
}

// MOV and ADD to PC ignore bit 0 (BranchWritePC).
Next mov_pc(Cpu& cpu, const Op* op) {
  const uint32_t target = op->rm == 15 ? op->imm : cpu.state.r[op->rm];
  cpu.state.r[15] = target & ~1u;
  return Next::indirect;
}
Next add_pc(Cpu& cpu, const Op* op) {
  cpu.state.r[15] = (op->imm + cpu.state.r[op->rm]) & ~1u;
  return Next::indirect;
}

template <bool halfwords>
Next table_branch(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  const uint32_t base = op->rn == 15 ? op->imm : s.r[op->rn];
  uint32_t offset = 0;
  Access access = Access::done;
  if constexpr (halfwords) {
    access = cpu.load<2>(op, base + (s.r[op->rm] << 1), &offset);
  } else {
    access = cpu.load<1>(op, base + s.r[op->rm], &offset);
  }
  if (access == Access::fault) {
    return Next::fault;
  }
  s.r[15] = op->imm + 2 * offset;
  return Next::indirect;
}

constexpr Handler kBranches[] = {&branch<0>,  &branch<1>,  &branch<2>,  &branch<3>,  &branch<4>,
                                 &branch<5>,  &branch<6>,  &branch<7>,  &branch<8>,  &branch<9>,
                                 &branch<10>, &branch<11>, &branch<12>, &branch<13>, &branch<14>};
constexpr Handler kGuards[] = {&guard<0>,  &guard<1>,  &guard<2>,  &guard<3>, &guard<4>,
                               &guard<5>,  &guard<6>,  &guard<7>,  &guard<8>, &guard<9>,
                               &guard<10>, &guard<11>, &guard<12>, &guard<13>};

}  // namespace

Handler guard_handler(unsigned cond) { return kGuards[cond]; }

Handler branch_handler(const Insn& i) {
  switch (i.kind) {
    case Kind::b:
      return kBranches[i.cond < 14 ? i.cond : 14];
    case Kind::bl:
      return &bl;
    case Kind::bx:
      return &branch_register<false>;
    case Kind::blx:
      return &branch_register<true>;
    case Kind::cbz:
      return i.ra != 0 ? &compare_branch<true> : &compare_branch<false>;
    case Kind::tbb:
      return i.ra != 0 ? &table_branch<true> : &table_branch<false>;
    case Kind::mov_pc:
      return &mov_pc;
    case Kind::add_pc:
      return &add_pc;
    default:
      return nullptr;
  }
}

}  // namespace millrace::board
