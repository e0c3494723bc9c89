// SPDX-License-Identifier: Apache-2.0
// System control block, feature identification and cache maintenance registers (Armv7-M ARM B3.2,
// B4; Cortex-M7 TRM DDI 0489 table 3-1 for the values of r1p1 with 32 KB + 32 KB of cache).
#include "cpu/exception_number.h"
#include "cpu/scs_bits.h"
#include "cpu/system_control_m7.h"

namespace millrace::board {
namespace {

enum Register : uint32_t {
  kCpuid = 0xD00,
  kIcsr = 0xD04,
  kVtor = 0xD08,
  kAircr = 0xD0C,
  kScr = 0xD10,
  kCcr = 0xD14,
  kShpr1 = 0xD18,
  kShpr3 = 0xD20,
  kShcsr = 0xD24,
  kCfsr = 0xD28,
  kHfsr = 0xD2C,
  kDfsr = 0xD30,
  kMmfar = 0xD34,
  kBfar = 0xD38,
  kIdFirst = 0xD40,
  kClidr = 0xD78,
  kCtr = 0xD7C,
  kCcsidr = 0xD80,
  kCsselr = 0xD84,
  kCpacr = 0xD88,
  kDemcr = 0xDFC,
  kFpccr = 0xF34,
  kFpcar = 0xF38,
  kFpdscr = 0xF3C,
  kMvfr0 = 0xF40,
  kMvfr1 = 0xF44,
  kMvfr2 = 0xF48,
  kCacheOpFirst = 0xF50,
  kCacheOpLast = 0xF78,
  kM7First = 0xF90,
  kM7Last = 0xFA8,
};

// ID_PFR0..ID_ISAR4, 0xD40..0xD70.
constexpr std::array<uint32_t, 13> kIds = {
    0x00000030, 0x00000200, 0x00100000, 0x00000000, 0x00100030, 0x00000000, 0x01000000,
    0x00000000, 0x01101110, 0x02112000, 0x20232231, 0x01111131, 0x01310132};

// SHCSR: bit -> exception, for the active and the pended bits.
struct HandlerBit {
  unsigned bit;
  unsigned exception;
};
constexpr HandlerBit kActiveBits[] = {{0, kMemManage}, {1, kBusFault},     {3, kUsageFault},
                                      {7, kSvCall},    {8, kDebugMonitor}, {10, kPendSv},
                                      {11, kSysTick}};
constexpr HandlerBit kPendedBits[] = {
    {12, kUsageFault}, {13, kMemManage}, {14, kBusFault}, {15, kSvCall}};
constexpr HandlerBit kEnableBits[] = {{16, kMemManage}, {17, kBusFault}, {18, kUsageFault}};

constexpr uint32_t kVectKey = 0x05FA;
constexpr uint32_t kVectKeyRead = 0xFA050000;
constexpr uint32_t kSysResetReq = 1u << 2;

constexpr uint32_t kCcrBits = scs::kNonBaseThrdEna | scs::kUserSetMPend | scs::kUnalignTrp |
                              scs::kDiv0Trp | scs::kBfHfNmIgn | scs::kCcrDc | scs::kCcrIc;
constexpr uint32_t kDemcrBits = 0x010F07F1;
constexpr uint32_t kFpccrBits = 0xC000017B;
// CP10 and CP11; every other coprocessor is absent and reads as zero.
constexpr uint32_t kCpacrBits = 0x00F00000;

uint32_t merge(uint32_t old, uint32_t value, uint32_t lanes) {
  return (old & ~lanes) | (value & lanes);
}

}  // namespace

uint32_t SystemControlM7::read_scb(uint32_t offset) const {
  if (offset >= kShpr1 && offset <= kShpr3) {
    return read_handler_priorities(offset);
  }
  if (offset >= kIdFirst && offset < kIdFirst + 4 * kIds.size()) {
    return kIds[(offset - kIdFirst) / 4];
  }
  if (offset >= kM7First && offset <= kM7Last) {
    return m7_control_[(offset - kM7First) / 4];
  }
  switch (offset) {
    case kCpuid:
      return 0x411FC271;
    case kIcsr:
      return read_icsr();
    case kVtor:
      return vtor_;
    case kAircr:
      return kVectKeyRead | (nvic_.priority_group() << 8);
    case kScr:
      return scr_;
    case kCcr:
      return ccr_;
    case kShcsr:
      return read_shcsr();
    case kCfsr:
      return cfsr_;
    case kHfsr:
      return hfsr_;
    case kDfsr:
      return dfsr_;
    case kMmfar:
      return mmfar_;
    case kBfar:
      return bfar_;
    case kClidr:
      return 0x09000003;
    case kCtr:
      return 0x8303C003;
    case kCcsidr:  // instruction: 512 sets, 2 ways; data: 256 sets, 4 ways; 32-byte lines
      return csselr_ == 1 ? 0xF03FE009 : csselr_ == 0 ? 0xF01FE019 : 0;
    case kCsselr:
      return csselr_;
    case kCpacr:
      return cpacr_;
    case kDemcr:
      return demcr_ | (nvic_.pending(kDebugMonitor) ? scs::kMonPend : 0);
    case kFpccr:
      return fpccr_;
    case kFpcar:
      return fpcar_;
    case kFpdscr:
      return fpdscr_;
    case kMvfr0:
      return 0x10110221;
    case kMvfr1:
      return 0x12000011;
    case kMvfr2:
      return 0x00000040;
    default:
      return 0;
  }
}

void SystemControlM7::write_scb(uint32_t offset, uint32_t value, uint32_t lanes, Cycles now) {
  if (offset >= kShpr1 && offset <= kShpr3) {
    write_handler_priorities(offset, value, lanes);
    return;
  }
  if (offset >= kM7First && offset <= kM7Last) {
    uint32_t& word = m7_control_[(offset - kM7First) / 4];
    word = merge(word, value, lanes);
    if (mpu_.set_cache_control(m7_control_[3])) {  // CACR
      memory_.attributes_changed();
    }
    return;
  }
  if (offset >= kCacheOpFirst && offset <= kCacheOpLast) {
    cache_maintenance(offset, value, now);
    return;
  }
  switch (offset) {
    case kIcsr:
      write_icsr(value);
      break;
    case kVtor:
      vtor_ = merge(vtor_, value, lanes) & 0xFFFFFF80;
      break;
    case kAircr:
      write_aircr(value);
      break;
    case kScr:
      scr_ = merge(scr_, value, lanes) & 0x16;
      nvic_.take_pend_event();
      break;
    case kCcr:
      write_ccr(merge(ccr_, value, lanes));
      break;
    case kShcsr:
      write_shcsr(merge(read_shcsr(), value, lanes));
      break;
    case kCfsr:  // write one to clear, also by byte and halfword
      cfsr_ &= ~value;
      break;
    case kHfsr:
      hfsr_ &= ~value;
      break;
    case kDfsr:
      dfsr_ &= ~value;
      break;
    case kMmfar:
      mmfar_ = merge(mmfar_, value, lanes);
      break;
    case kBfar:
      bfar_ = merge(bfar_, value, lanes);
      break;
    case kCsselr:
      csselr_ = value & 0xF;
      break;
    case kCpacr:
      cpacr_ = merge(cpacr_, value, lanes) & kCpacrBits;
      update_fp_check();
      break;
    case kDemcr:
      write_demcr(merge(read_scb(kDemcr), value, lanes), now);
      break;
    case kFpccr:
      fpccr_ = merge(fpccr_, value, lanes) & kFpccrBits;
      update_fp_check();
      break;
    case kFpcar:
      fpcar_ = merge(fpcar_, value, lanes) & ~7u;
      break;
    case kFpdscr:
      fpdscr_ = merge(fpdscr_, value, lanes) & scs::kFpDefaultBits;
      break;
    default:
      break;
  }
}

uint32_t SystemControlM7::read_icsr() const {
  uint32_t value = current_exception_;
  // A frame can name an exception that does not exist.
  const bool current_active = current_exception_ != 0 && current_exception_ < kExceptions &&
                              nvic_.active(current_exception_);
  if (nvic_.active_count() == (current_active ? 1u : 0u)) {
    value |= 1u << 11;  // RETTOBASE
  }
  // VECTPENDING: with the effect of BASEPRI and FAULTMASK, without that of PRIMASK.
  const Nvic::Candidate candidate = nvic_.highest_pending();
  if (candidate.exception != 0 &&
      nvic_.group_priority(candidate.priority) < boosted_priority(0, faultmask_, basepri_)) {
    value |= candidate.exception << 12;
  }
  value |= nvic_.any_interrupt_pending() ? 1u << 22 : 0;  // ISRPENDING
  value |= nvic_.pending(kSysTick) ? 1u << 26 : 0;
  value |= nvic_.pending(kPendSv) ? 1u << 28 : 0;
  value |= nvic_.pending(kNmi) ? 1u << 31 : 0;
  return value;
}

// A set bit wins over its clear bit (B3.2.4 calls both UNPREDICTABLE).
void SystemControlM7::write_icsr(uint32_t value) {
  if ((value & (1u << 25)) != 0) {
    nvic_.unpend(kSysTick);
  }
  if ((value & (1u << 27)) != 0) {
    nvic_.unpend(kPendSv);
  }
  if ((value & (1u << 26)) != 0) {
    nvic_.pend(kSysTick);
  }
  if ((value & (1u << 28)) != 0) {
    nvic_.pend(kPendSv);
  }
  if ((value & (1u << 31)) != 0) {
    nvic_.pend(kNmi);
  }
}

uint32_t SystemControlM7::read_shcsr() const {
  uint32_t value = 0;
  for (const HandlerBit& b : kActiveBits) {
    value |= nvic_.active(b.exception) ? 1u << b.bit : 0;
  }
  for (const HandlerBit& b : kPendedBits) {
    value |= nvic_.pending(b.exception) ? 1u << b.bit : 0;
  }
  for (const HandlerBit& b : kEnableBits) {
    value |= nvic_.enabled(b.exception) ? 1u << b.bit : 0;
  }
  return value;
}

// B3.2.13: all bits can be written, also the active ones (an RTOS switches contexts with them).
void SystemControlM7::write_shcsr(uint32_t value) {
  for (const HandlerBit& b : kActiveBits) {
    nvic_.set_active(b.exception, ((value >> b.bit) & 1) != 0);
  }
  for (const HandlerBit& b : kPendedBits) {
    if (((value >> b.bit) & 1) != 0) {
      nvic_.pend(b.exception);
    } else {
      nvic_.unpend(b.exception);
    }
  }
  for (const HandlerBit& b : kEnableBits) {
    nvic_.set_enabled(b.exception, ((value >> b.bit) & 1) != 0);
  }
}

void SystemControlM7::write_aircr(uint32_t value) {
  if (value >> 16 != kVectKey) {
    return;
  }
  nvic_.set_priority_group((value >> 8) & 7);
  if ((value & kSysResetReq) != 0) {
    reset_requested_ = true;
    nvic_.raise_attention();
  }
}

// STKALIGN and BP read as one on the Cortex-M7 (TRM 3.3.3).
void SystemControlM7::write_ccr(uint32_t value) {
  const uint32_t old = ccr_;
  ccr_ = (value & kCcrBits) | scs::kStkAlign | scs::kCcrBp;
  const uint32_t changed = ccr_ ^ old;
  if ((changed & scs::kCcrIc) != 0) {
    memory_.enable_icache((ccr_ & scs::kCcrIc) != 0);
  }
  if ((changed & scs::kCcrDc) != 0) {
    memory_.enable_dcache((ccr_ & scs::kCcrDc) != 0);
  }
}

void SystemControlM7::write_demcr(uint32_t value, Cycles now) {
  demcr_ = value & kDemcrBits & ~scs::kMonPend;
  nvic_.set_enabled(kDebugMonitor, (value & scs::kMonEn) != 0);
  if ((value & scs::kMonPend) != 0) {
    nvic_.pend(kDebugMonitor);
  } else {
    nvic_.unpend(kDebugMonitor);
  }
  dwt_.set_trace_enabled((value & scs::kTrcEna) != 0, now);
  itm_.set_trace_enabled((value & scs::kTrcEna) != 0);
}

// SHPR1..3: exceptions 4..15, a byte each; those that do not exist read as zero.
uint32_t SystemControlM7::read_handler_priorities(uint32_t offset) const {
  const unsigned first = offset - kShpr1 + kMemManage;
  uint32_t value = 0;
  for (unsigned i = 0; i < 4; ++i) {
    value |= static_cast<uint32_t>(nvic_.priority_byte(first + i)) << (8 * i);
  }
  return value;
}

void SystemControlM7::write_handler_priorities(uint32_t offset, uint32_t value, uint32_t lanes) {
  const unsigned first = offset - kShpr1 + kMemManage;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned exception = first + i;
    const bool exists = exception <= kUsageFault || exception == kSvCall ||
                        exception == kDebugMonitor || exception >= kPendSv;
    if (exists && ((lanes >> (8 * i)) & 0xFF) != 0) {
      nvic_.set_priority(exception, static_cast<uint8_t>(value >> (8 * i)));
    }
  }
}

// B3.2.1, table B3-4 and B2.2.7.
void SystemControlM7::cache_maintenance(uint32_t offset, uint32_t value, Cycles now) {
  using Op = MemorySystem::CacheOp;
  Op op;
  switch (offset) {
    case 0xF50:
      op = Op::icache_all;
      break;
    case 0xF58:
      op = Op::icache_line;
      break;
    case 0xF5C:
      op = Op::dcache_invalidate_line;
      break;
    case 0xF60:
      op = Op::dcache_invalidate_set_way;
      break;
    case 0xF64:  // to the point of unification, which is that of coherency here
    case 0xF68:
      op = Op::dcache_clean_line;
      break;
    case 0xF6C:
      op = Op::dcache_clean_set_way;
      break;
    case 0xF70:
      op = Op::dcache_clean_invalidate_line;
      break;
    case 0xF74:
      op = Op::dcache_clean_invalidate_set_way;
      break;
    case 0xF78:
      op = Op::branch_predictor_all;
      break;
    default:
      return;
  }
  owe(memory_.cache_op(op, value, now));
}

}  // namespace millrace::board
