// SPDX-License-Identifier: Apache-2.0
// A scripted device at the other end of the cable: control requests answered from descriptors,
// other endpoints from queues. By default a CDC-ACM function as the Teensy core's: 16C0:0483,
// notification endpoint 0x82, data OUT 0x03, data IN 0x84.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "usb/usb_bus.h"

namespace millrace::board::testing {

using Bytes = std::vector<uint8_t>;

inline Bytes device_descriptor(uint8_t max_packet = 64) {
  return {18,   1,    0x00, 0x02, 0xEF, 2, 1, max_packet, 0xC0,
          0x16, 0x83, 0x04, 0x80, 0x02, 1, 2, 3,          1};
}

inline Bytes device_qualifier() { return {10, 6, 0x00, 0x02, 0xEF, 2, 1, 64, 1, 0}; }

// Configuration 1: an interface association of a communications and a data interface.
inline Bytes cdc_configuration(unsigned bulk_packet = 512) {
  const auto low = static_cast<uint8_t>(bulk_packet);
  const auto high = static_cast<uint8_t>(bulk_packet >> 8);
  return {
      9, 2,    75,   0,    2,    1,    0, 0xC0, 50,  // configuration
      8, 11,   0,    2,    2,    2,    1, 0,         // interface association
      9, 4,    0,    0,    1,    2,    2, 1,    0,   // communications
      5, 0x24, 0x00, 0x10, 0x01,                     // header, CDC 1.10
      5, 0x24, 0x01, 0x01, 1,                        // call management
      4, 0x24, 0x02, 0x06,                           // abstract control
      5, 0x24, 0x06, 0,    1,                        // union
      7, 5,    0x82, 3,    16,   0,    5,            // notification
      9, 4,    1,    0,    2,    0x0A, 0, 0,    0,   // data
      7, 5,    0x03, 2,    low,  high, 0,            // OUT
      7, 5,    0x84, 2,    low,  high, 0,            // IN
  };
}

inline Bytes string_descriptor(std::string_view text) {
  Bytes bytes = {static_cast<uint8_t>(2 + 2 * text.size()), 3};
  for (const char c : text) {
    bytes.push_back(static_cast<uint8_t>(c));
    bytes.push_back(0);
  }
  return bytes;
}

class FakeUsbDevice final : public UsbDeviceEnd {
 public:
  struct In {
    bool exists = false;
    bool stalled = false;
    bool toggle = false;
    bool endless = false;  // counts bytes from 0 for ever
    uint16_t max_packet = 512;
    Cycles ready = 0;  // NAKs before
    uint64_t counter = 0;
    std::deque<Bytes> packets;
    unsigned naks = 0;
    unsigned acked = 0;
  };
  struct Out {
    bool exists = false;
    bool stalled = false;
    bool toggle = false;
    size_t room = SIZE_MAX;  // packets until NAK
    bool nyet_at_last = true;
    Bytes bytes;
    std::vector<size_t> sizes;
    unsigned naks = 0;
    unsigned pings = 0;
  };
  struct Request {
    std::array<uint8_t, 8> setup{};
    Bytes data;
  };
  // Answer of a control request: data for IN (empty else); nothing: STALL.
  using Answer = std::function<std::optional<Bytes>(const Request&)>;

  FakeUsbDevice() {
    add_in(2).max_packet = 16;
    outs[3].exists = true;
    add_in(4);
  }
  In& add_in(unsigned endpoint) {
    ins[endpoint].exists = true;
    return ins[endpoint];
  }

  bool connected() const override { return pull_up; }
  void reset_begin(Cycles now) override {
    log += "reset ";
    reset_at = now;
    address = 0;
    pending_address = 0;
    for (In& in : ins) in.toggle = false;
    for (Out& o : outs) o.toggle = false;
  }
  UsbSpeed reset_end(UsbSpeed offered, Cycles now) override {
    log += "end ";
    reset_end_at = now;
    speed = offered == UsbSpeed::high && high_speed ? UsbSpeed::high : UsbSpeed::full;
    return speed;
  }
  void suspend(Cycles now) override {
    log += "suspend ";
    suspended_at = now;
  }
  void resume(Cycles) override { log += "resume "; }
  void detach(Cycles) override { log += "detach "; }
  void attach(Cycles) override { log += "attach "; }
  void start_of_frame(uint32_t frindex, Cycles now) override {
    ++frames;
    last_frame = frindex;
    last_frame_at = now;
  }

