// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "linux/usbmon_port.h"
#include "millrace/link/bytes.h"

namespace millrace::capture {
namespace {

using link::store_le32;

constexpr size_t kHeaderBytes = 64;
constexpr size_t kMostData = size_t{256}
                             << 10;  // usbmon keeps a fifth of its ring, 1,200 KB at most

class UsbmonSource final : public ByteSource {
 public:
  UsbmonSource(std::unique_ptr<UsbmonPort> port, const LiveOptions& options)
      : port_(std::move(port)), options_(options), data_(kHeaderBytes + kMostData) {
    begin_block(0x0a0d0d0a);
    add32(0x1a2b3c4d);
    add32(1);  // version 1.0
    add32(0xffffffff);
    add32(0xffffffff);
    end_block();
    begin_block(1);
    add32(220);
    add32(kHeaderBytes + kMostData);
    end_block();
  }

  host::Result<size_t> read(uint8_t* to, size_t size) override {
    while (at_ == block_.size()) {
      block_.clear();
      at_ = 0;
      if (options_.keep_going && !options_.keep_going()) return size_t{0};
      const UsbmonPort::Got got = port_->get(data_.data(), data_.data() + kHeaderBytes, kMostData);
      if (got == UsbmonPort::Got::end) return size_t{0};
      if (got == UsbmonPort::Got::event) packet();
    }
    const size_t taken = std::min(size, block_.size() - at_);
    std::memcpy(to, block_.data() + at_, taken);
    at_ += taken;
    return taken;
  }

 private:
  void packet() {
    const uint8_t* header = data_.data();
    const size_t captured = std::min<size_t>(link::load_le32(header + 36), kMostData);
    const uint64_t us = link::load_le64(header + 16) * 1'000'000 + link::load_le32(header + 24);
    const auto total = static_cast<uint32_t>(kHeaderBytes + captured);
    begin_block(6);
    add32(0);
    add32(static_cast<uint32_t>(us >> 32));
    add32(static_cast<uint32_t>(us));
    add32(total);
    add32(total);
    block_.insert(block_.end(), data_.begin(), data_.begin() + total);
    block_.resize((block_.size() + 3) / 4 * 4);
    const uint64_t dropped = port_->dropped();
    if (dropped != dropped_) {
      add32(4 | 8u << 16);  // epb_dropcount
      add32(static_cast<uint32_t>(dropped - dropped_));
      add32(static_cast<uint32_t>((dropped - dropped_) >> 32));
      add32(0);
      dropped_ = dropped;
    }
    end_block();
  }

  void add32(uint32_t value) {
    block_.resize(block_.size() + 4);
    store_le32(block_.data() + block_.size() - 4, value);
  }
  void begin_block(uint32_t type) {
    begin_ = block_.size();
    add32(type);
    add32(0);
  }
  void end_block() {
    const auto length = static_cast<uint32_t>(block_.size() - begin_ + 4);
    add32(length);
    store_le32(block_.data() + begin_ + 4, length);
    if (options_.copy) options_.copy(block_.data() + begin_, length);
  }

  std::unique_ptr<UsbmonPort> port_;
  LiveOptions options_;
  std::vector<uint8_t> data_, block_;
  size_t begin_ = 0, at_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> make_usbmon_source(std::unique_ptr<UsbmonPort> port,
                                               const LiveOptions& options) {
  return std::make_unique<UsbmonSource>(std::move(port), options);
}

}  // namespace millrace::capture
