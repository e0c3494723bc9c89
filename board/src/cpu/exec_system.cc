// SPDX-License-Identifier: Apache-2.0
// System instructions and the ops that end blocks. Instructions that may change what happens next
// (masks, privilege, sleep) end the block with r[15] behind them.
#include "cpu/exec.h"

namespace millrace::board {
namespace {

Next leave(Cpu& cpu, const Op* op, Next why) {
  cpu.state.r[15] = op[1].imm;
  return why;
}

Next nop(Cpu& cpu, const Op* op) { return next_op(cpu, op); }

Next svc(Cpu& cpu, const Op* op) {
  cpu.state.r[15] = op[1].imm;
  cpu.state.itstate = op[1].itstate;
  cpu.system().supervisor_call(cpu.state);
  return Next::exception;
}

Next bkpt(Cpu& cpu, const Op* op) { return cpu.stop_at(op, Next::breakpoint); }

Next cps(Cpu& cpu, const Op* op) {
  CpuState& s = cpu.state;
  if (s.privileged()) {
    const uint32_t on = (op->imm & 0x10) != 0 ? 1 : 0;
    if ((op->imm & 2) != 0) {
      s.primask = on;
    }
    if ((op->imm & 1) != 0) {
      s.faultmask = on;
    }
    cpu.system().change_masks(s);
  }
  return leave(cpu, op, Next::exception);
}

Next mrs(Cpu& cpu, const Op* op) {
  cpu.state.r[op->rd] = cpu.system().read_special(cpu.state, op->imm);
  return next_op(cpu, op);
}
Next msr(Cpu& cpu, const Op* op) {
  cpu.system().write_special(cpu.state, op->imm, cpu.state.r[op->rn], op->ra);
  return leave(cpu, op, Next::exception);
}

Next wfi(Cpu& cpu, const Op* op) { return leave(cpu, op, Next::sleep_wfi); }
Next wfe(Cpu& cpu, const Op* op) {
  return leave(cpu, op, cpu.system().take_event() ? Next::fall : Next::sleep_wfe);
}
Next sev(Cpu& cpu, const Op* op) {
  cpu.system().send_event();
  return next_op(cpu, op);
}
Next barrier(Cpu& cpu, const Op* op) {
  cpu.barrier(op);
  return next_op(cpu, op);
}
Next isb(Cpu& cpu, const Op* op) {
  cpu.barrier(op);
  return leave(cpu, op, Next::exception);
}
Next no_coprocessor(Cpu& cpu, const Op* op) { return cpu.raise(op, FaultCause::no_coprocessor, 0); }

}  // namespace

Next op_fall(Cpu& cpu, const Op* op) {
  cpu.state.r[15] = op->imm;
  return Next::fall;
}
Next op_stepped(Cpu&, const Op*) { return Next::stepped; }
Next op_align_sp(Cpu& cpu, const Op* op) {
  cpu.state.r[13] &= ~3u;
  return next_op(cpu, op);
}
Next op_fetch_bus(Cpu& cpu, const Op* op) {
  return cpu.raise(op, FaultCause::bus_instruction, op->imm);
}
Next op_fetch_mpu(Cpu& cpu, const Op* op) {
  return cpu.raise(op, FaultCause::mpu_instruction, op->imm);
}
Next op_undefined(Cpu& cpu, const Op* op) {
  return cpu.raise(op, FaultCause::undefined_instruction, 0);
}

Handler system_handler(const Insn& i) {
  switch (i.kind) {
    case Kind::undefined:
    case Kind::unpredictable:
      return &op_undefined;
    case Kind::coprocessor:
      return &no_coprocessor;
    case Kind::it:
    case Kind::nop:
    case Kind::preload:
      return &nop;
    case Kind::svc:
      return &svc;
    case Kind::bkpt:
      return &bkpt;
    case Kind::cps:
      return &cps;
    case Kind::mrs:
      return &mrs;
    case Kind::msr:
      return &msr;
    case Kind::wfi:
      return &wfi;
    case Kind::wfe:
      return &wfe;
    case Kind::sev:
      return &sev;
    case Kind::dmb:
    case Kind::dsb:
      return &barrier;
    case Kind::isb:
      return &isb;
    default:
      return nullptr;
  }
}

}  // namespace millrace::board
