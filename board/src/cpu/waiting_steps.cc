// SPDX-License-Identifier: Apache-2.0
// The instructions of WaitingRound, with ranges for values (Armv7-M ARM A7.7).
#include <optional>

#include "cpu/waiting_round.h"

namespace millrace::board {
namespace {

// SYSm (B5.1.1).
constexpr uint32_t kIpsr = 5, kPrimask = 16, kBasepri = 17, kBasepriMax = 18, kControl = 20;

unsigned size_of(Kind k) {
  switch (k) {
    case Kind::ldrb:
    case Kind::ldrsb:
    case Kind::strb:
    case Kind::ldrexb:
    case Kind::strexb:
      return 1;
    case Kind::ldrh:
    case Kind::ldrsh:
    case Kind::strh:
    case Kind::ldrexh:
    case Kind::strexh:
      return 2;
    default:
      return 4;
  }
}

}  // namespace

// The second operand; `carry` is left alone where the shifter does not touch it.
std::optional<ValueRange> WaitingRound::shifted(const Insn& i, Bit* carry) {
  if (i.immediate) {
    if (i.carry != kNoCarry) *carry = bit_of(i.carry != 0);
    return ValueRange::of(i.imm);
  }
  const ValueRange value = get(i.rm);
  if (i.shift == Shift::lsl && i.shift_amount == 0) return value;
  *carry = Bit::unknown;
  if (i.shift_amount > 31) return std::nullopt;
  switch (i.shift) {
    case Shift::lsl:
      return shift_left(value, i.shift_amount);
    case Shift::lsr:
      return shift_right(value, i.shift_amount);
    case Shift::asr:
      if (sign_of(value) != Bit::zero) return std::nullopt;
      return shift_right(value, i.shift_amount);
    default:
      return std::nullopt;
  }
}

bool WaitingRound::data_processing(const Insn& i) {
  Bit carry = Bit::unknown;
  const std::optional<ValueRange> second = shifted(i, &carry);
  const bool shifts = i.immediate ? i.carry != kNoCarry : i.shift != Shift::lsl || i.shift_amount;
  if (!second) return false;
  const ValueRange b = *second;
  const bool moves = i.kind == Kind::mov || i.kind == Kind::mvn;
  const ValueRange a = moves ? ValueRange() : get(i.rn);
  const auto known = [&](uint32_t value) {
    return a.known() && b.known() ? ValueRange::of(value) : ValueRange::anything();
  };
  ValueRange result;
  RangeFlags f;
  bool is_sum = false, has_result = true, sets_flags = i.set_flags;
  switch (i.kind) {
    case Kind::mov:
      result = b;
      break;
    case Kind::mvn:
      result = complement(b);
      break;
    case Kind::and_op:
    case Kind::tst:
      result = bitwise_and(a, b);
      break;
    case Kind::bic:
      result = bitwise_and(a, complement(b));
      break;
    case Kind::orr:
      result = known(a.first | b.first);
      break;
    case Kind::orn:
      result = known(a.first | ~b.first);
      break;
    case Kind::eor:
    case Kind::teq:
      result = known(a.first ^ b.first);
      break;
    default: {
      is_sum = true;
      const bool with_carry = i.kind == Kind::adc || i.kind == Kind::sbc;
      const bool adds = i.kind == Kind::add || i.kind == Kind::cmn || i.kind == Kind::adc;
      if (with_carry) note_flags_read(kC);
      const Bit in = with_carry ? flags_.c : bit_of(!adds);
      result = i.kind == Kind::rsb ? add(complement(a), b, in, &f)
                                   : add(a, adds ? b : complement(b), in, &f);
    }
  }
  if (i.kind == Kind::tst || i.kind == Kind::teq || i.kind == Kind::cmp || i.kind == Kind::cmn) {
    has_result = false;
    sets_flags = true;
  }
  if (sets_flags && is_sum) {
    written_ |= kN | kZ | kC | kV;
    flags_ = f;
  } else if (sets_flags) {
    set_nz(result);
    if (shifts) {
      written_ |= kC;
      flags_.c = carry;
    }
  }
  if (!has_result) return true;
  if (i.rd == 15 || (i.rd == 13 && !result.known())) return false;
  set(i.rd, i.rd == 13 ? ValueRange::of(result.first & ~3u) : result);
  return true;
}

bool WaitingRound::multiplication(const Insn& i) {
  const ValueRange a = get(i.rn), b = get(i.rm);
  RangeFlags ignored;
  switch (i.kind) {
    case Kind::mul:
      set(i.rd, multiply(a, b));
      if (i.set_flags) set_nz(registers_[i.rd]);
      return true;
    case Kind::mla:
      set(i.rd, add(get(i.ra), multiply(a, b), Bit::zero, &ignored));
      return true;
    case Kind::mls:
      set(i.rd, add(get(i.ra), complement(multiply(a, b)), Bit::one, &ignored));
      return true;
    case Kind::umull:
      set(i.rd, multiply(a, b));
      set(i.ra, high_product(a, b));
      return true;
    default:  // UDIV takes as long as its operands say
      if (!a.known() || !b.known() || b.first == 0) return false;
      set(i.rd, ValueRange::of(a.first / b.first));
      return true;
  }
}

bool WaitingRound::bits(const Insn& i) {
  if (i.kind == Kind::ubfx || i.kind == Kind::sbfx) {
    const ValueRange field = shift_right(get(i.rn), i.imm);
    set(i.rd, i.kind == Kind::ubfx ? low_bits(field, i.ra) : sign_extend(field, i.ra));
    return true;
  }
  if (i.shift_amount != 0 || i.rn != 15) return false;
  const unsigned width = i.kind == Kind::uxtb || i.kind == Kind::sxtb ? 8 : 16;
  const bool is_signed = i.kind == Kind::sxtb || i.kind == Kind::sxth;
  const ValueRange value = get(i.rm);
  set(i.rd, is_signed ? sign_extend(value, width) : low_bits(value, width));
  return true;
}

// The address must be certain. `after`: of the base, for write-back.
bool WaitingRound::address_of(const Insn& i, uint32_t* address, uint32_t* after) {
  if (i.unprivileged) return false;
  if (i.literal) {
    *address = *after = i.imm;
    return true;
  }
  Bit carry = Bit::unknown;
  const ValueRange base = get(i.rn);
  const std::optional<ValueRange> offset = i.immediate ? ValueRange::of(i.imm) : shifted(i, &carry);
  if (!base.known() || !offset || !offset->known()) return false;
  *after = i.add ? base.first + offset->first : base.first - offset->first;
  *address = i.index ? *after : base.first;
  return true;
}

bool WaitingRound::load(const Insn& i) {
  uint32_t address = 0, after = 0;
  ValueRange value;
  if (!address_of(i, &address, &after) || !read(address, size_of(i.kind), &value)) return false;
  if (i.kind == Kind::ldrsb || i.kind == Kind::ldrsh) {
    value = sign_extend(value, 8 * size_of(i.kind));
  }
  if (i.writeback) set(i.rn, ValueRange::of(after));
  if (i.rd == 15) return branch_to(value);
  if (i.rd == 13) return false;
  set(i.rd, value);
  return true;
}

bool WaitingRound::store(const Insn& i) {
  uint32_t address = 0, after = 0;
  if (!address_of(i, &address, &after) || !write(address, size_of(i.kind), get(i.rd))) return false;
  if (i.writeback) set(i.rn, ValueRange::of(after));
  return true;
}

bool WaitingRound::pair(const Insn& i) {
  uint32_t address = 0, after = 0;
  if (!address_of(i, &address, &after) || (address & 3) != 0) return false;
  if (i.kind == Kind::strd) {
    if (!write(address, 4, get(i.rd)) || !write(address + 4, 4, get(i.ra))) return false;
  } else {
    ValueRange first, second;
    if (!read(address, 4, &first) || !read(address + 4, 4, &second)) return false;
    set(i.rd, first);
    set(i.ra, second);
  }
  if (i.writeback) set(i.rn, ValueRange::of(after));
  return true;
}

bool WaitingRound::multiple(const Insn& i) {
  const ValueRange base = get(i.rn);
  if (!base.known() || (base.first & 3) != 0) return false;
  uint32_t bytes = 0;
  for (unsigned reg = 0; reg < 16; ++reg) bytes += (i.list >> reg & 1) != 0 ? 4 : 0;
  uint32_t address = i.add ? base.first : base.first - bytes;
  const uint32_t after = i.add ? base.first + bytes : address;
  std::optional<ValueRange> target;
  for (unsigned reg = 0; reg < 16; ++reg) {
    if ((i.list >> reg & 1) == 0) continue;
    ValueRange value;
    if (i.kind == Kind::stm ? !write(address, 4, get(reg)) : !read(address, 4, &value))
      return false;
    if (i.kind == Kind::ldm && reg == 15) target = value;
    if (i.kind == Kind::ldm && reg != 15) set(reg, value);
    address += 4;
  }
  if (i.writeback) set(i.rn, ValueRange::of(after));
  return !target || branch_to(*target);
}

bool WaitingRound::exclusive(const Insn& i) {
  const ValueRange base = get(i.rn);
  const uint32_t address = base.first + i.imm;
  const unsigned size = size_of(i.kind);
  if (!base.known() || (address & (size - 1)) != 0 || is_device_address(address)) return false;
  if (i.kind == Kind::ldrex || i.kind == Kind::ldrexb || i.kind == Kind::ldrexh) {
    ValueRange value;
    if (!read(address, size, &value)) return false;
    special_.exclusive = true;
    special_.exclusive_address = address;
    set(i.rd, value);
    return true;
  }
  const bool stores = special_.exclusive && special_.exclusive_address == address;
  if (stores && !write(address, size, get(i.rd))) return false;
  special_.exclusive = false;
  set(i.ra, ValueRange::of(stores ? 0 : 1));
  return true;
}

bool WaitingRound::system_register(const Insn& i) {
  if (!special_.privileged()) return false;
  if (i.kind == Kind::cps) {
    if ((i.imm & 1) != 0) return false;  // FAULTMASK
    if ((i.imm & 2) != 0) special_.primask = (i.imm & 0x10) != 0 ? 1 : 0;
    return true;
  }
  if (i.kind == Kind::mrs) {
    const uint32_t value = i.imm == kPrimask                           ? special_.primask
                           : i.imm == kBasepri || i.imm == kBasepriMax ? special_.basepri
                           : i.imm == kControl                         ? special_.control
                                                                       : special_.ipsr;
    if (i.imm != kPrimask && i.imm != kBasepri && i.imm != kBasepriMax && i.imm != kControl &&
        i.imm != kIpsr) {
      return false;
    }
    set(i.rd, ValueRange::of(value));
    return true;
  }
  const ValueRange value = get(i.rn);
  if (!value.known()) return false;
  if (i.imm == kPrimask) {
    special_.primask = value.first & 1;
  } else if (i.imm == kBasepri || i.imm == kBasepriMax) {
    const uint32_t priority = value.first & 0xF0;
    const bool raises = priority != 0 && (special_.basepri == 0 || priority < special_.basepri);
    if (i.imm == kBasepri || raises) special_.basepri = priority;
  } else {
    return false;
  }
  return true;
}

}  // namespace millrace::board