  Handshake setup(uint8_t to, unsigned endpoint, std::span<const uint8_t, 8> bytes,
                  Cycles) override {
    if (to != address || dead || endpoint != 0) return Handshake::timeout;
    request = Request();
    std::copy(bytes.begin(), bytes.end(), request.setup.begin());
    requests.push_back(request.setup);
    control_toggle = true;
    answered.reset();
    stall_control = false;
    const size_t length = request.setup[6] + 256u * request.setup[7];
    is_in = (request.setup[0] & 0x80) != 0 && length != 0;
    if (is_in || length == 0) decide();
    if (answered && answered->size() > length && !ignore_length) answered->resize(length);
    sent = 0;
    return Handshake::ack;
  }

  Handshake ping(uint8_t to, unsigned endpoint, Cycles) override {
    if (to != address || dead || endpoint >= kUsbEndpoints) return Handshake::timeout;
    ++outs[endpoint].pings;
    if (endpoint == 0) return Handshake::ack;
    if (outs[endpoint].stalled) return Handshake::stall;
    if (outs[endpoint].room == 0) ++outs[endpoint].naks;
    return outs[endpoint].room == 0 ? Handshake::nak : Handshake::ack;
  }

  Handshake out_control(bool data1, std::span<const uint8_t> bytes) {
    if (nak_control) return Handshake::nak;
    if (stall_control) return Handshake::stall;
    if (is_in) return Handshake::ack;  // status stage
    if (data1 != control_toggle) return Handshake::ack;
    control_toggle = !control_toggle;
    request.data.insert(request.data.end(), bytes.begin(), bytes.end());
    const size_t length = request.setup[6] + 256u * request.setup[7];
    if (request.data.size() >= length) decide();
    return stall_control ? Handshake::stall : Handshake::ack;
  }

  Handshake out_packet(unsigned endpoint, bool data1, std::span<const uint8_t> bytes) {
    Out& o = outs[endpoint];
    if (!o.exists) return Handshake::timeout;
    if (o.stalled) return Handshake::stall;
    if (o.room == 0) {
      ++o.naks;
      return Handshake::nak;
    }
    if (data1 != o.toggle) return Handshake::ack;
    o.toggle = !o.toggle;
    if (o.room != SIZE_MAX) --o.room;
    o.bytes.insert(o.bytes.end(), bytes.begin(), bytes.end());
    o.sizes.push_back(bytes.size());
    return o.room == 0 && o.nyet_at_last ? Handshake::nyet : Handshake::ack;
  }

  void in(uint8_t to, unsigned endpoint, InPacket* packet, Cycles now) override {
    packet->size = 0;
    packet->handshake = Handshake::timeout;
    if (to != address || dead || endpoint >= kUsbEndpoints) return;
    if (endpoint == 0) return control_in(packet);
    In& i = ins[endpoint];
    if (!i.exists) return;
    packet->data1 = i.toggle;
    if (i.stalled) {
      packet->handshake = Handshake::stall;
    } else if (now < i.ready || (i.packets.empty() && !i.endless)) {
      ++i.naks;
      packet->handshake = Handshake::nak;
    } else {
      packet->handshake = Handshake::ack;
      if (i.endless) {
        packet->size = i.max_packet;
        for (size_t k = 0; k < i.max_packet; ++k) {
          packet->bytes[k] = static_cast<uint8_t>((i.counter + k) % 251);
        }
      } else {
        packet->size = static_cast<uint16_t>(i.packets.front().size());
        std::copy(i.packets.front().begin(), i.packets.front().end(), packet->bytes.begin());
      }
    }
  }

  void in_done(unsigned endpoint, bool acked, Cycles now) override {
    last_in_done = now;
    if (endpoint == 0) {
      if (!acked) return;
      if (!is_in || stall_control) {
        address = pending_address != 0 ? pending_address : address;
        pending_address = 0;
        return;
      }
      sent += control_packet_size();
      control_toggle = !control_toggle;
      return;
    }
    In& i = ins[endpoint];
    if (!acked) return;
    ++i.acked;
    if (lose_acks != 0) {  // the device never saw the acknowledgement
      --lose_acks;
      return;
    }
    i.toggle = !i.toggle;
    if (i.endless) {
      i.counter += i.max_packet;
    } else {
      i.packets.pop_front();
    }
  }

