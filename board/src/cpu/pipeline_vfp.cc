// SPDX-License-Identifier: Apache-2.0
// Pipeline use of floating-point instructions. A double operation takes both lanes of the FP unit
// and is never the younger of a pair.
#include <algorithm>

#include "cpu/decode_parts.h"
#include "cpu/pipeline.h"

namespace millrace::board {
namespace {

void add_fp_write(uint8_t s, bool is_double, uint32_t latency, PipelineUse* use) {
  for (int k = 0; k < (is_double ? 2 : 1); ++k) {
    use->add_write(static_cast<uint8_t>(kFpBase + ((s + k) & 31)), latency);
  }
}

void add_fp_read(uint8_t s, bool is_double, ReadStage stage, PipelineUse* use) {
  for (int k = 0; k < (is_double ? 2 : 1); ++k) {
    use->add_read(static_cast<uint8_t>(kFpBase + ((s + k) & 31)), stage);
  }
}

uint8_t fp_register(uint32_t v, bool x, bool is_double) {
  return static_cast<uint8_t>((v << 1) | (!is_double && x ? 1 : 0));
}

struct Cost {
  uint32_t latency;
  bool blocks;
};

Cost cost_of(const Insn& i, const Timing& t, bool* reads_d) {
  const uint32_t opc1 = bits(i.imm, 23, 20) & ~4u;
  const uint32_t opc2 = bits(i.imm, 19, 16);
  const bool d = i.dual;
  *reads_d = false;
  if (bit(i.imm, 28)) {  // VSEL, VMAXNM, VRINTA, VCVTA
    return {d ? t.fp_add_double : t.fp_add_single, false};
  }
  switch (opc1) {
    case 0:
    case 1:
    case 9:
    case 10:
      *reads_d = true;
      return {d ? t.fp_fma_double : t.fp_fma_single, false};
    case 2:
      return {d ? t.fp_mul_double : t.fp_mul_single, false};
    case 8:
      return {d ? t.fp_div_double : t.fp_div_single, true};
    case 11:
      if (bit(i.imm, 6) && opc2 == 1 && bit(i.imm, 7)) {
        return {d ? t.fp_sqrt_double : t.fp_sqrt_single, true};
      }
      if (!bit(i.imm, 6) || opc2 <= 1) {
        return {1, false};  // VMOV, VABS, VNEG
      }
      break;
    default:
      break;
  }
  return {d ? t.fp_add_double : t.fp_add_single, false};
}

void data_use(const Insn& i, const Timing& t, PipelineUse* use) {
  const uint32_t x = i.imm;
  const bool d = i.dual;
  const uint32_t opc1 = bits(x, 23, 20) & ~4u;
  const bool one_operand = opc1 == 11;
  const bool compare = one_operand && !bit(x, 28) && bit(x, 6) && (bits(x, 19, 16) & 14) == 4;
  bool reads_d = false;
  const Cost cost = cost_of(i, t, &reads_d);
  use->fp = true;
  use->older_only = d;
  if (cost.blocks) {
    use->blocks_fp = static_cast<uint8_t>(std::min(cost.latency, 200u));
  }
  const uint8_t vd = fp_register(bits(x, 15, 12), bit(x, 22), d);
  if (!one_operand) {
    add_fp_read(fp_register(bits(x, 19, 16), bit(x, 7), d), d, ReadStage::alu, use);
  }
  if (!one_operand || bit(x, 6)) {
    add_fp_read(fp_register(bits(x, 3, 0), bit(x, 5), d), d, ReadStage::alu, use);
  }
  if (reads_d || compare) {
    add_fp_read(vd, d, reads_d ? ReadStage::fp_accumulate : ReadStage::alu, use);
  }
  if (compare) {
    use->add_write(kFpscr, 1);
  } else {
    add_fp_write(vd, d, cost.latency, use);
  }
}

}  // namespace

void vfp_use(const Insn& i, const Timing& t, PipelineUse* use) {
  const uint32_t load_latency = 1 + t.load_use;
  switch (i.kind) {
    case Kind::vfp_data:
      data_use(i, t, use);
      return;
    case Kind::vldr:
    case Kind::vstr: {
      const bool is_load = i.kind == Kind::vldr;
      use->never_pairs = i.dual;
      use->load = is_load;
      use->store = !is_load;
      if (!i.literal) {
        use->add_read(i.rn, ReadStage::address);
      }
      for (int k = 0; k < (i.dual ? 2 : 1); ++k) {
        const uint8_t reg = static_cast<uint8_t>(kFpBase + i.rd + k);
        if (is_load) {
          use->add_write(reg, load_latency + (i.dual ? 1 : 0));
        } else {
          use->add_read(reg, ReadStage::store);
        }
      }
      return;
    }
    case Kind::vldm:
    case Kind::vstm: {
      use->never_pairs = true;
      const uint32_t rate = std::clamp(t.words_per_cycle, 1u, 16u);
      use->issue_cycles = static_cast<uint16_t>((i.ra + rate - 1) / rate);
      use->add_read(i.rn, ReadStage::address);
      for (uint8_t k = 0; k < i.ra; ++k) {
        const uint8_t reg = static_cast<uint8_t>(kFpBase + i.rd + k);
        if (i.kind == Kind::vldm) {
          use->add_write(reg, use->issue_cycles + t.load_use);
        } else {
          use->add_read(reg, ReadStage::store);
        }
      }
      if (i.writeback) {
        use->add_write(i.rn, 1, true);
      }
      return;
    }
    case Kind::vmov_core_pair:
      use->never_pairs = true;
      [[fallthrough]];
    case Kind::vmov_core_single:
    case Kind::vmov_core_lane: {
      const unsigned count = i.kind == Kind::vmov_core_pair ? 2 : 1;
      use->fp = true;
      for (unsigned k = 0; k < count; ++k) {
        const uint8_t core = k == 0 ? i.rd : i.ra;
        const uint8_t fp = static_cast<uint8_t>(kFpBase + i.rn + k);
        use->add_read(i.to_core ? fp : core, ReadStage::alu);
        use->add_write(i.to_core ? core : fp, i.to_core ? 2 : 1);
      }
      return;
    }
    default:  // VMRS, VMSR
      use->never_pairs = true;
      if (i.to_core) {
        use->add_read(kFpscr, ReadStage::alu);
        use->add_write(i.rd == 15 ? kFlags : i.rd, 2);
      } else {
        use->add_read(i.rd, ReadStage::alu);
        use->add_write(kFpscr, 1);
      }
      return;
  }
}

}  // namespace millrace::board
