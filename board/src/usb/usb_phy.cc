// SPDX-License-Identifier: Apache-2.0
#include "usb/usb_phy.h"

namespace millrace::board {
namespace {

// USBPHY.
constexpr uint32_t kPwd = 0x00, kTx = 0x10, kRx = 0x20, kPhyCtrl = 0x30;
constexpr uint32_t kSftrst = 1u << 31, kClkgate = 1u << 30;
constexpr uint32_t kEnautoclrPhyPwd = 1u << 20, kEnautoclrClkgate = 1u << 19;
constexpr RegisterKind kAliased = RegisterKind::set_clr_tog;

// Reset values: IMXRT1060RM 43.4. UTMI_SUSPENDM and OTG_ID_VALUE of CTRL are read-only.
constexpr RegisterSpec kPhyTable[] = {
    {kPwd, "PWD", 0x001E1C00, 0x001E1C00, kAliased},
    {kTx, "TX", 0x10060607, 0x1C0F0F0F, kAliased},
    {kRx, "RX", 0x00000000, 0x00400077, kAliased},
    {kPhyCtrl, "CTRL", 0xC0200000, 0xD1FFFFFF, kAliased},
    {0x40, "STATUS", 0x00000000, 0},
    {0x50, "DEBUG", 0x7F180000, 0x7F1F1F3F, kAliased},
    {0x60, "DEBUG0_STATUS", 0x00000000, 0},
    {0x70, "DEBUG1", 0x00001000, 0x00006000, kAliased},
    {0x80, "VERSION", 0x04030000, 0},
};

// USBNC. WIR of the control registers and UTMI_CLK_VLD of PHY_CTRL_0 are read-only.
constexpr uint32_t kPhyCtrl1 = 0x18, kPhyCtrl2 = 0x1C;
constexpr uint32_t kUtmiClkVld = 1u << 31;
constexpr RegisterSpec kNcTable[] = {
    {0x00, "USB_OTG1_CTRL", 0x30001000, 0x2003C780},
    {0x04, "USB_OTG2_CTRL", 0x30001000, 0x2003C780},
    {kPhyCtrl1, "USB_OTG1_PHY_CTRL_0", 0, 0},
    {kPhyCtrl2, "USB_OTG2_PHY_CTRL_0", 0, 0},
};

}  // namespace

UsbPhy::UsbPhy(DeviceHost& host, unsigned number)
    : number_(number), registers_(kPhyTable, 4, *this, host) {}

bool UsbPhy::out_of_reset() const { return (registers_[kPhyCtrl] & kSftrst) == 0; }

bool UsbPhy::active() const {
  return (registers_[kPhyCtrl] & (kSftrst | kClkgate)) == 0 && registers_[kPwd] == 0;
}

void UsbPhy::wake() {
  const uint32_t control = registers_[kPhyCtrl];
  if ((control & kEnautoclrPhyPwd) != 0) registers_[kPwd] = 0;
  if ((control & kEnautoclrClkgate) != 0) registers_[kPhyCtrl] &= ~kClkgate;
}

uint32_t UsbPhy::read(uint32_t offset, unsigned size, Cycles) {
  return registers_.read(offset, size);
}

void UsbPhy::write(uint32_t offset, unsigned size, uint32_t value, Cycles now) {
  const RegisterChange change = registers_.write(offset, size, value);
  if (change.offset == kPhyCtrl && (change.after & ~change.before & kSftrst) != 0) {
    // 43.4: a soft reset puts PWD, TX, RX and CTRL back.
    for (const RegisterSpec& spec : kPhyTable) {
      if (spec.offset <= kPhyCtrl) registers_[spec.offset] = spec.reset;
    }
  }
  if (listener_) listener_(now);
}

void UsbPhy::reset() { registers_.reset(); }

UsbNc::UsbNc(DeviceHost& host, const UsbPhy& phy1, const UsbPhy& phy2)
    : phy1_(phy1), phy2_(phy2), registers_(kNcTable, 4, *this, host) {}

uint32_t UsbNc::read(uint32_t offset, unsigned size, Cycles) {
  registers_[kPhyCtrl1] = phy1_.active() ? kUtmiClkVld : 0;
  registers_[kPhyCtrl2] = phy2_.active() ? kUtmiClkVld : 0;
  return registers_.read(offset, size);
}

void UsbNc::write(uint32_t offset, unsigned size, uint32_t value, Cycles) {
  registers_.write(offset, size, value);
}

}  // namespace millrace::board
