// SPDX-License-Identifier: Apache-2.0
#include "in_stream.h"

#include <algorithm>
#include <utility>

namespace millrace::host {
namespace {

link::StreamShape in_shape(const RunSettings& settings) {
  link::StreamShape shape;
  shape.seed = settings.seed;
  shape.frame_size = settings.frame_size;
  shape.frame_count = settings.frame_count;
  return shape;
}

}  // namespace

bool are_of_run(const link::DeviceCounters& counters, const RunResult& result, uint32_t run_id) {
  return counters.run_id == run_id &&
         (!result.hello || counters.session_id == result.hello->session_id);
}

bool is_final(const link::Message& message, const link::DeviceCounters& counters) {
  return message.type == link::MessageType::report && (counters.state & link::kRunActive) == 0;
}

InStream::InStream(const RunSettings& settings, uint32_t run_id, int64_t start_ns,
                   RunResult* result, std::function<void()> before_search)
    : result_(*result),
      run_id_(run_id),
      window_(settings.window_frames),
      read_size_(settings.read_size),
      frame_size_(settings.frame_size),
      frame_count_(settings.frame_count),
      start_ns_(start_ns),
      before_search_(std::move(before_search)),
      verifier_(in_shape(settings), link::VerifierSink{this, &on_fault, &on_message}),
      last_frame_ns_(start_ns),
      last_arrival_ns_(start_ns),
      last_stream_ns_(start_ns),
      last_progress_ns_(start_ns),
      frame_end_ns_(window_, 0) {}

void InStream::take(const Block& block) {
  count_read(block.bytes.size());
  verify(block);
}

void InStream::take_rest(const Block& block) { verify(block); }

void InStream::verify(const Block& block) {
  const uint64_t accounted = verifier_.accounted_bytes();
  const uint64_t messages = verifier_.totals().message_bytes;
  count_silence(block);
  last_arrival_ns_ = block.arrival_ns;
  feed(block.bytes);
  if (window_ > 0) {
    const uint64_t acked = acked_ * frame_size_;
    const uint64_t in_flight =
        verifier_.accounted_bytes() - std::min(verifier_.accounted_bytes(), acked);
    result_.most_unacknowledged_bytes = std::max(result_.most_unacknowledged_bytes, in_flight);
  }
  if (verifier_.totals().message_bytes - messages < block.bytes.size()) {
    last_stream_ns_ = block.arrival_ns;
  }
  if (verifier_.accounted_bytes() != accounted) {
    last_progress_ns_ = block.arrival_ns;
    count_frames(block.arrival_ns);
  }
}

// A message does not match either, but takes no search.
void InStream::feed(std::span<const uint8_t> bytes) {
  bytes = bytes.subspan(verifier_.feed_matching(bytes.data(), bytes.size()));
  if (bytes.empty()) return;
  const size_t message = std::min(bytes.size(), link::kMaxMessage);
  verifier_.feed(bytes.data(), message);
  bytes = bytes.subspan(message);
  if (bytes.empty()) return;
  if (verifier_.in_fault()) before_search_();
  verifier_.feed(bytes.data(), bytes.size());
}

void InStream::count_silence(const Block& block) {
  ReadStats& reads = result_.reads;
  const uint64_t received = verifier_.totals().received_bytes;
  if (received == 0 || report_came_ || verifier_.complete()) return;
  const int64_t silence = block.arrival_ns - last_arrival_ns_;
  if (silence > reads.longest_silence_ns) {
    reads.longest_silence_ns = silence;
    reads.longest_silence_offset = received;
  }
}

void InStream::count_read(size_t size) {
  ReadStats& reads = result_.reads;
  ++reads.reads;
  if (size == read_size_) ++reads.full_reads;
  reads.bytes_per_read.add(size);
}

void InStream::count_frames(int64_t now_ns) {
  const uint64_t frames = verifier_.frames_complete();
  if (frames == frames_) return;
  const uint64_t added = frames - frames_;
  // Frames that end in one block came together, as far as this side can tell. The first frame has
  // no predecessor.
  if (frames_ > 0) {
    result_.frame_delay_ns.add(static_cast<uint64_t>(now_ns - last_frame_ns_));
    result_.frame_delay_ns.add(0, added - 1);
  } else {
    result_.frame_delay_ns.add(0, added - 1);
  }
  last_frame_ns_ = now_ns;
  if (window_ > 0) {
    for (; frames_ < frames; ++frames_) {
      int64_t& end = frame_end_ns_[frames_ % window_];
      if (frames_ >= window_) {
        result_.ack_round_trip_ns.add(static_cast<uint64_t>(now_ns - end));
      }
      end = now_ns;
    }
  }
  frames_ = frames;
}

uint64_t InStream::take_acks_due() {
  // Around a fault more may have been acknowledged than came.
  const uint64_t due = frames_ - std::min(frames_, acked_);
  acked_ += due;
  return due;
}

bool InStream::ends_frame(const Block& block) const {
  const link::VerifierTotals& totals = verifier_.totals();
  return window_ > 0 && totals.verified_bytes == totals.received_bytes &&
         totals.received_bytes + block.bytes.size() == (acked_ + 1) * frame_size_;
}

bool InStream::acknowledge_early() {
  if (acked_ >= frame_count_) return false;
  ++acked_;
  return true;
}

void InStream::finish() {
  verifier_.finish();
  result_.in_totals = verifier_.totals();
  result_.in_bytes = result_.in_totals.verified_bytes;
  result_.frames += verifier_.frames_complete();
}

void InStream::on_fault(void* self, const link::Fault& fault) {
  auto& stream = *static_cast<InStream*>(self);
  auto& faults = stream.result_.faults;
  const bool is_tail = fault.kind == link::FaultKind::missing_tail;  // tells how much is missing
  if (is_tail && faults.size() == RunResult::kMaxFaults) faults.pop_back();
  if (faults.size() < RunResult::kMaxFaults) faults.push_back(fault);
}

void InStream::on_message(void* self, const link::Message& message) {
  auto& stream = *static_cast<InStream*>(self);
  if (stream.run_id_ == 0) {
    stream.hello_came_ = stream.hello_came_ || message.type == link::MessageType::hello;
    return;
  }
  if (message.type != link::MessageType::report && message.type != link::MessageType::counters) {
    return;
  }
  link::DeviceCounters counters;
  if (!link::decode(message.payload, message.payload_size, &counters)) return;
  if (!are_of_run(counters, stream.result_, stream.run_id_)) return;
  stream.result_.counters = counters;
  if (is_final(message, counters)) {
    stream.report_came_ = true;
    return;
  }
  stream.thinner_.add(&stream.result_.counters_during_run,
                      {stream.last_arrival_ns_ - stream.start_ns_, counters});
}

void count_tail_as_not_delivered(RunResult* result) {
  const auto tail = std::find_if(
      result->faults.begin(), result->faults.end(),
      [](const link::Fault& fault) { return fault.kind == link::FaultKind::missing_tail; });
  if (tail == result->faults.end()) return;
  link::VerifierTotals& totals = result->in_totals;
  result->not_delivered_bytes = tail->length;
  totals.lost_bytes -= tail->length;
  totals.faults -= 1;
  totals.faults_of_kind[static_cast<size_t>(link::FaultKind::missing_tail)] -= 1;
  result->faults.erase(tail);
}

void CountersThinner::add(std::vector<RunResult::CountersSample>* samples,
                          const RunResult::CountersSample& sample) {
  constexpr size_t kMost = 1000;
  if (seen_++ % every_ != 0) return;
  if (samples->size() == kMost) {  // keep each second one from now on
    for (size_t i = 0; i < kMost / 2; ++i) (*samples)[i] = (*samples)[2 * i];
    samples->resize(kMost / 2);
    every_ *= 2;
  }
  samples->push_back(sample);
}

}  // namespace millrace::host
