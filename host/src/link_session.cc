// SPDX-License-Identifier: Apache-2.0
// One loop: offer the port what the peer wants to say, take what has come, let time pass. While the
// port does not take everything the wait for input is short, since a Transport waits for one
// direction at a time.
//
// The loop reads itself as long as answers matter more than rate. A fast stream is read by a thread
// (block_reader_threaded.cc): a terminal holds 12 KB, so whoever feeds it stands still whenever
// this loop checks, copies and writes to a file instead of reading. The thread stays until the port
// is closed.
#include "millrace/host/link_session.h"

#include <fmt/core.h>

#include <algorithm>
#include <random>
#include <vector>

#include "block_reader.h"
#include "link_errors.h"
#include "millrace/link/classic_stream.h"
#include "millrace/link/control_message.h"
#include "millrace/link/link_peer.h"

namespace millrace::host {

using link::Chunk;
using link::ChunkKind;
using link::LinkPeer;
using link::LinkState;

namespace {

constexpr uint32_t kOtherStreamBytes = 65536;
constexpr uint32_t kSlots = 512;
constexpr size_t kScanBytes = 262144;
constexpr int64_t kBlockedWaitNs = 200'000;
// A stream is fast when so many bytes come in so short a time.
constexpr int64_t kFastBurstBytes = 131072;
constexpr int64_t kFastBurstNs = 6'000'000;
// Naps between two takings of what the thread has read cost the less the longer they are, and the
// device waits for acknowledgements meanwhile. So they last as long as a quarter of the window.
constexpr int64_t kShortestNapNs = 100'000;
constexpr int64_t kLongestNapNs = 2'000'000;
constexpr size_t kMostAtOnce = 262144;  // before the application gets its turn
constexpr int64_t kProbeNs = 500'000'000;
constexpr int64_t kByeNs = 100'000'000;

}  // namespace

struct LinkSession::State {
  State(Endpoint& e, const LinkSettings& s);

  Status open_port();
  Status connect();
  Status step(int64_t deadline_ns);
  Status reopen();
  Status check() const;
  bool send();
  bool anything_to_read();
  bool room_for_refused() const;
  bool is_measuring_device();
  IoResult receive(int64_t until_ns);
  IoResult receive_from_thread(int64_t until_ns);
  size_t take(const Block& block);
  void note_read(size_t size);
  uint32_t window_bytes(bool from_host) const;
  LinkItem peek(uint8_t stream);
  uint64_t now_us() { return static_cast<uint64_t>(endpoint.clock().now_ns() / 1000); }

