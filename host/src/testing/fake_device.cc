// SPDX-License-Identifier: Apache-2.0
#include "testing/fake_device.h"

#include <algorithm>
#include <cstring>

#include "incoming.h"

namespace millrace::host::testing {

namespace {
constexpr int64_t kOneMs = 1'000'000;
constexpr int64_t kNever = INT64_MAX;
}  // namespace

class FakeDevice {
 public:
  FakeDevice(const FakeDeviceOptions& options, VirtualClock& clock)
      : options_(options), clock_(clock), boot_counter_(options.boot_counter) {
    if (options.wakes_after_ms > 0) wakes_at_ns_ = clock.now_ns() + options.wakes_after_ms * kOneMs;
    send(options.greeting);
    if (!options.chatter.empty()) next_chatter_ns_ = clock.now_ns();
    if (options.streams_at_open) start(link::Direction::in, 64, 1000000, 99, 0, 1);
  }

  bool present() const { return present_; }

  // Waits in virtual time for the next bytes.
  IoResult read(std::span<uint8_t> into, int64_t deadline_ns) {
    ++reads_;
    for (;;) {
      advance();
      IoResult result;
      if (!out_.empty()) {
        const size_t n = std::min(into.size(), out_.size());
        std::copy_n(out_.begin(), n, into.begin());
        out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(n));
        result.kind = IoKind::done;
        result.size = n;
        return result;
      }
      if (!present_) return gone();
      if (deadline_ns <= clock_.now_ns()) return result;
      clock_.sleep_until(std::min(deadline_ns, next_event_ns()));
    }
  }

  IoResult write(std::span<const uint8_t> from, int64_t /*deadline_ns*/) {
    ++writes_;
    advance();
    if (!present_) return gone();
    IoResult result;
    result.kind = IoKind::done;
    result.size = from.size();
    written_.insert(written_.end(), from.begin(), from.end());
    if (clock_.now_ns() < wakes_at_ns_) {
      waiting_.insert(waiting_.end(), from.begin(), from.end());
      return result;
    }
    if (options_.echo) out_.insert(out_.end(), from.begin(), from.end());
    for (const uint8_t byte : from) receive(byte);
    if (active_) {  // OUT takes time too
      const double ns = static_cast<double>(from.size()) / options_.rate_bytes_per_s * 1e9;
      if (out_frames_wanted_ > 0) clock_.sleep_until(clock_.now_ns() + static_cast<int64_t>(ns));
    }
    return result;
  }

  bool wait_until_back(int64_t deadline_ns) {
    if (back_at_ns_ == kNever || back_at_ns_ > deadline_ns) {
      clock_.sleep_until(deadline_ns);
      return false;
    }
    clock_.sleep_until(back_at_ns_);
    present_ = true;
    return true;
  }

  const FakeDeviceOptions options_;
  std::vector<uint8_t> written_;
  uint64_t reads_ = 0;
  uint64_t writes_ = 0;

 private:
  static IoResult gone() {
    IoResult result;
    result.kind = IoKind::gone;
    result.error = {ErrorCode::gone, "fake: no such device"};
    return result;
  }

  void send(const std::string& text) { out_.insert(out_.end(), text.begin(), text.end()); }

  template <class Payload>
  void send(link::MessageType type, const Payload& in) {
    uint8_t payload[Payload::kBytes];
    link::encode(in, payload);
    uint8_t wire[link::kMaxMessage];
    const size_t size = link::encode_message(type, payload, sizeof(payload), wire, sizeof(wire));
    out_.insert(out_.end(), wire, wire + size);
  }

  void receive(uint8_t byte) {
    if (options_.silent || options_.echo || !options_.chatter.empty() || hung_) return;
    if (options_.floods_after_hello && next_chatter_ns_ != kNever) return;
    if (!options_.classic_only && probe_.push(byte)) {
      active_ = false;
      handshake_.clear();
      commands_ = Incoming();
      ++session_;
      send_hello();
      return;
    }
    if (active_ && out_frames_wanted_ > 0) return receive_out(byte);
    if (active_ && window_ > 0 && out_frames_wanted_ == 0 && byte == link::kAckByte) {
      ++acks_;
      return;
    }
    if (!options_.classic_only) {
      commands_.append({&byte, 1});
      for (;;) {
        const Incoming::Item item = commands_.next();
        if (item.kind == Incoming::Item::Kind::none) break;
        if (item.kind == Incoming::Item::Kind::message) {
          handshake_.clear();
          obey(item.message);
        } else {
          for (const uint8_t c : item.other) take_handshake_byte(c);
        }
      }
      return;
    }
    take_handshake_byte(byte);
  }

