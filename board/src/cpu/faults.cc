// SPDX-License-Identifier: Apache-2.0
// Execution priority and what becomes of a synchronous exception (Armv7-M ARM B1.5.4, B1.5.14,
// B1.5.15).
//
// A fault here only pends: the core then calls enter_pending(), which takes the highest of all that
// is pending. An interrupt that arrives with a fault and outranks it is thus taken first, with the
// fault waiting behind it, as in hardware. Lock-up is final: the board reports it and stops; the
// architecture's way out through NMI or a debugger is not modelled.
#include "cpu/exception_number.h"
#include "cpu/scs_bits.h"
#include "cpu/system_control_m7.h"

namespace millrace::board {
namespace {

constexpr uint32_t kPpbFirst = 0xE0000000;
constexpr uint32_t kPpbEnd = 0xE0100000;

struct Status {
  unsigned exception;
  uint32_t cfsr;
};

Status status_of(FaultCause cause) {
  switch (cause) {
    case FaultCause::undefined_instruction:
      return {kUsageFault, scs::kUndefInstr};
    case FaultCause::invalid_state:
      return {kUsageFault, scs::kInvState};
    case FaultCause::invalid_pc:
      return {kUsageFault, scs::kInvPc};
    case FaultCause::no_coprocessor:
      return {kUsageFault, scs::kNoCp};
    case FaultCause::unaligned:
      return {kUsageFault, scs::kUnaligned};
    case FaultCause::divide_by_zero:
      return {kUsageFault, scs::kDivByZero};
    case FaultCause::bus_instruction:
      return {kBusFault, scs::kIBusErr};
    case FaultCause::bus_data:
      return {kBusFault, scs::kPrecisErr | scs::kBfarValid};
    case FaultCause::mpu_instruction:
      return {kMemManage, scs::kIAccViol};
    case FaultCause::mpu_data:
      return {kMemManage, scs::kDAccViol | scs::kMmarValid};
    case FaultCause::breakpoint:
    case FaultCause::supervisor_call:
    case FaultCause::stacking:
    case FaultCause::unstacking:
    case FaultCause::lazy_stacking:
    case FaultCause::vector_read:
      break;
  }
  return {kDebugMonitor, 0};
}

}  // namespace

int SystemControlM7::boosted_priority(uint32_t primask, uint32_t faultmask,
                                      uint32_t basepri) const {
  if ((faultmask & 1) != 0) {
    return -1;
  }
  if ((primask & 1) != 0) {
    return 0;
  }
  const int base = static_cast<int>(basepri & 0xF0);
  return base == 0 ? kIdlePriority : nvic_.group_priority(base);
}

int SystemControlM7::execution_priority(const CpuState& state) const {
  const int active = nvic_.active_priority();
  const int boosted = boosted_priority(state.primask, state.faultmask, state.basepri);
  return active < boosted ? active : boosted;
}

bool SystemControlM7::takeable(const Nvic::Candidate& candidate, const CpuState& state) const {
  return candidate.exception != 0 &&
         nvic_.group_priority(candidate.priority) < execution_priority(state);
}

void SystemControlM7::priority_changed(const CpuState& state) {
  current_exception_ = state.ipsr;
  faultmask_ = state.faultmask;
  basepri_ = state.basepri;
  nvic_.raise_attention();
  if (mpu_.set_negative_priority(execution_priority(state) < 0)) {
    memory_.attributes_changed();
  }
}

void SystemControlM7::lock_up() {
  locked_up_ = true;
  nvic_.raise_attention();
}

void SystemControlM7::pend_synchronous(unsigned exception, int current) {
  if (exception != kHardFault && nvic_.enabled(exception) &&
      nvic_.group_priority(nvic_.priority(exception)) < current) {
    nvic_.pend(exception);
    return;
  }
  if (current <= -1) {
    lock_up();
    return;
  }
  if (exception != kHardFault) {
    hfsr_ |= scs::kForced;
  }
  nvic_.pend(kHardFault);
}

void SystemControlM7::supervisor_call(CpuState& state) {
  const int current = execution_priority(state);
  if (nvic_.group_priority(nvic_.priority(kSvCall)) >= current) {
    record(state, FaultCause::supervisor_call, 0);
  }
  pend_synchronous(kSvCall, current);
}

void SystemControlM7::record(const CpuState& state, FaultCause cause, uint32_t address) {
  // A handler that skips what faults makes progress: a probe of memory is no endless fault.
  const bool again = faults_.count != 0 && faults_.r[15] == state.r[15] && faults_.cause == cause &&
                     faults_.address == address;
  faults_.repeated = again ? faults_.repeated + 1 : 0;
  ++faults_.count;
  faults_.cause = cause;
  faults_.address = address;
  faults_.r = state.r;
  faults_.xpsr = state.xpsr();
  fault_pends_ = true;
}

void SystemControlM7::record_derived(const CpuState& state, FaultCause cause, uint32_t address) {
  if (!fault_pends_) record(state, cause, address);
}

void SystemControlM7::fault(CpuState& state, FaultCause cause, uint32_t address) {
  record(state, cause, address);
  const int current = execution_priority(state);
  if (cause == FaultCause::breakpoint) {
    dfsr_ |= scs::kDfsrBkpt;
    if (nvic_.enabled(kDebugMonitor) &&
        nvic_.group_priority(nvic_.priority(kDebugMonitor)) < current) {
      nvic_.pend(kDebugMonitor);
      return;
    }
    hfsr_ |= scs::kDebugEvt;
    pend_synchronous(kHardFault, current);
    return;
  }
  if (cause == FaultCause::mpu_data && address >= kPpbFirst && address < kPpbEnd) {
    cause = FaultCause::bus_data;  // B3.1.1
  }
  const Status status = status_of(cause);
  cfsr_ |= status.cfsr;
  if (cause == FaultCause::bus_data) {
    bfar_ = address;
    if ((ccr_ & scs::kBfHfNmIgn) != 0 && current <= -1) {
      skip_instruction(state);
      return;
    }
  }
  if (cause == FaultCause::mpu_data) {
    mmfar_ = address;
  }
  thumb_clear_ = cause == FaultCause::invalid_state;
  pend_synchronous(status.exception, current);
}

// CCR.BFHFNMIGN (B3.2.8): the access is ignored and its result UNKNOWN.
void SystemControlM7::skip_instruction(CpuState& state) {
  uint16_t half = 0;
  if (memory_.fetch(state.r[15], state.privileged(), &half) != AccessFault::none) {
    lock_up();
    return;
  }
  state.r[15] += half >= 0xE800 ? 4 : 2;
  if ((state.itstate & 7) == 0) {
    state.itstate = 0;
  } else {
    state.itstate = (state.itstate & 0xE0) | ((state.itstate << 1) & 0x1F);
  }
}

// A derived exception: of stacking, unstacking or lazy stacking. These do not set the address
// registers (B3.2.15: MMARVALID, BFARVALID are for the access of an instruction).
void SystemControlM7::transfer_fault(const CpuState& state, const Transfer& transfer,
                                     FaultCause cause, int current) {
  const bool stacks = cause == FaultCause::stacking;
  record_derived(state, cause, transfer.address);
  if (transfer.fault == AccessFault::bus ||
      (transfer.address >= kPpbFirst && transfer.address < kPpbEnd)) {
    cfsr_ |= stacks ? scs::kStkErr : scs::kUnstkErr;
    pend_synchronous(kBusFault, current);
  } else {
    cfsr_ |= stacks ? scs::kMStkErr : scs::kMUnstkErr;
    pend_synchronous(kMemManage, current);
  }
}

}  // namespace millrace::board
