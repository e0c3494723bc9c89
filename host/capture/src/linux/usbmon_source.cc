// SPDX-License-Identifier: Apache-2.0
// The kernel keeps 1,200 KB of events at most, 30 ms of a busy bus, and drops the rest. A thread of
// its own therefore does nothing but take them out, at a raised priority where that is allowed; the
// analysis and the copy on a disk may fall behind by 64 MiB before the kernel's ring fills.
//
// The kernel counts what it dropped and does not say when. It drops when the ring is full, until
// room is made: the gap lies before the first event that was recorded after that.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

#include "linux/usbmon_port.h"
#include "millrace/link/bytes.h"

namespace millrace::capture {
namespace {

using link::store_le32;
using Block = std::vector<uint8_t>;

constexpr size_t kBinaryHeaderBytes = 64;
constexpr size_t kMostData = size_t{256}
                             << 10;  // usbmon keeps a fifth of its ring, 1,200 KB at most
constexpr size_t kMostWaiting = size_t{64} << 20;
constexpr auto kAsk = std::chrono::milliseconds(50);

class UsbmonSource final : public ByteSource {
 public:
  UsbmonSource(std::unique_ptr<UsbmonPort> port, const LiveOptions& options)
      : port_(std::move(port)), options_(options) {
    Blocks head(&piece_);
    head.section();
    head.interface();
    if (options_.copy) options_.copy(piece_.data(), piece_.size());
    thread_ = std::thread([this] { capture(); });
  }
  ~UsbmonSource() override { stop(); }
  UsbmonSource(const UsbmonSource&) = delete;
  UsbmonSource& operator=(const UsbmonSource&) = delete;

  host::Result<size_t> read(uint8_t* to, size_t size) override {
    while (at_ == piece_.size()) {
      if (!next_piece()) return size_t{0};
    }
    const size_t taken = std::min(size, piece_.size() - at_);
    std::memcpy(to, piece_.data() + at_, taken);
    at_ += taken;
    return taken;
  }

 private:
  // Blocks of pcapng, appended.
  class Blocks {
   public:
    explicit Blocks(Block* to) : to_(to) {}
    void section() {
      begin(0x0a0d0d0a);
      add32(0x1a2b3c4d);
      add32(1);  // version 1.0
      add32(0xffffffff);
      add32(0xffffffff);
      end();
    }
    void interface() {
      begin(1);
      add32(220);
      add32(kBinaryHeaderBytes + kMostData);
      end();
    }
    void packet(std::span<const uint8_t> event, uint64_t dropped) {
      const auto total = static_cast<uint32_t>(event.size());
      const auto us = static_cast<uint64_t>(time_us(event));
      begin(6);
      add32(0);
      add32(static_cast<uint32_t>(us >> 32));
      add32(static_cast<uint32_t>(us));
      add32(total);
      add32(total);
      to_->insert(to_->end(), event.begin(), event.end());
      to_->resize((to_->size() - begin_ + 3) / 4 * 4 + begin_);
      if (dropped != 0) drops(4, dropped);  // epb_dropcount
      end();
    }
    // What the interface dropped in all: where nothing comes behind a gap, nothing else tells of
    // it.
    void statistics(int64_t us, uint64_t dropped) {
      begin(5);
      add32(0);
      add32(static_cast<uint32_t>(static_cast<uint64_t>(us) >> 32));
      add32(static_cast<uint32_t>(us));
      drops(5, dropped);  // isb_ifdrop
      end();
    }

   private:
    void drops(uint32_t code, uint64_t count) {
      add32(code | 8u << 16);
      add32(static_cast<uint32_t>(count));
      add32(static_cast<uint32_t>(count >> 32));
      add32(0);
    }
    void add32(uint32_t value) {
      to_->resize(to_->size() + 4);
      store_le32(to_->data() + to_->size() - 4, value);
    }
    void begin(uint32_t type) {
      begin_ = to_->size();
      add32(type);
      add32(0);
    }
    void end() {
      const auto length = static_cast<uint32_t>(to_->size() - begin_ + 4);
      add32(length);
      store_le32(to_->data() + begin_ + 4, length);
    }

    Block* to_;
    size_t begin_ = 0;
  };

  static int64_t time_us(std::span<const uint8_t> event) {
    return static_cast<int64_t>(link::load_le64(event.data() + 16) * 1'000'000 +
                                link::load_le32(event.data() + 24));
  }

  // --- the capturing thread

  void capture() {
    // Not allowed to most; then it is as it is.
    (void)setpriority(PRIO_PROCESS, 0, -10);
    UsbmonBatch batch;
    uint64_t dropped = 0, untold = 0;  // of it, those whose place is not in the capture yet
    int64_t gap_until_us = 0;
    bool goes_on = true;
    // Once more after the end was asked for: what happened before is still in the ring.
    while (goes_on) {
      goes_on = wait_for_room();
      goes_on = port_->fetch(&batch) != UsbmonPort::Got::end && goes_on;
      if (batch.dropped != 0) {
        dropped += batch.dropped;
        untold += batch.dropped;
        gap_until_us = batch.room_since_us;
      }
      if (batch.events.empty()) continue;
      Block block;
      Blocks blocks(&block);
      for (const std::span<const uint8_t> event : batch.events) {
        const bool is_behind = untold != 0 && time_us(event) >= gap_until_us;
        const size_t kept = std::min(event.size(), kBinaryHeaderBytes + kMostData);
        blocks.packet(event.first(kept), is_behind ? untold : 0);
        if (is_behind) untold = 0;
      }
      give(std::move(block));
    }
    if (dropped != 0) {
      Block block;
      Blocks(&block).statistics(batch.room_since_us, dropped);
      give(std::move(block));
    }
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }

  void give(Block block) {
    const std::lock_guard lock(mutex_);
    waiting_bytes_ += block.size();
    waiting_.push_back(std::move(block));
    changed_.notify_all();
  }

  // False: it shall end.
  bool wait_for_room() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return must_stop_ || waiting_bytes_ < kMostWaiting; });
    return !must_stop_;
  }

  // --- the reading thread

  // False: the capture is over and everything of it was given.
  bool next_piece() {
    std::unique_lock lock(mutex_);
    while (true) {
      if (!must_stop_ && options_.keep_going && !options_.keep_going()) {
        must_stop_ = true;
        changed_.notify_all();
      }
      if (!waiting_.empty()) break;
      if (is_over_) return false;
      changed_.wait_for(lock, kAsk);
    }
    piece_ = std::move(waiting_.front());
    at_ = 0;
    waiting_.pop_front();
    waiting_bytes_ -= piece_.size();
    changed_.notify_all();
    lock.unlock();
    if (options_.copy) options_.copy(piece_.data(), piece_.size());
    return true;
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      must_stop_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }

  std::unique_ptr<UsbmonPort> port_;
  LiveOptions options_;
  Block piece_;
  size_t at_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Block> waiting_;
  size_t waiting_bytes_ = 0;
  bool must_stop_ = false, is_over_ = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<ByteSource> make_usbmon_source(std::unique_ptr<UsbmonPort> port,
                                               const LiveOptions& options) {
  return std::make_unique<UsbmonSource>(std::move(port), options);
}

}  // namespace millrace::capture