  void take_handshake_byte(uint8_t byte) {
    if (active_) return;
    handshake_.push_back(byte);
    if (handshake_.size() < link::kHandshakeBytes) return;
    const link::Handshake h = link::decode_handshake(handshake_.data());
    handshake_.clear();
    if (h.frame_count == 0) return;
    start(link::Direction::in, h.frame_size, h.frame_count, 42, h.acknowledge != 0 ? 1 : 0, 0);
  }

  void send_hello() {
    link::Hello hello;
    hello.capabilities = options_.capabilities;
    hello.max_window_frames = options_.max_window_frames;
    hello.session_id = session_;
    hello.boot_counter = boot_counter_;
    hello.usb_speed_mbit = options_.usb_speed_mbit;
    hello.max_frame_bytes = 1 << 20;
    std::strcpy(hello.board, "fake");
    send(link::MessageType::hello, hello);
    send(options_.after_hello);
    if (options_.floods_after_hello) next_chatter_ns_ = clock_.now_ns();
  }

  void obey(const link::Message& message) {
    if (message.type == link::MessageType::stop && active_) {
      stopping_ = true;
      return;
    }
    if (message.type == link::MessageType::end && active_) {
      ended_ = true;
      return;
    }
    if (message.type == link::MessageType::get_counters && !active_) {
      send(link::MessageType::report, last_report_);
      return;
    }
    link::RunRequest run;
    if (message.type != link::MessageType::run ||
        !link::decode(message.payload, message.payload_size, &run)) {
      return;
    }
    link::Started started;
    started.session_id = run.session_id;
    started.run_id = run.run_id;
    started.status = static_cast<link::StartStatus>(options_.refuse);
    if (run.session_id != session_) started.status = link::StartStatus::wrong_session;
    std::strncpy(started.reason, options_.refuse_reason.c_str(), 31);
    send(link::MessageType::started, started);
    if (started.status != link::StartStatus::started) return;
    counters_interval_ns_ = run.counters_interval_ms * kOneMs;
    start(run.direction, run.frame_size, run.frame_count, run.seed, run.window_frames, run.run_id);
  }

  void start(link::Direction direction, uint32_t size, uint32_t frames, uint32_t seed,
             uint32_t window, uint32_t run_id) {
    active_ = true;
    stopping_ = ended_ = cut_ = false;
    run_id_ = run_id;
    frame_size_ = size;
    window_ = window;
    acks_ = 0;
    sent_ = 0;
    pending_faults_.assign(options_.faults.begin(), options_.faults.end());
    start_ns_ = clock_.now_ns();
    next_counters_ns_ = counters_interval_ns_ > 0 ? start_ns_ + counters_interval_ns_ : kNever;
    in_total_ = direction == link::Direction::out ? 0 : uint64_t{size} * frames;
    link::StreamShape shape{seed, size, frames};
    cursor_.emplace(shape);
    next_chunk_ns_ = start_ns_ + (options_.starts_at_once ? 0 : chunk_ns(options_.chunk_bytes));
    out_frames_wanted_ = direction == link::Direction::in ? 0 : frames;
    out_received_ = 0;
    out_frames_acked_ = 0;
    shape.seed = ~seed;
    verifier_.emplace(shape, link::VerifierSink{this, nullptr, &on_out_message});
  }

  int64_t chunk_ns(size_t bytes) const {
    return static_cast<int64_t>(static_cast<double>(bytes) / options_.rate_bytes_per_s * 1e9);
  }

  // Everything goes through the verifier, which finds END and STOP in the stream.
  void receive_out(uint8_t byte) {
    const uint64_t at = out_received_++;
    if (fault_at(at, DeviceFault::Kind::drop)) return;
    verifier_->feed(&byte, 1);
    for (; out_frames_acked_ < verifier_->frames_complete(); ++out_frames_acked_) {
      if (window_ > 0 && !options_.lose_acks) out_.push_back(link::kAckByte);
    }
    if (take_fault(out_received_, DeviceFault::Kind::unplug) != nullptr) unplug();
  }

