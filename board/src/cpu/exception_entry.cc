// SPDX-License-Identifier: Apache-2.0
// Exception entry (Armv7-M ARM B1.5.6, PushStack and ExceptionTaken).
//
// The order is that of the hardware as far as software can see it: the frame is pushed for
// "some exception"; which one is decided when its vector is fetched. A higher one that arrives
// during the stacking (an event of the queue, or a fault of the stacking itself: a derived
// exception) is therefore served by the same frame, and the first stays pending: late arrival.
//
// Time: Timing::exception_entry is the cost with zero-wait memory, all nine accesses included;
// what each access stalls beyond that is added.
#include <algorithm>
#include <utility>

#include "cpu/exception_number.h"
#include "cpu/scs_bits.h"
#include "cpu/system_control_m7.h"

namespace millrace::board {

uint32_t SystemControlM7::load(Transfer* transfer, uint32_t address) {
  if (transfer->fault != AccessFault::none) {
    return 0;
  }
  const Cycles at = transfer->start + transfer->count + transfer->stall;
  const LoadResult result = memory_.load(address, 4, transfer->privileged, at);
  ++transfer->count;
  transfer->stall += result.stall;
  transfer->fault = result.fault;
  transfer->address = address;
  return result.value;
}

void SystemControlM7::store(Transfer* transfer, uint32_t address, uint32_t value) {
  if (transfer->fault != AccessFault::none) {
    return;
  }
  const Cycles at = transfer->start + transfer->count + transfer->stall;
  const StoreResult result = memory_.store(address, 4, value, transfer->privileged, at);
  ++transfer->count;
  transfer->stall += result.stall;
  transfer->fault = result.fault;
  transfer->address = address;
}

uint32_t SystemControlM7::push_frame(CpuState& state, Transfer* transfer) {
  const bool has_fp = (state.control & scs::kFpca) != 0;
  // CCR.STKALIGN is one on this core: frames are 8-byte aligned, and bit 9 of the stacked xPSR
  // says whether 4 bytes were skipped for that.
  const uint32_t skipped = (state.r[13] >> 2) & 1;
  const uint32_t frame = (state.r[13] - (has_fp ? scs::kFpFrameBytes : scs::kFrameBytes)) & ~7u;
  uint32_t xpsr = (state.xpsr() & ~(1u << 9)) | (skipped << 9);
  if (std::exchange(thumb_clear_, false)) {
    xpsr &= ~(1u << 24);
  }
  transfer->privileged = state.privileged();
  for (unsigned i = 0; i < 4; ++i) {
    store(transfer, frame + 4 * i, state.r[i]);
  }
  store(transfer, frame + 0x10, state.r[12]);
  store(transfer, frame + 0x14, state.r[14]);
  store(transfer, frame + 0x18, state.r[15]);
  store(transfer, frame + 0x1C, xpsr);
  const int current = execution_priority(state);
  if (transfer->fault != AccessFault::none) {
    transfer_fault(state, *transfer, FaultCause::stacking, current);
  }
  if (has_fp) {
    if ((fpccr_ & scs::kLspEn) != 0) {
      defer_fp(state, frame);
    } else if (!fp_allowed(state.privileged())) {
      record_derived(state, FaultCause::no_coprocessor, 0);
      cfsr_ |= scs::kNoCp;
      pend_synchronous(kUsageFault, current);
    } else if (transfer->fault == AccessFault::none) {
      store_fp(state, frame + scs::kFrameBytes, transfer);
      if (transfer->fault != AccessFault::none) {
        transfer_fault(state, *transfer, FaultCause::stacking, current);
      }
    }
  }
  state.r[13] = frame;

  uint32_t exc_return = 0xFFFFFFE1;
  if (!has_fp) {
    exc_return |= scs::kReturnNoFp;
  }
  if (state.ipsr == 0) {
    exc_return |= scs::kReturnThread;
    if ((state.control & scs::kSpSel) != 0) {
      exc_return |= scs::kReturnPsp;
    }
  }
  return exc_return;
}

void SystemControlM7::run_events_until(Cycles end) {
  while (events_.next() <= end) {
    events_.advance(std::max(events_.now(), events_.next()));
    events_.run_due();
  }
}

// The table is read as privileged data through the default map (B3.5.1), so a refusal of the MPU
// is no fault: the value is then read beside it.
bool SystemControlM7::fetch_vector(unsigned exception, uint32_t* vector, uint32_t* stall) {
  Transfer transfer;
  transfer.start = events_.now() + *stall;
  const uint32_t address = vtor_ + 4 * exception;
  *vector = load(&transfer, address);
  *stall += transfer.stall;
  if (transfer.fault == AccessFault::mpu_data) {
    uint8_t bytes[4] = {};
    if (!memory_.debug_read(address, bytes, 4)) {
      return false;
    }
    *vector = static_cast<uint32_t>(bytes[0]) | static_cast<uint32_t>(bytes[1]) << 8 |
              static_cast<uint32_t>(bytes[2]) << 16 | static_cast<uint32_t>(bytes[3]) << 24;
    return true;
  }
  return transfer.fault == AccessFault::none;
}

void SystemControlM7::take_highest(CpuState& state, uint32_t exc_return, uint32_t* stall) {
  Nvic::Candidate candidate = nvic_.highest_pending();
  uint32_t vector = 0;
  while (!fetch_vector(candidate.exception, &vector, stall)) {
    record_derived(state, FaultCause::vector_read, vtor_ + 4 * candidate.exception);
    // B1.5.15: a vector read error is a HardFault in place of the exception, which stays pending;
    // at the vectors of NMI and HardFault there is no way on.
    if (candidate.priority <= -1 || execution_priority(state) <= -1) {
      lock_up();
      return;
    }
    hfsr_ |= scs::kVectTbl;
    nvic_.pend(kHardFault);
    candidate = nvic_.highest_pending();
  }
  fault_pends_ = false;
  ++exceptions_;
  if (on_exception_) on_exception_(candidate.exception, true);
  nvic_.activate(candidate.exception);
  if (state.uses_psp()) {
    state.swap_stacks();
  }
  state.control &= ~(scs::kSpSel | scs::kFpca);
  state.ipsr = candidate.exception;
  state.itstate = 0;
  state.exclusive = false;
  state.r[14] = exc_return;
  state.r[15] = vector & ~1u;
  event_ = true;
  priority_changed(state);
  if ((vector & 1) == 0) {
    fault(state, FaultCause::invalid_state, 0);
  }
}

uint32_t SystemControlM7::enter_pending(CpuState& state) {
  uint32_t cycles = std::exchange(owed_stall_, 0);
  nvic_.clear_attention();
  if (locked_up_ || reset_requested_) {
    nvic_.raise_attention();
    return cycles;
  }
  if (!takeable(nvic_.highest_pending(), state)) {
    return cycles;
  }
  const Cycles start = events_.now();
  Transfer transfer;
  transfer.start = start + cycles;
  const uint32_t exc_return = push_frame(state, &transfer);
  cycles += timing_.exception_entry + transfer.stall;
  if (!locked_up_) {
    run_events_until(start + cycles);
    uint32_t stall = 0;
    take_highest(state, exc_return, &stall);
    cycles += stall;
  }
  dwt_.count(Dwt::Counter::exception, cycles);
  return cycles;
}

}  // namespace millrace::board
