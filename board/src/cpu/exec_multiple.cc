// SPDX-License-Identifier: Apache-2.0
// LDM, STM, LDRD, STRD and the exclusives; all want aligned addresses (A3.2.1). Registers change
// only when every access has succeeded; the stores before a fault stay, as on hardware.
#include <bit>

#include "cpu/exec.h"

namespace millrace::board {
namespace {

// Op: imm = the list, ra = number of registers, rm = 1: with write-back.
template <bool decrement>
uint32_t first_address(const CpuState& s, const Op& op) {
  return decrement ? s.r[op.rn] - 4u * op.ra : s.r[op.rn];
}
template <bool decrement>
uint32_t base_after(const CpuState& s, const Op& op) {
  return decrement ? s.r[op.rn] - 4u * op.ra : s.r[op.rn] + 4u * op.ra;
}

constexpr Cpu::AccessKind word(unsigned number) {
  return {.size = 4, .aligned_only = true, .after = static_cast<uint8_t>(number)};
}

template <bool decrement, bool to_pc>
Next ldm(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  uint32_t address = first_address<decrement>(s, *op);
  uint32_t list = op->imm;
  Access access = Access::done;
  uint32_t target = 0;
  if (const uint8_t* p = cpu.fast_words(address, op->ra, false); p != nullptr) [[likely]] {
    if (op->rm != 0) {
      s.r[op->rn] = base_after<decrement>(s, *op);
    }
    if constexpr (to_pc) {
      list &= 0x7FFF;
      target = load_le32(p + size_t{4} * (op->ra - 1u));
    }
    for (; list != 0; list &= list - 1, p += 4) {
      s.r[static_cast<unsigned>(std::countr_zero(list))] = load_le32(p);
    }
  } else {
    std::array<uint32_t, 16> values{};
    for (unsigned k = 0; k < op->ra; ++k, address += 4) {
      const Access a = cpu.load_slow(op, address, word(k), &values[k]);
      if (a == Access::fault) {
        return Next::fault;
      }
      access = a == Access::done ? access : a;
    }
    if (op->rm != 0) {
      s.r[op->rn] = base_after<decrement>(s, *op);
    }
    for (unsigned k = 0; list != 0; list &= list - 1, ++k) {
      const unsigned number = static_cast<unsigned>(std::countr_zero(list));
      if (number == 15) {
        target = values[k];
      } else {
        s.r[number] = values[k];
      }
    }
  }
  if constexpr (to_pc) {
    return cpu.branch_exchange(op, target);
  }
  return next_after(cpu, op, access);
}

template <bool decrement>
Next stm(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  uint32_t address = first_address<decrement>(s, *op);
  uint32_t list = op->imm;
  Access access = Access::done;
  if (uint8_t* p = cpu.fast_words(address, op->ra, true); p != nullptr) [[likely]] {
    for (; list != 0; list &= list - 1, p += 4) {
      store_le32(p, s.r[static_cast<unsigned>(std::countr_zero(list))]);
    }
  } else {
    for (unsigned k = 0; list != 0; list &= list - 1, ++k, address += 4) {
      const Access a =
          cpu.store_slow(op, address, word(k), s.r[static_cast<unsigned>(std::countr_zero(list))]);
      if (a == Access::fault) {
        return Next::fault;
      }
      access = a == Access::done ? access : a;
    }
  }
  if (op->rm != 0) {
    s.r[op->rn] = base_after<decrement>(s, *op);
  }
  return next_after(cpu, op, access);
}

// Op: rd, ra the registers; rm bit 0: write-back, bit 1: post-indexed, bit 2: literal.
Next ldrd(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  const uint32_t base = (op->rm & 4) != 0 ? 0 : s.r[op->rn];
  const uint32_t address = (op->rm & 2) != 0 ? base : base + op->imm;
  uint32_t first = 0;
  uint32_t second = 0;
  const Access a = cpu.load_slow(op, address, word(0), &first);
  if (a == Access::fault) {
    return Next::fault;
  }
  const Access b = cpu.load_slow(op, address + 4, word(1), &second);
  if (b == Access::fault) {
    return Next::fault;
  }
  if ((op->rm & 1) != 0) {
    const uint32_t after = base + op->imm;
    s.r[op->rn] = op->rn == 13 ? after & ~3u : after;
  }
  s.r[op->rd] = first;
  s.r[op->ra] = second;
  return next_after(cpu, op, a == Access::done ? b : a);
}
Next strd(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  const uint32_t base = s.r[op->rn];
  const uint32_t address = (op->rm & 2) != 0 ? base : base + op->imm;
  const Access a = cpu.store_slow(op, address, word(0), s.r[op->rd]);
  if (a == Access::fault) {
    return Next::fault;
  }
  const Access b = cpu.store_slow(op, address + 4, word(1), s.r[op->ra]);
  if (b == Access::fault) {
    return Next::fault;
  }
  if ((op->rm & 1) != 0) {
    const uint32_t after = base + op->imm;
    s.r[op->rn] = op->rn == 13 ? after & ~3u : after;
  }
  return next_after(cpu, op, a == Access::done ? b : a);
}

// A2.2 / A3.4: the monitor remembers one address.
template <uint8_t size>
Next load_exclusive(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  const uint32_t address = s.r[op->rn] + op->imm;
  uint32_t value = 0;
  const Access access = cpu.load_slow(op, address, {.size = size, .aligned_only = true}, &value);
  if (access == Access::fault) {
    return Next::fault;
  }
  s.exclusive = true;
  s.exclusive_address = address;
  s.r[op->rd] = value;
  return next_after(cpu, op, access);
}
template <uint8_t size>
Next store_exclusive(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  const uint32_t address = s.r[op->rn] + op->imm;
  if ((address & (size - 1u)) != 0) {
    return cpu.raise(op, FaultCause::unaligned, address);
  }
  Access access = Access::done;
  uint32_t failed = 1;
  if (s.exclusive && s.exclusive_address == address) {
    access = cpu.store_slow(op, address, {.size = size, .aligned_only = true}, s.r[op->rd]);
    if (access == Access::fault) {
      return Next::fault;
    }
    failed = 0;
  }
  s.exclusive = false;
  s.r[op->ra] = failed;
  return next_after(cpu, op, access);
}
Next clrex(Cpu& cpu, const Op* op) {
  cpu.state.exclusive = false;
  return next_op(cpu, op);
}

}  // namespace

Handler multiple_handler(const Insn& i) {
  switch (i.kind) {
    case Kind::ldm:
      if ((i.list & 0x8000) != 0) {
        return i.add ? &ldm<false, true> : &ldm<true, true>;
      }
      return i.add ? &ldm<false, false> : &ldm<true, false>;
    case Kind::stm:
      return i.add ? &stm<false> : &stm<true>;
    case Kind::ldrd:
      return &ldrd;
    case Kind::strd:
      return &strd;
    case Kind::ldrex:
      return &load_exclusive<4>;
    case Kind::ldrexh:
      return &load_exclusive<2>;
    case Kind::ldrexb:
      return &load_exclusive<1>;
    case Kind::strex:
      return &store_exclusive<4>;
    case Kind::strexh:
      return &store_exclusive<2>;
    case Kind::strexb:
      return &store_exclusive<1>;
    case Kind::clrex:
      return &clrex;
    default:
      return nullptr;
  }
}

}  // namespace millrace::board
