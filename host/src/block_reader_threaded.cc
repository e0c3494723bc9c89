// SPDX-License-Identifier: Apache-2.0
// A reading thread, chunks of bytes and a ring of descriptors (place, size, arrival time) between
// it and the verifying thread.
//
// The bytes: chunks that are filled one read after the other. Each read gets room for a whole
// `read_size`, so a short read means that no more was waiting. A chunk is free again when the last
// read in it has been verified; the lowest free one is taken, so as long as verification keeps up
// the same one or two stay in the cache, and the rest of the 8 MB is touched only in a pile-up.
// (A plain ring walks through all of it; one that goes back to its start early runs full while most
// of it is empty.) The threads share nothing but two counters: `produced_` and `consumed_` reads.
//
// Wake-ups: a PTY gives 4 KB a read and a USB port little more, so a wake-up per read would cost
// more than verification does (one futex wake plus one context switch, about 5 us, against 1.3 us
// for 4 KB at 3 GB/s). The verifying thread therefore naps 4 ms while data flows and then takes
// all that came: 1.3 MB at a PTY's best, which a second-level cache still holds. (Naps of 1 ms
// cost 0.2 ns a byte more.) The reading thread signals only when the other one waits in vain
// (idle) or the ring is half full. Rejected: a condition variable per read (as above); spinning
// (takes a core from the device on small machines).
//
// A pause is asked for when everything produced has been taken, and begins behind the read under
// way (or its slice of time), whose bytes are published as ever. `paused_` is set after that:
// whoever sees it, and then an empty ring, has missed nothing.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "block_reader.h"
#include "thread_cpu.h"

namespace millrace::host {
namespace {

constexpr size_t kChunkBytes = size_t{256} << 10;
constexpr size_t kDescriptors = 16384;
constexpr int64_t kReadSliceNs = 100000000;  // how long stop() and a pause may have to wait

class ThreadedReader final : public PausableReader {
 public:
  ThreadedReader(Transport& transport, const ThreadedReaderOptions& options)
      : transport_(transport),
        read_size_(options.read_size),
        nap_ns_(options.nap_ns),
        chunk_bytes_(std::min(std::max(kChunkBytes, 2 * options.read_size),
                              std::max(options.ring_bytes / 2, options.read_size))),
        chunk_end_(std::max<size_t>(2, options.ring_bytes / chunk_bytes_), 0),
        // Not cleared: pages that are never reached cost nothing.
        bytes_(new uint8_t[chunk_bytes_ * chunk_end_.size()]),
        descriptors_(kDescriptors) {
    thread_ = std::thread([this] { read_all(); });
  }

  ~ThreadedReader() override { stop(); }

  Block next(int64_t deadline_ns) override {
    if (holding_) release();
    for (;;) {
      // Order: both are set after the last block was published.
      const bool ended = ended_.load(std::memory_order_acquire);
      const bool paused = paused_.load(std::memory_order_acquire);
      if (produced_.load(std::memory_order_acquire) != taken_) {
        const Descriptor& d = descriptors_[taken_ % kDescriptors];
        holding_ = true;
        flowing_ = true;
        Block block;
        block.kind = IoKind::done;
        block.bytes = std::span<const uint8_t>(bytes_.get() + d.offset, d.size);
        block.arrival_ns = d.arrival_ns;
        return block;
      }
      Block block;
      block.arrival_ns = transport_.clock().now_ns();
      if (ended) {
        block.kind = end_.kind;
        block.error = end_.error;
        return block;
      }
      if (paused || block.arrival_ns >= deadline_ns) return block;
      const int64_t left = deadline_ns - block.arrival_ns;
      if (std::exchange(flowing_, false)) {
        wait(Waiting::napping, std::min(left, nap_ns_));
      } else {
        wait(Waiting::idle, left);
      }
    }
  }

  void stop() override {
    if (!thread_.joinable()) return;
    stopping_.store(true);
    { const std::lock_guard lock(mutex_); }
    room_.notify_one();
    transport_.let_reads_wait(false);
    thread_.join();
    transport_.let_reads_wait(true);
  }

  void request_pause() override {
    flowing_ = false;  // the pause is not to be slept through
    pausing_.store(true);
  }

  void resume() override {
    {
      const std::lock_guard lock(mutex_);
      pausing_.store(false);
      paused_.store(false);
    }
    room_.notify_one();
  }

  bool is_paused() const override { return paused_.load(std::memory_order_acquire); }

  bool is_drained() const override {
    return produced_.load(std::memory_order_acquire) == taken_ + (holding_ ? 1 : 0);
  }

  int64_t cpu_ns() const override { return cpu_ns_; }
  uint64_t ring_full() const override { return ring_full_; }

 private:
  struct Descriptor {
    size_t offset = 0;
    size_t size = 0;
    int64_t arrival_ns = 0;
  };
  enum class Waiting { no, napping, idle };

  // ---- verifying thread

  void release() {
    holding_ = false;
    ++taken_;
    consumed_.store(taken_, std::memory_order_seq_cst);
    if (reader_waits_.load(std::memory_order_seq_cst)) {
      { const std::lock_guard lock(mutex_); }
      room_.notify_one();
    }
  }

