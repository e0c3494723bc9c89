// SPDX-License-Identifier: Apache-2.0
#include "cpu/testing/fpu_vectors.h"

#include <fmt/core.h>

namespace millrace::board::testing {
namespace {

constexpr uint32_t kVn1 = 1u << 16;
constexpr uint32_t kVm2 = 2;
constexpr uint32_t kSz = 1u << 8;
constexpr uint32_t kOp = 1u << 6;
constexpr uint32_t kBit7 = 1u << 7;

// SplitMix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t n) { return next() % n; }

 private:
  uint64_t state_;
};

constexpr uint32_t kSingleEdges[] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x807FFFFF, 0x00400000, 0x00800000,
    0x80800000, 0x00800001, 0x00FFFFFF, 0x3F800000, 0xBF800000, 0x3F7FFFFF, 0x3F800001, 0x3F000000,
    0xBF000000, 0x3EFFFFFF, 0x3FC00000, 0x40200000, 0xBFC00000, 0x4EFFFFFF, 0x4F000000, 0xCF000000,
    0xCF000001, 0x4F7FFFFF, 0x4F800000, 0x477FFF00, 0x46FFFE00, 0xC7000000, 0x477FE000, 0x477FF000,
    0x33800000, 0x38800000, 0x387FC000, 0x4B000001, 0x4B7FFFFF, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000,
    0xFF800000, 0x7FC00000, 0xFFC12345, 0x7F800001, 0xFFA54321, 0x7FBFFFFF};

constexpr uint64_t kDoubleEdges[] = {
    0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x8000000000000001,
    0x000FFFFFFFFFFFFF, 0x800FFFFFFFFFFFFF, 0x0008000000000000, 0x0010000000000000,
    0x8010000000000000, 0x0010000000000001, 0x001FFFFFFFFFFFFF, 0x3FF0000000000000,
    0xBFF0000000000000, 0x3FEFFFFFFFFFFFFF, 0x3FF0000000000001, 0x3FE0000000000000,
    0xBFE0000000000000, 0x3FDFFFFFFFFFFFFF, 0x3FF8000000000000, 0x4004000000000000,
    0x41DFFFFFFFC00000, 0x41DFFFFFFFE00000, 0x41E0000000000000, 0xC1E0000000000000,
    0xC1E0000000200000, 0x41EFFFFFFFF00000, 0x41F0000000000000, 0x40EFFFE000000000,
    0xC0E0000000000000, 0x40EFFC0000000000, 0x3F10000000000000, 0x3E60000000000000,
    0x3810000000000000, 0x380FFFFFF0000000, 0x36A0000000000000, 0x3690000000000000,
    0x47EFFFFFE0000000, 0x47EFFFFFF0000000, 0x4330000000000001, 0x7FEFFFFFFFFFFFFF,
    0xFFEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000,
    0xFFF8123456789ABC, 0x7FF0000000000001, 0xFFF4000000000000};

constexpr uint16_t kHalfEdges[] = {0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x3C00, 0xBC01, 0x7BFF,
                                   0x7C00, 0xFC00, 0x7E00, 0xFE55, 0x7C01, 0xFDFF, 0x7FFF, 0xFFFF};

template <typename T, size_t N>
uint64_t pick(Random* random, const T (&values)[N]) {
  return values[random->below(N)];
}

// A number near another in exponent, with few or all fraction bits: sums cancel, products and
// quotients land on halfway points.
uint64_t near(Random* random, int fraction_bits, int bias) {
  const uint64_t spread = random->below(4) == 0 ? 2 * static_cast<uint64_t>(bias) : 60;
  const uint64_t exponent = static_cast<uint64_t>(bias) - spread / 2 + random->below(spread + 1);
  uint64_t fraction = random->next() & ((uint64_t{1} << fraction_bits) - 1);
  switch (random->below(4)) {
    case 0:
      fraction &= ~uint64_t{0} << (fraction_bits - 4);
      break;
    case 1:
      fraction |= (uint64_t{1} << (fraction_bits - 3)) - 1;
      break;
    case 2:
      fraction &= 7;
      break;
    default:
      break;
  }
  const int sign_shift = fraction_bits == 23 ? 31 : 63;
  return (random->below(2) << sign_shift) | (exponent << fraction_bits) | fraction;
}

