// SPDX-License-Identifier: Apache-2.0
// MRS, MSR and the masks that CPS changes (Armv7-M ARM B5.2.1..3). Unprivileged code writes only
// APSR and reads APSR and CONTROL; what it may not touch is ignored or zero.
#include "cpu/exception_number.h"
#include "cpu/scs_bits.h"
#include "cpu/system_control_m7.h"

namespace millrace::board {
namespace {

enum Sysm : unsigned {
  kXpsrLast = 7,
  kMsp = 8,
  kPsp = 9,
  kPrimask = 16,
  kBasepri = 17,
  kBasepriMax = 18,
  kFaultmask = 19,
  kControl = 20,
};

constexpr uint32_t kApsrFlags = 0xF8000000;
constexpr uint32_t kApsrGe = 0x000F0000;

}  // namespace

uint32_t SystemControlM7::read_special(const CpuState& state, unsigned sysm) {
  if (sysm <= kXpsrLast) {
    uint32_t value = (sysm & 4) == 0 ? state.apsr() : 0;
    value |= (sysm & 1) != 0 ? state.ipsr : 0;
    return value;  // EPSR reads as zero
  }
  if (sysm == kControl) {
    return state.control;
  }
  if (!state.privileged()) {
    return 0;
  }
  switch (sysm) {
    case kMsp:
      return state.uses_psp() ? state.other_sp : state.r[13];
    case kPsp:
      return state.uses_psp() ? state.r[13] : state.other_sp;
    case kPrimask:
      return state.primask & 1;
    case kBasepri:
    case kBasepriMax:
      return state.basepri & 0xF0;
    case kFaultmask:
      return state.faultmask & 1;
    default:
      return 0;
  }
}

void SystemControlM7::write_special(CpuState& state, unsigned sysm, uint32_t value, unsigned mask) {
  if (sysm <= kXpsrLast) {
    if ((sysm & 4) == 0) {
      const uint32_t bits = ((mask & 2) != 0 ? kApsrFlags : 0) | ((mask & 1) != 0 ? kApsrGe : 0);
      state.set_apsr((state.apsr() & ~bits) | (value & bits));
    }
    return;
  }
  if (!state.privileged()) {
    return;
  }
  switch (sysm) {
    case kMsp:
      (state.uses_psp() ? state.other_sp : state.r[13]) = value & ~3u;
      return;
    case kPsp:
      (state.uses_psp() ? state.r[13] : state.other_sp) = value & ~3u;
      return;
    case kPrimask:
      state.primask = value & 1;
      break;
    case kBasepri:
      state.basepri = value & 0xF0;
      break;
    case kBasepriMax: {
      const uint32_t wanted = value & 0xF0;
      if (wanted != 0 && (wanted < state.basepri || state.basepri == 0)) {
        state.basepri = wanted;
      }
      break;
    }
    case kFaultmask:
      if ((value & 1) == 0 || execution_priority(state) > -1) {
        state.faultmask = value & 1;
      }
      break;
    case kControl: {
      const bool before = state.uses_psp();
      // SPSEL is written in thread mode only; nPRIV and FPCA always.
      const uint32_t bits = scs::kNPriv | scs::kFpca | (state.ipsr == 0 ? scs::kSpSel : 0);
      state.control = (state.control & ~bits) | (value & bits);
      if (state.uses_psp() != before) {
        state.swap_stacks();
      }
      return;
    }
    default:
      return;
  }
  priority_changed(state);
}

// CPS has written PRIMASK or FAULTMASK. FAULTMASK cannot be set at priority -1 or -2.
void SystemControlM7::change_masks(CpuState& state) {
  if (state.faultmask != 0 && faultmask_ == 0 && nvic_.active_priority() <= -1) {
    state.faultmask = 0;
  }
  priority_changed(state);
}

}  // namespace millrace::board
