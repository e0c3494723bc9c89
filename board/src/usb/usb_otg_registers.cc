// SPDX-License-Identifier: Apache-2.0
#include "usb/usb_otg_registers.h"

namespace millrace::board::usb {
namespace {

constexpr RegisterKind kW1c = RegisterKind::one_clears;
constexpr uint32_t kEndpointControlBits = 0x00EF00EF;

// What may be written is what the register file stores; UsbOtg and UsbEndpoints act on the rest.
constexpr RegisterSpec kTable[] = {
    {0x000, "ID", 0xE4A1FA05, 0},
    {0x004, "HWGENERAL", 0x00000035, 0},
    {0x008, "HWHOST", 0x10020001, 0},
    {0x00C, "HWDEVICE", 0x00000011, 0},
    {0x010, "HWTXBUF", 0x80080B08, 0},
    {0x014, "HWRXBUF", 0x00000808, 0},
    {kGptimer0Ld, "GPTIMER0LD", 0, 0x00FFFFFF},
    {kGptimer0Ctrl, "GPTIMER0CTRL", 0, 0xC1000000},
    {kGptimer1Ld, "GPTIMER1LD", 0, 0x00FFFFFF},
    {kGptimer1Ctrl, "GPTIMER1CTRL", 0, 0xC1000000},
    {0x090, "SBUSCFG", 0x00000002, 0x7},
    {0x100, "CAPLENGTH_HCIVERSION", 0x01000040, 0},
    {0x104, "HCSPARAMS", 0x00010011, 0},
    {0x108, "HCCPARAMS", 0x00000006, 0},
    {0x120, "DCIVERSION", 0x00000001, 0},
    {0x124, "DCCPARAMS", 0x00000188, 0},
    {kUsbCmd, "USBCMD", 0x00080000, 0x00FFEB7F},
    {kUsbSts, "USBSTS", 0, 0x030C05FF, kW1c},
    {kUsbIntr, "USBINTR", 0, 0x030D05FF},
    {kFrIndex, "FRINDEX", 0, 0},
    {kDeviceAddr, "DEVICEADDR", 0, 0xFF000000},
    {kEndptListAddr, "ENDPTLISTADDR", 0, 0xFFFFF800},
    {0x160, "BURSTSIZE", 0x00000808, 0x0001FFFF},
    {0x164, "TXFILLTUNING", 0, 0x003F1FFF},
    {kEndptNak, "ENDPTNAK", 0, kEndpointBits, kW1c},
    {kEndptNakEn, "ENDPTNAKEN", 0, kEndpointBits},
    {0x180, "CONFIGFLAG", 0x00000001, 0},
    {kPortSc1, "PORTSC1", 0x10000000, 0xF3FFD040},
    {kOtgSc, "OTGSC", 0x00001120, 0x7F00003B},
    {kUsbMode, "USBMODE", 0x00005000, 0x0000001F},
    {kEndptSetupStat, "ENDPTSETUPSTAT", 0, 0x000000FF, kW1c},
    {kEndptPrime, "ENDPTPRIME", 0, kEndpointBits},
    {kEndptFlush, "ENDPTFLUSH", 0, kEndpointBits},
    {kEndptStat, "ENDPTSTAT", 0, 0},
    {kEndptComplete, "ENDPTCOMPLETE", 0, kEndpointBits, kW1c},
    {kEndptCtrl0, "ENDPTCTRL0", 0x00800080, 0x00010001},
    {0x1C4, "ENDPTCTRL1", 0, kEndpointControlBits},
    {0x1C8, "ENDPTCTRL2", 0, kEndpointControlBits},
    {0x1CC, "ENDPTCTRL3", 0, kEndpointControlBits},
    {0x1D0, "ENDPTCTRL4", 0, kEndpointControlBits},
    {0x1D4, "ENDPTCTRL5", 0, kEndpointControlBits},
    {0x1D8, "ENDPTCTRL6", 0, kEndpointControlBits},
    {0x1DC, "ENDPTCTRL7", 0, kEndpointControlBits},
};

}  // namespace

std::span<const RegisterSpec> otg_registers() { return kTable; }

}  // namespace millrace::board::usb
