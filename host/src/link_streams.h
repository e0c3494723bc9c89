// SPDX-License-Identifier: Apache-2.0
// The streams of a host session and the memory that they live in.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "millrace/host/link_session.h"
#include "millrace/link/link_peer.h"

namespace millrace::host {

class LinkStreams {
 public:
  static constexpr uint32_t kSlots = 512;

  explicit LinkStreams(const LinkSettings& settings);

  link::StreamSender& sender(uint8_t stream) { return *senders_[stream]; }
  const link::StreamSender& sender(uint8_t stream) const { return *senders_[stream]; }
  link::StreamReceiver& receiver(uint8_t stream) { return *receivers_[stream]; }
  const link::StreamReceiver& receiver(uint8_t stream) const { return *receivers_[stream]; }
  // For a peer: senders and receivers.
  void give_to(link::LinkOptions* options) const;

  // What an earlier program had taken is passed over.
  void pass_over(uint8_t stream, uint64_t taken) { passed_[stream] = taken; }
  uint64_t taken(uint8_t stream) const;
  // What there is to read; `device` says of which unit a gap is.
  LinkItem peek(uint8_t stream, const link::LinkWelcome& device);

 private:
  std::vector<std::vector<uint8_t>> buffers_;
  std::vector<std::vector<link::SenderSlot>> sender_slots_;
  std::vector<std::vector<link::ReceiverSlot>> receiver_slots_;
  std::vector<std::unique_ptr<link::StreamSender>> senders_;
  std::vector<std::unique_ptr<link::StreamReceiver>> receivers_;
  std::vector<link::StreamSender*> sender_pointers_;
  std::vector<link::StreamReceiver*> receiver_pointers_;
  std::array<uint64_t, kLinkStreams> passed_{};  // taken by an earlier program
};

// Of the device's streams; null: it has no such one.
const link::LinkStreamEntry* stream_entry(const link::LinkWelcome& device, uint8_t stream,
                                          bool from_host);

}  // namespace millrace::host