  static void on_out_message(void* self, const link::Message& message) {
    auto& device = *static_cast<FakeDevice*>(self);
    if (message.type == link::MessageType::end) device.ended_ = true;
    if (message.type == link::MessageType::stop) device.stopping_ = true;
  }

  bool fault_at(uint64_t offset, DeviceFault::Kind kind) const {
    return std::any_of(options_.faults.begin(), options_.faults.end(), [&](const DeviceFault& f) {
      return f.kind == kind && offset >= f.at && offset < f.at + f.length;
    });
  }

  const DeviceFault* take_fault(uint64_t at, DeviceFault::Kind kind) {
    for (auto it = pending_faults_.begin(); it != pending_faults_.end(); ++it) {
      if (it->kind != kind || it->at > at) continue;
      taken_fault_ = *it;
      pending_faults_.erase(it);
      return &taken_fault_;
    }
    return nullptr;
  }

  void unplug() {
    present_ = false;
    active_ = false;
    back_at_ns_ = taken_fault_.length == 0
                      ? kNever
                      : clock_.now_ns() + static_cast<int64_t>(taken_fault_.length) * kOneMs;
    if (options_.reset_with_unplug) ++boot_counter_;
  }

  // ---- time

  bool may_send() const {
    if (!active_ || hung_ || !present_ || cut_ || sent_ >= in_total_) return false;
    if (stopping_ && sent_ % frame_size_ == 0) return false;
    return window_ == 0 || options_.ignores_acks || sent_ < (acks_ + window_) * frame_size_;
  }

  int64_t next_event_ns() const {
    int64_t next = std::min(next_chatter_ns_, active_ ? next_counters_ns_ : kNever);
    next = std::min({next, next_noise_ns_, behind_end_at_ns_});
    if (!waiting_.empty()) next = std::min(next, wakes_at_ns_);
    if (may_send()) next = std::min(next, next_chunk_ns_);
    return next;
  }

  void advance() {
    if (!waiting_.empty() && clock_.now_ns() >= wakes_at_ns_) {
      const std::vector<uint8_t> bytes = std::move(waiting_);
      waiting_.clear();
      for (const uint8_t byte : bytes) receive(byte);
    }
    while (next_chatter_ns_ <= clock_.now_ns() && present_) {
      send(options_.floods_after_hello ? "flood " : options_.chatter);
      next_chatter_ns_ += 50 * kOneMs;
    }
    if (behind_end_at_ns_ <= clock_.now_ns()) {
      send(options_.behind_end);
      behind_end_at_ns_ = kNever;
    }
    while (may_send() && next_chunk_ns_ <= clock_.now_ns()) {
      make_chunk();
      next_chunk_ns_ = std::max(next_chunk_ns_ + chunk_ns(options_.chunk_bytes), resume_ns_);
    }
    if (active_ && !options_.noise.empty() && sent_ >= options_.noise_from_byte &&
        next_noise_ns_ == kNever) {
      next_noise_ns_ = clock_.now_ns() + 50 * kOneMs;
    }
    while (next_noise_ns_ <= clock_.now_ns() && present_) {
      send(options_.noise);
      next_noise_ns_ += 50 * kOneMs;
    }
    if (window_ > 0 && !may_send()) {
      next_chunk_ns_ = std::max(next_chunk_ns_, clock_.now_ns() + chunk_ns(options_.chunk_bytes));
    }
    while (active_ && next_counters_ns_ <= clock_.now_ns() && sent_ % frame_size_ == 0) {
      send(link::MessageType::counters, count(link::kRunActive));
      next_counters_ns_ += counters_interval_ns_;
    }
    maybe_report();
  }

