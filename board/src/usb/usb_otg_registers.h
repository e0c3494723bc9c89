// SPDX-License-Identifier: Apache-2.0
// Registers of the USB controller (IMXRT1060RM 42.7) and its descriptors in memory (42.5.5):
// offsets and bits. Names as in the manual.
#pragma once

#include <cstdint>
#include <span>

#include "devices/register_file.h"

namespace millrace::board::usb {

// Offsets.
inline constexpr uint32_t kGptimer0Ld = 0x080, kGptimer0Ctrl = 0x084;
inline constexpr uint32_t kGptimer1Ld = 0x088, kGptimer1Ctrl = 0x08C;
inline constexpr uint32_t kUsbCmd = 0x140, kUsbSts = 0x144, kUsbIntr = 0x148, kFrIndex = 0x14C;
inline constexpr uint32_t kDeviceAddr = 0x154, kEndptListAddr = 0x158;
inline constexpr uint32_t kEndptNak = 0x178, kEndptNakEn = 0x17C;
inline constexpr uint32_t kPortSc1 = 0x184, kOtgSc = 0x1A4, kUsbMode = 0x1A8;
inline constexpr uint32_t kEndptSetupStat = 0x1AC, kEndptPrime = 0x1B0, kEndptFlush = 0x1B4;
inline constexpr uint32_t kEndptStat = 0x1B8, kEndptComplete = 0x1BC, kEndptCtrl0 = 0x1C0;

// USBCMD.
inline constexpr uint32_t kRs = 1u << 0, kRst = 1u << 1;
inline constexpr uint32_t kSutw = 1u << 13, kAtdtw = 1u << 14;
inline constexpr unsigned kItcShift = 16;
inline constexpr uint32_t kHostCommands = 0x8B7C;  // FS, ASPE, ASP, IAA, ASE, PSE

// USBSTS; USBINTR has the enables at the same places.
inline constexpr uint32_t kUi = 1u << 0, kUei = 1u << 1, kPci = 1u << 2, kSei = 1u << 4;
inline constexpr uint32_t kUri = 1u << 6, kSri = 1u << 7, kSli = 1u << 8, kHch = 1u << 12;
inline constexpr uint32_t kNaki = 1u << 16, kTi0 = 1u << 24, kTi1 = 1u << 25;

// DEVICEADDR.
inline constexpr unsigned kUsbAdrShift = 25;
inline constexpr uint32_t kUsbAdra = 1u << 24;

// PORTSC1.
inline constexpr uint32_t kCcs = 1u << 0, kPe = 1u << 2, kFpr = 1u << 6, kSusp = 1u << 7;
inline constexpr uint32_t kPr = 1u << 8, kHsp = 1u << 9, kPtc = 0xFu << 16, kPhcd = 1u << 23;
inline constexpr uint32_t kPfsc = 1u << 24, kPspd = 3u << 26, kPspdHigh = 2u << 26;

// OTGSC: status bits; the interrupt status of each is 8 bits above, its enable 16 bits above.
inline constexpr uint32_t kOtgAvv = 1u << 9, kOtgAsv = 1u << 10, kOtgBsv = 1u << 11;
inline constexpr uint32_t kOtgBse = 1u << 12, kOtgMs = 1u << 13;
inline constexpr uint32_t kOtgStatusChange = 0x7Fu << 16, kOtgMsEnable = 1u << 29;

// USBMODE.
inline constexpr uint32_t kCm = 3u << 0, kCmDevice = 2, kCmHost = 3;
inline constexpr uint32_t kEs = 1u << 2, kSlom = 1u << 3, kSdis = 1u << 4;

// ENDPTCTRLn, the receive half; the transmit half is 16 bits above.
inline constexpr uint32_t kStall = 1u << 0, kType = 3u << 2, kToggleInhibit = 1u << 5;
inline constexpr uint32_t kToggleReset = 1u << 6, kEnable = 1u << 7;
inline constexpr unsigned kTxShift = 16;

// Type field of ENDPTCTRLn.
inline constexpr uint32_t kControl = 0u << 2, kIsochronous = 1u << 2, kBulk = 2u << 2;
inline constexpr uint32_t kInterrupt = 3u << 2;

// Device queue head (42.5.5.1): 64 bytes each, OUT 0, IN 0, OUT 1, ... Its transfer overlay has the
// form of a dTD.
inline constexpr uint32_t kQhBytes = 64;
inline constexpr uint32_t kQhCurrent = 0x04, kQhNext = 0x08, kQhToken = 0x0C, kQhSetup = 0x28;
inline constexpr uint32_t kQhIos = 1u << 15, kQhZlt = 1u << 29;
inline constexpr unsigned kQhMpsShift = 16, kQhMultShift = 30;
inline constexpr uint32_t kQhMpsMask = 0x7FF;

// Device transfer descriptor (42.5.5.2): next, token, page pointers 0..4.
inline constexpr uint32_t kTdNext = 0x00, kTdToken = 0x04, kTdBytes = 28;
inline constexpr uint32_t kTerminate = 1;
inline constexpr uint32_t kTdAddress = ~31u;
inline constexpr uint32_t kTokenTransactionError = 1u << 3, kTokenBufferError = 1u << 5;
inline constexpr uint32_t kTokenHalted = 1u << 6, kTokenActive = 1u << 7, kTokenIoc = 1u << 15;
inline constexpr unsigned kTokenTotalShift = 16, kTokenMultShift = 10;
inline constexpr uint32_t kTokenTotalMask = 0x7FFF;
inline constexpr unsigned kTdPages = 5;

// Bits that exist in ENDPTPRIME, FLUSH, STAT, COMPLETE and NAK: receive below, transmit above.
inline constexpr uint32_t kEndpointBits = 0x00FF00FF;

// All registers, with reset values (IMXRT1060RM 42.7; NXP's SVD).
std::span<const RegisterSpec> otg_registers();

}  // namespace millrace::board::usb
