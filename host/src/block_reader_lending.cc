// SPDX-License-Identifier: Apache-2.0
// Who reads? Whoever has the time.
//
// Verifying what matches costs 0.2 ns a byte, a hundredth of what a port takes to bring it, so the
// thread that verifies can read as well: what it has read is still in its cache, and nobody has to
// be woken. A second thread costs a PTY 6 to 10 % of its rate (docs/benchmarking.md). But a device
// must not wait while this host looks for the place where a damaged stream goes on, or while a
// terminal takes its time over a progress line. Before such work the caller says lend(): another
// thread reads on. It gives the port back when the caller has caught up, behind the read that
// comes then, so no read is ever cut short for it.
//
// Rejected: threads for both always (as above); verifying in the reading thread and handing only
// what does not match to the other one, which saves nothing more and shares the verifier's state.
#include <utility>

#include "block_reader.h"

namespace millrace::host {
namespace {

class LendingReader final : public BlockReader {
 public:
  LendingReader(Transport& transport, size_t read_size)
      : transport_(transport),
        read_size_(read_size),
        direct_(make_direct_reader(transport, read_size)) {}

  Block next(int64_t deadline_ns) override {
    if (is_lent_) {
      if (helper_->is_drained()) helper_->request_pause();
      Block block = helper_->next(deadline_ns);
      if (block.kind != IoKind::nothing_yet) return block;
      if (!helper_->is_paused() || !helper_->is_drained()) return block;
      is_lent_ = false;
    }
    return direct_->next(deadline_ns);
  }

  void lend() override {
    if (!helper_) {
      ThreadedReaderOptions options;
      options.read_size = read_size_;
      helper_ = make_threaded_reader(transport_, options);
    } else {
      helper_->resume();
    }
    is_lent_ = true;
  }

  void stop() override {
    if (helper_) helper_->stop();
  }
  int64_t cpu_ns() const override { return helper_ ? helper_->cpu_ns() : 0; }
  uint64_t ring_full() const override { return helper_ ? helper_->ring_full() : 0; }

 private:
  Transport& transport_;
  const size_t read_size_;
  const std::unique_ptr<BlockReader> direct_;
  std::unique_ptr<PausableReader> helper_;  // from the first lend() on
  bool is_lent_ = false;
};

}  // namespace

std::unique_ptr<BlockReader> make_lending_reader(Transport& transport, size_t read_size) {
  return std::make_unique<LendingReader>(transport, read_size);
}

}  // namespace millrace::host
