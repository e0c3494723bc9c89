// SPDX-License-Identifier: Apache-2.0
// Any bytes are a trace or a sentence.
#include <cstdint>
#include <cstdlib>

#include "millrace/board/trace.h"

namespace {

class Nobody final : public millrace::board::TraceSink {
 public:
  void block(const millrace::board::TracedBlock&, uint64_t) override {}
  void wait(const millrace::board::TracedWait& wait, uint64_t) override {
    if (wait.line % 32 != 0) std::abort();
  }
  void event(millrace::board::TraceEvent, uint32_t, uint64_t) override {}
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Nobody sink;
  millrace::board::TraceHeader header;
  bool cut_off = false;
  static_cast<void>(millrace::board::read_trace({data, size}, &header, sink, &cut_off));
  return 0;
}
