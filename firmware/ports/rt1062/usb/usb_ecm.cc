// SPDX-License-Identifier: Apache-2.0
// Memory as in usb_serial.cc: descriptors in DTCM, data in OCRAM.
#include "firmware/ports/rt1062/usb/usb_ecm.h"

namespace millrace::rt1062 {
namespace {

constexpr CdcNetworkEndpoints kEndpoints{0x87, 0x06, 0x81};

[[gnu::section(".bss.scratch_dtcm")]] CdcNetworkMemory notifications;
[[gnu::section(".bss.scratch_dtcm")]] UsbTransferDescriptor out_transfers[EcmLink::kRxBuffers];
[[gnu::section(".bss.scratch_dtcm")]] UsbTransferDescriptor in_transfers[EcmLink::kTxTransfers];
[[gnu::section(".bss.scratch_ocram")]] alignas(kUsbPage) uint8_t
    rx_buffers[EcmLink::kRxBuffers * EcmLink::kBufferBytes];
[[gnu::section(".bss.scratch_ocram")]] alignas(kUsbPage) uint8_t
    tx_buffers[EcmLink::kTxBuffers * EcmLink::kBufferBytes];

}  // namespace

EcmLink& add_usb_ecm(const UsbBoard& board, uint8_t mac_string) {
  static const link::NtbParameters parameters;  // ECM has none
  static CdcNetwork function(NetworkModel::ecm, kEndpoints, mac_string, parameters, board.chip,
                             board.device, notifications);
  static UsbQueue out(board.chip, function.session(), board.device.head(kEndpoints.out),
                      kEndpoints.out, out_transfers, EcmLink::kRxBuffers);
  static UsbQueue in(board.chip, function.session(), board.device.head(kEndpoints.in),
                     kEndpoints.in, in_transfers, EcmLink::kTxTransfers);
  static EcmLink link(board.chip, function, out, in, rx_buffers, tx_buffers);
  static_cast<void>(board.device.add(function));  // one of at most four
  return link;
}

}  // namespace millrace::rt1062
