// SPDX-License-Identifier: Apache-2.0
// What the Teensy 4 core does with Serial (usb_serial.c, read at 7f107ee) and why the port calls it
// as it does:
//
// - Four transmit buffers of 2,048 bytes. A full one is queued at once; one that is not is sent
//   75 us after the last write, or by send_now(), as a short packet.
// - write() waits up to 120 ms for a free buffer, then returns a short count, and from then on
//   returns at once until a buffer is free. The port never lets it wait: it writes only as much as
//   availableForWrite() promises, so a stall of the host is seen, and measured, by the application.
// - availableForWrite() leaves out what is left of the buffer being filled. Buffers complete in
//   order, so whenever it is above 0 that buffer can be claimed without waiting.
// - The boot counter is in SNVS_LPGPR0, a register that keeps its value over every reset but not,
//   without a coin cell, over loss of power. The core does not use it. Its upper byte marks it as
//   ours.
#include "teensy_port.h"

#include <Arduino.h>

extern "C" volatile uint8_t usb_high_speed;

namespace millrace::firmware {
namespace {

constexpr uint32_t kTxBufferBytes = 4 * 2048;
constexpr uint32_t kRxPackets = 8;
constexpr uint32_t kMark = 0xb7000000;
constexpr uint32_t kCount = 0x00ffffff;

}  // namespace

void TeensyPort::count_boot() {
  const uint32_t kept = SNVS_LPGPR0;
  uint32_t count = (kept & ~kCount) == kMark ? kept & kCount : 0;
  count = (count + 1) & kCount;
  SNVS_LPGPR0 = kMark | count;
  boot_counter_ = count;
}

size_t TeensyPort::write(const uint8_t* data, size_t size) {
  const int room = Serial.availableForWrite();
  if (room <= 0) return 0;
  const size_t most = static_cast<size_t>(room);
  return Serial.write(data, size < most ? size : most);
}

size_t TeensyPort::read(uint8_t* data, size_t size) {
  const int available = Serial.available();
  if (available <= 0) return 0;
  const size_t most = static_cast<size_t>(available);
  return Serial.readBytes(reinterpret_cast<char*>(data), size < most ? size : most);
}

void TeensyPort::flush() { Serial.send_now(); }

uint32_t TeensyPort::now_us() { return micros(); }

uint32_t TeensyPort::entropy() {
  // The cycle counter at the moment a host asks, and the chip's serial number.
  mixed_ = (mixed_ ^ ARM_DWT_CYCCNT) * 0x9e3779b1u + HW_OCOTP_CFG0 + boot_counter_;
  return mixed_ ^ (mixed_ >> 15);
}

void TeensyPort::idle(uint32_t) {}

PortInfo TeensyPort::info() {
  PortInfo info;
#if defined(ARDUINO_TEENSY40)
  info.board = "Teensy 4.0";
#else
  info.board = "Teensy 4.1";
#endif
  const bool high_speed = usb_high_speed != 0;
  info.usb_speed_mbit = high_speed ? 480 : 12;
  info.tx_buffer_bytes = kTxBufferBytes;
  info.rx_buffer_bytes = kRxPackets * (high_speed ? 512 : 64);
  info.boot_counter = boot_counter_;
  return info;
}

}  // namespace millrace::firmware
