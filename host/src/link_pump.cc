// SPDX-License-Identifier: Apache-2.0
// Bytes are read here as long as answers matter more than rate. A fast stream is read by a thread
// (block_reader_threaded.cc): a terminal holds 12 KB, so whoever feeds it stands still whenever
// the session checks, copies and writes to a file instead of reading. The thread stays until the
// port is closed.
#include "link_pump.h"

#include <algorithm>

namespace millrace::host {
namespace {

// A stream is fast when so many bytes come in so short a time.
constexpr int64_t kFastBurstBytes = 131072;
constexpr int64_t kFastBurstNs = 6'000'000;
// Naps between two takings of what the thread has read cost the less the longer they are, and the
// device waits for acknowledgements meanwhile. So they last as long as a quarter of the window.
constexpr int64_t kShortestNapNs = 100'000;
constexpr int64_t kLongestNapNs = 2'000'000;
constexpr size_t kMostAtOnce = 262144;  // before the application gets its turn

}  // namespace

void LinkPump::detach() {
  stop_reading();
  transport_.reset();
}

void LinkPump::stop_reading() {
  reader_.reset();
  burst_bytes_ = 0;
}

bool LinkPump::send() {
  while (true) {
    const uint64_t now = now_us();
    const link::OutputBytes out = peer_.output(now);
    if (out.size == 0) return true;
    const IoResult written = transport_->write({out.data, out.size}, 0);
    peer_.sent(written.size, now);
    if (written.size < out.size) return false;
  }
}

IoResult LinkPump::receive_here(int64_t until_ns, uint32_t window_bytes) {
  size_t room = 0;
  uint8_t* space = peer_.space(&room);
  IoResult read = transport_->read({space, room}, until_ns);
  if (read.kind == IoKind::nothing_yet) burst_bytes_ = 0;
  if (read.kind != IoKind::done) return read;
  peer_.received(read.size, now_us());
  note_read(read.size, window_bytes);
  return read;
}

IoResult LinkPump::receive_from_thread(int64_t until_ns) {
  size_t taken = 0;
  Block block = reader_->next(until_ns);
  for (; block.kind == IoKind::done && taken < kMostAtOnce; block = reader_->next(0)) {
    taken += take(block);
  }
  if (block.kind == IoKind::done) taken += take(block);
  return {block.kind, taken, std::move(block.error)};
}

size_t LinkPump::take(const Block& block) {
  std::span<const uint8_t> rest = block.bytes;
  while (!rest.empty()) {
    size_t room = 0;
    uint8_t* space = peer_.space(&room);
    const size_t piece = std::min(room, rest.size());
    std::copy_n(rest.data(), piece, space);
    peer_.received(piece, now_us());
    rest = rest.subspan(piece);
  }
  return block.bytes.size();
}

void LinkPump::note_read(size_t size, uint32_t window_bytes) {
  const int64_t now = transport_->clock().now_ns();
  if (burst_bytes_ == 0) burst_start_ns_ = now;
  burst_bytes_ += static_cast<int64_t>(size);
  if (burst_bytes_ < kFastBurstBytes) return;
  const int64_t took_ns = now - burst_start_ns_;
  const int64_t window_ns = took_ns * window_bytes / burst_bytes_;
  burst_bytes_ = 0;
  if (took_ns >= kFastBurstNs || transport_->clock().is_virtual()) return;
  ThreadedReaderOptions options;
  options.nap_ns = std::clamp(window_ns / 4, kShortestNapNs, kLongestNapNs);
  reader_ = make_threaded_reader(*transport_, options);
}

IoResult LinkPump::receive(int64_t until_ns, uint32_t window_bytes) {
  return reader_ == nullptr ? receive_here(until_ns, window_bytes) : receive_from_thread(until_ns);
}

}  // namespace millrace::host
