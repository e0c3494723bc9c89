// SPDX-License-Identifier: Apache-2.0
// A scripted CDC-ECM or CDC-NCM device: notification endpoint 0x81, data OUT 0x03, data IN 0x84.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "millrace/link/cdc_network.h"
#include "usb/testing/fake_usb_device.h"

namespace millrace::board::testing {

inline constexpr unsigned kMacString = 4;

// Interface 0 with its functional descriptors, interface 1 with settings 0 (empty) and 1.
inline Bytes net_configuration(bool is_ncm, unsigned bulk_packet = 512) {
  const auto low = static_cast<uint8_t>(bulk_packet);
  const auto high = static_cast<uint8_t>(bulk_packet >> 8);
  Bytes bytes = {
      9,  2,    0,    0,          2,    1, 0, 0xC0, 50,                   // configuration
      8,  11,   0,    2,          2,    6, 0, 0,                          // interface association
      9,  4,    0,    0,          1,    2, 6, 0,    0,                    // communications
      5,  0x24, 0x00, 0x20,       0x01,                                   // header, CDC 1.20
      5,  0x24, 0x06, 0,          1,                                      // union
      13, 0x24, 0x0F, kMacString, 0,    0, 0, 0,    0xEA, 0x05, 0, 0, 0,  // Ethernet, 1514
  };
  if (is_ncm) {
    bytes[9 + 5] = bytes[9 + 8 + 6] = 0x0D;
    const Bytes ncm = {6, 0x24, 0x1A, 0x00, 0x01, 0x00};
    bytes.insert(bytes.end(), ncm.begin(), ncm.end());
  }
  const Bytes rest = {
      7, 5, 0x81, 3, 16,  0,    5,                                   // notification
      9, 4, 1,    0, 0,   0x0A, 0, static_cast<uint8_t>(is_ncm), 0,  // data, off
      9, 4, 1,    1, 2,   0x0A, 0, static_cast<uint8_t>(is_ncm), 0,  // data, on
      7, 5, 0x03, 2, low, high, 0,                                   // OUT
      7, 5, 0x84, 2, low, high, 0,                                   // IN
  };
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  bytes[2] = static_cast<uint8_t>(bytes.size());
  return bytes;
}

// What the requests of a driver do to it; everything else is the FakeUsbDevice's.
class FakeNetFunction {
 public:
  explicit FakeNetFunction(FakeUsbDevice& device, bool is_ncm) : device_(device) {
    device.configuration = net_configuration(is_ncm);
    device.full_speed_configuration = net_configuration(is_ncm, 64);
    device.strings[kMacString] = string_descriptor("020000123456");
    device.add_in(1).max_packet = 16;
    parameters.in_max_bytes = 8192;
    parameters.out_max_bytes = 8192;
    device.on_request = [this](const FakeUsbDevice::Request& r) { return answer(r); };
  }

  // NETWORK_CONNECTION (CDC 1.2 6.3.1).
  void notify_connection(bool on) {
    device_.ins[1].packets.push_back({0xA1, 0, static_cast<uint8_t>(on), 0, 0, 0, 0, 0});
  }

  link::NtbParameters parameters;
  std::optional<Bytes> parameter_bytes;  // instead
  std::vector<unsigned> log;             // bRequest of class requests, 0x100 + setting
  unsigned setting = 0;
  uint16_t packet_filter = 0;
  uint32_t ntb_in = 0;
  unsigned refused = 0;  // bRequest that is stalled

 private:
  std::optional<Bytes> answer(const FakeUsbDevice::Request& r) {
    const unsigned value = r.setup[2] + 256u * r.setup[3];
    if (r.setup[1] == refused && refused != 0) return std::nullopt;
    if (r.setup[0] == 0x01 && r.setup[1] == 11) {
      setting = value;
      log.push_back(0x100 + value);
      return Bytes();
    }
    if (r.setup[0] == 0x02 && r.setup[1] == 1) {
      const unsigned endpoint = r.setup[4] & 15u;
      if (r.setup[4] >= 0x80) {
        device_.ins[endpoint].stalled = device_.ins[endpoint].toggle = false;
      } else {
        device_.outs[endpoint].stalled = device_.outs[endpoint].toggle = false;
      }
      return Bytes();
    }
    if ((r.setup[0] & 0x60) == 0x20) {
      log.push_back(r.setup[1]);
      if (r.setup[1] == link::kSetEthernetPacketFilter) {
        packet_filter = static_cast<uint16_t>(value);
      }
      if (r.setup[1] == link::kSetNtbInputSize && r.data.size() == 4) {
        ntb_in = r.data[0] + 256u * r.data[1] + 65536u * r.data[2];
      }
      if (r.setup[1] == link::kGetNtbParameters) {
        if (parameter_bytes) return parameter_bytes;
        uint8_t bytes[link::NtbParameters::kBytes];
        link::encode(parameters, bytes);
        return Bytes(std::begin(bytes), std::end(bytes));
      }
      return Bytes();
    }
    return device_.standard_answer(r);
  }

  FakeUsbDevice& device_;
};

}  // namespace millrace::board::testing
