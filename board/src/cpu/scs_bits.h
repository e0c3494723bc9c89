// SPDX-License-Identifier: Apache-2.0
// Bits of the system control block that more than one file needs (Armv7-M ARM B3.2, B1.5.8).
#pragma once

#include <cstdint>

namespace millrace::board::scs {

// CFSR: MMFSR, BFSR, UFSR.
inline constexpr uint32_t kIAccViol = 1u << 0;
inline constexpr uint32_t kDAccViol = 1u << 1;
inline constexpr uint32_t kMUnstkErr = 1u << 3;
inline constexpr uint32_t kMStkErr = 1u << 4;
inline constexpr uint32_t kMLspErr = 1u << 5;
inline constexpr uint32_t kMmarValid = 1u << 7;
inline constexpr uint32_t kIBusErr = 1u << 8;
inline constexpr uint32_t kPrecisErr = 1u << 9;
inline constexpr uint32_t kUnstkErr = 1u << 11;
inline constexpr uint32_t kStkErr = 1u << 12;
inline constexpr uint32_t kLspErr = 1u << 13;
inline constexpr uint32_t kBfarValid = 1u << 15;
inline constexpr uint32_t kUndefInstr = 1u << 16;
inline constexpr uint32_t kInvState = 1u << 17;
inline constexpr uint32_t kInvPc = 1u << 18;
inline constexpr uint32_t kNoCp = 1u << 19;
inline constexpr uint32_t kUnaligned = 1u << 24;
inline constexpr uint32_t kDivByZero = 1u << 25;

// HFSR, DFSR.
inline constexpr uint32_t kVectTbl = 1u << 1;
inline constexpr uint32_t kForced = 1u << 30;
inline constexpr uint32_t kDebugEvt = 1u << 31;
inline constexpr uint32_t kDfsrBkpt = 1u << 1;
inline constexpr uint32_t kDfsrDwtTrap = 1u << 2;

// CCR.
inline constexpr uint32_t kNonBaseThrdEna = 1u << 0;
inline constexpr uint32_t kUserSetMPend = 1u << 1;
inline constexpr uint32_t kUnalignTrp = 1u << 3;
inline constexpr uint32_t kDiv0Trp = 1u << 4;
inline constexpr uint32_t kBfHfNmIgn = 1u << 8;
inline constexpr uint32_t kStkAlign = 1u << 9;
inline constexpr uint32_t kCcrDc = 1u << 16;
inline constexpr uint32_t kCcrIc = 1u << 17;
inline constexpr uint32_t kCcrBp = 1u << 18;

// SCR.
inline constexpr uint32_t kSleepOnExit = 1u << 1;
inline constexpr uint32_t kSevOnPend = 1u << 4;

// DEMCR.
inline constexpr uint32_t kMonEn = 1u << 16;
inline constexpr uint32_t kMonPend = 1u << 17;
inline constexpr uint32_t kTrcEna = 1u << 24;

// FPCCR.
inline constexpr uint32_t kLspAct = 1u << 0;
inline constexpr uint32_t kUser = 1u << 1;
inline constexpr uint32_t kThread = 1u << 3;
inline constexpr uint32_t kHfRdy = 1u << 4;
inline constexpr uint32_t kMmRdy = 1u << 5;
inline constexpr uint32_t kBfRdy = 1u << 6;
inline constexpr uint32_t kMonRdy = 1u << 8;
inline constexpr uint32_t kLspEn = 1u << 30;
inline constexpr uint32_t kAspEn = 1u << 31;

// CONTROL.
inline constexpr uint32_t kNPriv = 1u << 0;
inline constexpr uint32_t kSpSel = 1u << 1;
inline constexpr uint32_t kFpca = 1u << 2;

// EXC_RETURN.
inline constexpr uint32_t kReturnThread = 1u << 3;
inline constexpr uint32_t kReturnPsp = 1u << 2;
inline constexpr uint32_t kReturnNoFp = 1u << 4;

inline constexpr uint32_t kFrameBytes = 0x20;
inline constexpr uint32_t kFpFrameBytes = 0x68;

// FPSCR bits that FPDSCR gives: AHP, DN, FZ, RMode.
inline constexpr uint32_t kFpDefaultBits = 0x07C00000;

}  // namespace millrace::board::scs
