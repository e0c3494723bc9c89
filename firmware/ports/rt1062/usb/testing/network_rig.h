// SPDX-License-Identifier: Apache-2.0
// A network device on the controller in memory, and a host for it: NCM on endpoints 85, 05, 86 and
// ECM on 87, 06, 81, the first alone or both in one device.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "firmware/ports/rt1062/usb/cdc_network.h"
#include "firmware/ports/rt1062/usb/ecm_link.h"
#include "firmware/ports/rt1062/usb/ncm_link.h"
#include "firmware/ports/rt1062/usb/testing/fake_usb_chip.h"
#include "firmware/ports/rt1062/usb/usb_device.h"

namespace millrace::rt1062 {

struct NetworkMemory {
  UsbControlMemory control;
  CdcNetworkMemory ncm_notifications, ecm_notifications;
  UsbTransferDescriptor ncm_out[NcmLink::kRxBuffers], ncm_in[NcmLink::kTxTransfers];
  UsbTransferDescriptor ecm_out[EcmLink::kRxBuffers], ecm_in[EcmLink::kTxTransfers];
  alignas(kUsbPage) uint8_t ncm_rx[NcmLink::kRxBuffers * NcmLink::kNtbBytes];
  alignas(kUsbPage) uint8_t ncm_tx[NcmLink::kTxBuffers * NcmLink::kNtbBytes];
  alignas(kUsbPage) uint8_t ecm_rx[EcmLink::kRxBuffers * EcmLink::kBufferBytes];
  alignas(kUsbPage) uint8_t ecm_tx[EcmLink::kTxBuffers * EcmLink::kBufferBytes];
};

// Nothing is checked here: the fuzz target uses it too.
struct NetworkRig {
  using Bytes = std::vector<uint8_t>;
  static constexpr CdcNetworkEndpoints kNcm{0x85, 0x05, 0x86}, kEcm{0x87, 0x06, 0x81};

  NetworkRig()
      : memory(std::make_unique<NetworkMemory>()),
        identity(network_identity()),
        device(chip, memory->control, identity),
        parameters(NcmLink::parameters()),
        ncm(NetworkModel::ncm, kNcm, kFirstMacString, parameters, chip, device,
            memory->ncm_notifications),
        ecm(NetworkModel::ecm, kEcm, kFirstMacString + 1, parameters, chip, device,
            memory->ecm_notifications),
        ncm_out(chip, ncm.session(), device.head(kNcm.out), kNcm.out, memory->ncm_out,
                NcmLink::kRxBuffers),
        ncm_in(chip, ncm.session(), device.head(kNcm.in), kNcm.in, memory->ncm_in,
               NcmLink::kTxTransfers),
        ecm_out(chip, ecm.session(), device.head(kEcm.out), kEcm.out, memory->ecm_out,
                EcmLink::kRxBuffers),
        ecm_in(chip, ecm.session(), device.head(kEcm.in), kEcm.in, memory->ecm_in,
               EcmLink::kTxTransfers),
        ncm_link(chip, ncm, ncm_out, ncm_in, memory->ncm_rx, memory->ncm_tx),
        ecm_link(chip, ecm, ecm_out, ecm_in, memory->ecm_rx, memory->ecm_tx) {
    using Caching = FakeUsbChip::Caching;
    map(memory->control, Caching::none);
    map(memory->ncm_notifications, Caching::none);
    map(memory->ecm_notifications, Caching::none);
    map(memory->ncm_out, Caching::none);
    map(memory->ncm_in, Caching::none);
    map(memory->ecm_out, Caching::none);
    map(memory->ecm_in, Caching::none);
    map(memory->ncm_rx, Caching::write_back);
    map(memory->ncm_tx, Caching::write_back);
    map(memory->ecm_rx, Caching::write_back);
    map(memory->ecm_tx, Caching::write_back);
    chip.handler = [this] { device.on_interrupt(); };
    added = device.add(ncm) && device.add(ecm);
  }

  static UsbIdentity network_identity() {
    UsbIdentity id = echo_identity(0xe5123456, true, true, false);
    write_mac_text(network_addresses(0xe5123456, 0x04e9, 0).host, id.mac_addresses[0]);
    write_mac_text(network_addresses(0xe5123456, 0x04e9, 1).host, id.mac_addresses[1]);
    return id;
  }

  template <typename T>
  void map(T& object, FakeUsbChip::Caching caching) {
    chip.map(&object, sizeof(object), caching);
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
      if (chip.in(0, &packet) != Handshake::ack) return std::nullopt;
      data.insert(data.end(), packet.begin(), packet.end());
      if (packet.size() < kControlMaxPacket) break;
    }
    if (chip.out(0, {}) != Handshake::ack) return std::nullopt;
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
  Handshake select(uint16_t interface, uint16_t setting) {
    return control_out(0x01, 11, setting, interface);
  }

  // Up to SET_CONFIGURATION.
  bool enumerate(bool high_speed = true) {
    device.start();
    chip.bus_reset(high_speed);
    packet_bytes = high_speed ? 512 : 64;
    return control_out(0x00, 5, 42, 0) == Handshake::ack &&
           control_out(0x00, 9, 1, 0) == Handshake::ack;
  }

  // A transfer from the host: full packets and a short one, or none behind `limit` bytes.
  bool send(uint32_t endpoint, const Bytes& data, size_t limit) {
    size_t at = 0;
    while (true) {
      const size_t part = std::min<size_t>(data.size() - at, packet_bytes);
      const std::span<const uint8_t> bytes(data.data() + at, part);
      if (chip.out(endpoint, bytes) != Handshake::ack) return false;
      at += part;
      if (part < packet_bytes || at == limit) return true;
    }
  }
  // A transfer to the host; nothing if the device has none.
  std::optional<Bytes> fetch(uint32_t endpoint, size_t limit) {
    Bytes all, bytes;
    while (true) {
      if (chip.in(endpoint, &bytes) != Handshake::ack) return std::nullopt;
      all.insert(all.end(), bytes.begin(), bytes.end());
      if (bytes.size() < packet_bytes || all.size() == limit) return all;
    }
  }

  static Bytes frame(size_t size, uint32_t seed) {
    Bytes bytes(size);
    for (size_t i = 0; i < size; ++i) {
      bytes[i] = static_cast<uint8_t>((static_cast<uint32_t>(i) + 977 * seed) * 0x9e3779b1u >> 24);
    }
    return bytes;
  }

  size_t packet_bytes = 512;
  FakeUsbChip chip;
  std::unique_ptr<NetworkMemory> memory;
  UsbIdentity identity;
  UsbDevice device;
  link::NtbParameters parameters;
  CdcNetwork ncm, ecm;
  UsbQueue ncm_out, ncm_in, ecm_out, ecm_in;
  NcmLink ncm_link;
  EcmLink ecm_link;
  bool added = false;
};

}  // namespace millrace::rt1062
