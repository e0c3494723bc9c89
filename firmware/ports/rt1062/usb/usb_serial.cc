// SPDX-License-Identifier: Apache-2.0
// Descriptors of transfers are in DTCM, which no cache covers. Data are in OCRAM, in every variant
// of a program: 128 KB to the host, which last it for 2.4 ms at full speed, and 32 packets from it.
#include "firmware/ports/rt1062/usb/usb_serial.h"

#include "firmware/ports/rt1062/clocks.h"
#include "firmware/ports/rt1062/rt1062_registers.h"
#include "firmware/ports/rt1062/ticks.h"

namespace millrace::rt1062 {
namespace {

constexpr uint32_t kInBytes = 128 * 1024;
constexpr uint32_t kInTransfers = 16;
constexpr uint32_t kOutPackets = 32;
constexpr CdcAcmEndpoints kEndpoints;

[[gnu::section(".bss.scratch_dtcm")]] UsbTransferDescriptor in_transfers[kInTransfers];
[[gnu::section(".bss.scratch_dtcm")]] UsbTransferDescriptor out_transfers[kOutPackets];
[[gnu::section(".bss.scratch_ocram")]] alignas(kUsbPage) uint8_t in_ring[kInBytes];
[[gnu::section(".bss.scratch_ocram")]] alignas(32) uint8_t
    out_buffers[kOutPackets * BulkOut::kBufferBytes];

// The cycle counter wraps after 7.2 s; the port is asked more often than that.
uint32_t now_us() {
  constexpr uint32_t kCyclesPerUs = kCoreHz / 1'000'000;
  static uint32_t counted, us;
  const uint32_t whole = (cycles() - counted) / kCyclesPerUs;
  counted += whole * kCyclesPerUs;
  us += whole;
  return us;
}

// SNVS_LPGPR0 keeps its value over every reset but not, without a coin cell, over loss of power.
// Its upper byte marks it as ours.
uint32_t count_boot() {
  constexpr uint32_t kMark = 0xb7000000, kCount = 0x00ffffff;
  const uint32_t kept = SNVS_LPGPR0.read();
  const uint32_t count = (((kept & ~kCount) == kMark ? kept : 0) + 1) & kCount;
  SNVS_LPGPR0.write(kMark | count);
  return count;
}

// The cycle counter at the moment a host asks, and the chip's unique number.
uint32_t entropy() {
  static uint32_t mixed;
  mixed = (mixed ^ cycles()) * 0x9e3779b1u + OCOTP_CFG0.read() + SNVS_LPGPR0.read();
  return mixed ^ mixed >> 15;
}

}  // namespace

UsbSerial add_usb_serial(const UsbBoard& board, bool (*other_work)()) {
  static CdcAcm line(kEndpoints);
  static UsbQueue in_queue(board.chip, board.device.session(), board.device.head(kEndpoints.in),
                           kEndpoints.in, in_transfers, kInTransfers);
  static UsbQueue out_queue(board.chip, board.device.session(), board.device.head(kEndpoints.out),
                            kEndpoints.out, out_transfers, kOutPackets);
  static BulkIn in(board.chip, in_queue, in_ring, kInBytes);
  static BulkOut out(board.chip, out_queue, out_buffers, kOutPackets);
  UsbPortOptions options;
  options.now_us = now_us;
  options.entropy = entropy;
  options.other_work = other_work;
  options.boot_counter = count_boot();
  options.tx_buffer_bytes = kInBytes;
  options.rx_buffer_bytes = sizeof(out_buffers);
  static UsbPort port(board.chip, board.device, line, in, out, options);
  static_cast<void>(board.device.add(line));  // one of at most four
  return {board.device, line, in, out, port};
}

UsbSerial start_usb_serial() {
  static const UsbIdentity identity = teensy_serial_identity(read_board_fuses().mac0);
  const UsbBoard board = make_usb_board(identity);
  const UsbSerial serial = add_usb_serial(board, nullptr);
  start_usb_board(board);
  return serial;
}

}  // namespace millrace::rt1062