uint64_t single_operand(Random* random) {
  const uint64_t junk = random->next() << 32;
  switch (random->below(8)) {
    case 0:
      return junk | pick(random, kSingleEdges);
    case 1:
      return junk | pick(random, kHalfEdges) | (pick(random, kHalfEdges) << 16);
    case 2:
      return junk | (random->next() & 0xFFFFFFFF);
    default:
      return junk | near(random, 23, 127);
  }
}

uint64_t double_operand(Random* random) {
  switch (random->below(8)) {
    case 0:
      return pick(random, kDoubleEdges);
    case 1:
      return (random->next() << 32) | pick(random, kHalfEdges) | (pick(random, kHalfEdges) << 16);
    case 2:
      return random->next();
    default:
      return near(random, 52, 1023);
  }
}

template <typename T, size_t N>
std::vector<FpCase> cases(const T (&edges)[N], uint64_t (*operand)(Random*), bool pairs,
                          unsigned random, uint64_t seed) {
  Random r(seed);
  std::vector<FpCase> out;
  for (size_t i = 0; i < (pairs ? N : 1); ++i) {
    for (size_t k = 0; k < N; ++k) {
      out.push_back({edges[(i * 7 + k * 3 + seed) % N], edges[i], edges[k]});
    }
  }
  if (!pairs) {  // conversions in place work on the first
    for (const T edge : edges) {
      out.push_back({edge, edges[0], edges[0]});
    }
  }
  for (unsigned i = 0; i < random; ++i) {
    out.push_back({operand(&r), operand(&r), operand(&r)});
  }
  return out;
}

// The program, as GNU as assembles it for the Cortex-M7 (.syntax unified).
constexpr uint16_t kCode[] = {
    // start: (0x1C)
    0x4826,          // ldr   r0, =0xE000ED88       CPACR
    0xf44f, 0x0170,  // mov   r1, #0x00F00000
    0x6001,          // str   r1, [r0]
    0xf3bf, 0x8f4f,  // dsb
    0xf3bf, 0x8f6f,  // isb
    0x2001,          // movs  r0, #1                SYS_OPEN
    0xa11b,          // adr   r1, open_block
    0xbeab,          // bkpt  0xab
    0x4922,          // ldr   r1, =write_block
    0x6008,          // str   r0, [r1]
    0xf2af, 0x0730,  // adr   r7, parameters
    0x683c,          // ldr   r4, [r7]              first operation
    // next_operation:
    0x6820,          // ldr   r0, [r4]
    0x4920,          // ldr   r1, =patch
    0x6008,          // str   r0, [r1]
    0xf3bf, 0x8f4f,  // dsb
    0xf3bf, 0x8f6f,  // isb
    0x68bd,          // ldr   r5, [r7, #8]          first mode
    // next_mode:
    0x682a,          // ldr   r2, [r5]
    0x6866,          // ldr   r6, [r4, #4]          first case
    0xf04f, 0x5300,  // mov   r3, #0x20000000
    // next_case:
    0xecb6, 0x0b06,  // vldmia r6!, {d0-d2}
    0xeee1, 0x2a10,  // vmsr  fpscr, r2
    0xf382, 0x8800,  // msr   apsr_nzcvq, r2
    0xbf00, 0xbf00,  // patch: the instruction under test
    0xeef1, 0x0a10,  // vmrs  r0, fpscr
    0xeca3, 0x0b02,  // vstmia r3!, {d0}
    0xc301,          // stmia r3!, {r0}
    0x68a0,          // ldr   r0, [r4, #8]
    0x4286,          // cmp   r6, r0
    0xd1ef,          // bne   next_case
    0xf04f, 0x5000,  // mov   r0, #0x20000000
    0x4910,          // ldr   r1, =write_block
    0x6048,          // str   r0, [r1, #4]
    0x1a1b,          // subs  r3, r3, r0
    0x608b,          // str   r3, [r1, #8]
    0x2005,          // movs  r0, #5                SYS_WRITE
    0xbeab,          // bkpt  0xab
    0x3504,          // adds  r5, #4
    0x68f8,          // ldr   r0, [r7, #12]
    0x4285,          // cmp   r5, r0
    0xd1df,          // bne   next_mode
    0x340c,          // adds  r4, #12
    0x6878,          // ldr   r0, [r7, #4]
    0x4284,          // cmp   r4, r0
    0xd1d3,          // bne   next_operation
    0x2018,          // movs  r0, #0x18             SYS_EXIT
    0x490b,          // ldr   r1, =0x20026          ADP_Stopped_ApplicationExit
    0xbeab,          // bkpt  0xab
    0xbf00,          // nop
    0x00a8, 0x0000, 0x0004, 0x0000, 0x0003, 0x0000,  // open_block: ":tt", mode 4, length 3
    0x743a, 0x0074,                                  // ":tt"
    0x0000, 0x0000, 0x0000, 0x0000, 0x0000, 0x0000,  // write_block
    0xed88, 0xe000, 0x00ac, 0x0000, 0x0060, 0x0000, 0x0026, 0x0002,  // literals
};
constexpr uint32_t kStart = 0x1C;
constexpr uint32_t kTables = 0x100;

}  // namespace

