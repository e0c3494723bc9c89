// SPDX-License-Identifier: Apache-2.0
// Data processing with an immediate or a shifted register, Armv7-M ARM A7.7. One handler for each
// combination of operation, flag setting and kind of operand 2.
#include <bit>
#include <utility>

#include "cpu/exec.h"

namespace millrace::board {
namespace {

// Operand 2. value() also gives the shifter's carry; kCarry: 0 unchanged, 1 there is one.
struct Immediate {
  static constexpr bool kCarry = false;
  static uint32_t value(const CpuState&, const Op& op, uint32_t*) { return op.imm; }
};
struct ImmediateCarry {
  static constexpr bool kCarry = true;
  static uint32_t value(const CpuState&, const Op& op, uint32_t* carry) {
    *carry = op.ra;
    return op.imm;
  }
};
struct Register {
  static constexpr bool kCarry = false;
  static uint32_t value(const CpuState& s, const Op& op, uint32_t*) { return s.r[op.rm]; }
};
// Amounts 1..31 (LSL, ROR) and 1..32 (LSR, ASR).
template <Shift type>
struct Shifted {
  static constexpr bool kCarry = true;
  static uint32_t value(const CpuState& s, const Op& op, uint32_t* carry) {
    const uint32_t x = s.r[op.rm];
    const unsigned n = op.ra;
    if constexpr (type == Shift::lsl) {
      *carry = (x >> (32 - n)) & 1;
      return x << n;
    } else if constexpr (type == Shift::lsr) {
      *carry = (x >> (n - 1)) & 1;
      return static_cast<uint32_t>(static_cast<uint64_t>(x) >> n);
    } else if constexpr (type == Shift::asr) {
      *carry = (x >> (n - 1)) & 1;
      return static_cast<uint32_t>(static_cast<int64_t>(static_cast<int32_t>(x)) >> n);
    } else if constexpr (type == Shift::ror) {
      const uint32_t r = std::rotr(x, static_cast<int>(n));
      *carry = r >> 31;
      return r;
    } else {
      *carry = x & 1;
      return (x >> 1) | (s.c << 31);
    }
  }
};

constexpr bool is_logical(Kind k) {
  return k == Kind::and_op || k == Kind::bic || k == Kind::orr || k == Kind::orn ||
         k == Kind::eor || k == Kind::mov || k == Kind::mvn || k == Kind::tst || k == Kind::teq;
}
constexpr bool has_result(Kind k) {
  return k != Kind::tst && k != Kind::teq && k != Kind::cmp && k != Kind::cmn;
}

template <Kind kind>
uint32_t logical(uint32_t a, uint32_t b) {
  switch (kind) {
    case Kind::and_op:
    case Kind::tst:
      return a & b;
    case Kind::bic:
      return a & ~b;
    case Kind::orr:
      return a | b;
    case Kind::orn:
      return a | ~b;
    case Kind::eor:
    case Kind::teq:
      return a ^ b;
    case Kind::mov:
      return b;
    default:
      return ~b;
  }
}

template <Kind kind>
Sum arithmetic(uint32_t a, uint32_t b, uint32_t c) {
  switch (kind) {
    case Kind::add:
    case Kind::cmn:
      return add_with_carry(a, b, 0);
    case Kind::adc:
      return add_with_carry(a, b, c);
    case Kind::sub:
    case Kind::cmp:
      return add_with_carry(a, ~b, 1);
    case Kind::sbc:
      return add_with_carry(a, ~b, c);
    default:
      return add_with_carry(~a, b, 1);
  }
}

template <Kind kind, bool set_flags, class Operand>
void execute(CpuState& s, const Op* op) {
  uint32_t carry = 0;
  const uint32_t b = Operand::value(s, *op, &carry);
  const uint32_t a = s.r[op->rn];
  if constexpr (is_logical(kind)) {
    const uint32_t r = logical<kind>(a, b);
    if constexpr (set_flags) {
      s.n_source = r;
      s.z_source = r;
      if constexpr (Operand::kCarry) {
        s.c = carry;
      }
    }
    if constexpr (has_result(kind)) {
      s.r[op->rd] = r;
    }
  } else {
    const Sum r = arithmetic<kind>(a, b, s.c);
    if constexpr (set_flags) {
      s.n_source = r.value;
      s.z_source = r.value;
      s.c = r.carry;
      s.v = r.overflow;
    }
    if constexpr (has_result(kind)) {
      s.r[op->rd] = r.value;
    }
  }
}

template <Kind kind, bool set_flags, class Operand>
Next alu(Cpu& cpu, const Op* op) {
  execute<kind, set_flags, Operand>(cpu.state, op);
  return next_op(cpu, op);
}

// With the conditional branch behind it, and behind that the end of the block.
template <Kind kind, class Operand, unsigned cond>
Next alu_and_branch(Cpu& cpu, const Op* op) {
  execute<kind, true, Operand>(cpu.state, op);
  if (condition_passed(cpu.state, cond)) {
    cpu.state.r[15] = op[1].imm;
    return Next::taken;
  }
  cpu.state.r[15] = op[2].imm;
  return Next::fall;
}

template <Kind kind, class Operand, size_t... cond>
Handler by_condition(unsigned which, std::index_sequence<cond...>) {
  constexpr Handler kHandlers[] = {&alu_and_branch<kind, Operand, cond>...};
  return kHandlers[which];
}
template <Kind kind, class Operand>
Handler by_condition(const Insn& branch) {
  return by_condition<kind, Operand>(branch.cond, std::make_index_sequence<kAlways>());
}
template <Kind kind>
Handler with_branch(const Insn& i, const Insn& branch) {
  if (i.immediate) {
    return is_logical(kind) && i.carry != kNoCarry ? nullptr
                                                   : by_condition<kind, Immediate>(branch);
  }
  return i.shift == Shift::lsl && i.shift_amount == 0 ? by_condition<kind, Register>(branch)
                                                      : nullptr;
}

template <Kind kind, bool set_flags>
Handler with_operand(const Insn& i) {
  if (i.immediate) {
    return i.carry == kNoCarry || !set_flags || !is_logical(kind)
               ? &alu<kind, set_flags, Immediate>
               : &alu<kind, set_flags, ImmediateCarry>;
  }
  switch (i.shift) {
    case Shift::lsl:
      return i.shift_amount == 0 ? &alu<kind, set_flags, Register>
                                 : &alu<kind, set_flags, Shifted<Shift::lsl>>;
    case Shift::lsr:
      return &alu<kind, set_flags, Shifted<Shift::lsr>>;
    case Shift::asr:
      return &alu<kind, set_flags, Shifted<Shift::asr>>;
    case Shift::ror:
      return &alu<kind, set_flags, Shifted<Shift::ror>>;
    default:
      return &alu<kind, set_flags, Shifted<Shift::rrx>>;
  }
}

template <Kind kind>
Handler with_flags(const Insn& i) {
  if constexpr (!has_result(kind)) {
    return with_operand<kind, true>(i);
  } else {
    return i.set_flags ? with_operand<kind, true>(i) : with_operand<kind, false>(i);
  }
}

Next movt(Cpu& cpu, const Op* op) {
  uint32_t& r = cpu.state.r[op->rd];
  r = (r & 0xFFFF) | (op->imm << 16);
  return next_op(cpu, op);
}

Next adr(Cpu& cpu, const Op* op) {
  cpu.state.r[op->rd] = op->imm;
  return next_op(cpu, op);
}

}  // namespace

Handler alu_and_branch_handler(const Insn& i, const Insn& branch) {
  if (i.cond < kAlways || branch.kind != Kind::b || branch.cond >= kAlways) {
    return nullptr;
  }
  switch (i.kind) {
    case Kind::cmp:
      return with_branch<Kind::cmp>(i, branch);
    case Kind::tst:
      return with_branch<Kind::tst>(i, branch);
    case Kind::sub:
      return i.set_flags && i.rd != 13 ? with_branch<Kind::sub>(i, branch) : nullptr;
    case Kind::mov:
      return !i.set_flags || i.immediate || i.shift != Shift::lsr || i.rd == 13
                 ? nullptr
                 : by_condition<Kind::mov, Shifted<Shift::lsr>>(branch);
    default:
      return nullptr;
  }
}

Handler alu_handler(const Insn& i) {
  switch (i.kind) {
    case Kind::and_op:
      return with_flags<Kind::and_op>(i);
    case Kind::bic:
      return with_flags<Kind::bic>(i);
    case Kind::orr:
      return with_flags<Kind::orr>(i);
    case Kind::orn:
      return with_flags<Kind::orn>(i);
    case Kind::eor:
      return with_flags<Kind::eor>(i);
    case Kind::mov:
      return with_flags<Kind::mov>(i);
    case Kind::mvn:
      return with_flags<Kind::mvn>(i);
    case Kind::tst:
      return with_flags<Kind::tst>(i);
    case Kind::teq:
      return with_flags<Kind::teq>(i);
    case Kind::add:
      return with_flags<Kind::add>(i);
    case Kind::adc:
      return with_flags<Kind::adc>(i);
    case Kind::sub:
      return with_flags<Kind::sub>(i);
    case Kind::sbc:
      return with_flags<Kind::sbc>(i);
    case Kind::rsb:
      return with_flags<Kind::rsb>(i);
    case Kind::cmp:
      return with_flags<Kind::cmp>(i);
    case Kind::cmn:
      return with_flags<Kind::cmn>(i);
    case Kind::movt:
      return &movt;
    case Kind::adr:
      return &adr;
    default:
      return nullptr;
  }
}

}  // namespace millrace::board