  Endpoint& endpoint;
  LinkSettings settings;
  std::unique_ptr<Transport> transport;
  std::unique_ptr<BlockReader> reader;  // of a fast stream; uses the transport
  std::random_device random;
  std::vector<std::vector<uint8_t>> buffers;
  std::vector<std::vector<link::SenderSlot>> sender_slots;
  std::vector<std::vector<link::ReceiverSlot>> receiver_slots;
  std::vector<std::unique_ptr<link::StreamSender>> senders;
  std::vector<std::unique_ptr<link::StreamReceiver>> receivers;
  std::vector<link::StreamSender*> sender_pointers;
  std::vector<link::StreamReceiver*> receiver_pointers;
  std::vector<uint8_t> scan_buffer;
  std::unique_ptr<LinkPeer> peer;
  std::array<uint64_t, kLinkStreams> passed{};  // taken by an earlier program
  uint64_t replugs = 0;
  int64_t longest_reconnect_ns = 0;
  int64_t burst_start_ns = 0;
  int64_t burst_bytes = 0;
  bool blocked = false;                      // the port did not take everything
  std::array<bool, kLinkStreams> refused{};  // a writer that wait() has not told of room yet
  std::optional<Error> failed;
};

LinkSession::State::State(Endpoint& e, const LinkSettings& s) : endpoint(e), settings(s) {
  for (uint8_t stream = 0; stream < kLinkStreams; ++stream) {
    const uint32_t out = stream == 0 ? settings.send_buffer_bytes : kOtherStreamBytes;
    const uint32_t in = stream == 0 ? settings.receive_buffer_bytes : kOtherStreamBytes;
    buffers.emplace_back(out);
    sender_slots.emplace_back(kSlots);
    link::SenderOptions options;
    options.stream = stream;
    options.priority = stream == 0 ? 1 : 0;
    options.max_payload = std::min(settings.frame_payload, out / 4);
    senders.push_back(std::make_unique<link::StreamSender>(
        link::SenderMemory{buffers.back().data(), out, sender_slots.back().data(), kSlots},
        options));
    sender_pointers.push_back(senders.back().get());
    buffers.emplace_back(in);
    receiver_slots.emplace_back(kSlots);
    receivers.push_back(std::make_unique<link::StreamReceiver>(
        link::ReceiverMemory{buffers.back().data(), in, receiver_slots.back().data(), kSlots},
        stream));
    receiver_pointers.push_back(receivers.back().get());
  }
  scan_buffer.resize(kScanBytes);
  link::LinkOptions options;
  options.role = link::LinkRole::host;
  options.senders = sender_pointers.data();
  options.sender_count = kLinkStreams;
  options.receivers = receiver_pointers.data();
  options.receiver_count = kLinkStreams;
  options.random = [](void* context) -> uint32_t { return static_cast<State*>(context)->random(); };
  options.random_context = this;
  peer = std::make_unique<LinkPeer>(options, scan_buffer.data(), scan_buffer.size());
}

Status LinkSession::State::open_port() {
  Result<std::unique_ptr<Transport>> opened = endpoint.open(settings.open);
  if (!opened) return opened.error();
  transport = std::move(*opened);
  return {};
}

Status LinkSession::State::connect() {
  const int64_t deadline = endpoint.clock().now_ns() + settings.connect_timeout_ms * 1'000'000;
  const bool resume = settings.resume && peer->session() == 0;
  peer->connect(resume ? settings.resume->session : peer->session(),
                resume ? settings.resume->boot_id : peer->boot_id(), now_us());
  for (size_t i = 0; resume && i < kLinkStreams; ++i) {
    const uint64_t taken = settings.resume->taken[i];
    passed[i] = taken == LinkPlace::kWhatIsKept ? 0 : taken;
  }
  while (peer->state() == LinkState::connecting) {
    if (Status status = step(deadline); !status) return status;
    if (peer->state() != LinkState::connecting || endpoint.clock().now_ns() < deadline) continue;
    return no_answer_error(endpoint.name(), *peer);
  }
  return check();
}

Status LinkSession::State::check() const {
  if (peer->state() == LinkState::failed) return link_failure_error(endpoint.name(), *peer);
  for (const auto& receiver : receivers) {
    if (receiver->counters().mismatches == 0) continue;
    return broken_protocol_error(
        endpoint.name(), "offset, sequence number and length of a frame contradict each other");
  }
  for (const auto& sender : senders) {
    if (sender->counters().bad_acks == 0) continue;
    return broken_protocol_error(endpoint.name(), "it acknowledges what was never sent");
  }
  if (peer->state() == LinkState::connected && peer->counters().bad_payloads != 0) {
    return broken_protocol_error(endpoint.name(), "a frame holds values that are not allowed");
  }
  return {};
}

// True: the port took everything.
bool LinkSession::State::send() {
  while (true) {
    const uint64_t now = now_us();
    const link::OutputBytes out = peer->output(now);
    if (out.size == 0) return true;
    const IoResult written = transport->write({out.data, out.size}, 0);
    peer->sent(written.size, now);
    if (written.size < out.size) return false;
  }
}

Status LinkSession::State::step(int64_t deadline_ns) {
  if (settings.stop != nullptr && settings.stop->load()) {
    return Error{ErrorCode::interrupted, endpoint.name() + ": interrupted"};
  }
  peer->poll(now_us());
  blocked = !send();
  int64_t until = static_cast<int64_t>(peer->wakeup_us(now_us())) * 1000;
  const int64_t now_ns = endpoint.clock().now_ns();
  if (blocked) until = std::min(until, now_ns + kBlockedWaitNs);
  until = std::min({until, deadline_ns, now_ns + 100'000'000});
  IoResult read = reader == nullptr ? receive(until) : receive_from_thread(until);
  if (read.kind == IoKind::gone) return reopen();
  if (read.kind == IoKind::error) return read.error;
  peer->poll(now_us());
  return {};
}

IoResult LinkSession::State::receive(int64_t until_ns) {
  size_t room = 0;
  uint8_t* space = peer->space(&room);
  IoResult read = transport->read({space, room}, until_ns);
  if (read.kind == IoKind::nothing_yet) burst_bytes = 0;
  if (read.kind != IoKind::done) return read;
  peer->received(read.size, now_us());
  note_read(read.size);
  return read;
}

IoResult LinkSession::State::receive_from_thread(int64_t until_ns) {
  size_t taken = 0;
  Block block = reader->next(until_ns);
  for (; block.kind == IoKind::done && taken < kMostAtOnce; block = reader->next(0)) {
    taken += take(block);
  }
  if (block.kind == IoKind::done) taken += take(block);
  return {block.kind, taken, std::move(block.error)};
}

size_t LinkSession::State::take(const Block& block) {
  std::span<const uint8_t> rest = block.bytes;
  while (!rest.empty()) {
    size_t room = 0;
    uint8_t* space = peer->space(&room);
    const size_t piece = std::min(room, rest.size());
    std::copy_n(rest.data(), piece, space);
    peer->received(piece, now_us());
    rest = rest.subspan(piece);
  }
  return block.bytes.size();
}

// Of stream 0; 0: the device has none.
uint32_t LinkSession::State::window_bytes(bool from_host) const {
  const uint32_t ours = from_host ? settings.send_buffer_bytes : settings.receive_buffer_bytes;
  for (size_t i = 0; i < peer->welcome().stream_count; ++i) {
    const link::LinkStreamEntry& entry = peer->welcome().streams[i];
    if (entry.stream == 0 && entry.from_host == from_host) {
      return std::min(entry.buffer_bytes, ours);
    }
  }
  return 0;
}

void LinkSession::State::note_read(size_t size) {
  const int64_t now = endpoint.clock().now_ns();
  if (burst_bytes == 0) burst_start_ns = now;
  burst_bytes += static_cast<int64_t>(size);
  if (burst_bytes < kFastBurstBytes) return;
  const int64_t took_ns = now - burst_start_ns;
  const int64_t window_ns = took_ns * window_bytes(false) / burst_bytes;
  burst_bytes = 0;
  if (took_ns >= kFastBurstNs || endpoint.clock().is_virtual()) return;
  ThreadedReaderOptions options;
  options.nap_ns = std::clamp(window_ns / 4, kShortestNapNs, kLongestNapNs);
  reader = make_threaded_reader(*transport, options);
}

Status LinkSession::State::reopen() {
  const int64_t start = endpoint.clock().now_ns();
  peer->port_lost();
  reader.reset();
  burst_bytes = 0;
  transport.reset();
  const Error gone{ErrorCode::gone, endpoint.name() + ": the device went away"};
  if (settings.follow_replug_ms == 0) return gone;
  Result<std::unique_ptr<Transport>> opened =
      endpoint.reopen(settings.open, start + settings.follow_replug_ms * 1'000'000);
  if (!opened) return opened.error();
  transport = std::move(*opened);
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
    if (refused[stream] && senders[stream]->free_bytes() > 0) return true;
  }
  return false;
}