  void make_chunk() {
    uint64_t end = std::min(in_total_, sent_ + options_.chunk_bytes);
    if (window_ > 0 && !options_.ignores_acks) end = std::min(end, (acks_ + window_) * frame_size_);
    if (stopping_ || counters_interval_ns_ > 0) {
      end = std::min(end, (sent_ / frame_size_ + 1) * frame_size_);
    }
    while (sent_ < end && present_ && active_ && !hung_ && !cut_) {
      if (const DeviceFault* f = take_fault(sent_, DeviceFault::Kind::insert)) send(f->text);
      if (const DeviceFault* f = take_fault(sent_, DeviceFault::Kind::repeat)) {
        link::StreamCursor back = *cursor_;
        back.rewind(f->length);
        std::vector<uint8_t> again(f->length);
        back.read(again.data(), again.size());
        out_.insert(out_.end(), again.begin(), again.end());
      }
      if (const DeviceFault* f = take_fault(sent_, DeviceFault::Kind::swap)) {
        std::vector<uint8_t> both(2 * f->length);
        cursor_->read(both.data(), both.size());
        const auto second = both.begin() + static_cast<std::ptrdiff_t>(f->length);
        out_.insert(out_.end(), second, both.end());
        out_.insert(out_.end(), both.begin(), second);
        sent_ += both.size();
        continue;
      }
      if (const DeviceFault* f = take_fault(sent_, DeviceFault::Kind::stall)) {
        resume_ns_ = clock_.now_ns() + static_cast<int64_t>(f->length) * kOneMs;
        return;
      }
      if (take_fault(sent_, DeviceFault::Kind::unplug) != nullptr) return unplug();
      if (take_fault(sent_, DeviceFault::Kind::hang) != nullptr) hung_ = true;
      if (take_fault(sent_, DeviceFault::Kind::stop_short) != nullptr) cut_ = true;
      if (take_fault(sent_, DeviceFault::Kind::end_early) != nullptr) {
        in_total_ = sent_;
        return;
      }
      if (take_fault(sent_, DeviceFault::Kind::reset) != nullptr) {
        active_ = false;
        ++boot_counter_;
      }
      if (hung_ || cut_ || !active_) return;
      uint8_t byte = 0;
      cursor_->read(&byte, 1);
      if (take_fault(sent_, DeviceFault::Kind::flip) != nullptr) byte ^= 1;
      if (!fault_at(sent_, DeviceFault::Kind::drop)) out_.push_back(byte);
      ++sent_;
      if (sent_ == in_total_ && !options_.behind_end.empty()) {
        behind_end_at_ns_ = clock_.now_ns() + options_.behind_end_after_ms * kOneMs;
      }
    }
  }

  link::DeviceCounters count(uint32_t state) {
    link::DeviceCounters c;
    c.session_id = session_ + options_.report_session_skew;
    c.run_id = run_id_;
    c.boot_counter = boot_counter_ + options_.report_boot_skew;
    c.state = state;
    c.in_offered_bytes = sent_;
    c.in_discarded_bytes = options_.discarded_bytes;
    c.in_accepted_bytes = sent_ - options_.discarded_bytes;
    c.discards = options_.discarded_bytes > 0 ? 1 : 0;
    c.run_us = static_cast<uint64_t>((clock_.now_ns() - start_ns_) / 1000);
    c.total_blocked_us =
        static_cast<uint64_t>(static_cast<double>(c.run_us) * options_.blocked_share);
    c.longest_blocked_us = options_.longest_blocked_ms * 1000;
    c.acks_received = static_cast<uint32_t>(acks_);
    c.foreign_bytes = options_.counted_foreign;
    std::memcpy(c.first_foreign, options_.first_foreign.data(),
                std::min<size_t>(16, options_.first_foreign.size()));
    if (out_frames_wanted_ > 0) {
      const link::VerifierTotals& t = verifier_->totals();
      c.out_frames = static_cast<uint32_t>(verifier_->frames_complete());
      c.out_received_bytes = t.received_bytes - t.message_bytes;
      c.out_verified_bytes = t.verified_bytes;
      c.out_lost_bytes = t.lost_bytes;
      c.out_faults = static_cast<uint32_t>(t.faults);
    }
    return c;
  }

  void maybe_report() {
    if (!active_ || run_id_ == 0 || cut_ || hung_ || options_.no_report || !present_) return;
    const bool in_over = sent_ >= in_total_ || (stopping_ && sent_ % frame_size_ == 0);
    const bool out_over = out_frames_wanted_ == 0 || ended_ || stopping_;
    if (!in_over || !out_over) return;
    active_ = false;
    if (out_frames_wanted_ > 0) verifier_->finish();
    last_report_ =
        count((stopping_ ? link::kRunStopped : link::kRunComplete) | options_.report_flags);
    send(link::MessageType::report, last_report_);
  }

