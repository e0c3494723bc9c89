// SPDX-License-Identifier: Apache-2.0
// Loads and stores of one register, Armv7-M ARM A7.7, A3.2.1 (alignment). A faulting instruction
// changes no register.
#include "cpu/exec.h"

namespace millrace::board {
namespace {

// How the address is formed; imm is a signed offset.
enum class Mode : uint8_t { offset, indexed, literal, pre, post };

template <Mode mode>
uint32_t address_of(const CpuState& s, const Op& op) {
  switch (mode) {
    case Mode::literal:
      return op.imm;
    case Mode::indexed:
      return s.r[op.rn] + (s.r[op.rm] << op.ra);
    case Mode::post:
      return s.r[op.rn];
    default:
      return s.r[op.rn] + op.imm;
  }
}

template <Mode mode>
void write_back(CpuState& s, const Op& op) {
  if constexpr (mode == Mode::pre || mode == Mode::post) {
    const uint32_t base = s.r[op.rn] + op.imm;
    s.r[op.rn] = op.rn == 13 ? base & ~3u : base;
  }
}

constexpr unsigned size_of(Kind k) {
  switch (k) {
    case Kind::ldr:
    case Kind::str:
      return 4;
    case Kind::ldrh:
    case Kind::ldrsh:
    case Kind::strh:
      return 2;
    default:
      return 1;
  }
}
template <Kind kind>
uint32_t extended(uint32_t x) {
  if constexpr (kind == Kind::ldrsb) {
    return static_cast<uint32_t>(static_cast<int8_t>(x));
  } else if constexpr (kind == Kind::ldrsh) {
    return static_cast<uint32_t>(static_cast<int16_t>(x));
  } else {
    return x;
  }
}

template <Kind kind, Mode mode>
Next load(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  uint32_t value = 0;
  const Access access = cpu.load<size_of(kind)>(op, address_of<mode>(s, *op), &value);
  if (access == Access::fault) [[unlikely]] {
    return Next::fault;
  }
  write_back<mode>(s, *op);
  s.r[op->rd] = extended<kind>(value);
  return next_after(cpu, op, access);
}

template <Kind kind, Mode mode>
Next store(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  const Access access = cpu.store<size_of(kind)>(op, address_of<mode>(s, *op), s.r[op->rd]);
  if (access == Access::fault) [[unlikely]] {
    return Next::fault;
  }
  write_back<mode>(s, *op);
  return next_after(cpu, op, access);
}

// LDRT and others: as if unprivileged, [Rn, #imm].
template <Kind kind>
Next load_unprivileged(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  uint32_t value = 0;
  const Access access = cpu.load_slow(op, s.r[op->rn] + op->imm,
                                      {.size = size_of(kind), .unprivileged = true}, &value);
  if (access == Access::fault) {
    return Next::fault;
  }
  s.r[op->rd] = extended<kind>(value);
  return next_after(cpu, op, access);
}
template <Kind kind>
Next store_unprivileged(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  const Access access = cpu.store_slow(op, s.r[op->rn] + op->imm,
                                       {.size = size_of(kind), .unprivileged = true}, s.r[op->rd]);
  return access == Access::fault ? Next::fault : next_after(cpu, op, access);
}

// LDR to PC ends the block, to SP clears two bits.
template <Mode mode>
Next load_pc(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  const uint32_t address = address_of<mode>(s, *op);
  if ((address & 3) != 0) {
    return cpu.raise(op, FaultCause::unaligned, address);
  }
  uint32_t value = 0;
  if (cpu.load<4>(op, address, &value) == Access::fault) {
    return Next::fault;
  }
  write_back<mode>(s, *op);
  return cpu.branch_exchange(op, value);
}
template <Mode mode>
Next load_sp(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  uint32_t value = 0;
  const Access access = cpu.load<4>(op, address_of<mode>(s, *op), &value);
  if (access == Access::fault) {
    return Next::fault;
  }
  write_back<mode>(s, *op);
  s.r[13] = value & ~3u;
  return next_after(cpu, op, access);
}

Mode mode_of(const Insn& i) {
  if (i.literal) {
    return Mode::literal;
  }
  if (!i.immediate) {
    return Mode::indexed;
  }
  if (!i.writeback) {
    return Mode::offset;
  }
  return i.index ? Mode::pre : Mode::post;
}

template <Kind kind>
Handler load_by_mode(const Insn& i) {
  if (i.unprivileged) {
    return &load_unprivileged<kind>;
  }
  switch (mode_of(i)) {
    case Mode::offset:
      return &load<kind, Mode::offset>;
    case Mode::indexed:
      return &load<kind, Mode::indexed>;
    case Mode::literal:
      return &load<kind, Mode::literal>;
    case Mode::pre:
      return &load<kind, Mode::pre>;
    default:
      return &load<kind, Mode::post>;
  }
}
template <Kind kind>
Handler store_by_mode(const Insn& i) {
  if (i.unprivileged) {
    return &store_unprivileged<kind>;
  }
  switch (mode_of(i)) {
    case Mode::offset:
      return &store<kind, Mode::offset>;
    case Mode::indexed:
      return &store<kind, Mode::indexed>;
    case Mode::pre:
      return &store<kind, Mode::pre>;
    default:
      return &store<kind, Mode::post>;
  }
}

template <Mode mode>
Handler to_special(const Insn& i) {
  return i.rd == 15 ? &load_pc<mode> : &load_sp<mode>;
}
Handler word_load(const Insn& i) {
  if (i.rd != 13 && i.rd != 15) {
    return load_by_mode<Kind::ldr>(i);
  }
  switch (mode_of(i)) {
    case Mode::offset:
      return to_special<Mode::offset>(i);
    case Mode::indexed:
      return to_special<Mode::indexed>(i);
    case Mode::literal:
      return to_special<Mode::literal>(i);
    case Mode::pre:
      return to_special<Mode::pre>(i);
    default:
      return to_special<Mode::post>(i);
  }
}

}  // namespace

Handler load_store_handler(const Insn& i) {
  switch (i.kind) {
    case Kind::ldr:
      return word_load(i);
    case Kind::ldrb:
      return load_by_mode<Kind::ldrb>(i);
    case Kind::ldrh:
      return load_by_mode<Kind::ldrh>(i);
    case Kind::ldrsb:
      return load_by_mode<Kind::ldrsb>(i);
    case Kind::ldrsh:
      return load_by_mode<Kind::ldrsh>(i);
    case Kind::str:
      return store_by_mode<Kind::str>(i);
    case Kind::strb:
      return store_by_mode<Kind::strb>(i);
    case Kind::strh:
      return store_by_mode<Kind::strh>(i);
    default:
      return nullptr;
  }
}

}  // namespace millrace::board
