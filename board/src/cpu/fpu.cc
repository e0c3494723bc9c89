// SPDX-License-Identifier: Apache-2.0
// Decodes one data-processing instruction and applies it. The numerics are in fp_arith.cc and
// fp_convert.cc; here are only registers, FPSCR and what the encodings mean.
#include "cpu/fpu.h"

#include <cstddef>

#include "cpu/fp_arith.h"
#include "cpu/fp_convert.h"

namespace millrace::board {
namespace {

using fp::Env;
using fp::Rounding;

constexpr uint32_t bits(uint32_t x, unsigned high, unsigned low) {
  return (x >> low) & ((1u << (high - low + 1)) - 1);
}
constexpr bool bit(uint32_t x, unsigned n) { return ((x >> n) & 1) != 0; }

// S registers are V:x, D registers x:V; of those the part has D0 to D15.
unsigned s_number(uint32_t v, bool x) { return (v << 1) | (x ? 1 : 0); }

template <typename Bits>
struct Registers;

template <>
struct Registers<uint32_t> {
  static bool exists(uint32_t, bool) { return true; }
  static uint32_t read(const CpuState& state, uint32_t v, bool x) {
    return state.s[s_number(v, x)];
  }
  static void write(CpuState& state, uint32_t v, bool x, uint32_t value) {
    state.s[s_number(v, x)] = value;
  }
};

template <>
struct Registers<uint64_t> {
  static bool exists(uint32_t, bool x) { return !x; }
  static uint64_t read(const CpuState& state, uint32_t v, bool) {
    const std::size_t low = std::size_t{2} * v;
    return state.s[low] | (static_cast<uint64_t>(state.s[low + 1]) << 32);
  }
  static void write(CpuState& state, uint32_t v, bool, uint64_t value) {
    const std::size_t low = std::size_t{2} * v;
    state.s[low] = static_cast<uint32_t>(value);
    state.s[low + 1] = static_cast<uint32_t>(value >> 32);
  }
};

struct Fields {
  explicit Fields(uint32_t instruction)
      : word(instruction),
        vd(bits(instruction, 15, 12)),
        vn(bits(instruction, 19, 16)),
        vm(bits(instruction, 3, 0)),
        d(bit(instruction, 22)),
        n(bit(instruction, 7)),
        m(bit(instruction, 5)),
        op(bit(instruction, 6)) {}
  uint32_t word;
  uint32_t vd, vn, vm;
  bool d, n, m, op;
};

// VFPExpandImm (A6.4.1).
template <typename Bits>
Bits expand_immediate(uint32_t imm8) {
  using C = fp::Constants<Bits>;
  const Bits sign = bit(imm8, 7) ? C::kSign : Bits{0};
  const Bits top = bit(imm8, 6) ? Bits{0} : Bits{1};  // NOT(imm8<6>), then copies of imm8<6>
  const Bits copies = bit(imm8, 6) ? static_cast<Bits>((Bits{1} << (C::kExponent - 3)) - 1) : 0;
  const Bits exponent =
      static_cast<Bits>((top << (C::kExponent - 1)) | (copies << 2) | bits(imm8, 5, 4));
  return sign | (exponent << C::kFraction) |
         (static_cast<Bits>(bits(imm8, 3, 0)) << (C::kFraction - 4));
}

bool condition(const CpuState& state, uint32_t cc) {
  const bool n = (state.n_source >> 31) != 0;
  const bool z = state.z_source == 0;
  const bool v = state.v != 0;
  switch (cc) {
    case 0:
      return z;
    case 1:
      return v;
    case 2:
      return n == v;
    default:
      return !z && n == v;
  }
}

// Rounding of VCVTA.., VRINTA..: bits 17:16.
Rounding directed(uint32_t rm) {
  constexpr Rounding kModes[] = {Rounding::nearest_away, Rounding::nearest, Rounding::up,
                                 Rounding::down};
  return kModes[rm];
}

template <typename Bits>
class Execute {
 public:
  Execute(CpuState& state, uint32_t instruction)
      : state_(state), f_(instruction), env_(state.fpscr) {}

  bool run() {
    const bool done = bit(f_.word, 28) ? unconditional() : ordinary();
    if (done) {
      state_.fpscr = env_.flags;
    }
    return done;
  }

 private:
  using R = Registers<Bits>;

  bool has_d() const { return R::exists(f_.vd, f_.d); }
  bool has_m() const { return R::exists(f_.vm, f_.m); }
  bool has_n() const { return R::exists(f_.vn, f_.n); }
  Bits d() const { return R::read(state_, f_.vd, f_.d); }
  Bits m() const { return R::read(state_, f_.vm, f_.m); }
  Bits n() const { return R::read(state_, f_.vn, f_.n); }
  bool put(Bits value) {
    R::write(state_, f_.vd, f_.d, value);
    return true;
  }
  uint32_t single_m() const { return state_.s[s_number(f_.vm, f_.m)]; }
  bool put_single(uint32_t value) {
    state_.s[s_number(f_.vd, f_.d)] = value;
    return true;
  }

