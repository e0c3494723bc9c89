// SPDX-License-Identifier: Apache-2.0
// One loop: offer the port what the peer wants to say, take what has come, let time pass. While the
// port does not take everything the wait for input is short, since a Transport waits for one
// direction at a time.
#include "millrace/host/link_session.h"

#include <fmt/core.h>

#include <algorithm>
#include <random>
#include <vector>

#include "link_errors.h"
#include "link_probe.h"
#include "link_pump.h"
#include "link_streams.h"

namespace millrace::host {

using link::LinkPeer;
using link::LinkState;

namespace {

constexpr size_t kScanBytes = 262144;
constexpr int64_t kBlockedWaitNs = 200'000;
constexpr int64_t kProbeNs = 500'000'000;
constexpr int64_t kByeNs = 100'000'000;
constexpr int64_t kStepNs = 100'000'000;

// How long this program has waited, which is less than the time that passed where it was stopped
// (SIGSTOP, a laptop that slept): then nobody answered because nobody could.
class Waited {
 public:
  void restart(int64_t now_ns) {
    last_ns_ = now_ns;
    waited_ns_ = 0;
  }
  // A step waits for kStepNs at most; twice that is for a machine that does much else.
  int64_t until(int64_t now_ns) {
    waited_ns_ += std::min(now_ns - last_ns_, 2 * kStepNs);
    last_ns_ = now_ns;
    return waited_ns_;
  }

 private:
  int64_t last_ns_ = 0, waited_ns_ = 0;
};

}  // namespace

struct LinkSession::State {
  State(Endpoint& e, const LinkSettings& s);

  Status open_port();
  Status connect();
  Status step(int64_t deadline_ns);
  Status reopen();
  Status check() const;
  Status check_silence();
  bool anything_to_read();
  bool room_for_refused() const;
  uint32_t window_bytes(bool from_host) const;
  LinkItem peek(uint8_t stream) { return streams.peek(stream, peer->welcome()); }
  uint64_t now_us() { return static_cast<uint64_t>(endpoint.clock().now_ns() / 1000); }
  int64_t patience_ns() const { return settings.connect_timeout_ms * 1'000'000; }

