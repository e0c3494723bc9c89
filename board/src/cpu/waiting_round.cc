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
// A counter may be read some cycles behind the issue of the load.
constexpr Cycles kReadDelay = 64;

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
    constexpr uint32_t kByPairs[] = {kZ, kC, kN, kV, kC | kZ, kN | kV, kN | kV | kZ};
    note_flags_read(kByPairs[i.cond / 2]);
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

WaitingRound::Word* WaitingRound::word_at(uint32_t address) {
  const auto found = std::find_if(words_.begin(), words_.end(),
                                  [address](const Word& w) { return w.address == address; });
  if (found != words_.end()) return &*found;
  uint8_t bytes[4] = {};
  if (words_.size() >= kMostWords || !memory_.debug_read(address, bytes, 4)) return nullptr;
  return &words_.emplace_back(Word{address, ValueRange::of(load_le32(bytes))});
}

bool WaitingRound::read(uint32_t address, unsigned size, ValueRange* value) {
  if (is_device_address(address)) {
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
  if (is_device_address(address) || !memory_.stores_freely(address, special_.privileged()))
    return false;
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
