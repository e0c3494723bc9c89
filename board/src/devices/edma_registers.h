// SPDX-License-Identifier: Apache-2.0
// Offsets and bits of the eDMA (IMXRT1060RM 6.6), for edma*.cc.
#pragma once

#include <cstdint>

namespace millrace::board::edma {

inline constexpr uint32_t kCr = 0x00, kEs = 0x04, kErq = 0x0C, kEei = 0x14, kCommands = 0x18,
                          kInt = 0x24, kErr = 0x2C, kHrs = 0x34, kEars = 0x44, kDchpri = 0x100,
                          kTcd = 0x1000;
// The byte registers from kCommands on.
inline constexpr uint32_t kCeei = 0x18, kSeei = 0x19, kCerq = 0x1A, kSerq = 0x1B, kCdne = 0x1C,
                          kSsrt = 0x1D, kCerr = 0x1E, kCint = 0x1F;
// CR.
inline constexpr uint32_t kCrActive = 1u << 31, kCancel = 3u << 16, kGrp1pri = 1u << 10,
                          kGrp0pri = 1u << 8, kEmlm = 1u << 7, kHalt = 1u << 5, kHoe = 1u << 4,
                          kErga = 1u << 3, kErca = 1u << 2;
// ES.
inline constexpr uint32_t kVld = 1u << 31, kGpe = 1u << 15, kCpe = 1u << 14, kSae = 1u << 7,
                          kSoe = 1u << 6, kDae = 1u << 5, kDoe = 1u << 4, kNce = 1u << 3,
                          kSge = 1u << 2, kSbe = 1u << 1, kDbe = 1u << 0;
// Within a TCD.
inline constexpr uint32_t kSaddr = 0x00, kSoff = 0x04, kAttr = 0x06, kNbytes = 0x08, kSlast = 0x0C,
                          kDaddr = 0x10, kDoff = 0x14, kCiter = 0x16, kDlastsga = 0x18, kCsr = 0x1C,
                          kBiter = 0x1E;
// CSR.
inline constexpr uint32_t kDone = 1u << 7, kActive = 1u << 6, kMajorelink = 1u << 5, kEsg = 1u << 4,
                          kDreq = 1u << 3, kInthalf = 1u << 2, kIntmajor = 1u << 1,
                          kStart = 1u << 0;
inline constexpr uint32_t kElink = 1u << 15;  // CITER, BITER

}  // namespace millrace::board::edma
