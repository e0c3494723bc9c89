// SPDX-License-Identifier: Apache-2.0
// The floating-point context: access rights, and its stacking, at entry or deferred to the first
// use (Armv7-M ARM B1.5.7, UpdateFPCCR, PreserveFPState, ExecuteFPCheck).
#include "cpu/exception_number.h"
#include "cpu/scs_bits.h"
#include "cpu/system_control_m7.h"

namespace millrace::board {

bool SystemControlM7::fp_allowed(bool privileged) const {
  const uint32_t cp10 = (cpacr_ >> 20) & 3;
  return cp10 == 3 || (cp10 == 1 && privileged);
}

void SystemControlM7::update_fp_check() {
  fp_check_ = (fpccr_ & scs::kLspAct) != 0 || ((cpacr_ >> 20) & 3) != 3;
}

void SystemControlM7::defer_fp(const CpuState& state, uint32_t frame) {
  const int current = execution_priority(state);
  const auto could_pend = [&](unsigned exception) {
    return nvic_.enabled(exception) && nvic_.group_priority(nvic_.priority(exception)) < current;
  };
  fpcar_ = (frame + scs::kFrameBytes) & ~7u;
  fpccr_ &= scs::kAspEn | scs::kLspEn;
  fpccr_ |= scs::kLspAct;
  fpccr_ |= state.privileged() ? 0 : scs::kUser;
  fpccr_ |= state.ipsr == 0 ? scs::kThread : 0;
  fpccr_ |= current > -1 ? scs::kHfRdy : 0;
  fpccr_ |= could_pend(kBusFault) ? scs::kBfRdy : 0;
  fpccr_ |= could_pend(kMemManage) ? scs::kMmRdy : 0;
  fpccr_ |= could_pend(kDebugMonitor) ? scs::kMonRdy : 0;
  update_fp_check();
}

void SystemControlM7::store_fp(const CpuState& state, uint32_t address, Transfer* transfer) {
  for (unsigned i = 0; i < 16; ++i) {
    store(transfer, address + 4 * i, state.s[i]);
  }
  store(transfer, address + 0x40, state.fpscr);
}

// A fault of the deferred stacking belongs to the exception that could have been pended when the
// frame was made (the RDY bits). The instruction waits only if that fault is taken now.
bool SystemControlM7::preserve_fp(CpuState& state) {
  Transfer transfer;
  transfer.start = events_.now();
  transfer.privileged = (fpccr_ & scs::kUser) == 0;
  store_fp(state, fpcar_, &transfer);
  owe(transfer.stall);
  if (transfer.fault != AccessFault::none) {
    record_derived(state, FaultCause::lazy_stacking, transfer.address);
    const bool bus = transfer.fault == AccessFault::bus;
    const unsigned exception = bus ? kBusFault : kMemManage;
    cfsr_ |= bus ? scs::kLspErr : scs::kMLspErr;
    if ((fpccr_ & (bus ? scs::kBfRdy : scs::kMmRdy)) != 0) {
      nvic_.pend(exception);
    } else if ((fpccr_ & scs::kHfRdy) != 0) {
      hfsr_ |= scs::kForced;
      nvic_.pend(kHardFault);
    } else {
      lock_up();
    }
    if (locked_up_ || takeable(nvic_.highest_pending(), state)) {
      return false;
    }
  }
  fpccr_ &= ~scs::kLspAct;
  update_fp_check();
  return true;
}

bool SystemControlM7::prepare_fp(CpuState& state) {
  if (!fp_allowed(state.privileged())) {
    fault(state, FaultCause::no_coprocessor, 0);
    return false;
  }
  if ((fpccr_ & scs::kLspAct) != 0 && !preserve_fp(state)) {
    return false;
  }
  if ((fpccr_ & scs::kAspEn) != 0 && (state.control & scs::kFpca) == 0) {
    state.fpscr = (state.fpscr & ~scs::kFpDefaultBits) | fpdscr_;
    state.control |= scs::kFpca;
  }
  return true;
}

}  // namespace millrace::board
