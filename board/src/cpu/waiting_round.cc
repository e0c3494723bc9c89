// SPDX-License-Identifier: Apache-2.0
// The round is executed with ranges (value_range.h) in place of values: the registers begin with
// what they held, and each read of a counter gives all that it can read until the last of the
// rounds in question. If every condition and every address on the way is certain even so, each of
// the rounds goes this way. Then all that was read before it was written (registers, flags, words
// of memory) must be at the end what it was at the begin, for the next round to begin like this
// one. Any instruction or access that is not known to be harmless makes the answer 0, and the loop
// is executed; so this need not know the whole instruction set.
//
// The most rounds are found by halving: a wider range only makes fewer things certain. The
// counter's limits are those of a whole round and not of the read in it, which costs one round of
// the many.
#include "cpu/waiting_round.h"

#include <algorithm>

#include "core/bytes.h"
#include "cpu/decoder.h"

namespace millrace::board {
namespace {

constexpr size_t kMostWords = 64;
constexpr uint32_t kN = 1u << 16, kZ = 1u << 17, kC = 1u << 18, kV = 1u << 19;
// What the conditions look at, by pairs.
constexpr uint32_t kConditionFlags[] = {kZ, kC, kN, kV, kC | kZ, kN | kV, kN | kV | kZ};
// A counter may be read some cycles behind the issue of the load.
constexpr Cycles kReadDelay = 64;
// SYSm (B5.1.1).
constexpr uint32_t kIpsr = 5, kPrimask = 16, kBasepri = 17, kBasepriMax = 18, kControl = 20;

bool is_device(uint32_t address) {
  return (address >= 0x40000000u && address < 0x60000000u) || address >= 0xA0000000u;
}

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

WaitingRound::WaitingRound(const Facts& facts, MemorySystem& memory, const SystemControl& system)
    : facts_(facts), memory_(memory), system_(system) {}

uint64_t WaitingRound::equal_rounds(uint64_t most) {
  if (most == 0 || !follow(0)) return 0;
  if (follow(most)) return most;
  uint64_t certain = 0, uncertain = most;
  while (uncertain - certain > 1) {
    const uint64_t middle = certain + (uncertain - certain) / 2;
    (follow(middle) ? certain : uncertain) = middle;
  }
  return certain;
}

bool WaitingRound::decode_at(uint32_t address, uint32_t itstate, Insn* insn) {
  const bool privileged = facts_.head.privileged();
  uint16_t first = 0, second = 0;
  if (memory_.fetch(address, privileged, &first) != AccessFault::none) return false;
  const bool is_wide = first >= 0xE800;
  if (is_wide && memory_.fetch(address + 2, privileged, &second) != AccessFault::none) return false;
  *insn = decode(first, second, address, itstate);
  return true;
}

// Follows the round with what the counter can read in it and in `rounds` more.
bool WaitingRound::follow(uint64_t rounds) {
  const CpuState& head = facts_.head;
  until_ = facts_.end + rounds * (facts_.end - facts_.begin) + kReadDelay;
  pc_ = head.r[15];
  itstate_ = head.itstate;
  for (unsigned reg = 0; reg < registers_.size(); ++reg) {
    registers_[reg] = ValueRange::of(head.r[reg]);
  }
  flags_ = {sign_of(ValueRange::of(head.n_source)), bit_of(head.z_source == 0), bit_of(head.c != 0),
            bit_of(head.v != 0)};
  special_ = head;
  read_first_ = written_ = 0;
  device_reads_ = 0;
  words_.clear();
  for (uint64_t k = 0; k < facts_.instructions; ++k) {
    if (!has_path_ && !decode_at(pc_, itstate_, &path_.emplace_back())) return false;
    if (!step(path_[k])) return false;
  }
  has_path_ = true;
  return is_repeatable();
}

bool WaitingRound::is_repeatable() const {
  const CpuState& head = facts_.head;
  const CpuState& behind = facts_.behind;
  if (pc_ != head.r[15] || itstate_ != head.itstate || device_reads_ != facts_.device_accesses) {
    return false;
  }
  CpuState rest = behind;
  for (unsigned reg = 0; reg < registers_.size(); ++reg) {
    const uint32_t bit = 1u << reg;
    if ((written_ & bit) == 0) continue;
    const ValueRange value = registers_[reg];
    if (!value.has(behind.r[reg])) return false;
    if ((read_first_ & bit) != 0 && value != ValueRange::of(head.r[reg])) return false;
    rest.r[reg] = head.r[reg];
  }
  // A flag that is written and read before that would have to be the same; loops have no such flag.
  if ((written_ & read_first_ & (kN | kZ | kC | kV)) != 0) return false;
  if ((written_ & kN) != 0) rest.n_source = head.n_source;
  if ((written_ & kZ) != 0) rest.z_source = head.z_source;
  if ((written_ & kC) != 0) rest.c = head.c;
  if ((written_ & kV) != 0) rest.v = head.v;
  if (!(rest == head) || !(special_ == head)) return false;
  return std::all_of(words_.begin(), words_.end(), [this](const Word& w) {
    if (!w.written) return true;
    uint8_t bytes[4] = {};
    if (!memory_.debug_read(w.address, bytes, 4)) return false;
    const uint32_t now = load_le32(bytes);
    return w.read_first ? w.value == ValueRange::of(now) : w.value.has(now);
  });
}

ValueRange WaitingRound::get(unsigned reg) {
  if (reg == 15) return ValueRange::of(pc_ + 4);
  if ((written_ & (1u << reg)) == 0) read_first_ |= 1u << reg;
  return registers_[reg];
}

void WaitingRound::set(unsigned reg, ValueRange value) {
  written_ |= 1u << reg;
  registers_[reg] = value;
}

void WaitingRound::note_flags_read(uint32_t bits) { read_first_ |= bits & ~written_; }

void WaitingRound::set_nz(ValueRange result) {
  written_ |= kN | kZ;
  flags_.n = sign_of(result);
  flags_.z = is_zero(result);
}

bool WaitingRound::step(const Insn& i) {
  const uint32_t address = pc_;
  pc_ += i.size;
  const uint32_t itstate = itstate_;
  itstate_ = i.kind == Kind::it ? i.imm : advance_itstate(itstate);
  if (i.cond < kAlways) {
    note_flags_read(kConditionFlags[i.cond / 2]);
    const Bit taken = holds(i.cond, flags_);
    if (taken == Bit::unknown) return false;
    if (taken == Bit::zero) return true;
  }
  if (i.kind == Kind::b || i.kind == Kind::bl) {
    if (i.kind == Kind::bl) set(14, ValueRange::of(pc_ | 1));
    pc_ = i.imm;
    return true;
  }
  if (i.kind == Kind::bx) return branch_to(get(i.rm));
  if (i.kind == Kind::blx) {
    const ValueRange target = get(i.rm);
    set(14, ValueRange::of(pc_ | 1));
    return branch_to(target);
  }
  if (i.kind == Kind::cbz) {
    const Bit zero = is_zero(get(i.rn));
    if (zero == Bit::unknown) return false;
    if ((zero == Bit::one) == (i.ra == 0)) pc_ = i.imm;
    return true;
  }
  const uint32_t behind = pc_;
  pc_ = address;  // as an operand
  if (!step_plain(i)) return false;
  if (pc_ == address) pc_ = behind;
  return true;
}

bool WaitingRound::branch_to(ValueRange target) {
  // No exception returns; and Thumb stays.
  if (!target.known() || target.first >= 0xF0000000u || (target.first & 1) == 0) return false;
  pc_ = target.first & ~1u;
  return true;
}

bool WaitingRound::step_plain(const Insn& i) {
  switch (i.kind) {
    case Kind::nop:
    case Kind::it:
    case Kind::preload:
    case Kind::dmb:
    case Kind::dsb:
    case Kind::isb:
      return true;
    case Kind::clrex:
      special_.exclusive = false;
      return true;
    case Kind::mul:
    case Kind::mla:
    case Kind::mls:
    case Kind::umull:
    case Kind::udiv:
      return multiplication(i);
    case Kind::ubfx:
    case Kind::sbfx:
    case Kind::uxtb:
    case Kind::uxth:
    case Kind::sxtb:
    case Kind::sxth:
      return bits(i);
    case Kind::ldr:
    case Kind::ldrb:
    case Kind::ldrh:
    case Kind::ldrsb:
    case Kind::ldrsh:
      return load(i);
    case Kind::str:
    case Kind::strb:
    case Kind::strh:
      return store(i);
    case Kind::ldrd:
    case Kind::strd:
      return pair(i);
    case Kind::ldm:
    case Kind::stm:
      return multiple(i);
    case Kind::ldrex:
    case Kind::ldrexb:
    case Kind::ldrexh:
    case Kind::strex:
    case Kind::strexb:
    case Kind::strexh:
      return exclusive(i);
    case Kind::mrs:
    case Kind::msr:
    case Kind::cps:
      return system_register(i);
    case Kind::adr:
      set(i.rd, ValueRange::of(i.imm));
      return true;
    case Kind::movt: {
      const ValueRange low = low_bits(get(i.rd), 16);
      set(i.rd, {low.first | i.imm << 16, low.length});
      return true;
    }
    default:
      return i.kind >= Kind::and_op && i.kind <= Kind::cmn && data_processing(i);
  }
}

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
  if (!base.known() || (address & (size - 1)) != 0 || is_device(address)) return false;
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

WaitingRound::Word* WaitingRound::word_at(uint32_t address) {
  const auto found = std::find_if(words_.begin(), words_.end(),
                                  [address](const Word& w) { return w.address == address; });
  if (found != words_.end()) return &*found;
  uint8_t bytes[4] = {};
  if (words_.size() >= kMostWords || !memory_.debug_read(address, bytes, 4)) return nullptr;
  return &words_.emplace_back(Word{address, ValueRange::of(load_le32(bytes))});
}

bool WaitingRound::read(uint32_t address, unsigned size, ValueRange* value) {
  if (is_device(address)) {
    ++device_reads_;
    return size == 4 && system_.counter_range(address, facts_.begin, until_, value);
  }
  if ((address & (size - 1)) != 0) return false;
  Word* const word = word_at(address & ~3u);
  if (word == nullptr) return false;
  if (!word->written) word->read_first = true;
  *value =
      size == 4 ? word->value : low_bits(shift_right(word->value, 8 * (address & 3)), 8 * size);
  return true;
}

bool WaitingRound::write(uint32_t address, unsigned size, ValueRange value) {
  if ((address & (size - 1)) != 0) return false;
  if (is_device(address) || !memory_.stores_freely(address, special_.privileged())) return false;
  Word* const word = word_at(address & ~3u);
  if (word == nullptr) return false;
  if (size < 4) {
    // The other bytes stay, so the word counts as read.
    if (!word->written) word->read_first = true;
    if (!word->value.known() || !value.known()) return false;
    const unsigned shift = 8 * (address & 3);
    const uint32_t mask = ((uint32_t{1} << (8 * size)) - 1) << shift;
    value = ValueRange::of((word->value.first & ~mask) | (value.first << shift & mask));
  }
  word->written = true;
  word->value = value;
  return true;
}

}  // namespace millrace::board
