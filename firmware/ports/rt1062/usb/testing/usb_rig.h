// SPDX-License-Identifier: Apache-2.0
// A serial device on the controller in memory, and a host for it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "firmware/ports/rt1062/usb/bulk_in.h"
#include "firmware/ports/rt1062/usb/bulk_out.h"
#include "firmware/ports/rt1062/usb/cdc_acm.h"
#include "firmware/ports/rt1062/usb/testing/fake_usb_chip.h"
#include "firmware/ports/rt1062/usb/usb_device.h"
#include "firmware/ports/rt1062/usb/usb_port.h"

namespace millrace::rt1062 {

using Bytes = std::vector<uint8_t>;

struct UsbMemory {
  static constexpr uint32_t kInBytes = 128 * 1024, kInTransfers = 16, kOutPackets = 8;
  UsbControlMemory control;
  UsbTransferDescriptor in_transfers[kInTransfers];
  UsbTransferDescriptor out_transfers[kOutPackets];
  alignas(kUsbPage) uint8_t in_ring[kInBytes];
  alignas(kUsbPage) uint8_t out_buffers[kOutPackets * BulkOut::kBufferBytes];
};

// Nothing is checked here: the fuzz target uses it too.
struct UsbRig {
  UsbRig()
      : memory(std::make_unique<UsbMemory>()),
        identity(teensy_serial_identity(0xe50f4240)),
        device(chip, memory->control, identity),
        line(CdcAcmEndpoints()),
        in_queue(chip, device.session(), device.head(0x84), 0x84, memory->in_transfers,
                 UsbMemory::kInTransfers),
        out_queue(chip, device.session(), device.head(0x03), 0x03, memory->out_transfers,
                  UsbMemory::kOutPackets),
        bulk_in(chip, in_queue, memory->in_ring, UsbMemory::kInBytes),
        bulk_out(chip, out_queue, memory->out_buffers, UsbMemory::kOutPackets),
        port(chip, device, line, bulk_in, bulk_out, port_options()) {
    using Caching = FakeUsbChip::Caching;
    chip.map(&memory->control, sizeof(memory->control), Caching::none);
    chip.map(memory->in_transfers, sizeof(memory->in_transfers), Caching::none);
    chip.map(memory->out_transfers, sizeof(memory->out_transfers), Caching::none);
    chip.map(memory->in_ring, sizeof(memory->in_ring), Caching::write_back);
    chip.map(memory->out_buffers, sizeof(memory->out_buffers), Caching::write_back);
    chip.handler = [this] { device.on_interrupt(); };
    device_is_added = device.add(line);
    now_us = 0;
  }

  static UsbPortOptions port_options() {
    UsbPortOptions options;
    options.now_us = [] { return now_us; };
    options.entropy = [] { return 4u; };
    options.boot_counter = 7;
    options.tx_buffer_bytes = UsbMemory::kInBytes;
    options.rx_buffer_bytes = UsbMemory::kOutPackets * BulkOut::kBufferBytes;
    return options;
  }

  void send_setup(uint8_t type, uint8_t request, uint16_t value, uint16_t index, uint16_t length) {
    const auto low = [](uint16_t v) { return static_cast<uint8_t>(v); };
    const auto high = [](uint16_t v) { return static_cast<uint8_t>(v >> 8); };
    const std::array<uint8_t, 8> bytes = {type,       request,     low(value),  high(value),
                                          low(index), high(index), low(length), high(length)};
    chip.setup(bytes);
  }

  // A request for data: they, or nothing if the device stalls.
  std::optional<Bytes> control_in(uint8_t type, uint8_t request, uint16_t value, uint16_t index,
                                  uint16_t length) {
    send_setup(type, request, value, index, length);
    Bytes data;
    while (data.size() < length) {
      Bytes packet;
      last_answer = chip.in(0, &packet);
      if (last_answer != Handshake::ack) return std::nullopt;
      data.insert(data.end(), packet.begin(), packet.end());
      if (packet.size() < kControlMaxPacket) break;
    }
    last_answer = chip.out(0, {});  // the status stage
    return data;
  }
  // A request with or without data from the host: how its status stage ended.
  Handshake control_out(uint8_t type, uint8_t request, uint16_t value, uint16_t index,
                        const Bytes& data = {}) {
    send_setup(type, request, value, index, static_cast<uint16_t>(data.size()));
    if (!data.empty()) {
      const Handshake answer = chip.out(0, data);
      if (answer != Handshake::ack) return answer;
    }
    Bytes packet;
    const Handshake answer = chip.in(0, &packet);
    return answer;
  }

  Bytes descriptor(uint16_t value, uint16_t index = 0) {
    return control_in(0x80, 6, value, index, 1024).value_or(Bytes());
  }

  // Up to SET_CONFIGURATION, and the port has noticed.
  bool enumerate(bool high_speed = true) {
    device.start();
    chip.bus_reset(high_speed);
    const bool answered = control_out(0x00, 5, 42, 0) == Handshake::ack &&
                          control_out(0x00, 9, 1, 0) == Handshake::ack;
    port.take_link_lost();
    return answered && device.session().open;
  }

  // Packets of the bulk IN endpoint until it has none for two tokens in a row.
  std::vector<Bytes> drain() {
    std::vector<Bytes> packets;
    Bytes packet;
    for (int idle = 0; idle < 2;) {
      const Handshake answer = chip.in(4, &packet);
      if (answer == Handshake::ack) {
        packets.push_back(packet);
        idle = 0;
      } else {
        bulk_in.service();
        ++idle;
      }
    }
    return packets;
  }
  static Bytes joined(const std::vector<Bytes>& packets) {
    Bytes all;
    for (const Bytes& packet : packets) all.insert(all.end(), packet.begin(), packet.end());
    return all;
  }
  static Bytes pattern(size_t size, uint32_t from = 0) {
    Bytes bytes(size);
    for (size_t i = 0; i < size; ++i) {
      const uint32_t word = static_cast<uint32_t>(from + i) * 0x9e3779b1u;
      bytes[i] = static_cast<uint8_t>(word >> 24);
    }
    return bytes;
  }

  static inline uint32_t now_us = 0;
  FakeUsbChip chip;
  std::unique_ptr<UsbMemory> memory;
  UsbIdentity identity;
  UsbDevice device;
  CdcAcm line;
  UsbQueue in_queue;
  UsbQueue out_queue;
  BulkIn bulk_in;
  BulkOut bulk_out;
  UsbPort port;
  bool device_is_added = false;
  Handshake last_answer = Handshake::ack;  // to control_in()
};

}  // namespace millrace::rt1062
