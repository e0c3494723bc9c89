// SPDX-License-Identifier: Apache-2.0
// The classic format: a header of 24 bytes, then records of 16 bytes and data, all in the byte
// order of the machine that captured (draft-ietf-opsawg-pcap).
#include "readers.h"

#include <fmt/core.h>

namespace millrace::capture {
namespace {

constexpr size_t kFileHeaderBytes = 24, kRecordHeaderBytes = 16;

class PcapReader final : public WindowedReader {
 public:
  explicit PcapReader(std::unique_ptr<InputWindow> window) : WindowedReader(std::move(window)) {
    const size_t have = window_->ensure(kFileHeaderBytes);
    if (have < kFileHeaderBytes) {
      is_over_ = true;
      ended_with(have);
      return;
    }
    const uint8_t* head = window_->data();
    const uint32_t magic = kLittle.u32(head);
    order_.is_big = magic != kPcapMicro && magic != kPcapNano;
    is_nano_ = order_.u32(head) == kPcapNano;
    // The upper bits tell of a frame check sequence, which USB link types do not have.
    link_type_ = static_cast<uint16_t>(order_.u32(head + 20));
    window_->consume(kFileHeaderBytes);
  }

  bool next(CaptureRecord* record) override {
    if (is_over_ || !step()) return false;
    const size_t have = window_->ensure(kRecordHeaderBytes);
    if (have < kRecordHeaderBytes) return ended_with(have);
    const uint8_t* head = window_->data();
    const uint64_t captured = order_.u32(head + 8), original = order_.u32(head + 12);
    if (captured > kMaxRecordBytes) {
      return damaged(fmt::format("a record claims {} bytes", captured));
    }
    const auto kept = static_cast<size_t>(std::min(captured, kMaxKeptBytes));
    if (window_->ensure(kRecordHeaderBytes + kept) < kRecordHeaderBytes + kept) {
      is_over_ = true;
      return ended_with(1);
    }
    head = window_->data();
    record->link_type = link_type_;
    record->is_big_endian = order_.is_big;
    record->has_time = true;
    record->time_ns = int64_t{order_.u32(head)} * 1'000'000'000 +
                      int64_t{order_.u32(head + 4)} * (is_nano_ ? 1 : 1000);
    record->interface = 0;
    record->data = head + kRecordHeaderBytes;
    record->size = kept;
    record->original_size = std::max(original, captured);
    ++counters_.records;
    counters_.records_cut += original > captured ? 1 : 0;
    counters_.records_too_long += captured > kept ? 1 : 0;
    pending_ = kRecordHeaderBytes + captured;
    return true;
  }
  CaptureFormat format() const override { return CaptureFormat::pcap; }

 private:
  ByteOrder order_;
  bool is_nano_ = false;
  uint16_t link_type_ = 0;
};

}  // namespace

std::unique_ptr<CaptureReader> make_pcap_reader(std::unique_ptr<InputWindow> window) {
  return std::make_unique<PcapReader>(std::move(window));
}

}  // namespace millrace::capture