  // For an on_request that answers only some.
  std::optional<Bytes> standard_answer(const Request& r) { return standard(r); }
  // SET_ADDRESS, for on_request.
  void address_next(uint8_t value) { pending_address = value; }

  Cycles ready_at(unsigned endpoint, bool in, Cycles now) const override {
    if (!in || endpoint >= kUsbEndpoints) return kNever;
    const In& i = ins[endpoint];
    return now < i.ready && (i.endless || !i.packets.empty()) ? i.ready : kNever;
  }

  Handshake out(uint8_t to, unsigned endpoint, bool data1, std::span<const uint8_t> bytes,
                Cycles) override {
    if (to != address || dead || endpoint >= kUsbEndpoints) return Handshake::timeout;
    return endpoint == 0 ? out_control(data1, bytes) : out_packet(endpoint, data1, bytes);
  }

  // What the device is.
  Bytes device = device_descriptor();
  Bytes qualifier = device_qualifier();
  Bytes configuration = cdc_configuration();
  Bytes full_speed_configuration = cdc_configuration(64);
  std::map<unsigned, Bytes> strings = {{0, {4, 3, 0x09, 0x04}},
                                       {1, string_descriptor("Millrace")},
                                       {2, string_descriptor("Fake device")},
                                       {3, string_descriptor("12345")}};
  bool high_speed = true;
  bool pull_up = true;
  bool dead = false;         // answers nothing
  bool nak_control = false;  // and neither here
  bool ignore_length = false;
  unsigned lose_acks = 0;
  Answer on_request;  // asked first; a request that it refuses is stalled

  // What it saw.
  std::string log;
  std::vector<std::array<uint8_t, 8>> requests;
  std::vector<Request> class_requests;
  unsigned configured = 0;
  Cycles reset_at = 0, reset_end_at = 0, suspended_at = 0, last_frame_at = 0, last_in_done = 0;
  uint64_t frames = 0;
  uint32_t last_frame = 0;
  UsbSpeed speed = UsbSpeed::full;
  uint8_t address = 0;
  std::array<In, kUsbEndpoints> ins;
  std::array<Out, kUsbEndpoints> outs;

 private:
  size_t control_packet_size() const { return device.size() > 7 ? device[7] : 64; }

  void decide() {
    answered = on_request ? on_request(request) : standard(request);
    stall_control = !answered.has_value();
  }

  std::optional<Bytes> standard(const Request& r) {
    const unsigned value = r.setup[2] + 256u * r.setup[3];
    if ((r.setup[0] & 0x60) == 0x20) {
      class_requests.push_back(r);
      return Bytes();
    }
    switch (r.setup[1]) {
      case 5:  // SET_ADDRESS
        pending_address = static_cast<uint8_t>(value);
        return Bytes();
      case 9:  // SET_CONFIGURATION
        configured = value;
        return Bytes();
      case 1:   // CLEAR_FEATURE
      case 11:  // SET_INTERFACE
        return Bytes();
      case 6:  // GET_DESCRIPTOR
        return descriptor(value >> 8, value & 255);
      default:
        return std::nullopt;
    }
  }

 public:
  std::optional<Bytes> descriptor(unsigned type, unsigned index) const {
    if (type == 1) return device;
    if (type == 2) return speed == UsbSpeed::high ? configuration : full_speed_configuration;
    if (type == 6 && high_speed) return qualifier;
    if (type == 3 && strings.count(index) != 0) return strings.at(index);
    return std::nullopt;
  }

 private:
  void control_in(InPacket* packet) {
    if (nak_control) {
      packet->handshake = Handshake::nak;
      return;
    }
    if (stall_control) {
      packet->handshake = Handshake::stall;
      return;
    }
    packet->handshake = Handshake::ack;
    packet->data1 = is_in ? control_toggle : true;
    if (!is_in) return;
    const size_t rest = answered->size() - std::min(sent, answered->size());
    packet->size = static_cast<uint16_t>(std::min(rest, control_packet_size()));
    std::copy_n(answered->begin() + static_cast<std::ptrdiff_t>(answered->size() - rest),
                packet->size, packet->bytes.begin());
  }

  Request request;
  std::optional<Bytes> answered;
  bool is_in = false;
  bool stall_control = false;
  bool control_toggle = true;
  size_t sent = 0;
  uint8_t pending_address = 0;
};

}  // namespace millrace::board::testing
