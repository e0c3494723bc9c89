// SPDX-License-Identifier: Apache-2.0
#include "out_stream.h"

#include <algorithm>

namespace millrace::host {
namespace {

constexpr size_t kBufferBytes = size_t{256} << 10;

link::StreamShape out_shape(const RunSettings& settings) {
  link::StreamShape shape;
  shape.seed = ~settings.seed;  // an echo of OUT must not verify as IN
  shape.frame_size = settings.frame_size;
  shape.frame_count = settings.frame_count;
  return shape;
}

}  // namespace

OutStream::OutStream(Transport& transport, const RunSettings& settings, RunResult* result)
    : transport_(transport),
      result_(*result),
      frame_size_(settings.frame_size),
      total_(out_shape(settings).size_bytes()),
      window_(settings.window_frames),
      cursor_(out_shape(settings)),
      buffer_(static_cast<size_t>(std::min<uint64_t>(kBufferBytes, total_))),
      last_progress_ns_(transport.clock().now_ns()),
      frame_end_ns_(window_, 0) {}

uint64_t OutStream::allowance() const {
  const uint64_t sent = sent_bytes();
  uint64_t end = total_;
  if (window_ > 0) end = std::min(end, (acked_ + window_) * frame_size_);
  if (stop_.load()) {
    end = std::min(end, (sent + frame_size_ - 1) / frame_size_ * frame_size_);
  }
  return end - sent;
}

OutStream::State OutStream::step(int64_t deadline_ns) {
  const uint64_t sent = sent_bytes();
  if (tail_size_ > 0 && tail_used_ == tail_size_) return State::finished;
  if (sent == total_) return write_tail(link::MessageType::end, deadline_ns);
  const uint64_t allowed = allowance();
  if (allowed == 0) {
    if (stop_.load()) return write_tail(link::MessageType::stop, deadline_ns);
    return State::window_full;
  }
  if (used_ == filled_) {
    filled_ = static_cast<size_t>(std::min<uint64_t>(buffer_.size(), total_ - sent));
    used_ = 0;
    cursor_.read(buffer_.data(), filled_);
  }
  const auto size = static_cast<size_t>(std::min<uint64_t>(allowed, filled_ - used_));
  size_t taken = 0;
  const State state = write({buffer_.data() + used_, size}, deadline_ns, &taken);
  used_ += taken;
  sent_.store(sent + taken, std::memory_order_relaxed);
  if (window_ > 0) {
    for (; frames_sent_ < (sent + taken) / frame_size_; ++frames_sent_) {
      frame_end_ns_[frames_sent_ % window_] = last_progress_ns();
    }
  }
  return state;
}

OutStream::State OutStream::write_tail(link::MessageType type, int64_t deadline_ns) {
  if (tail_size_ == 0) {
    tail_size_ = link::encode_message(type, nullptr, 0, tail_, sizeof(tail_));
  }
  size_t taken = 0;
  const State state = write({tail_ + tail_used_, tail_size_ - tail_used_}, deadline_ns, &taken);
  tail_used_ += taken;
  return tail_used_ == tail_size_ ? State::finished : state;
}

OutStream::State OutStream::write(std::span<const uint8_t> bytes, int64_t deadline_ns,
                                  size_t* taken) {
  const int64_t before = transport_.clock().now_ns();
  IoResult result = transport_.write(bytes, deadline_ns);
  const int64_t after = transport_.clock().now_ns();
  result_.out_write_ns += after - before;
  *taken = result.kind == IoKind::done ? bytes.size() : result.size;
  if (*taken > 0) last_progress_ns_.store(after, std::memory_order_relaxed);
  if (result.kind == IoKind::gone || result.kind == IoKind::error) {
    failure_ = std::move(result);
    return State::failed;
  }
  return *taken > 0 ? State::sending : State::blocked;
}

void OutStream::acknowledge(uint64_t count, int64_t now_ns) {
  for (; count > 0 && acked_ < frames_sent_; --count, ++acked_) {
    const int64_t trip = now_ns - frame_end_ns_[acked_ % window_];
    result_.ack_round_trip_ns.add(static_cast<uint64_t>(std::max<int64_t>(trip, 0)));
  }
}

}  // namespace millrace::host