  void wait(Waiting how, int64_t at_most_ns) {
    std::unique_lock lock(mutex_);
    waiting_.store(how, std::memory_order_seq_cst);
    const uint64_t enough = how == Waiting::idle ? 1 : kDescriptors / 2;
    data_.wait_for(lock, std::chrono::nanoseconds(at_most_ns), [&] {
      return produced_.load(std::memory_order_seq_cst) - taken_ >= enough || half_full_.load() ||
             ended_.load() || paused_.load();
    });
    half_full_.store(false);
    waiting_.store(Waiting::no, std::memory_order_seq_cst);
  }

  // ---- reading thread

  void read_all() {
    while (!stopping_.load(std::memory_order_relaxed)) {
      if (pausing_.load(std::memory_order_relaxed)) {
        wait_for_resume();
        continue;
      }
      size_t at = 0;
      if (!find_room(&at)) {
        wait_for_room();
        continue;
      }
      IoResult result = transport_.read({bytes_.get() + at, read_size_},
                                        transport_.clock().now_ns() + kReadSliceNs);
      if (result.kind == IoKind::done) {
        publish({at, result.size, transport_.clock().now_ns()});
      } else if (result.kind != IoKind::nothing_yet) {
        end_ = std::move(result);
        break;
      }
    }
    cpu_ns_ = thread_cpu_ns();
    ended_.store(true);
    { const std::lock_guard lock(mutex_); }
    data_.notify_one();
  }

  void wait_for_resume() {
    std::unique_lock lock(mutex_);
    if (!pausing_.load()) return;
    paused_.store(true);
    data_.notify_one();
    room_.wait(lock, [&] { return stopping_.load() || !paused_.load(); });
  }

  // Sets *at to a place with room for a whole read; false: everything is full.
  bool find_room(size_t* at) {
    const uint64_t consumed = consumed_.load(std::memory_order_acquire);
    const uint64_t produced = produced_.load(std::memory_order_relaxed);
    if (produced - consumed == kDescriptors) return false;
    if (produced == consumed) used_in_chunk_ = 0;
    if (used_in_chunk_ + read_size_ > chunk_bytes_) {
      const auto free = std::find_if(chunk_end_.begin(), chunk_end_.end(),
                                     [&](uint64_t end) { return end <= consumed; });
      if (free == chunk_end_.end()) return false;
      chunk_ = static_cast<size_t>(free - chunk_end_.begin());
      used_in_chunk_ = 0;
    }
    *at = chunk_ * chunk_bytes_ + used_in_chunk_;
    return true;
  }

  bool over_half_full() const {
    const uint64_t consumed = consumed_.load(std::memory_order_acquire);
    if (produced_.load(std::memory_order_relaxed) - consumed > kDescriptors / 2) return true;
    const auto used = std::count_if(chunk_end_.begin(), chunk_end_.end(),
                                    [&](uint64_t end) { return end > consumed; });
    return static_cast<size_t>(used) * 2 > chunk_end_.size();
  }

  void publish(const Descriptor& d) {
    const uint64_t produced = produced_.load(std::memory_order_relaxed);
    descriptors_[produced % kDescriptors] = d;
    used_in_chunk_ += d.size;
    chunk_end_[chunk_] = produced + 1;
    produced_.store(produced + 1, std::memory_order_seq_cst);
    const Waiting other = waiting_.load(std::memory_order_seq_cst);
    if (other == Waiting::no) return;
    if (other == Waiting::napping && !over_half_full()) return;
    half_full_.store(true);
    { const std::lock_guard lock(mutex_); }
    data_.notify_one();
  }

  void wait_for_room() {
    ++ring_full_;
    std::unique_lock lock(mutex_);
    reader_waits_.store(true, std::memory_order_seq_cst);
    size_t at = 0;
    room_.wait(lock, [&] { return stopping_.load() || find_room(&at); });
    reader_waits_.store(false, std::memory_order_seq_cst);
  }

  Transport& transport_;
  const size_t read_size_;
  const int64_t nap_ns_;
  const size_t chunk_bytes_;
  // Of each chunk: the number of reads produced when the last one in it was. Reading thread only.
  std::vector<uint64_t> chunk_end_;
  const std::unique_ptr<uint8_t[]> bytes_;
  std::vector<Descriptor> descriptors_;  // a ring

  // Written by the reading thread.
  size_t chunk_ = 0;
  size_t used_in_chunk_ = 0;
  uint64_t ring_full_ = 0;  // read by others after join
  int64_t cpu_ns_ = 0;      // read by others after join
  IoResult end_;            // read by others after ended_
  alignas(64) std::atomic<uint64_t> produced_{0};
  std::atomic<bool> ended_{false};
  std::atomic<bool> reader_waits_{false};
  std::atomic<bool> paused_{false};  // set there, taken back by resume()

  // Written by the verifying thread.
  alignas(64) std::atomic<uint64_t> consumed_{0};
  std::atomic<Waiting> waiting_{Waiting::no};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> pausing_{false};
  uint64_t taken_ = 0;
  bool holding_ = false;
  bool flowing_ = false;

  std::atomic<bool> half_full_{false};  // why a nap was cut short
  std::mutex mutex_;
  std::condition_variable data_;
  std::condition_variable room_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<PausableReader> make_threaded_reader(Transport& transport,
                                                     const ThreadedReaderOptions& options) {
  return std::make_unique<ThreadedReader>(transport, options);
}

}  // namespace millrace::host
