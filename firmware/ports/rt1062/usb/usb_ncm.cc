// SPDX-License-Identifier: Apache-2.0
// Memory as in usb_serial.cc: descriptors in DTCM, data in OCRAM.
#include "firmware/ports/rt1062/usb/usb_ncm.h"

namespace millrace::rt1062 {
namespace {

constexpr CdcNetworkEndpoints kEndpoints{0x85, 0x05, 0x86};

[[gnu::section(".bss.scratch_dtcm")]] CdcNetworkMemory notifications;
[[gnu::section(".bss.scratch_dtcm")]] UsbTransferDescriptor out_transfers[NcmLink::kRxBuffers];
[[gnu::section(".bss.scratch_dtcm")]] UsbTransferDescriptor in_transfers[NcmLink::kTxTransfers];
[[gnu::section(".bss.scratch_ocram")]] alignas(kUsbPage) uint8_t
    rx_buffers[NcmLink::kRxBuffers * NcmLink::kNtbBytes];
[[gnu::section(".bss.scratch_ocram")]] alignas(kUsbPage) uint8_t
    tx_buffers[NcmLink::kTxBuffers * NcmLink::kNtbBytes];

}  // namespace

NcmLink& add_usb_ncm(const UsbBoard& board, uint8_t mac_string) {
  static const link::NtbParameters parameters = NcmLink::parameters();
  static CdcNetwork function(NetworkModel::ncm, kEndpoints, mac_string, parameters, board.chip,
                             board.device, notifications);
  static UsbQueue out(board.chip, function.session(), board.device.head(kEndpoints.out),
                      kEndpoints.out, out_transfers, NcmLink::kRxBuffers);
  static UsbQueue in(board.chip, function.session(), board.device.head(kEndpoints.in),
                     kEndpoints.in, in_transfers, NcmLink::kTxTransfers);
  static NcmLink link(board.chip, function, out, in, rx_buffers, tx_buffers);
  static_cast<void>(board.device.add(function));  // one of at most four
  return link;
}

}  // namespace millrace::rt1062
