// SPDX-License-Identifier: Apache-2.0
#include "code/thumb_flow.h"

#include <bit>

namespace millrace::profile {
namespace {

constexpr uint32_t kLr = 14, kPc = 15, kSp = 13;

uint32_t sign_extended(uint32_t value, unsigned bits) {
  const uint32_t sign = 1u << (bits - 1);
  return (value ^ sign) - sign;
}

Flow narrow(uint32_t pc, uint32_t op) {
  Flow out;
  const auto goes = [&out](FlowKind kind, uint32_t target) {
    out.kind = kind;
    out.target = target;
    return out;
  };
  const auto by_register = [&out](FlowKind kind, uint32_t reg) {
    out.kind = reg == kLr && kind == FlowKind::indirect_jump ? FlowKind::returns : kind;
    out.reg = static_cast<uint8_t>(reg);
    return out;
  };
  const uint32_t rm = op >> 3 & 15;
  if ((op & 0xF000) == 0xD000) {
    const uint32_t condition = op >> 8 & 15;
    if (condition == 15) return out;  // SVC
    if (condition == 14) return goes(FlowKind::trap, 0);
    return goes(FlowKind::branch, pc + 4 + sign_extended(op << 1 & 0x1FF, 9));
  }
  if ((op & 0xF800) == 0xE000) {
    return goes(FlowKind::jump, pc + 4 + sign_extended(op << 1 & 0xFFF, 12));
  }
  if ((op & 0xFF83) == 0x4700) return by_register(FlowKind::indirect_jump, rm);  // BX, BXNS
  if ((op & 0xFF83) == 0x4780) return by_register(FlowKind::indirect_call, rm);  // BLX, BLXNS
  if ((op & 0xFF87) == 0x4687 || (op & 0xFF87) == 0x4487) {                      // MOV pc, ADD pc
    return by_register(FlowKind::indirect_jump, (op & 0x0200) != 0 ? rm : kPc);
  }
  if ((op & 0xFF00) == 0xBD00) return goes(FlowKind::returns, 0);
  if ((op & 0xF500) == 0xB100) {  // CBZ, CBNZ
    return goes(FlowKind::branch, pc + 4 + ((op >> 3 & 0x40) | (op >> 2 & 0x3E)));
  }
  if ((op & 0xFF00) == 0xBF00 && (op & 15) != 0) {
    out.conditional_after = static_cast<uint8_t>(4 - std::countr_zero(op & 15));
    return out;
  }
  if ((op & 0xF800) == 0x4800 || (op & 0xF800) == 0xA000) {  // LDR literal, ADR
    out.constant = (op & 0xF800) == 0x4800 ? ConstantKind::literal : ConstantKind::address;
    out.reg = static_cast<uint8_t>(op >> 8 & 7);
    out.value = ((pc + 4) & ~3u) + (op & 0xFF) * 4;
  }
  return out;
}

// Those with bit 15 of the second halfword (A5.3.4).
Flow wide_branch(uint32_t pc, uint32_t first, uint32_t second, Flow out) {
  const uint32_t s = first >> 10 & 1, j1 = second >> 13 & 1, j2 = second >> 11 & 1;
  const uint32_t imm11 = second & 0x7FF;
  if ((second & 0x1000) != 0) {  // BL, B.W
    const uint32_t i1 = (j1 ^ s) ^ 1, i2 = (j2 ^ s) ^ 1;
    const uint32_t offset = s << 24 | i1 << 23 | i2 << 22 | (first & 0x3FF) << 12 | imm11 << 1;
    out.kind = (second & 0x4000) != 0 ? FlowKind::call : FlowKind::jump;
    out.target = pc + 4 + sign_extended(offset, 25);
    return out;
  }
  if ((second & 0x4000) != 0) {  // Armv8.1-M
    if ((second & 0x1001) != 1) return out;
    const uint32_t offset = (second & 0x7FE) << 1 | (second >> 10 & 2);
    if ((first & 0xFFCF) == 0xF00F) {  // LE, LETP
      out.kind = (first & 0x20) != 0 ? FlowKind::jump : FlowKind::branch;
      out.target = pc + 4 - offset;
    } else if ((first & 0xFFC0) == 0xF040 || (first & 0xFFC0) == 0xF000) {  // WLS, WLSTP
      out.kind = FlowKind::branch;
      out.target = pc + 4 + offset;
    }
    return out;
  }
  if ((first >> 6 & 15) < 14) {  // B<c>.W
    const uint32_t offset = s << 20 | j2 << 19 | j1 << 18 | (first & 0x3F) << 12 | imm11 << 1;
    out.kind = FlowKind::branch;
    out.target = pc + 4 + sign_extended(offset, 21);
  } else if ((first & 0xFFF0) == 0xF7F0 && (second & 0xF000) == 0xA000) {
    out.kind = FlowKind::trap;
  }
  return out;
}

Flow wide(uint32_t pc, uint32_t first, uint32_t second) {
  Flow out;
  out.size = 4;
  if ((first & 0xF800) == 0xF000 && (second & 0x8000) != 0) {
    return wide_branch(pc, first, second, out);
  }
  const uint32_t rt = second >> 12, rn = first & 15;
  if ((first & 0xFFF0) == 0xE8D0 && (second & 0xFFE0) == 0xF000) {
    out.kind = FlowKind::table_jump;
    out.is_wide_table = (second & 0x10) != 0;
    return out;
  }
  if ((first & 0xFF7F) == 0xF85F) {  // LDR.W literal
    const uint32_t offset = second & 0xFFF;
    const uint32_t at = ((pc + 4) & ~3u) + ((first & 0x80) != 0 ? offset : 0 - offset);
    out.reg = static_cast<uint8_t>(rt);
    if (rt == kPc) {
      out.kind = FlowKind::literal_jump;
      out.target = at;
    } else {
      out.constant = ConstantKind::literal;
      out.value = at;
    }
    return out;
  }
  if ((first & 0xFF70) == 0xF850 && rt == kPc) {  // LDR.W pc, from memory
    out.kind = rn == kSp ? FlowKind::returns : FlowKind::indirect_jump;
    out.reg = kPc;
    return out;
  }
  if (((first & 0xFFD0) == 0xE890 || (first & 0xFFD0) == 0xE910) && (second & 0x8000) != 0 &&
      rn != kPc) {
    out.kind = rn == kSp ? FlowKind::returns : FlowKind::indirect_jump;
    out.reg = kPc;
    return out;
  }
  const uint32_t imm12 = (first << 1 & 0x800) | (second >> 4 & 0x700) | (second & 0xFF);
  if ((second & 0x8000) == 0 && ((first & 0xFBF0) == 0xF240 || (first & 0xFBF0) == 0xF2C0)) {
    out.constant = (first & 0x80) != 0 ? ConstantKind::high : ConstantKind::low;
    out.reg = static_cast<uint8_t>(second >> 8 & 15);
    out.value = (first & 15) << 12 | imm12;
  } else if ((second & 0x8000) == 0 && ((first & 0xFBFF) == 0xF20F || (first & 0xFBFF) == 0xF2AF)) {
    out.constant = ConstantKind::address;  // ADR.W
    out.reg = static_cast<uint8_t>(second >> 8 & 15);
    out.value = ((pc + 4) & ~3u) + ((first & 0xA0) != 0 ? 0 - imm12 : imm12);
  }
  return out;
}

}  // namespace

Flow decode_flow(uint32_t pc, uint32_t first, uint32_t second) {
  return is_wide(first) ? wide(pc, first, second) : narrow(pc, first);
}

}  // namespace millrace::profile
