// SPDX-License-Identifier: Apache-2.0
// Offsets and bits of FlexSPI (IMXRT1060RM 27.7), for flexspi*.cc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::board::flexspi {

inline constexpr uint32_t kMcr0 = 0x000, kMcr1 = 0x004, kMcr2 = 0x008, kAhbcr = 0x00C,
                          kInten = 0x010, kIntr = 0x014, kLutkey = 0x018, kLutcr = 0x01C,
                          kFlshcr0 = 0x060, kFlshcr1 = 0x070, kIpcr0 = 0x0A0, kIpcr1 = 0x0A4,
                          kIpcmd = 0x0B0, kIprxfcr = 0x0B8, kIptxfcr = 0x0BC, kDllacr = 0x0C0,
                          kDllbcr = 0x0C4, kSts0 = 0x0E0, kSts1 = 0x0E4, kSts2 = 0x0E8,
                          kIprxfsts = 0x0F0, kIptxfsts = 0x0F4, kRfdr = 0x100, kTfdr = 0x180,
                          kLut = 0x200;

inline constexpr uint32_t kSwreset = 1u << 0, kMdis = 1u << 1;  // MCR0
inline constexpr uint32_t kClrlearnphase = 1u << 14;            // MCR2
inline constexpr uint32_t kPrefetchen = 1u << 5;                // AHBCR
inline constexpr uint32_t kIpcmddone = 1u << 0, kIpcmderr = 1u << 3, kIprxwa = 1u << 5,
                          kIptxwe = 1u << 6, kSckstopbyrd = 1u << 8,
                          kSckstopbywr = 1u << 9;  // INTR, INTEN
inline constexpr uint32_t kDmaEnable = 1u << 1;    // IPRXFCR, IPTXFCR
inline constexpr uint32_t kLutkeyValue = 0x5AF05AF0;
inline constexpr size_t kMaxData = 65535;  // IPCR1.IDATSZ

}  // namespace millrace::board::flexspi
