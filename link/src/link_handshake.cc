// SPDX-License-Identifier: Apache-2.0
// HELLO, WELCOME, NOTICE, BYE. Every connection has a tag, a random number of the device, that is
// XORed into the CRC of all its frames: what an earlier connection left in buffers, and what
// anybody replays, has another tag and is told apart from damage. A session outlives connections:
// its streams keep their places until the device loses power or a host asks for a new one.
#include <string.h>

#include "millrace/link/link_peer.h"

namespace millrace::link {
namespace {

constexpr uint32_t kHelloEveryUs = 100'000;
constexpr uint32_t kNoticeEveryUs = 50'000;
constexpr uint8_t kMostQuarrels = 3;

void copy_text(char* to, size_t capacity, const char* from) {
  size_t i = 0;
  for (; i + 1 < capacity && from[i] != 0; ++i) to[i] = from[i];
  to[i] = 0;
}

}  // namespace

uint32_t LinkPeer::random_not(uint32_t other) {
  uint32_t value = options_.random(options_.random_context);
  while (value == 0 || value == other) value = value * 1664525u + 1013904223u;
  return value;
}

// --- Device ---

void LinkPeer::on_hello(const FrameView& frame, uint64_t now_us) {
  LinkHello hello;
  if (!decode(frame.payload, frame.header.payload, &hello)) {
    ++counters_.bad_payloads;
    return;
  }
  if (hello.version_min > kLinkVersion || hello.version_max < kLinkVersion) {
    send_notice(NoticeCode::other_version, now_us);
    return;
  }
  if (hello.nonce == nonce_) {  // our answer was lost
    welcome_pending_ = true;
    return;
  }
  const bool resume = hello.session != 0 && hello.session == session_ && hello.boot_id == boot_id_;
  if (hello.session != 0 && !resume) {
    refused_nonce_ = hello.nonce;
    refused_instance_ = hello.host_instance;
    refusal_pending_ = true;
    return;
  }
  for (size_t i = 0; i < options_.sender_count; ++i) {
    if (options_.senders[i]->fits(hello.max_payload)) continue;
    send_notice(NoticeCode::frame_limit, now_us);
    return;
  }
  nonce_ = hello.nonce;
  if (!resume) begin_session();
  tag_ = random_not(tag_);
  scanner_.set_tag(tag_);
  for (size_t i = 0; i < options_.sender_count; ++i) {
    options_.senders[i]->reconnect(false, tag_, hello.max_payload);
  }
  for (size_t i = 0; i < options_.receiver_count; ++i) options_.receivers[i]->reconnect();
  if (!sending_started_) sending_ = Sending::nothing;
  state_ = LinkState::connected;
  timeout_armed_ = probe_pending_ = false;
  tell_nothing();
  ++counters_.connections;
  fill_welcome(hello, resume ? WelcomeStatus::resumed : WelcomeStatus::new_session);
}

void LinkPeer::begin_session() {
  session_ = random_not(session_);
  for (size_t i = 0; i < options_.sender_count; ++i) {
    options_.senders[i]->reset(options_.first_sequence, 0);
  }
  for (size_t i = 0; i < options_.receiver_count; ++i) {
    options_.receivers[i]->reset(options_.first_sequence, 0);
  }
}

void LinkPeer::tell_nothing() {
  ack_all_ = ack_now_ = news_ = false;
  for (size_t i = 0; i < options_.receiver_count; ++i) {
    const StreamReceiver& receiver = *options_.receivers[i];
    told_[i].told_next = receiver.next_offset();
    told_[i].told_released = receiver.offset();
    told_[i].told_next_sequence = receiver.next_sequence();
    told_[i].told_released_sequence = receiver.released_sequence();
  }
}

void LinkPeer::fill_welcome(const LinkHello& hello, WelcomeStatus status) {
  welcome_ = LinkWelcome();
  welcome_.status = status;
  welcome_.nonce = hello.nonce;
  welcome_.host_instance = hello.host_instance;
  welcome_.boot_id = boot_id_;
  welcome_.boot_counter = options_.boot_counter;
  welcome_.max_payload = scanner_.max_payload();
  copy_text(welcome_.device, sizeof(welcome_.device), options_.device_name);
  welcome_pending_ = true;
  welcome_.session = session_;
  welcome_.tag = tag_;
  for (size_t i = 0; i < options_.sender_count; ++i) {
    const StreamSender& sender = *options_.senders[i];
    LinkStreamEntry& entry = welcome_.streams[welcome_.stream_count++];
    entry.stream = sender.options().stream;
    entry.priority = sender.options().priority;
    entry.ended = sender.ended();
    entry.unit_bytes = sender.options().unit_bytes;
    entry.buffer_bytes = static_cast<uint32_t>(sender.ring_bytes());
    entry.window_frames = static_cast<uint16_t>(sender.slot_count());
    entry.max_payload = sender.options().max_payload;
    entry.first_sequence = sender.first_sequence();
    entry.first_offset = sender.first_offset();
    copy_text(entry.name, sizeof(entry.name), sender.options().name);
  }
  for (size_t i = 0; i < options_.receiver_count; ++i) {
    const StreamReceiver& receiver = *options_.receivers[i];
    AckEntry state;
    receiver.fill_ack(&state);
    LinkStreamEntry& entry = welcome_.streams[welcome_.stream_count++];
    entry.stream = receiver.stream();
    entry.from_host = true;
    entry.ended = receiver.ended();
    entry.buffer_bytes = receiver.ring_bytes();
    entry.window_frames = state.window_frames;
    entry.max_payload = scanner_.max_payload();
    entry.first_sequence = receiver.next_sequence();
    entry.first_offset = receiver.next_offset();
  }
}

size_t LinkPeer::encode_refusal(uint8_t* payload) const {
  LinkWelcome refusal;
  refusal.status = WelcomeStatus::session_unknown;
  refusal.nonce = refused_nonce_;
  refusal.host_instance = refused_instance_;
  refusal.boot_id = boot_id_;
  refusal.boot_counter = options_.boot_counter;
  refusal.max_payload = scanner_.max_payload();
  copy_text(refusal.device, sizeof(refusal.device), options_.device_name);
  return encode(refusal, payload);
}

void LinkPeer::send_notice(NoticeCode code, uint64_t now_us) {
  if (now_us < notice_at_us_) return;
  notice_at_us_ = now_us + kNoticeEveryUs;
  notice_code_ = code;
  notice_pending_ = true;
}

void LinkPeer::on_bye(const FrameView& frame) {
  if (options_.role != LinkRole::device || frame.header.payload < 1) return;
  timeout_armed_ = probe_pending_ = false;
  state_ = LinkState::idle;
  if ((frame.payload[0] & 1) == 0) return;
  session_ = 0;
  for (size_t i = 0; i < options_.sender_count; ++i) options_.senders[i]->close();
}

// --- Host ---

void LinkPeer::connect(uint32_t session, uint32_t boot_id, uint64_t now_us) {
  wanted_session_ = session;
  wanted_boot_id_ = boot_id;
  nonce_ = random_not(nonce_);
  state_ = LinkState::connecting;
  failure_ = LinkFailure::none;
  hello_pending_ = true;
  hello_at_us_ = now_us + kHelloEveryUs;
  last_heard_us_ = now_us;
  timeout_armed_ = probe_pending_ = false;
  if (!sending_started_) sending_ = Sending::nothing;
}

void LinkPeer::bye(bool end) {
  if (state_ != LinkState::connected) return;
  bye_pending_ = true;
  bye_ends_ = end;
}

void LinkPeer::start_hello(uint64_t now_us) {
  hello_pending_ = false;
  hello_at_us_ = now_us + kHelloEveryUs;
  LinkHello hello;
  hello.nonce = nonce_;
  hello.host_instance = instance_;
  hello.session = wanted_session_;
  hello.boot_id = wanted_boot_id_;
  hello.max_payload = scanner_.max_payload();
  const size_t size = encode(hello, scratch_ + kLinkHeaderBytes);
  start_scratch(Sending::scratch, FrameType::hello, 0, static_cast<uint32_t>(size), 0);
}

void LinkPeer::poll_host(uint64_t now_us) {
  if (state_ == LinkState::connecting && now_us >= hello_at_us_) hello_pending_ = true;
  if (state_ != LinkState::connected) return;
  const uint64_t silence = now_us - last_heard_us_;
  if (silence >= options_.silence_us) {
    connect(session_, boot_id_, now_us);
  } else if (now_us >= keepalive_at_us_) {
    // In a silence it finds out whether anybody is there, else how long a round trip takes.
    probe_pending_ = true;
    keepalive_at_us_ = now_us + options_.keepalive_us;
  }
}

void LinkPeer::fail(LinkFailure failure) {
  state_ = LinkState::failed;
  failure_ = failure;
  hello_pending_ = false;
}

void LinkPeer::on_welcome(const FrameView& frame, uint64_t now_us) {
  LinkWelcome welcome;
  if (!decode(frame.payload, frame.header.payload, &welcome)) {
    ++counters_.bad_payloads;
    return;
  }
  if (welcome.nonce != nonce_ || welcome.host_instance != instance_) {
    if (welcome.host_instance == instance_ || state_ != LinkState::connected) return;
    ++counters_.other_host_welcomes;
    if (++quarrels_ >= kMostQuarrels) {
      fail(LinkFailure::other_host);
    } else {
      connect(session_, boot_id_, now_us);
    }
    return;
  }
  // A device that restarted took an old HELLO of ours, left on the way, for a new one.
  if (state_ == LinkState::connected && welcome.tag != tag_) connect(session_, boot_id_, now_us);
  if (state_ != LinkState::connecting || welcome.nonce != nonce_) return;
  if (welcome.status == WelcomeStatus::session_unknown) {
    fail(welcome.boot_id == wanted_boot_id_ ? LinkFailure::session_unknown
                                            : LinkFailure::device_restarted);
    return;
  }
  const bool resumed = welcome.status == WelcomeStatus::resumed;
  // A new session in the place of the one to go on with would lose what is under way.
  if (resumed != (wanted_session_ != 0) || (resumed && welcome.session != wanted_session_)) {
    fail(LinkFailure::bad_answer);
    return;
  }
  const bool same_process = resumed && welcome.session == session_;
  welcome_ = welcome;
  session_ = welcome.session;
  boot_id_ = welcome.boot_id;
  tag_ = welcome.tag;
  scanner_.set_tag(tag_);
  if (!adopt_streams(same_process)) return;
  state_ = LinkState::connected;
  hello_pending_ = false;
  tell_nothing();
  ack_all_ = true;  // credit for the device
  probe_heard_ = 0;
  ++counters_.connections;
}

// False: cannot go on; fail() was called.
bool LinkPeer::adopt_streams(bool same_process) {
  for (size_t i = 0; i < welcome_.stream_count; ++i) {
    const LinkStreamEntry& entry = welcome_.streams[i];
    for (size_t k = 0; !entry.from_host && k < options_.receiver_count; ++k) {
      StreamReceiver& receiver = *options_.receivers[k];
      if (receiver.stream() != entry.stream) continue;
      if (!same_process) {
        receiver.reset(entry.first_sequence, entry.first_offset);
      } else if (wrapped_difference(receiver.next_sequence(), entry.first_sequence) < 0) {
        fail(LinkFailure::lost_before_resume);
        return false;
      } else {
        receiver.reconnect();
      }
    }
    for (size_t k = 0; entry.from_host && k < options_.sender_count; ++k) {
      StreamSender& sender = *options_.senders[k];
      if (sender.options().stream != entry.stream) continue;
      if (!same_process) {
        sender.reset(entry.first_sequence, entry.first_offset);
        if (entry.ended) sender.set_ended();
      } else if (!sender.was_sent(entry.first_sequence)) {
        fail(LinkFailure::bad_answer);
        return false;
      }
      const uint32_t limit =
          entry.max_payload < welcome_.max_payload ? entry.max_payload : welcome_.max_payload;
      if (!sender.fits(limit)) {
        fail(LinkFailure::frame_limit);
        return false;
      }
      sender.reconnect(true, tag_, limit);
      AckEntry credit;
      credit.window_frames = entry.window_frames;
      credit.next = credit.released = entry.first_sequence;
      credit.credit = entry.buffer_bytes;
      (void)sender.on_ack(credit);
    }
  }
  return true;
}

void LinkPeer::on_notice(const FrameView& frame, uint64_t now_us) {
  LinkNotice notice;
  if (!decode(frame.payload, frame.header.payload, &notice)) {
    ++counters_.bad_payloads;
    return;
  }
  switch (notice.code) {
    case NoticeCode::no_session:
      if (state_ == LinkState::connected) connect(session_, boot_id_, now_us);
      return;
    case NoticeCode::other_version:
      if (state_ != LinkState::connecting) return;
      other_version_min_ = notice.version_min;
      other_version_max_ = notice.version_max;
      fail(LinkFailure::other_version);
      return;
    case NoticeCode::frame_limit:
      if (state_ == LinkState::connecting) fail(LinkFailure::frame_limit);
      return;
  }
}

}  // namespace millrace::link