// A device of spec/stream.md says nothing until it is asked in its own protocol.
bool LinkSession::State::is_measuring_device() {
  uint8_t probe[link::kProbeBytes];
  link::encode_probe(probe);
  const int64_t deadline = endpoint.clock().now_ns() + kProbeNs;
  if (transport == nullptr || transport->write(probe, deadline).size < sizeof(probe)) return false;
  std::array<uint8_t, link::kMaxMessage> answer;
  size_t size = 0;
  link::Message message;
  while (size < answer.size()) {
    const IoResult read = transport->read(std::span(answer).subspan(size), deadline);
    if (read.kind != IoKind::done) return false;
    size += read.size;
    switch (link::parse_message(answer.data(), size, &message)) {
      case link::ParseStatus::complete:
        return message.type == link::MessageType::hello;
      case link::ParseStatus::need_more:
        break;
      case link::ParseStatus::not_one:
        return false;
    }
  }
  return false;
}

LinkItem LinkSession::State::peek(uint8_t stream) {
  LinkItem item;
  if (stream >= kLinkStreams) return item;
  link::StreamReceiver& receiver = *receivers[stream];
  while (true) {
    Chunk chunk = receiver.peek();
    if (chunk.kind == ChunkKind::none) return item;
    // What an earlier program had taken of a frame that was not released whole.
    const uint64_t before = chunk.offset < passed[stream] ? passed[stream] - chunk.offset : 0;
    if (chunk.kind == ChunkKind::gap && before >= chunk.gap_bytes) {
      receiver.consume(0);
      continue;
    }
    if (chunk.kind == ChunkKind::data && before > 0) {
      receiver.consume(static_cast<size_t>(std::min<uint64_t>(before, chunk.size)));
      continue;
    }
    item.offset = chunk.offset;
    item.end_of_message = chunk.end_of_message;
    item.data = {chunk.data, chunk.size};
    item.kind = chunk.kind == ChunkKind::data  ? LinkItemKind::data
                : chunk.kind == ChunkKind::gap ? LinkItemKind::gap
                                               : LinkItemKind::end;
    if (item.kind != LinkItemKind::gap) return item;
    item.gap_bytes = chunk.gap_bytes;
    uint32_t unit = 1;
    for (size_t i = 0; i < peer->welcome().stream_count; ++i) {
      const link::LinkStreamEntry& entry = peer->welcome().streams[i];
      if (!entry.from_host && entry.stream == stream) unit = entry.unit_bytes;
    }
    item.first_unit = chunk.offset / unit;
    item.last_unit = (chunk.offset + chunk.gap_bytes) / unit - 1;
    return item;
  }
}

// --- LinkSession ---

