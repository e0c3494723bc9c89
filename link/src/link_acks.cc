// SPDX-License-Identifier: Apache-2.0
// Acknowledgements and time. An ACK goes out when enough bytes are new, when news are old, and at
// once when a hole opens or closes. A timeout never sends data again by itself: it sends a probe of
// 20 bytes, and what was sent before the probe and is missing in its answer is lost for certain,
// because the link keeps the order. So a stalled host costs probes and nothing else.
#include "millrace/link/bytes.h"
#include "millrace/link/link_peer.h"

namespace millrace::link {
namespace {

// Above the delay of an ACK and the scheduling of a PC; a probe too many costs 20 bytes.
constexpr uint32_t kMinTimeoutUs = 3'000;
constexpr uint32_t kMaxTimeoutUs = 200'000;

}  // namespace

// --- Sending acknowledgements ---

bool LinkPeer::has_news(size_t index) const {
  const StreamReceiver& receiver = *options_.receivers[index];
  const ReceiverState& told = told_[index];
  return receiver.next_sequence() != told.told_next_sequence ||
         receiver.released_sequence() != told.told_released_sequence;
}

void LinkPeer::note_news(uint64_t now_us) {
  if (state_ != LinkState::connected) return;
  for (size_t i = 0; i < options_.receiver_count; ++i) {
    if (!has_news(i)) continue;
    const StreamReceiver& receiver = *options_.receivers[i];
    if (!news_) {
      news_ = true;
      ack_at_us_ = now_us + options_.ack_delay_us;
    }
    uint64_t enough = receiver.ring_bytes() / 2;
    if (options_.ack_bytes < enough) enough = options_.ack_bytes;
    if (receiver.next_offset() - told_[i].told_next >= enough ||
        receiver.offset() - told_[i].told_released >= enough) {
      ack_now_ = true;
    }
  }
}

bool LinkPeer::ack_due(uint64_t now_us) const {
  if (state_ != LinkState::connected) return false;
  return ack_all_ || ack_now_ || (news_ && now_us >= ack_at_us_);
}

void LinkPeer::start_ack() {
  uint8_t* payload = scratch_ + kLinkHeaderBytes;
  // Only an answer with all streams may say what arrived before the probe.
  store_le32(payload, ack_all_ ? probe_heard_ : 0);
  size_t size = kAckFixedBytes;
  AckEntry entry;
  static_assert(kAckFixedBytes + kLinkMaxStreams *
                                     (AckEntry::kFixedBytes + size_t{4} * AckEntry::kMaxWords) <=
                    kLinkMaxControl,
                "an ACK of all streams is one control frame");
  for (size_t i = 0; i < options_.receiver_count; ++i) {
    const StreamReceiver& receiver = *options_.receivers[i];
    if (!ack_all_ && !has_news(i) && !receiver.has_hole()) continue;
    receiver.fill_ack(&entry);
    size += encode_ack_entry(entry, payload + size);
    told_[i].told_next = receiver.next_offset();
    told_[i].told_released = receiver.offset();
    told_[i].told_next_sequence = receiver.next_sequence();
    told_[i].told_released_sequence = receiver.released_sequence();
  }
  start_scratch(Sending::scratch, FrameType::ack, ++acks_sent_, static_cast<uint32_t>(size), tag_);
  ++counters_.ack_frames_out;
  counters_.ack_bytes_out += sending_bytes_;
  ack_all_ = ack_now_ = news_ = false;
}

// --- Hearing them ---

void LinkPeer::on_ack(const FrameView& frame, uint64_t now_us) {
  if (state_ != LinkState::connected) return;
  counters_.ack_bytes_in += frame.header.frame_bytes();
  const uint32_t size = frame.header.payload;
  if (size < kAckFixedBytes) {
    ++counters_.bad_payloads;
    return;
  }
  bool progress = false;
  size_t at = kAckFixedBytes;
  AckEntry entry;
  while (at < size) {
    if (!decode_ack_entry(frame.payload, size, &at, &entry)) {
      ++counters_.bad_payloads;
      break;
    }
    StreamSender* sender = nullptr;
    for (size_t i = 0; i < options_.sender_count; ++i) {
      if (options_.senders[i]->options().stream == entry.stream) sender = options_.senders[i];
    }
    if (sender == nullptr) {
      ++counters_.unknown_streams;
      continue;
    }
    const AckEffect effect = sender->on_ack(entry);
    progress = progress || effect.progress;
    if (effect.has_sample) {
      on_round_trip(static_cast<uint32_t>(now_us) - effect.sample_sent_us);
    }
  }
  const uint32_t echo = load_le32(frame.payload);
  if (echo != 0) on_probe_echo(echo, now_us);
  if (progress) arm_timeout(now_us);
  if (!anything_waits()) timeout_armed_ = false;
}

void LinkPeer::on_probe_echo(uint32_t number, uint64_t now_us) {
  const Probe& probe = probes_[number % kProbes];
  if (probe.number != number) return;
  on_round_trip(static_cast<uint32_t>(now_us) - probe.sent_us);
  uint32_t lost = 0;
  for (size_t i = 0; i < options_.sender_count; ++i) {
    lost += options_.senders[i]->lose_before(probe.order);
  }
  // A receiver that answers and gives no credit is asked more and more rarely.
  if (lost > 0) arm_timeout(now_us);
}

// RFC 6298, section 2, in microseconds.
void LinkPeer::on_round_trip(uint32_t sample_us) {
  uint32_t& smoothed = counters_.smoothed_rtt_us;
  uint32_t& deviation = counters_.rtt_deviation_us;
  if (sample_us == 0) sample_us = 1;
  if (counters_.min_rtt_us == 0 || sample_us < counters_.min_rtt_us) {
    counters_.min_rtt_us = sample_us;
  }
  if (smoothed == 0) {
    smoothed = sample_us;
    deviation = sample_us / 2;
    return;
  }
  const uint32_t difference = smoothed > sample_us ? smoothed - sample_us : sample_us - smoothed;
  deviation = deviation - deviation / 4 + difference / 4;
  smoothed = smoothed - smoothed / 8 + sample_us / 8;
  if (smoothed == 0) smoothed = 1;
}

// --- Time ---

bool LinkPeer::anything_waits() const {
  for (size_t i = 0; i < options_.sender_count; ++i) {
    if (options_.senders[i]->waits()) return true;
  }
  return false;
}

void LinkPeer::arm_timeout(uint64_t now_us) {
  if (counters_.smoothed_rtt_us != 0) {
    const uint64_t wanted = uint64_t{counters_.smoothed_rtt_us} +
                            uint64_t{4} * counters_.rtt_deviation_us + options_.ack_delay_us;
    timeout_us_ = wanted < kMinTimeoutUs   ? kMinTimeoutUs
                  : wanted > kMaxTimeoutUs ? kMaxTimeoutUs
                                           : static_cast<uint32_t>(wanted);
  }
  timeout_armed_ = true;
  timeout_at_us_ = now_us + timeout_us_;
}

void LinkPeer::check_timeout(uint64_t now_us) {
  if (!timeout_armed_) {
    if (anything_waits()) arm_timeout(now_us);
    return;
  }
  if (now_us < timeout_at_us_) return;
  if (!anything_waits()) {
    timeout_armed_ = false;
    return;
  }
  probe_pending_ = true;
  timeout_us_ = timeout_us_ < kMaxTimeoutUs / 2 ? 2 * timeout_us_ : kMaxTimeoutUs;
  timeout_at_us_ = now_us + timeout_us_;
}

}  // namespace millrace::link