  bool ordinary() {
    const uint32_t opc1 = bits(f_.word, 23, 20) & 0b1011;
    if (opc1 == 0b1011) {
      return other();
    }
    if (!has_d() || !has_n() || !has_m()) {
      return false;
    }
    switch (opc1) {
      case 0b0000: {  // VMLA, VMLS
        const Bits product = fp::mul(env_, n(), m());
        return put(fp::add(env_, d(), f_.op ? fp::neg(product) : product));
      }
      case 0b0001: {  // VNMLS, VNMLA
        const Bits product = fp::mul(env_, n(), m());
        return put(fp::add(env_, fp::neg(d()), f_.op ? fp::neg(product) : product));
      }
      case 0b0010: {  // VMUL, VNMUL
        const Bits product = fp::mul(env_, n(), m());
        return put(f_.op ? fp::neg(product) : product);
      }
      case 0b0011:
        return put(f_.op ? fp::sub(env_, n(), m()) : fp::add(env_, n(), m()));
      case 0b1000:
        return !f_.op && put(fp::div(env_, n(), m()));
      case 0b1001:  // VFNMS, VFNMA
        return put(fp::mul_add(env_, fp::neg(d()), f_.op ? fp::neg(n()) : n(), m()));
      case 0b1010:  // VFMA, VFMS
        return put(fp::mul_add(env_, d(), f_.op ? fp::neg(n()) : n(), m()));
      default:
        return false;
    }
  }

  bool unconditional() {
    const bool high = bit(f_.word, 23);
    if (!high) {  // VSEL
      return !f_.op && has_d() && has_n() && has_m() &&
             put(condition(state_, bits(f_.word, 21, 20)) ? n() : m());
    }
    switch (bits(f_.word, 21, 20)) {
      case 0b00:
        return has_d() && has_n() && has_m() &&
               put(f_.op ? fp::min_num(env_, n(), m()) : fp::max_num(env_, n(), m()));
      case 0b11: {
        if (!f_.op || !bit(f_.word, 19)) {
          return false;
        }
        const Rounding rounding = directed(bits(f_.word, 17, 16));
        if (bit(f_.word, 18)) {  // VCVTA, N, P, M
          return has_m() &&
                 put_single(static_cast<uint32_t>(fp::to_fixed(env_, m(), 32, 0, f_.n, rounding)));
        }
        return !f_.n && has_d() && has_m() && put(fp::round_int(env_, m(), rounding, false));
      }
      default:
        return false;
    }
  }

  // One operand. Bit 7 (f_.n) is part of the opcode here.
  bool other() {
    if (!f_.op) {
      return has_d() && put(expand_immediate<Bits>((f_.vn << 4) | f_.vm));
    }
    switch (f_.vn) {
      case 0:
        return has_d() && has_m() && put(f_.n ? fp::abs(m()) : m());
      case 1:
        return has_d() && has_m() && put(f_.n ? fp::sqrt(env_, m()) : fp::neg(m()));
      case 2: {
        const uint32_t source = single_m();
        const uint16_t half = static_cast<uint16_t>(f_.n ? source >> 16 : source);
        return has_d() && put(fp::convert<Bits, uint16_t>(env_, half));
      }
      case 3: {
        if (!has_m()) {
          return false;
        }
        const uint32_t half = fp::convert<uint16_t, Bits>(env_, m());
        const uint32_t old = state_.s[s_number(f_.vd, f_.d)];
        return put_single(f_.n ? (old & 0xFFFF) | (half << 16) : (old & 0xFFFF0000) | half);
      }
      case 4:
      case 5: {
        const bool with_zero = f_.vn == 5;
        if (!has_d() || (!with_zero && !has_m())) {
          return false;
        }
        const uint32_t nzcv = fp::compare(env_, d(), with_zero ? Bits{0} : m(), f_.n);
        env_.flags = (env_.flags & 0x0FFFFFFF) | nzcv;
        return true;
      }
      case 6:  // VRINTR, VRINTZ
        return has_d() && has_m() &&
               put(fp::round_int(env_, m(), f_.n ? Rounding::zero : env_.rounding, false));
      case 7:
        return f_.n ? change_precision()
                    : has_d() && has_m() && put(fp::round_int(env_, m(), env_.rounding, true));
      case 8:
        return has_d() && put(fp::from_fixed<Bits>(env_, single_m(), 32, 0, f_.n));
      case 12:
      case 13:
        return has_m() &&
               put_single(static_cast<uint32_t>(fp::to_fixed(
                   env_, m(), 32, 0, f_.vn == 13, f_.n ? Rounding::zero : env_.rounding)));
      case 10:
      case 11:
      case 14:
      case 15:
        return fixed_point();
      default:
        return false;
    }
  }

  bool change_precision() {
    if constexpr (sizeof(Bits) == 4) {  // to double
      if (f_.d) {
        return false;
      }
      Registers<uint64_t>::write(state_, f_.vd, false,
                                 fp::convert<uint64_t, uint32_t>(env_, single_m()));
      return true;
    } else {
      return has_m() && put_single(fp::convert<uint32_t, uint64_t>(env_, m()));
    }
  }

  // VCVT between floating and fixed point: in place. More fraction bits than the width has are
  // UNPREDICTABLE, here UNDEFINED.
  bool fixed_point() {
    const bool to_fixed = bit(f_.word, 18);
    const bool is_signed = !bit(f_.word, 16);
    const unsigned width = f_.n ? 32 : 16;
    const unsigned imm = (f_.vm << 1) | (f_.m ? 1 : 0);
    if (!has_d() || imm > width) {
      return false;
    }
    const unsigned fraction_bits = width - imm;
    if (to_fixed) {
      return put(static_cast<Bits>(
          fp::to_fixed(env_, d(), width, fraction_bits, is_signed, Rounding::zero)));
    }
    env_.rounding = Rounding::nearest;
    return put(
        fp::from_fixed<Bits>(env_, static_cast<uint32_t>(d()), width, fraction_bits, is_signed));
  }

  CpuState& state_;
  const Fields f_;
  Env env_;
};

}  // namespace

bool execute_fp(CpuState& state, uint32_t instruction) {
  if (bit(instruction, 8)) {
    return Execute<uint64_t>(state, instruction).run();
  }
  return Execute<uint32_t>(state, instruction).run();
}

}  // namespace millrace::board