  VirtualClock& clock_;
  uint32_t boot_counter_;
  uint32_t session_ = 100;
  bool present_ = true;
  bool hung_ = false;
  int64_t wakes_at_ns_ = 0;
  std::vector<uint8_t> waiting_;
  int64_t back_at_ns_ = kNever;
  int64_t next_chatter_ns_ = kNever;
  int64_t next_noise_ns_ = kNever;
  int64_t behind_end_at_ns_ = kNever;
  std::deque<uint8_t> out_;
  link::ProbeMatcher probe_;
  Incoming commands_;
  std::vector<uint8_t> handshake_;

  bool active_ = false;
  bool stopping_ = false;
  bool ended_ = false;
  bool cut_ = false;
  uint32_t run_id_ = 0;
  uint32_t frame_size_ = 1;
  uint32_t window_ = 0;
  uint64_t acks_ = 0;
  uint64_t sent_ = 0;
  uint64_t in_total_ = 0;
  int64_t start_ns_ = 0;
  int64_t next_chunk_ns_ = 0;
  int64_t resume_ns_ = 0;
  int64_t counters_interval_ns_ = 0;
  int64_t next_counters_ns_ = kNever;
  std::optional<link::StreamCursor> cursor_;
  std::vector<DeviceFault> pending_faults_;
  DeviceFault taken_fault_{};
  uint32_t out_frames_wanted_ = 0;
  uint64_t out_received_ = 0;
  uint64_t out_frames_acked_ = 0;
  std::optional<link::StreamVerifier> verifier_;
  link::DeviceCounters last_report_;
};

namespace {

class FakeTransport final : public Transport {
 public:
  FakeTransport(std::shared_ptr<FakeDevice> device, VirtualClock& clock, std::string path)
      : device_(std::move(device)), clock_(clock) {
    identity_.path = std::move(path);
    identity_.is_usb = device_->options_.is_usb;
  }
  IoResult read(std::span<uint8_t> into, int64_t deadline_ns) override {
    return device_->read(into, deadline_ns);
  }
  IoResult write(std::span<const uint8_t> from, int64_t deadline_ns) override {
    return device_->write(from, deadline_ns);
  }
  Clock& clock() override { return clock_; }
  const PortIdentity& identity() const override { return identity_; }
  Result<ModemLines> modem_lines() override {
    ModemLines lines;
    lines.dtr = device_->options_.dtr;
    return lines;
  }
  Status set_modem_lines(std::optional<bool>, std::optional<bool>) override { return {}; }
  std::vector<std::string> other_holders() override { return device_->options_.other_holders; }
  std::string settings() const override { return "in memory"; }

 private:
  std::shared_ptr<FakeDevice> device_;
  VirtualClock& clock_;
  PortIdentity identity_;
};

}  // namespace

FakeEndpoint::FakeEndpoint(const FakeDeviceOptions& options)
    : device_(std::make_shared<FakeDevice>(options, clock_)) {}
FakeEndpoint::~FakeEndpoint() = default;

Result<std::unique_ptr<Transport>> FakeEndpoint::open(const OpenOptions&) {
  if (!device_->present()) return Error{ErrorCode::not_found, "open fake: there is no such port"};
  return std::unique_ptr<Transport>(std::make_unique<FakeTransport>(device_, clock_, "fake0"));
}

Result<std::unique_ptr<Transport>> FakeEndpoint::reopen(const OpenOptions&, int64_t deadline_ns) {
  if (device_->options_.on_reopen) device_->options_.on_reopen();
  if (device_->options_.never_returns) return Error{ErrorCode::gone, "fake: gone for good"};
  if (!device_->wait_until_back(deadline_ns)) {
    return Error{ErrorCode::gone, "fake: did not return"};
  }
  return std::unique_ptr<Transport>(std::make_unique<FakeTransport>(device_, clock_, "fake1"));
}

const std::vector<uint8_t>& FakeEndpoint::written() const { return device_->written_; }
uint64_t FakeEndpoint::reads() const { return device_->reads_; }
uint64_t FakeEndpoint::writes() const { return device_->writes_; }

}  // namespace millrace::host::testing