std::vector<FpOperation> fp_operations() {
  std::vector<FpOperation> out;
  unsigned operands = 0;
  const auto both = [&](const char* name, uint32_t instruction) {
    out.push_back({fmt::format("{}.f32", name), instruction, operands});
    out.push_back({fmt::format("{}.f64", name), instruction | kSz, operands + 2});
  };
  const uint32_t three = 0xEE000A00 | kVn1 | kVm2;
  both("vmla", three);
  both("vmls", three | kOp);
  both("vnmls", three | 0x00100000);
  both("vnmla", three | 0x00100000 | kOp);
  both("vmul", three | 0x00200000);
  both("vnmul", three | 0x00200000 | kOp);
  both("vadd", three | 0x00300000);
  both("vsub", three | 0x00300000 | kOp);
  both("vdiv", three | 0x00800000);
  both("vfnms", three | 0x00900000);
  both("vfnma", three | 0x00900000 | kOp);
  both("vfma", three | 0x00A00000);
  both("vfms", three | 0x00A00000 | kOp);
  const uint32_t fe = 0xFE000A00 | kVn1 | kVm2;
  for (uint32_t cc = 0; cc < 4; ++cc) {
    both("vsel", fe | (cc << 20));
  }
  both("vmaxnm", fe | 0x00800000);
  both("vminnm", fe | 0x00800000 | kOp);
  const uint32_t other = 0xEEB00A40 | kVm2;
  both("vcmp", other | 0x40000);
  both("vcmpe", other | 0x40000 | kBit7);
  operands = 1;
  for (const uint32_t imm : {0x00u, 0x70u, 0x8Fu, 0xFFu}) {
    both("vmov_imm", 0xEEB00A00 | ((imm >> 4) << 16) | (imm & 15));
  }
  both("vmov", other);
  both("vabs", other | kBit7);
  both("vneg", other | 0x10000);
  both("vsqrt", other | 0x10000 | kBit7);
  both("vcvtb_from_half", other | 0x20000);
  both("vcvtt_from_half", other | 0x20000 | kBit7);
  both("vcvtb_to_half", other | 0x30000);
  both("vcvtt_to_half", other | 0x30000 | kBit7);
  both("vcmp_zero", (other & ~15u) | 0x50000);
  both("vcmpe_zero", (other & ~15u) | 0x50000 | kBit7);
  both("vrintr", other | 0x60000);
  both("vrintz", other | 0x60000 | kBit7);
  both("vrintx", other | 0x70000);
  both("vcvt_precision", other | 0x70000 | kBit7);
  both("vcvt_from_u32", other | 0x80000);
  both("vcvt_from_s32", other | 0x80000 | kBit7);
  both("vcvtr_u32", other | 0xC0000);
  both("vcvt_u32", other | 0xC0000 | kBit7);
  both("vcvtr_s32", other | 0xD0000);
  both("vcvt_s32", other | 0xD0000 | kBit7);
  for (uint32_t rm = 0; rm < 4; ++rm) {
    both("vrint_directed", 0xFEB80A40 | kVm2 | (rm << 16));
    both("vcvt_directed_u32", 0xFEBC0A40 | kVm2 | (rm << 16));
    both("vcvt_directed_s32", 0xFEBC0A40 | kVm2 | (rm << 16) | kBit7);
  }
  // Fixed point: all four directions and types, 16 and 32 bits, several positions of the point.
  for (const uint32_t kind : {0xA0000u, 0xB0000u, 0xE0000u, 0xF0000u}) {
    for (const uint32_t width : {16u, 32u}) {
      for (const uint32_t fraction : {0u, 1u, 7u, 16u, 31u, 32u}) {
        if (fraction <= width && width - fraction < 32) {
          const uint32_t imm = width - fraction;
          both("vcvt_fixed",
               0xEEB00A40 | kind | (width == 32 ? kBit7 : 0) | (imm >> 1) | ((imm & 1) << 5));
        }
      }
    }
  }
  return out;
}

