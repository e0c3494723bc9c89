// SPDX-License-Identifier: Apache-2.0
// One end of a link of spec/link_protocol.md: connects, schedules what goes out, answers with
// acknowledgements, finds losses. Both ends run this code; only the handshake differs.
//
// No heap, no waiting, no clock: bytes and the time come in, bytes and the time of the next poll()
// go out. One thread or loop uses a peer and its streams.
//
//   loop:  space = peer.space(&size); n = port.read(space, size); peer.received(n, now);
//          peer.poll(now);
//          while (out = peer.output(now), out.size > 0) {
//            n = port.write(out.data, out.size); peer.sent(n, now); if (n < out.size) break; }
//          wait for bytes, for room, or until peer.wakeup_us()
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/link/frame_scanner.h"
#include "millrace/link/link_frame.h"
#include "millrace/link/stream_receiver.h"
#include "millrace/link/stream_sender.h"

namespace millrace::link {

enum class LinkRole : uint8_t { device, host };

enum class LinkState : uint8_t {
  idle,        // device: no session. host: connect() was not called, or the port is lost
  connecting,  // host: HELLO is repeated until WELCOME comes
  connected,
  failed,  // host only; see failure()
};

enum class LinkFailure : uint8_t {
  none,
  device_restarted,    // the session to go on with died with it
  session_unknown,     // the device runs on but has another session: another host took it
  other_host,          // another program keeps opening the same port
  other_version,       // see other_version_min(), other_version_max()
  frame_limit,         // the device's frames are larger than we take
  lost_before_resume,  // the device no longer has what we did not get yet
  bad_answer,          // another session than was asked for, or a place that never was
};

struct LinkOptions {
  LinkRole role = LinkRole::device;
  StreamSender* const* senders = nullptr;  // at most kLinkMaxStreams each
  uint8_t sender_count = 0;
  StreamReceiver* const* receivers = nullptr;
  uint8_t receiver_count = 0;
  // Differs from call to call and from boot to boot as well as the platform can.
  uint32_t (*random)(void* context) = nullptr;
  void* random_context = nullptr;
  const char* device_name = "";     // device: at most 28 characters
  uint32_t boot_counter = 0;        // device; 0: cannot tell
  uint32_t first_sequence = 0;      // device: of every stream of a new session
  uint32_t ack_delay_us = 1000;     // news wait at most so long for more
  uint32_t ack_bytes = 32768;       // or until there are so many bytes of it
  uint32_t keepalive_us = 400'000;  // host: sends a probe
  uint32_t silence_us = 1'500'000;  // host: connects again after so long without an answer
};

struct LinkCounters {
  uint64_t wire_out = 0;
  uint64_t ack_frames_out = 0;
  uint64_t ack_bytes_out = 0;
  uint64_t ack_bytes_in = 0;
  uint64_t probes_out = 0;
  uint64_t probes_in = 0;
  uint64_t notices_in = 0;
  uint64_t connections = 0;
  uint64_t other_host_welcomes = 0;
  uint64_t bad_payloads = 0;  // right CRC, but not as specified: our bug or the other side's
  uint64_t unknown_streams = 0;
  uint32_t smoothed_rtt_us = 0;  // 0: none measured
  uint32_t rtt_deviation_us = 0;
  uint32_t min_rtt_us = 0;
  uint32_t longest_silence_us = 0;  // between two frames, while connected
};

struct OutputBytes {
  const uint8_t* data = nullptr;
  size_t size = 0;
};

class LinkPeer {
 public:
  // The streams, the scanner's buffer and the arrays stay the caller's and must outlive the peer.
  LinkPeer(const LinkOptions& options, uint8_t* scan_buffer, size_t scan_buffer_bytes);
  LinkPeer(const LinkPeer&) = delete;
  LinkPeer& operator=(const LinkPeer&) = delete;

  // --- The port ---
  uint8_t* space(size_t* size) { return scanner_.space(size); }
  void received(size_t size, uint64_t now_us);
  // What to write next; valid until the next call of anything but sent(). Size 0: nothing now.
  OutputBytes output(uint64_t now_us);
  // `size` bytes of output() were taken.
  void sent(size_t size, uint64_t now_us);
  void poll(uint64_t now_us);
  // poll() and output() have nothing new to do before, unless bytes come, the port has room for
  // more of what it took in part, or a stream is written or consumed.
  // `for_ack`: also when an ACK that waits for more news is due.
  uint64_t wakeup_us(uint64_t now_us, bool for_ack = true) const;
  // The port was closed or reopened: what was half sent and half received is forgotten. A host
  // calls connect() once there is a port again.
  void port_lost();

  // --- Host ---
  // Says HELLO. session 0: a new one. A session other than session() was another process's: its
  // streams start where the device still has them.
  void connect(uint32_t session, uint32_t boot_id, uint64_t now_us);
  // Tells the device that nobody listens from now on; `end`: it need not keep the session.
  void bye(bool end);

