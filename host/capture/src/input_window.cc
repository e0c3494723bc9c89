// SPDX-License-Identifier: Apache-2.0
#include "input_window.h"

#include <algorithm>
#include <cstring>

namespace millrace::capture {

void InputWindow::fill(size_t size) {
  if (at_end_) return;
  std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  while (end_ < size) {
    host::Result<size_t> got = source_->read(buffer_.get() + end_, kBytes - end_);
    if (!got) error_ = got.error();
    if (!got || *got == 0) {
      at_end_ = true;
      return;
    }
    end_ += *got;
    read_ += *got;
  }
}

uint64_t InputWindow::skip(uint64_t size) {
  uint64_t skipped = 0;
  while (skipped < size) {
    const size_t here = ensure(1);
    if (here == 0) break;
    const size_t step = static_cast<size_t>(std::min<uint64_t>(here, size - skipped));
    consume(step);
    skipped += step;
  }
  return skipped;
}

}  // namespace millrace::capture