Result<std::unique_ptr<LinkSession>> LinkSession::open(Endpoint& endpoint,
                                                       const LinkSettings& settings) {
  auto state = std::make_unique<State>(endpoint, settings);
  if (Status status = state->open_port(); !status) return status.error();
  if (Status status = state->connect(); !status) {
    if (status.error().code == ErrorCode::timeout && state->is_measuring_device()) {
      return measuring_device_error(endpoint.name());
    }
    return status.error();
  }
  for (uint8_t stream = 0; settings.resume && stream < kLinkStreams; ++stream) {
    const uint64_t kept = state->receivers[stream]->offset();
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
    if (!status) {
      // An interrupted wait may be repeated; the others are final.
      if (status.error().code != ErrorCode::interrupted) s.failed = status.error();
      return status;
    }
    if (s.peer->state() == LinkState::connecting &&
        s.now_us() - s.peer->last_heard_us() >
            static_cast<uint64_t>(s.settings.connect_timeout_ms) * 1000) {
      s.failed = no_answer_error(s.endpoint.name(), *s.peer);
      return *s.failed;
    }
  } while (!s.anything_to_read() && !s.room_for_refused() &&
           s.endpoint.clock().now_ns() < deadline_ns);
  // Said once: who does not write again must not keep the others from waiting.
  for (uint8_t stream = 0; stream < kLinkStreams; ++stream) {
    if (s.senders[stream]->free_bytes() > 0) s.refused[stream] = false;
  }
  return {};
}

LinkItem LinkSession::peek(uint8_t stream) { return state_->peek(stream); }

void LinkSession::consume(uint8_t stream, size_t size) {
  if (stream < kLinkStreams) state_->receivers[stream]->consume(size);
}

size_t LinkSession::write(uint8_t stream, std::span<const uint8_t> data) {
  if (stream >= kLinkStreams) return 0;
  const size_t taken = state_->senders[stream]->write(data.data(), data.size(), state_->now_us());
  state_->refused[stream] = taken < data.size();
  return taken;
}

void LinkSession::end_of_message(uint8_t stream) {
  if (stream < kLinkStreams) state_->senders[stream]->end_of_message();
}

bool LinkSession::end(uint8_t stream) {
  if (stream >= kLinkStreams) return false;
  const bool ended = state_->senders[stream]->end();
  state_->refused[stream] = !ended;
  return ended;
}

bool LinkSession::drained(uint8_t stream) const {
  return stream >= kLinkStreams || state_->senders[stream]->drained();
}

uint64_t LinkSession::write_offset(uint8_t stream) const {
  return stream < kLinkStreams ? state_->senders[stream]->offset() : 0;
}

void LinkSession::close(bool end_session) {
  State& s = *state_;
  if (s.transport == nullptr || s.peer->state() != LinkState::connected) return;
  const int64_t deadline = s.endpoint.clock().now_ns() + kByeNs;
  s.peer->bye(end_session);
  while (!s.send() && s.endpoint.clock().now_ns() < deadline) {
    s.endpoint.clock().sleep_until(s.endpoint.clock().now_ns() + kBlockedWaitNs);
  }
}

LinkPlace LinkSession::place() const {
  LinkPlace place;
  place.session = state_->peer->session();
  place.boot_id = state_->peer->boot_id();
  for (size_t i = 0; i < kLinkStreams; ++i) {
    place.taken[i] = std::max(state_->passed[i], state_->receivers[i]->offset());
  }
  return place;
}

LinkStatistics LinkSession::statistics() const {
  LinkStatistics out;
  const State& s = *state_;
  const link::LinkCounters& c = s.peer->counters();
  const link::ScannerCounters& scan = s.peer->scanner().counters();
  for (const auto& receiver : s.receivers) {
    out.received_bytes += receiver->counters().payload_bytes;
    out.duplicate_frames += receiver->counters().duplicates;
    out.gaps += receiver->counters().gaps;
    out.gap_bytes += receiver->counters().gap_bytes;
  }
  for (const auto& sender : s.senders) {
    out.sent_bytes += sender->counters().payload_bytes;
    out.resent_frames += sender->counters().frames_again;
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
        std::min<uint32_t>(entry.window_frames, kSlots);
    (entry.from_host ? out.window_out_bytes : out.window_in_bytes) =
        s.window_bytes(entry.from_host);
  }
  return out;
}

const link::LinkWelcome& LinkSession::device() const { return state_->peer->welcome(); }

uint64_t LinkSession::device_buffer_bytes(uint8_t stream) const {
  for (size_t i = 0; i < device().stream_count; ++i) {
    const link::LinkStreamEntry& entry = device().streams[i];
    if (!entry.from_host && entry.stream == stream) return entry.buffer_bytes;
  }
  return 0;
}

const PortIdentity& LinkSession::port() const { return state_->transport->identity(); }
Clock& LinkSession::clock() { return state_->endpoint.clock(); }

}  // namespace millrace::host
