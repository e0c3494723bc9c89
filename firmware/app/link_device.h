// SPDX-License-Identifier: Apache-2.0
// A device that speaks spec/link_protocol.md over a Port: a bulk stream and a stream of text lines
// each way. It makes, takes or returns a checked stream on command (docs/link.md), and its
// owner may use the streams for data of its own. No heap: the caller gives the memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "firmware/port/port.h"
#include "millrace/link/link_peer.h"
#include "millrace/link/stream_cursor.h"

namespace millrace::firmware {

inline constexpr uint8_t kLinkData = 0;
inline constexpr uint8_t kLinkText = 1;

// Where everything of a LinkDevice stands. RING bytes of retransmit memory: data that the
// application has produced and the PC program has not taken; it bridges a stall of RING / rate.
template <size_t kRing, uint32_t kSlots, uint32_t kCredit = 16384, uint32_t kMaxPayload = 4076>
struct LinkMemory {
  alignas(32) uint8_t ring[kRing];
  alignas(32) uint8_t text_ring[2048];
  alignas(32) uint8_t credit[kCredit];
  uint8_t text_credit[512];
  uint8_t scan[4096];
  link::SenderSlot slots[kSlots];
  link::SenderSlot text_slots[16];
  link::ReceiverSlot receiver_slots[32];
  link::ReceiverSlot text_receiver_slots[8];
};

struct LinkDeviceOptions {
  link::SenderMemory data;
  link::SenderMemory text;
  link::ReceiverMemory data_in;
  link::ReceiverMemory text_in;
  uint8_t* scan_buffer = nullptr;
  size_t scan_bytes = 0;
  uint32_t max_payload = 4076;  // a frame is 4,096 bytes: 8 packets
  uint32_t unit_bytes = 1;
  // False: the owner reads and writes the data streams; only `info` is answered.
  bool demo = true;
};

template <size_t kRing, uint32_t kSlots, uint32_t kCredit, uint32_t kMaxPayload>
LinkDeviceOptions link_options(LinkMemory<kRing, kSlots, kCredit, kMaxPayload>& m) {
  LinkDeviceOptions o;
  o.data = {m.ring, kRing, m.slots, kSlots};
  o.text = {m.text_ring, sizeof(m.text_ring), m.text_slots, 16};
  o.data_in = {m.credit, kCredit, m.receiver_slots, 32};
  o.text_in = {m.text_credit, sizeof(m.text_credit), m.text_receiver_slots, 8};
  o.scan_buffer = m.scan;
  o.scan_bytes = sizeof(m.scan);
  o.max_payload = kMaxPayload;
  return o;
}

class LinkDevice {
 public:
  LinkDevice(Port& port, const LinkDeviceOptions& options);
  LinkDevice(const LinkDevice&) = delete;
  LinkDevice& operator=(const LinkDevice&) = delete;

  // One bounded step: what came, what is due, what the port takes; then Port::idle() if there was
  // nothing to do. Call in a loop, at least every half an hour (the clock wraps).
  void poll();
  // USB disconnected: what is half sent is forgotten, the session is not.
  void link_lost();

  // A PC program is there and a session is open.
  bool connected() const { return peer_.state() == link::LinkState::connected; }
  link::StreamSender& data() { return data_; }
  link::StreamReceiver& data_in() { return data_in_; }
  link::StreamSender& text() { return text_; }
  const link::LinkPeer& peer() const { return peer_; }
  uint64_t now_us() const { return now_us_; }

 private:
  enum class Mode : uint8_t { none, source, sink, echo };

  static uint32_t random(void* context);
  bool receive();
  bool send();
  bool run_demo();
  bool read_command();
  void on_command(char* line);
  void say(const char* text, uint64_t number);
  bool run_source();
  bool run_sink();
  bool run_echo();

  Port& port_;
  LinkDeviceOptions options_;
  link::StreamSender data_;
  link::StreamSender text_;
  link::StreamReceiver data_in_;
  link::StreamReceiver text_in_;
  link::StreamSender* senders_[2];
  link::StreamReceiver* receivers_[2];
  link::LinkPeer peer_;
  uint32_t last_now_us_;
  uint64_t now_us_ = 1;
  bool unflushed_ = false;

  uint32_t session_ = 0;
  Mode mode_ = Mode::echo;
  bool may_drop_ = false;
  uint64_t source_left_ = 0;
  uint32_t rate_bytes_per_s_ = 0;
  uint64_t source_start_us_ = 0;
  uint64_t sourced_ = 0;
  link::StreamCursor cursor_;
  uint64_t sunk_ = 0;
  uint64_t sink_wrong_ = 0;
  char line_[96];
  size_t line_size_ = 0;
};

}  // namespace millrace::firmware