  Endpoint& endpoint;
  LinkSettings settings;
  std::random_device random;
  LinkStreams streams;
  std::vector<uint8_t> scan_buffer;
  std::unique_ptr<LinkPeer> peer;
  std::optional<LinkPump> pump;
  uint64_t replugs = 0;
  int64_t longest_reconnect_ns = 0;
  std::array<bool, kLinkStreams> refused{};  // a writer that wait() has not told of room yet
  Waited silence;                            // since the last frame, while it is being connected to
  uint64_t heard_us = 0;                     // when that came
  std::optional<Error> failed;
};

LinkSession::State::State(Endpoint& e, const LinkSettings& s)
    : endpoint(e), settings(s), streams(s) {
  scan_buffer.resize(kScanBytes);
  link::LinkOptions options;
  options.role = link::LinkRole::host;
  streams.give_to(&options);
  options.random = [](void* context) -> uint32_t { return static_cast<State*>(context)->random(); };
  options.random_context = this;
  peer = std::make_unique<LinkPeer>(options, scan_buffer.data(), scan_buffer.size());
  pump.emplace(*peer);
}

Status LinkSession::State::open_port() {
  Result<std::unique_ptr<Transport>> opened = endpoint.open(settings.open);
  if (!opened) return opened.error();
  pump->attach(std::move(*opened));
  return {};
}

Status LinkSession::State::connect() {
  Waited waited;
  waited.restart(endpoint.clock().now_ns());
  const bool resume = settings.resume && peer->session() == 0;
  peer->connect(resume ? settings.resume->session : peer->session(),
                resume ? settings.resume->boot_id : peer->boot_id(), now_us());
  for (uint8_t stream = 0; resume && stream < kLinkStreams; ++stream) {
    const uint64_t taken = settings.resume->taken[stream];
    streams.pass_over(stream, taken == LinkPlace::kWhatIsKept ? 0 : taken);
  }
  int64_t left_ns = patience_ns();
  while (peer->state() == LinkState::connecting) {
    if (Status status = step(endpoint.clock().now_ns() + left_ns); !status) return status;
    left_ns = patience_ns() - waited.until(endpoint.clock().now_ns());
    if (peer->state() != LinkState::connecting || left_ns > 0) continue;
    return no_answer_error(endpoint.name(), *peer);
  }
  return check();
}

// Of a device that was connected to, does not answer, and does not answer HELLO either.
Status LinkSession::State::check_silence() {
  const int64_t now_ns = endpoint.clock().now_ns();
  if (peer->state() != LinkState::connecting || peer->last_heard_us() != heard_us) {
    heard_us = peer->last_heard_us();
    silence.restart(now_ns);
    return {};
  }
  if (silence.until(now_ns) < patience_ns()) return {};
  return silent_error(endpoint.name());
}

Status LinkSession::State::check() const {
  if (peer->state() == LinkState::failed) return link_failure_error(endpoint.name(), *peer);
  for (uint8_t stream = 0; stream < kLinkStreams; ++stream) {
    if (streams.receiver(stream).counters().mismatches != 0) {
      return broken_protocol_error(
          endpoint.name(), "offset, sequence number and length of a frame contradict each other");
    }
    if (streams.sender(stream).counters().bad_acks != 0) {
      return broken_protocol_error(endpoint.name(), "it acknowledges what was never sent");
    }
  }
  if (peer->state() == LinkState::connected && peer->counters().bad_payloads != 0) {
    return broken_protocol_error(endpoint.name(), "a frame holds values that are not allowed");
  }
  return {};
}

Status LinkSession::State::step(int64_t deadline_ns) {
  if (settings.stop != nullptr && settings.stop->load()) {
    return Error{ErrorCode::interrupted, endpoint.name() + ": interrupted"};
  }
  peer->poll(now_us());
  const bool blocked = !pump->send();
  int64_t until = static_cast<int64_t>(peer->wakeup_us(now_us())) * 1000;
  const int64_t now_ns = endpoint.clock().now_ns();
  if (blocked) until = std::min(until, now_ns + kBlockedWaitNs);
  until = std::min({until, deadline_ns, now_ns + kStepNs});
  IoResult read = pump->receive(until, window_bytes(false));
  if (read.kind == IoKind::gone) return reopen();
  if (read.kind == IoKind::error) return read.error;
  peer->poll(now_us());
  return {};
}

// Of stream 0; 0: the device has none.
uint32_t LinkSession::State::window_bytes(bool from_host) const {
  const uint32_t ours = from_host ? settings.send_buffer_bytes : settings.receive_buffer_bytes;
  const link::LinkStreamEntry* entry = stream_entry(peer->welcome(), 0, from_host);
  return entry == nullptr ? 0 : std::min(entry->buffer_bytes, ours);
}

Status LinkSession::State::reopen() {
  const int64_t start = endpoint.clock().now_ns();
  peer->port_lost();
  pump->detach();
  const Error gone{ErrorCode::gone, endpoint.name() + ": the device went away"};
  if (settings.follow_replug_ms == 0) return gone;
  Result<std::unique_ptr<Transport>> opened =
      endpoint.reopen(settings.open, start + settings.follow_replug_ms * 1'000'000);
  if (!opened) return opened.error();
  pump->attach(std::move(*opened));
  ++replugs;
  const int64_t back = endpoint.clock().now_ns();
  if (peer->session() == 0) {
    peer->connect(settings.resume ? settings.resume->session : 0,
                  settings.resume ? settings.resume->boot_id : 0, now_us());
    return {};
  }
  Status status = connect();
  longest_reconnect_ns = std::max(longest_reconnect_ns, endpoint.clock().now_ns() - back);
  return status;
}

bool LinkSession::State::anything_to_read() {
  for (uint8_t stream = 0; stream < kLinkStreams; ++stream) {
    if (peek(stream).kind != LinkItemKind::nothing) return true;
  }
  return false;
}

bool LinkSession::State::room_for_refused() const {
  for (uint8_t stream = 0; stream < kLinkStreams; ++stream) {
    if (refused[stream] && streams.sender(stream).free_bytes() > 0) return true;
  }
  return false;
}

// --- LinkSession ---

Result<std::unique_ptr<LinkSession>> LinkSession::open(Endpoint& endpoint,
                                                       const LinkSettings& settings) {
  auto state = std::make_unique<State>(endpoint, settings);
  if (Status status = state->open_port(); !status) return status.error();
  if (Status status = state->connect(); !status) {
    Transport* port = state->pump->transport();
    if (status.error().code != ErrorCode::timeout || port == nullptr) return status.error();
    state->pump->stop_reading();
    if (speaks_measuring_protocol(*port, kProbeNs)) return measuring_device_error(endpoint.name());
    return status.error();
  }
  for (uint8_t stream = 0; settings.resume && stream < kLinkStreams; ++stream) {
    const uint64_t kept = state->streams.receiver(stream).offset();
    const uint64_t taken = settings.resume->taken[stream];
    if (kept <= taken) continue;
    return Error{ErrorCode::gone,
                 fmt::format("{}: cannot resume: the device keeps stream {} from byte {} on, the "
                             "place to go on is {} (start anew without --resume)",
                             endpoint.name(), stream, kept, taken)};
  }
  return std::unique_ptr<LinkSession>(new LinkSession(std::move(state)));
}

LinkSession::LinkSession(std::unique_ptr<State> state) : state_(std::move(state)) {}
LinkSession::~LinkSession() = default;

Status LinkSession::wait(int64_t deadline_ns) {
  State& s = *state_;
  if (s.failed) return *s.failed;
  // Made by a wait() that returned for something to read.
  if (s.room_for_refused()) deadline_ns = 0;
  do {
    Status status = s.step(deadline_ns);
    if (status) status = s.check();
    if (status) status = s.check_silence();
    if (!status) {
      // An interrupted wait may be repeated; the others are final.
      if (status.error().code != ErrorCode::interrupted) s.failed = status.error();
      return status;
    }
  } while (!s.anything_to_read() && !s.room_for_refused() &&
           s.endpoint.clock().now_ns() < deadline_ns);
  // Said once: who does not write again must not keep the others from waiting.
  for (uint8_t stream = 0; stream < kLinkStreams; ++stream) {
    if (s.streams.sender(stream).free_bytes() > 0) s.refused[stream] = false;
  }
  return {};
}

LinkItem LinkSession::peek(uint8_t stream) { return state_->peek(stream); }

void LinkSession::consume(uint8_t stream, size_t size) {
  if (stream < kLinkStreams) state_->streams.receiver(stream).consume(size);
}

size_t LinkSession::write(uint8_t stream, std::span<const uint8_t> data) {
  if (stream >= kLinkStreams) return 0;
  const size_t taken =
      state_->streams.sender(stream).write(data.data(), data.size(), state_->now_us());
  state_->refused[stream] = taken < data.size();
  return taken;
}

void LinkSession::end_of_message(uint8_t stream) {
  if (stream < kLinkStreams) state_->streams.sender(stream).end_of_message();
}

bool LinkSession::end(uint8_t stream) {
  if (stream >= kLinkStreams) return false;
  const bool ended = state_->streams.sender(stream).end();
  state_->refused[stream] = !ended;
  return ended;
}

bool LinkSession::drained(uint8_t stream) const {
  return stream >= kLinkStreams || state_->streams.sender(stream).drained();
}

uint64_t LinkSession::write_offset(uint8_t stream) const {
  return stream < kLinkStreams ? state_->streams.sender(stream).offset() : 0;
}

void LinkSession::close(bool end_session) {
  State& s = *state_;
  if (s.pump->transport() == nullptr || s.peer->state() != LinkState::connected) return;
  const int64_t deadline = s.endpoint.clock().now_ns() + kByeNs;
  s.peer->bye(end_session);
  while (!s.pump->send() && s.endpoint.clock().now_ns() < deadline) {
    s.endpoint.clock().sleep_until(s.endpoint.clock().now_ns() + kBlockedWaitNs);
  }
}

LinkPlace LinkSession::place() const {
  LinkPlace place;
  place.session = state_->peer->session();
  place.boot_id = state_->peer->boot_id();
  for (uint8_t stream = 0; stream < kLinkStreams; ++stream) {
    place.taken[stream] = state_->streams.taken(stream);
  }
  return place;
}

LinkStatistics LinkSession::statistics() const {
  LinkStatistics out;
  const State& s = *state_;
  const link::LinkCounters& c = s.peer->counters();
  const link::ScannerCounters& scan = s.peer->scanner().counters();
  for (uint8_t stream = 0; stream < kLinkStreams; ++stream) {
    const link::ReceiverCounters& in = s.streams.receiver(stream).counters();
    out.received_bytes += in.payload_bytes;
    out.duplicate_frames += in.duplicates;
    out.gaps += in.gaps;
    out.gap_bytes += in.gap_bytes;
    const link::SenderCounters& sent = s.streams.sender(stream).counters();
    out.sent_bytes += sent.payload_bytes;
    out.resent_frames += sent.frames_again;
  }
  out.wire_in_bytes = scan.bytes;
  out.wire_out_bytes = c.wire_out;
  out.ack_out_bytes = c.ack_bytes_out;
  out.ack_in_bytes = c.ack_bytes_in;
  out.damaged_frames = scan.damaged_frames;
  out.skipped_bytes = scan.skipped_bytes;
  out.old_frames = scan.old_frames;
  out.probes = c.probes_out;
  out.connections = c.connections;
  out.replugs = s.replugs;
  out.smoothed_rtt_us = c.smoothed_rtt_us;
  out.min_rtt_us = c.min_rtt_us;
  out.longest_silence_us = c.longest_silence_us;
  out.longest_reconnect_us = static_cast<double>(s.longest_reconnect_ns) / 1000;
  for (size_t i = 0; i < device().stream_count; ++i) {
    const link::LinkStreamEntry& entry = device().streams[i];
    if (entry.stream != 0) continue;
    (entry.from_host ? out.window_out_frames : out.window_in_frames) =
        std::min<uint32_t>(entry.window_frames, LinkStreams::kSlots);
    (entry.from_host ? out.window_out_bytes : out.window_in_bytes) =
        s.window_bytes(entry.from_host);
  }
  return out;
}

const link::LinkWelcome& LinkSession::device() const { return state_->peer->welcome(); }

uint64_t LinkSession::device_buffer_bytes(uint8_t stream) const {
  const link::LinkStreamEntry* entry = stream_entry(device(), stream, false);
  return entry == nullptr ? 0 : entry->buffer_bytes;
}

const PortIdentity& LinkSession::port() const { return state_->pump->transport()->identity(); }
Clock& LinkSession::clock() { return state_->endpoint.clock(); }

}  // namespace millrace::host
