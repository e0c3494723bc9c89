// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "block_reader.h"

namespace millrace::host {
namespace {

class DirectReader final : public BlockReader {
 public:
  DirectReader(Transport& transport, size_t read_size)
      : transport_(transport), buffer_(read_size) {}

  Block next(int64_t deadline_ns) override {
    if (end_.kind == IoKind::gone || end_.kind == IoKind::error) return end_;
    IoResult result = transport_.read(buffer_, deadline_ns);
    Block block;
    block.kind = result.kind;
    block.bytes = std::span<const uint8_t>(buffer_.data(), result.size);
    block.arrival_ns = transport_.clock().now_ns();
    if (result.kind == IoKind::gone || result.kind == IoKind::error) {
      block.bytes = {};
      block.error = std::move(result.error);
      end_ = block;
    }
    return block;
  }
  void stop() override {}
  int64_t cpu_ns() const override { return 0; }
  uint64_t ring_full() const override { return 0; }

 private:
  Transport& transport_;
  std::vector<uint8_t> buffer_;
  Block end_;
};

}  // namespace

std::unique_ptr<BlockReader> make_direct_reader(Transport& transport, size_t read_size) {
  return std::make_unique<DirectReader>(transport, read_size);
}

}  // namespace millrace::host