std::vector<uint32_t> fp_modes() {
  constexpr uint32_t kAhp = 1u << 26, kDn = 1u << 25, kFz = 1u << 24, kIxc = 1u << 4;
  std::vector<uint32_t> out;
  const auto add = [&](uint32_t mode) {
    out.push_back(mode | (((static_cast<uint32_t>(out.size()) * 7 + 4) & 15) << 28));
  };
  for (uint32_t rounding = 0; rounding < 4; ++rounding) {
    add(rounding << 22);
    add((rounding << 22) | kFz);
    add((rounding << 22) | kDn);
  }
  add(kFz | kDn);
  add(kIxc);
  add(kAhp);
  add(kAhp | kFz | (3u << 22));
  add(kAhp | kDn | (1u << 22));
  return out;
}

FpCases fp_cases(unsigned random, uint64_t seed) {
  return {cases(kSingleEdges, single_operand, true, random, seed),
          cases(kSingleEdges, single_operand, false, random, seed),
          cases(kDoubleEdges, double_operand, true, random, seed),
          cases(kDoubleEdges, double_operand, false, random, seed)};
}

std::vector<uint8_t> fp_image(const std::vector<FpOperation>& operations,
                              const std::vector<uint32_t>& modes, const FpCases& cases) {
  std::vector<uint8_t> out;
  const auto put = [&](uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) {
      out.push_back(static_cast<uint8_t>(value >> (8 * i)));
    }
  };
  const uint32_t operations_at = kTables;
  const uint32_t modes_at = operations_at + 12 * static_cast<uint32_t>(operations.size());
  const uint32_t modes_end = modes_at + 4 * static_cast<uint32_t>(modes.size());
  const uint32_t cases_at = (modes_end + 7) & ~7u;
  std::array<uint32_t, 5> table_at{cases_at};
  for (size_t i = 0; i < cases.size(); ++i) {
    table_at[i + 1] = table_at[i] + 24 * static_cast<uint32_t>(cases[i].size());
  }
  put(0x20400000, 4);
  put(kStart | 1, 4);
  for (const uint32_t parameter : {operations_at, modes_at, modes_at, modes_end, 0u}) {
    put(parameter, 4);
  }
  for (const uint16_t half : kCode) {
    put(half, 2);
  }
  out.resize(kTables);
  for (const FpOperation& operation : operations) {
    // In memory the first halfword comes first.
    put((operation.instruction >> 16) | (operation.instruction << 16), 4);
    put(table_at[operation.operands], 4);
    put(table_at[operation.operands + 1], 4);
  }
  for (const uint32_t mode : modes) {
    put(mode, 4);
  }
  out.resize(cases_at);
  for (const std::vector<FpCase>& list : cases) {
    for (const FpCase& c : list) {
      for (const uint64_t d : c) {
        put(d, 8);
      }
    }
  }
  return out;
}

}  // namespace millrace::board::testing
