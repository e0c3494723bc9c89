// SPDX-License-Identifier: Apache-2.0
// One reader a format, and what they share.
#pragma once

#include <algorithm>

#include "byte_order.h"
#include "input_window.h"
#include "millrace/capture/capture_reader.h"

namespace millrace::capture {

// A record longer than what is kept of it is legal (a bulk transfer of megabytes); one longer than
// this is damage: no capturing program writes it.
inline constexpr uint64_t kMaxKeptBytes = size_t{512} << 10;
inline constexpr uint64_t kMaxRecordBytes = uint64_t{128} << 20;

class WindowedReader : public CaptureReader {
 public:
  explicit WindowedReader(std::unique_ptr<InputWindow> window) : window_(std::move(window)) {}
  CaptureCounters counters() const override {
    CaptureCounters counters = counters_;
    counters.bytes = window_->offset();
    return counters;
  }
  uint64_t dropped() const override { return counters_.dropped; }
  std::optional<host::Error> error() const override { return window_->error(); }

 protected:
  // The file ends here because of `what`. Returns false, for next().
  bool damaged(const std::string& what);
  // Of what was in the window, `have` bytes are all that is left of a record.
  bool ended_with(size_t have) {
    if (have != 0 && !window_->error()) counters_.cut_short = true;
    return false;
  }

  std::unique_ptr<InputWindow> window_;
  CaptureCounters counters_;
  bool is_over_ = false;
  // Of the record that was returned last and is still in the window, and behind it.
  uint64_t pending_ = 0;
  // Goes over the last record. False: the input ended in it.
  bool step();
};

std::unique_ptr<CaptureReader> make_pcap_reader(std::unique_ptr<InputWindow> window);
std::unique_ptr<CaptureReader> make_pcapng_reader(std::unique_ptr<InputWindow> window);
std::unique_ptr<CaptureReader> make_text_reader(std::unique_ptr<InputWindow> window);

inline constexpr uint32_t kPcapMicro = 0xa1b2c3d4, kPcapNano = 0xa1b23c4d;
inline constexpr uint32_t kPcapngSection = 0x0a0d0d0a;

// A time of `units` of 10^-n s, or of 2^-n s with bit 7 set (if_tsresol), in ns.
int64_t to_ns(uint64_t units, uint8_t resolution);

}  // namespace millrace::capture
