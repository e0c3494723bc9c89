// SPDX-License-Identifier: Apache-2.0
// Exception return (Armv7-M ARM B1.5.8, ExceptionReturn and PopStack) and tail-chaining.
//
// The frame is read whole before anything of it is used: when a word of it faults, or its IPSR
// contradicts EXC_RETURN, the frame stays where it is and the fault is tail-chained on top of it.
// The architecture makes the popped registers UNKNOWN then; here they keep their values.
#include <algorithm>
#include <array>

#include "cpu/exception_number.h"
#include "cpu/scs_bits.h"
#include "cpu/system_control_m7.h"

namespace millrace::board {
namespace {

// EXC_RETURN[27:5] are ones; else UNPREDICTABLE, here an integrity error.
constexpr uint32_t kOnes = 0x0FFFFFE0;

}  // namespace

bool SystemControlM7::valid_return(uint32_t exc_return, unsigned returning) const {
  if (!nvic_.active(returning) || (exc_return & kOnes) != kOnes) {
    return false;
  }
  switch (exc_return & 15) {
    case 0x1:
      // The frame's IPSR says where to; pop_frame() checks it.
      return true;
    case 0x9:
    case 0xD:
      return nvic_.active_count() == 1 || (ccr_ & scs::kNonBaseThrdEna) != 0;
    default:
      return false;
  }
}

bool SystemControlM7::pop_frame(CpuState& state, uint32_t exc_return, Transfer* transfer) {
  const bool to_thread = (exc_return & scs::kReturnThread) != 0;
  const bool from_psp = to_thread && (exc_return & scs::kReturnPsp) != 0;
  const bool has_fp = (exc_return & scs::kReturnNoFp) == 0;
  const uint32_t frame = from_psp ? state.other_sp : state.r[13];
  const int current = execution_priority(state);
  transfer->privileged = !to_thread || (state.control & scs::kNPriv) == 0;

  std::array<uint32_t, 8> words{};
  for (unsigned i = 0; i < words.size(); ++i) {
    words[i] = load(transfer, frame + 4 * i);
  }
  // While lazy stacking is pending the registers still hold the state of this frame.
  const bool load_fp = has_fp && (fpccr_ & scs::kLspAct) == 0;
  if (load_fp && !fp_allowed(transfer->privileged)) {
    record_derived(state, FaultCause::no_coprocessor, 0);
    cfsr_ |= scs::kNoCp;
    pend_synchronous(kUsageFault, current);
    return false;
  }
  std::array<uint32_t, 17> fp{};
  if (load_fp) {
    for (unsigned i = 0; i < fp.size(); ++i) {
      fp[i] = load(transfer, frame + scs::kFrameBytes + 4 * i);
    }
  }
  if (transfer->fault != AccessFault::none) {
    transfer_fault(state, *transfer, FaultCause::unstacking, current);
    return false;
  }
  const uint32_t psr = words[7];
  const uint32_t ipsr = psr & 0x1FF;
  if (to_thread != (ipsr == 0)) {
    record_derived(state, FaultCause::invalid_pc, 0);
    cfsr_ |= scs::kInvPc;
    pend_synchronous(kUsageFault, current);
    return false;
  }

  if (load_fp) {
    std::copy(fp.begin(), fp.begin() + 16, state.s.begin());
    state.fpscr = fp[16];
  } else if (has_fp) {
    fpccr_ &= ~scs::kLspAct;
    update_fp_check();
  }
  const uint32_t bytes = has_fp ? scs::kFpFrameBytes : scs::kFrameBytes;
  const uint32_t sp = (frame + bytes) | (((psr >> 9) & 1) << 2);
  if (from_psp) {
    state.swap_stacks();
  }
  state.r[13] = sp;
  state.control &= ~(scs::kFpca | scs::kSpSel);
  state.control |= (has_fp ? scs::kFpca : 0) | (from_psp ? scs::kSpSel : 0);
  std::copy(words.begin(), words.begin() + 4, state.r.begin());
  state.r[12] = words[4];
  state.r[14] = words[5];
  state.r[15] = words[6] & ~1u;
  state.set_apsr(psr);
  state.itstate = ((psr >> 25) & 3) | ((psr >> 8) & 0xFC);
  state.ipsr = ipsr;
  state.exclusive = false;
  if ((psr & (1u << 24)) == 0) {
    priority_changed(state);
    fault(state, FaultCause::invalid_state, 0);
  }
  return true;
}

uint32_t SystemControlM7::exception_return(CpuState& state, uint32_t exc_return) {
  if (state.ipsr == 0 || state.ipsr >= kExceptions) {
    fault(state, FaultCause::invalid_pc, 0);
    return 0;
  }
  const unsigned returning = state.ipsr;
  const bool valid = valid_return(exc_return, returning);
  if (on_exception_) on_exception_(returning, false);
  nvic_.deactivate(returning);
  if (returning != kNmi) {
    state.faultmask = 0;
  }
  priority_changed(state);
  const uint32_t chained_return = 0xF0000000u | (exc_return & 0x0FFFFFFFu);
  uint32_t stall = 0;
  if (!valid) {
    record_derived(state, FaultCause::invalid_pc, 0);
    cfsr_ |= scs::kInvPc;
    pend_synchronous(kUsageFault, execution_priority(state));
  } else if (!takeable(nvic_.highest_pending(), state)) {
    Transfer transfer;
    transfer.start = events_.now();
    if (pop_frame(state, exc_return, &transfer)) {
      event_ = true;
      priority_changed(state);
      sleep_on_exit_ =
          state.ipsr == 0 && nvic_.active_count() == 0 && (scr_ & scs::kSleepOnExit) != 0;
      const uint32_t cycles = timing_.exception_exit + transfer.stall;
      dwt_.count(Dwt::Counter::exception, cycles);
      return cycles;
    }
    stall = transfer.stall;
  }
  if (locked_up_) {
    return stall;
  }
  take_highest(state, chained_return, &stall);
  const uint32_t cycles = timing_.tail_chain + stall;
  dwt_.count(Dwt::Counter::exception, cycles);
  return cycles;
}

}  // namespace millrace::board
