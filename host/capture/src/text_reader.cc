// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "readers.h"

namespace millrace::capture {
namespace {

constexpr size_t kMaxLine = 4096;  // usbmon's own buffer for a line has 160

class TextReader final : public WindowedReader {
 public:
  using WindowedReader::WindowedReader;

  bool next(CaptureRecord* record) override {
    if (!step()) return false;
    // A pipe from the running kernel gives line by line: not more is waited for than a line.
    size_t have = window_->ensure(1);
    const void* end = nullptr;
    while (have != 0) {
      end = std::memchr(window_->data(), '\n', have);
      if (end != nullptr || have >= kMaxLine) break;
      const size_t more = window_->ensure(have + 1);
      if (more == have) break;
      have = more;
    }
    if (have == 0) return false;
    size_t size = have;
    if (end != nullptr) {
      size = static_cast<size_t>(static_cast<const uint8_t*>(end) - window_->data());
    }
    size = std::min(size, kMaxLine);
    *record = CaptureRecord();
    record->link_type = kLinkUsbmonText;
    record->data = window_->data();
    record->size = record->original_size = size;
    ++counters_.records;
    pending_ = std::min(have, size + (end != nullptr && size < kMaxLine ? 1u : 0u));
    return true;
  }
  CaptureFormat format() const override { return CaptureFormat::usbmon_text; }
};

}  // namespace

std::unique_ptr<CaptureReader> make_text_reader(std::unique_ptr<InputWindow> window) {
  return std::make_unique<TextReader>(std::move(window));
}

}  // namespace millrace::capture
