// SPDX-License-Identifier: Apache-2.0
// What goes out and what comes in. A frame that has begun is finished first; then come the
// handshake, acknowledgements and probes, which are small; then the streams by priority, each with
// its retransmissions before its new frames. Small frames that stand behind each other in a ring
// are offered to the port together, as long as nothing more urgent waits.
#include "millrace/link/link_peer.h"

#include <string.h>

namespace millrace::link {
namespace {

// A PTY is fastest with pieces of a page, USB does not mind.
constexpr size_t kRunBytes = 4096;
constexpr uint64_t kRescueUs = 5'000;
constexpr uint32_t kFirstTimeoutUs = 20'000;

}  // namespace

LinkPeer::LinkPeer(const LinkOptions& options, uint8_t* scan_buffer, size_t scan_buffer_bytes)
    : options_(options),
      scanner_(scan_buffer, scan_buffer_bytes, options.role == LinkRole::host),
      timeout_us_(kFirstTimeoutUs) {
  instance_ = random_not(0);
  if (options_.role == LinkRole::device) boot_id_ = random_not(0);
}

void LinkPeer::port_lost() {
  sending_ = Sending::nothing;
  offered_ = 0;
  scanner_.clear();
  hello_pending_ = welcome_pending_ = refusal_pending_ = notice_pending_ = bye_pending_ =
      probe_pending_ = false;
  timeout_armed_ = false;
  if (options_.role == LinkRole::host && state_ != LinkState::failed) state_ = LinkState::idle;
}

StreamReceiver* LinkPeer::receiver_of(uint8_t stream, size_t* index) const {
  for (size_t i = 0; i < options_.receiver_count; ++i) {
    if (options_.receivers[i]->stream() != stream) continue;
    *index = i;
    return options_.receivers[i];
  }
  return nullptr;
}

// --- In ---

void LinkPeer::received(size_t size, uint64_t now_us) {
  scanner_.received(size);
  FrameView frame;
  while (scanner_.next(&frame)) on_frame(frame, now_us);
  if (state_ != LinkState::failed) note_news(now_us);
  if (options_.role != LinkRole::device) return;
  // Frames of a connection that is not known here: the host must hear of it.
  const ScannerCounters& seen = scanner_.counters();
  const uint64_t wrong = seen.old_frames + (tag_ == 0 ? seen.damaged_frames : 0);
  if (wrong != wrong_frames_seen_) send_notice(NoticeCode::no_session, now_us);
  if (seen.other_version_headers != other_versions_seen_) {
    send_notice(NoticeCode::other_version, now_us);
  }
  wrong_frames_seen_ = wrong;
  other_versions_seen_ = seen.other_version_headers;
}

void LinkPeer::on_frame(const FrameView& frame, uint64_t now_us) {
  if (state_ == LinkState::connected && last_heard_us_ != 0) {
    const uint64_t silence = now_us - last_heard_us_;
    if (silence > counters_.longest_silence_us && silence < UINT32_MAX) {
      counters_.longest_silence_us = static_cast<uint32_t>(silence);
    }
  }
  last_heard_us_ = now_us;
  switch (frame.header.type) {
    case FrameType::hello:
      if (options_.role == LinkRole::device) on_hello(frame, now_us);
      return;
    case FrameType::welcome:
      if (options_.role == LinkRole::host) on_welcome(frame, now_us);
      return;
    case FrameType::notice:
      ++counters_.notices_in;
      if (options_.role == LinkRole::host) on_notice(frame, now_us);
      return;
    case FrameType::data:
    case FrameType::gap:
    case FrameType::end:
      on_stream_frame(frame, now_us);
      return;
    case FrameType::ack:
      on_ack(frame, now_us);
      return;
    case FrameType::probe:
      ++counters_.probes_in;
      probe_heard_ = frame.header.sequence;
      ack_all_ = true;
      return;
    case FrameType::bye:
      on_bye(frame);
      return;
  }
}

void LinkPeer::on_stream_frame(const FrameView& frame, uint64_t now_us) {
  if (state_ != LinkState::connected) return;
  size_t index = 0;
  StreamReceiver* receiver = receiver_of(frame.header.stream, &index);
  if (receiver == nullptr) {
    ++counters_.unknown_streams;
    return;
  }
  const uint32_t highest = receiver->highest_sequence();
  const bool hole = receiver->has_hole();
  const ReceiveStatus status = receiver->on_frame(frame.header, frame.payload);
  // The first frame behind a hole tells the sender what to send again; the others may wait. A frame
  // that came twice means that an ACK was lost.
  const bool holes_changed =
      status == ReceiveStatus::out_of_order ? frame.header.sequence != highest : hole;
  if (status == ReceiveStatus::duplicate || holes_changed) ack_now_ = true;
  if (status == ReceiveStatus::out_of_order && !news_) {
    news_ = true;
    ack_at_us_ = now_us + options_.ack_delay_us;
  }
}

// A frame that never gets complete blocks what came inside it.
void LinkPeer::rescue(uint64_t now_us) {
  if (!rescue_waits() || now_us - last_heard_us_ < kRescueUs) return;
  rescue_seen_bytes_ = scanner_.counters().bytes;
  if (scanner_.rescue()) received(0, now_us);
}

// What held nothing intact once is looked at again when more has come.
bool LinkPeer::rescue_waits() const {
  return scanner_.waiting() && scanner_.counters().bytes != rescue_seen_bytes_;
}

// --- Out ---

void LinkPeer::start_scratch(Sending what, FrameType type, uint32_t sequence, uint32_t payload,
                             uint32_t tag) {
  FrameHeader header;
  header.type = type;
  header.from_host = options_.role == LinkRole::host;
  header.sequence = sequence;
  header.payload = payload;
  sending_ = what;
  sending_data_ = scratch_;
  sending_bytes_ = static_cast<uint32_t>(finish_frame(header, tag, scratch_));
  sending_at_ = 0;
  sending_started_ = false;
}

bool LinkPeer::control_waits(uint64_t now_us) const {
  return hello_pending_ || welcome_pending_ || refusal_pending_ || notice_pending_ ||
         bye_pending_ || probe_pending_ || ack_due(now_us);
}

bool LinkPeer::start_control(uint64_t now_us) {
  uint8_t* payload = scratch_ + kLinkHeaderBytes;
  if (hello_pending_) {
    start_hello(now_us);
    return true;
  }
  if (welcome_pending_) {
    welcome_pending_ = false;
    const size_t size = encode(welcome_, payload);
    start_scratch(Sending::scratch, FrameType::welcome, 0, static_cast<uint32_t>(size), 0);
    return true;
  }
  if (refusal_pending_) {
    refusal_pending_ = false;
    const size_t size = encode_refusal(payload);
    start_scratch(Sending::scratch, FrameType::welcome, 0, static_cast<uint32_t>(size), 0);
    return true;
  }
  if (notice_pending_) {
    notice_pending_ = false;
    LinkNotice notice;
    notice.code = notice_code_;
    const size_t size = encode(notice, payload);
    start_scratch(Sending::scratch, FrameType::notice, 0, static_cast<uint32_t>(size), 0);
    return true;
  }
  if (bye_pending_) {
    bye_pending_ = false;
    payload[0] = bye_ends_ ? 1 : 0;
    start_scratch(Sending::scratch, FrameType::bye, 0, 1, tag_);
    return true;
  }
  if (state_ != LinkState::connected) return false;
  if (ack_due(now_us)) {
    start_ack();
    return true;
  }
  if (!probe_pending_) return false;
  probe_pending_ = false;
  ++counters_.probes_out;
  if (++probe_number_ == 0) ++probe_number_;
  start_scratch(Sending::probe, FrameType::probe, probe_number_, 0, tag_);
  return true;
}

bool LinkPeer::start_stream() {
  StreamSender* best = nullptr;
  uint32_t sequence = 0;
  for (size_t i = 0; i < options_.sender_count; ++i) {
    StreamSender* sender = options_.senders[i];
    uint32_t candidate = 0;
    if (best != nullptr && best->options().priority <= sender->options().priority) continue;
    if (!sender->pick(&candidate)) continue;
    best = sender;
    sequence = candidate;
  }
  if (best == nullptr) return false;
  sending_ = Sending::stream;
  sending_from_ = best;
  sending_sequence_ = sequence;
  sending_data_ = best->frame(sequence, &sending_bytes_);
  sending_at_ = 0;
  sending_started_ = false;
  return true;
}

OutputBytes LinkPeer::output(uint64_t now_us) {
  if (sending_ == Sending::nothing && !start_control(now_us)) {
    if (state_ != LinkState::connected || !start_stream()) return {};
  }
  OutputBytes out;
  out.data = sending_data_ + sending_at_;
  out.size = sending_bytes_ - sending_at_;
  if (sending_ == Sending::stream && out.size < kRunBytes && !control_waits(now_us)) {
    out.size += sending_from_->bytes_behind(sending_sequence_, kRunBytes - out.size);
  }
  offered_ = out.size;
  return out;
}

void LinkPeer::sent(size_t size, uint64_t now_us) {
  if (size > offered_) size = offered_;
  offered_ = 0;
  counters_.wire_out += size;
  while (size > 0) {
    if (!sending_started_) {
      sending_started_ = true;
      const uint32_t now = static_cast<uint32_t>(now_us);
      ++order_;
      if (sending_ == Sending::stream) {
        sending_from_->mark_sent(sending_sequence_, order_, now);
      } else if (sending_ == Sending::probe) {
        probes_[probe_number_ % kProbes] = {probe_number_, order_, now};
      }
      if (sending_ == Sending::stream && !timeout_armed_) arm_timeout(now_us);
    }
    const uint32_t rest = sending_bytes_ - sending_at_;
    const uint32_t piece = size < rest ? static_cast<uint32_t>(size) : rest;
    sending_at_ += piece;
    size -= piece;
    if (sending_at_ < sending_bytes_) return;
    const Sending was = sending_;
    sending_ = Sending::nothing;
    if (size == 0) return;
    if (was != Sending::stream) return;
    // More of the run that was offered.
    ++sending_sequence_;
    sending_ = Sending::stream;
    sending_data_ = sending_from_->frame(sending_sequence_, &sending_bytes_);
    sending_at_ = 0;
    sending_started_ = false;
  }
}

void LinkPeer::poll(uint64_t now_us) {
  for (size_t i = 0; i < options_.sender_count; ++i) options_.senders[i]->close_due(now_us);
  rescue(now_us);
  if (options_.role == LinkRole::host) poll_host(now_us);
  if (state_ != LinkState::connected) return;
  note_news(now_us);
  check_timeout(now_us);
}

uint64_t LinkPeer::wakeup_us(uint64_t now_us, bool for_ack) const {
  uint64_t at = now_us + 1'000'000;
  const auto earlier = [&](uint64_t when) {
    if (when < at) at = when;
  };
  for (size_t i = 0; i < options_.sender_count; ++i) {
    uint64_t due = 0;
    if (options_.senders[i]->age_due(&due)) earlier(due);
  }
  if (options_.role == LinkRole::host && state_ == LinkState::connecting) earlier(hello_at_us_);
  if (rescue_waits()) earlier(last_heard_us_ + kRescueUs);
  if (state_ == LinkState::connected) {
    // Behind a frame that the port took in part the ACK waits for room, not for time.
    if (news_ && for_ack && sending_ == Sending::nothing) earlier(ack_at_us_);
    if (timeout_armed_) earlier(timeout_at_us_);
    if (options_.role == LinkRole::host) earlier(keepalive_at_us_);
  }
  return at < now_us ? now_us : at;
}

}  // namespace millrace::link