  LinkState state() const { return state_; }
  LinkFailure failure() const { return failure_; }
  uint32_t session() const { return session_; }
  uint32_t boot_id() const { return boot_id_; }
  uint32_t instance() const { return instance_; }
  uint8_t other_version_min() const { return other_version_min_; }
  uint8_t other_version_max() const { return other_version_max_; }
  // Host: what the device said of itself and its streams.
  const LinkWelcome& welcome() const { return welcome_; }
  uint64_t last_heard_us() const { return last_heard_us_; }
  const LinkCounters& counters() const { return counters_; }
  FrameScanner& scanner() { return scanner_; }
  const FrameScanner& scanner() const { return scanner_; }
  uint32_t retransmission_timeout_us() const { return timeout_us_; }

 private:
  struct ReceiverState {
    uint64_t told_next = 0;  // offsets in the last ACK
    uint64_t told_released = 0;
    uint32_t told_next_sequence = 0;
    uint32_t told_released_sequence = 0;
  };
  struct Probe {
    uint32_t number = 0;
    uint32_t order = 0;
    uint32_t sent_us = 0;
  };
  enum class Sending : uint8_t { nothing, scratch, probe, stream };

  // link_peer.cc
  void on_frame(const FrameView& frame, uint64_t now_us);
  void on_stream_frame(const FrameView& frame, uint64_t now_us);
  void start_scratch(Sending what, FrameType type, uint32_t sequence, uint32_t payload,
                     uint32_t tag);
  bool start_control(uint64_t now_us);
  bool start_stream();
  bool control_waits(uint64_t now_us) const;
  void rescue(uint64_t now_us);
  bool rescue_waits() const;
  StreamReceiver* receiver_of(uint8_t stream, size_t* index) const;

  // link_acks.cc
  void note_news(uint64_t now_us);
  bool ack_due(uint64_t now_us) const;
  bool has_news(size_t index) const;
  void start_ack();
  void on_ack(const FrameView& frame, uint64_t now_us);
  void on_probe_echo(uint32_t number, uint64_t now_us);
  void on_round_trip(uint32_t sample_us);
  void arm_timeout(uint64_t now_us);
  void check_timeout(uint64_t now_us);
  bool anything_waits() const;

  // link_handshake.cc
  uint32_t random_not(uint32_t other);
  void on_hello(const FrameView& frame, uint64_t now_us);
  void on_welcome(const FrameView& frame, uint64_t now_us);
  void on_notice(const FrameView& frame, uint64_t now_us);
  void on_bye(const FrameView& frame);
  void begin_session();
  void fill_welcome(const LinkHello& hello, WelcomeStatus status);
  size_t encode_refusal(uint8_t* payload) const;
  bool adopt_streams(bool same_process);
  void tell_nothing();
  void fail(LinkFailure failure);
  void send_notice(NoticeCode code, uint64_t now_us);
  void start_hello(uint64_t now_us);
  void poll_host(uint64_t now_us);

  LinkOptions options_;
  FrameScanner scanner_;
  LinkState state_ = LinkState::idle;
  LinkFailure failure_ = LinkFailure::none;
  uint32_t session_ = 0;
  uint32_t tag_ = 0;
  uint32_t boot_id_ = 0;
  uint32_t instance_ = 0;
  uint32_t nonce_ = 0;
  uint32_t wanted_session_ = 0;
  uint32_t wanted_boot_id_ = 0;
  uint32_t peer_max_payload_ = 0;
  uint8_t other_version_min_ = 0;
  uint8_t other_version_max_ = 0;
  uint8_t quarrels_ = 0;  // with another host
  LinkWelcome welcome_;   // device: the one that is sent

  bool hello_pending_ = false;
  bool welcome_pending_ = false;
  bool refusal_pending_ = false;  // WELCOME session_unknown; the accepted HELLO's stays as it is
  uint32_t refused_nonce_ = 0;
  uint32_t refused_instance_ = 0;
  bool notice_pending_ = false;
  bool bye_pending_ = false;
  bool bye_ends_ = false;
  NoticeCode notice_code_{};
  uint64_t hello_at_us_ = 0;  // next repetition
  uint64_t notice_at_us_ = 0;
  uint64_t last_heard_us_ = 0;
  uint64_t keepalive_at_us_ = 0;
  uint64_t rescue_seen_bytes_ = 0;
  uint64_t wrong_frames_seen_ = 0;
  uint64_t other_versions_seen_ = 0;

  ReceiverState told_[kLinkMaxStreams];
  bool ack_all_ = false;  // at once, all streams: a probe, or a new connection
  bool ack_now_ = false;  // at once
  bool news_ = false;
  uint64_t ack_at_us_ = 0;
  uint32_t probe_heard_ = 0;
  uint32_t acks_sent_ = 0;

  static constexpr uint32_t kProbes = 4;
  Probe probes_[kProbes];
  uint32_t probe_number_ = 0;
  bool probe_pending_ = false;
  bool timeout_armed_ = false;
  uint64_t timeout_at_us_ = 0;
  uint32_t timeout_us_ = 0;  // RFC 6298's RTO, doubled with every expiry
  uint32_t order_ = 0;

  Sending sending_ = Sending::nothing;
  StreamSender* sending_from_ = nullptr;
  uint32_t sending_sequence_ = 0;
  bool sending_started_ = false;  // its first byte is out
  const uint8_t* sending_data_ = nullptr;
  uint32_t sending_bytes_ = 0;
  uint32_t sending_at_ = 0;
  size_t offered_ = 0;
  uint8_t scratch_[kLinkMaxControl + kLinkOverhead];
  LinkCounters counters_;
};

}  // namespace millrace::link
