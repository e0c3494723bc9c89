// SPDX-License-Identifier: Apache-2.0
#include "firmware/ports/rt1062/usb/usb_board.h"

#include "firmware/ports/rt1062/rt1062_registers.h"

namespace millrace::rt1062 {
namespace {

[[gnu::section(".bss.scratch_dtcm")]] UsbControlMemory control_memory;

}  // namespace

UsbBoard make_usb_board(const UsbIdentity& identity) {
  static UsbChip chip;
  static UsbDevice device(chip, control_memory, identity);
  return {chip, device};
}

void start_usb_board(const UsbBoard& board) {
  board.device.start();
  route_usb_interrupt(board.device);
}

BoardFuses read_board_fuses() {
  CCM_CCGR2.set_bits(CCM_CCGR2_OCOTP);
  return {OCOTP_MAC0.read(), OCOTP_MAC1.read()};
}

}  // namespace millrace::rt1062
