// SPDX-License-Identifier: Apache-2.0
// Classes and latencies of integer instructions, from the pairing tables of LLVM's and GCC's
// Cortex-M7 models and published measurements.
#include "cpu/pipeline.h"

#include <algorithm>
#include <bit>

namespace millrace::board {
namespace {

bool is_compare(Kind k) {
  return k == Kind::tst || k == Kind::teq || k == Kind::cmp || k == Kind::cmn;
}

// A shift by itself takes the shifter of EX1 but can do with that of EX2; RRX cannot.
void alu_use(const Insn& i, PipelineUse* use) {
  const bool moves = i.kind == Kind::mov || i.kind == Kind::mvn;
  const bool rotates = i.shift == Shift::rrx;
  const bool shifted =
      i.immediate ? i.imm > 0xFF && i.kind != Kind::mov : i.shift != Shift::lsl || i.shift_amount;
  const bool pure_shift = i.kind == Kind::mov && !rotates;
  use->shifter = shifted;
  if (!moves) {
    use->add_read(i.rn, shifted ? ReadStage::beside_shift : ReadStage::alu);
  }
  if (!i.immediate) {
    use->add_read(i.rm, shifted && !pure_shift ? ReadStage::address : ReadStage::alu);
  }
  if (i.kind == Kind::adc || i.kind == Kind::sbc || rotates) {
    use->add_read(kFlags, ReadStage::alu);
  }
  if (is_compare(i.kind)) {
    use->add_write(kFlags, shifted ? 2 : 1);
    return;
  }
  use->add_write(i.rd, 1);
  if (i.set_flags) {
    use->add_write(kFlags, 1);
  }
}

void multiply_use(const Insn& i, const Timing& t, PipelineUse* use) {
  if (i.kind == Kind::sdiv || i.kind == Kind::udiv) {
    use->never_pairs = true;
    use->issue_cycles = static_cast<uint16_t>(std::min(t.div_min, 200u));
    use->add_read(i.rn, ReadStage::alu);
    use->add_read(i.rm, ReadStage::alu);
    use->add_write(i.rd, use->issue_cycles);
    return;
  }
  use->multiplier = true;
  use->older_only = i.kind == Kind::usada8;
  use->add_read(i.rn, ReadStage::alu);
  use->add_read(i.rm, ReadStage::alu);
  const bool is_long = (i.kind >= Kind::smull && i.kind <= Kind::umaal) ||
                       i.kind == Kind::smlal_half || i.kind == Kind::smlald ||
                       i.kind == Kind::smlsld;
  if (is_long) {
    if (i.kind != Kind::smull && i.kind != Kind::umull) {
      use->add_read(i.rd, ReadStage::accumulate);
      use->add_read(i.ra, ReadStage::accumulate);
    }
    use->add_write(i.ra, t.mul_latency);
  } else if (i.kind != Kind::mul && i.ra != 15) {
    use->add_read(i.ra, ReadStage::accumulate);
  }
  use->add_write(i.rd, t.mul_latency);
  if (i.set_flags) {
    use->add_write(kFlags, t.mul_latency);
  }
}

// Cycles until an ALU can use the result of a bit field, extension, saturation or SIMD instruction.
uint32_t bits_latency(const Insn& i) {
  switch (i.kind) {
    case Kind::ssat:
    case Kind::usat:
    case Kind::ssat16:
    case Kind::usat16:
    case Kind::qadd:
      return 2;
    case Kind::rev:
    case Kind::rev16:
    case Kind::revsh:
    case Kind::rbit:
      return 0;  // made in EX1
    case Kind::parallel:
      return (i.imm & 3) == 1 ? 2 : 1;  // saturating
    default:
      return 1;
  }
}

void bits_use(const Insn& i, PipelineUse* use) {
  const bool shift = i.kind == Kind::shift_register;
  const bool reverses = i.kind >= Kind::rev && i.kind <= Kind::rbit;
  const bool extends = i.kind >= Kind::sxtb && i.kind <= Kind::uxtb16;
  const bool extracts = i.kind >= Kind::sbfx && i.kind <= Kind::usat16;
  const bool doubles = i.kind == Kind::qadd && (i.imm & 1) != 0;
  const bool adds = extends && i.rn != 15;
  use->older_only = !shift;
  use->shifter = i.kind < Kind::clz || reverses || i.kind == Kind::pkh || doubles;
  if (!reverses && i.kind != Kind::clz && i.rn != 15) {
    use->add_read(i.rn, extracts || doubles ? ReadStage::address : ReadStage::alu);
  }
  if (!extracts && i.kind != Kind::bfi) {
    const bool early = reverses || adds || i.kind == Kind::pkh || doubles;
    use->add_read(i.rm, early ? ReadStage::address : ReadStage::alu);
  }
  if (i.kind == Kind::bfi) {
    use->add_read(i.rd, ReadStage::alu);
  }
  if (i.kind == Kind::sel) {
    use->add_read(kFlags, ReadStage::alu);
  }
  use->add_write(i.rd, bits_latency(i));
  if (i.set_flags || i.kind == Kind::parallel) {
    use->add_write(kFlags, 1);
  }
}

bool is_narrow(Kind k) {
  return k == Kind::ldrb || k == Kind::ldrh || k == Kind::ldrsb || k == Kind::ldrsh;
}

void memory_use(const Insn& i, const Timing& t, PipelineUse* use) {
  const bool is_store = i.kind == Kind::str || i.kind == Kind::strb || i.kind == Kind::strh ||
                        i.kind == Kind::strd || i.kind == Kind::stm ||
                        (i.kind >= Kind::strex && i.kind <= Kind::strexh);
  use->load = !is_store;
  use->store = is_store;
  if (!i.literal) {
    use->add_read(i.rn, ReadStage::address);
  }
  use->word_known = i.immediate && !i.writeback && !i.literal;
  use->base = i.rn;
  use->offset = i.add ? i.imm : 0 - i.imm;
  const uint32_t latency = 1 + t.load_use;
  if (i.kind == Kind::ldm || i.kind == Kind::stm) {
    use->never_pairs = true;
    const uint32_t count = static_cast<uint32_t>(std::popcount(i.list));
    const uint32_t rate = std::clamp(t.words_per_cycle, 1u, 16u);
    use->issue_cycles = static_cast<uint16_t>((count + rate - 1) / rate + (is_store ? 0 : 1));
    for (uint32_t list = i.list & 0x7FFFu; list != 0; list &= list - 1) {
      const uint8_t r = static_cast<uint8_t>(std::countr_zero(list));
      if (is_store) {
        use->add_read(r, ReadStage::store);
      } else {
        use->add_write(r, use->issue_cycles + t.load_use, true);
      }
    }
  } else if (i.kind == Kind::ldrd || i.kind == Kind::strd) {
    use->never_pairs = true;
    for (const uint8_t r : {i.rd, i.ra}) {
      if (is_store) {
        use->add_read(r, ReadStage::store);
      } else {
        use->add_loaded(r, latency);
      }
    }
  } else {
    if (!i.immediate && !i.literal) {
      use->add_read(i.rm, ReadStage::address);
    }
    if (is_store) {
      use->add_read(i.rd, ReadStage::store);
    } else if (i.rd != 15) {
      use->add_loaded(i.rd, latency + (is_narrow(i.kind) ? t.load_narrow : 0));
    }
    if (i.kind >= Kind::ldrex && i.kind <= Kind::ldrexh) {
      use->older_only = true;
    }
    if (i.kind >= Kind::strex && i.kind <= Kind::strexh) {
      use->never_pairs = true;
      use->add_write(i.ra, latency);
    }
  }
  if (i.writeback) {
    use->add_write(i.rn, 1, true);
  }
}

void branch_use(const Insn& i, const Timing& t, PipelineUse* use) {
  use->branch = true;
  switch (i.kind) {
    case Kind::bl:
      use->add_write(14, 1);
      break;
    case Kind::blx:
      use->add_read(i.rm, ReadStage::alu);
      use->add_write(14, 1);
      break;
    case Kind::bx:
    case Kind::mov_pc:
    case Kind::add_pc:
      use->add_read(i.rm, ReadStage::alu);
      break;
    case Kind::cbz:
      use->add_read(i.rn, ReadStage::alu);
      break;
    case Kind::tbb:
      use->never_pairs = true;
      use->issue_cycles = static_cast<uint16_t>(2 + std::min(t.load_use, 100u));
      use->add_read(i.rn, ReadStage::address);
      use->add_read(i.rm, ReadStage::address);
      break;
    default:
      break;
  }
}

}  // namespace

PipelineUse pipeline_use(const Insn& i, const Timing& t) {
  PipelineUse use;
  if (i.kind >= Kind::and_op && i.kind <= Kind::cmn) {
    alu_use(i, &use);
  } else if (i.kind == Kind::adr || i.kind == Kind::movt) {
    if (i.kind == Kind::movt) {
      use.add_read(i.rd, ReadStage::alu);
    }
    use.add_write(i.rd, 1);
  } else if ((i.kind >= Kind::mul && i.kind <= Kind::usada8)) {
    multiply_use(i, t, &use);
  } else if (i.kind == Kind::shift_register || (i.kind >= Kind::bfi && i.kind <= Kind::qadd)) {
    bits_use(i, &use);
  } else if (i.kind >= Kind::ldr && i.kind <= Kind::strexh) {
    memory_use(i, t, &use);
    if (i.kind == Kind::ldr && i.rd == 15) {
      use.branch = true;
      use.issue_cycles = static_cast<uint16_t>(1 + std::min(t.load_use, 100u));
    }
  } else if (i.kind == Kind::mov_pc || i.kind == Kind::add_pc ||
             (i.kind >= Kind::b && i.kind <= Kind::tbb)) {
    branch_use(i, t, &use);
  } else if (i.kind >= Kind::vldr) {
    vfp_use(i, t, &use);
  } else if (i.kind != Kind::it && i.kind != Kind::preload) {
    use.never_pairs = true;
    if (i.kind == Kind::mrs) {
      use.add_write(i.rd, 1);
    } else if (i.kind == Kind::msr) {
      use.add_read(i.rn, ReadStage::alu);
    }
  }
  if (i.cond < kAlways && i.kind != Kind::b) {
    use.add_read(kFlags, ReadStage::alu);
  }
  return use;
}

}  // namespace millrace::board
