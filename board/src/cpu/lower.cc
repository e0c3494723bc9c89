// SPDX-License-Identifier: Apache-2.0
#include "cpu/lower.h"

#include <bit>

#include "cpu/exec.h"

namespace millrace::board {
namespace {

Handler find_handler(const Insn& i) {
  constexpr Handler (*kGroups[])(const Insn&) = {
      &alu_handler,      &shift_handler,  &multiply_handler, &dsp_handler, &load_store_handler,
      &multiple_handler, &branch_handler, &system_handler,   &vfp_handler};
  for (const auto group : kGroups) {
    if (Handler h = group(i); h != nullptr) {
      return h;
    }
  }
  return &op_undefined;
}

uint32_t signed_offset(const Insn& i) { return i.add ? i.imm : 0 - i.imm; }

// The operands, in the order that the handlers of the group want.
void set_operands(const Insn& i, Op* op) {
  op->imm = i.imm;
  op->rd = i.rd;
  op->rn = i.rn;
  op->rm = i.rm;
  op->ra = i.ra;
  switch (i.kind) {
    case Kind::ldr:
    case Kind::ldrb:
    case Kind::ldrh:
    case Kind::ldrsb:
    case Kind::ldrsh:
    case Kind::str:
    case Kind::strb:
    case Kind::strh:
      op->ra = i.shift_amount;
      op->imm = i.literal ? i.imm : signed_offset(i);
      break;
    case Kind::ldrd:
    case Kind::strd:
      op->imm = i.literal ? i.imm : signed_offset(i);
      op->rm =
          static_cast<uint8_t>((i.writeback ? 1 : 0) | (i.index ? 0 : 2) | (i.literal ? 4 : 0));
      break;
    case Kind::ldm:
    case Kind::stm:
      op->imm = i.list;
      op->ra = static_cast<uint8_t>(std::popcount(i.list));
      op->rm = i.writeback ? 1 : 0;
      break;
    case Kind::vldr:
    case Kind::vstr:
      op->imm = i.literal ? i.imm : signed_offset(i);
      op->ra = i.dual ? 2 : 1;
      op->rm = i.literal ? 1 : 0;
      break;
    case Kind::vldm:
    case Kind::vstm:
      op->rm = static_cast<uint8_t>((i.writeback ? 1 : 0) | (i.add ? 0 : 2));
      break;
    case Kind::ssat:
    case Kind::usat:
    case Kind::pkh:
    case Kind::sxtb:
    case Kind::sxth:
    case Kind::sxtb16:
    case Kind::uxtb:
    case Kind::uxth:
    case Kind::uxtb16:
      op->ra = i.shift_amount;
      break;
    default:
      if (i.kind <= Kind::cmn && i.kind >= Kind::and_op) {
        op->ra = i.immediate ? i.carry : i.shift_amount;
      }
      break;
  }
}

bool writes_sp_by_alu(const Insn& i) {
  const bool aligned_step = i.immediate && i.rn == 13 && (i.imm & 3) == 0;
  return i.rd == 13 && (i.kind == Kind::mov || i.kind == Kind::add || i.kind == Kind::sub) &&
         !aligned_step;
}

}  // namespace

bool ends_block(const Insn& i) {
  switch (i.kind) {
    case Kind::undefined:
    case Kind::unpredictable:
    case Kind::coprocessor:
    case Kind::mov_pc:
    case Kind::add_pc:
    case Kind::b:
    case Kind::bl:
    case Kind::bx:
    case Kind::blx:
    case Kind::cbz:
    case Kind::tbb:
    case Kind::svc:
    case Kind::bkpt:
    case Kind::cps:
    case Kind::msr:
    case Kind::wfe:
    case Kind::wfi:
    case Kind::isb:
      return true;
    case Kind::ldr:
      return i.rd == 15;
    case Kind::ldm:
      return (i.list & 0x8000) != 0;
    default:
      return false;
  }
}

void lower(const Insn& i, const Op& place, std::vector<Op>* ops) {
  const size_t first = ops->size();
  const bool guarded = i.cond < kAlways && i.kind != Kind::b;
  if (guarded) {
    Op& g = ops->emplace_back(place);
    g.handler = guard_handler(i.cond);
    g.imm = writes_sp_by_alu(i) ? 2 : 1;
  }
  Op& op = ops->emplace_back(place);
  op.handler = find_handler(i);
  set_operands(i, &op);
  if (writes_sp_by_alu(i)) {
    ops->emplace_back(place).handler = &op_align_sp;
  }
  (*ops)[first].ops = static_cast<uint8_t>(ops->size() - first);
}

}  // namespace millrace::board
