// SPDX-License-Identifier: Apache-2.0
// Blocks of pcapng (draft-ietf-opsawg-pcapng): type, length, body, length again. Each section has
// its own byte order and interfaces; each interface its own resolution and offset of time. Blocks
// that have nothing for us are gone over by their length. What is written twice must agree; where
// it does not, nothing behind it can be trusted and reading ends.
#include "readers.h"

#include <fmt/core.h>

#include <vector>

namespace millrace::capture {
namespace {

constexpr uint32_t kByteOrderMagic = 0x1a2b3c4d;
constexpr uint32_t kInterfaceBlock = 1, kOldPacketBlock = 2, kSimplePacketBlock = 3;
constexpr uint32_t kStatisticsBlock = 5, kEnhancedPacketBlock = 6;
constexpr uint16_t kOptionEnd = 0;
constexpr uint16_t kIfTsResol = 9, kIfTsOffset = 14;
constexpr uint16_t kIsbIfDrop = 5, kIsbOsDrop = 7, kEpbDropCount = 4;
constexpr size_t kMaxInterfaces = 4096;  // of a section
constexpr size_t kFrameBytes = 12;       // type, length, length

struct Interface {
  uint16_t link_type = 0;
  uint32_t snap_bytes = 0;  // 0: no limit
  uint8_t resolution = 6;
  int64_t offset_s = 0;
  // Said packet by packet, and by its statistics, which count from the start: the same losses.
  uint64_t dropped_before_packets = 0, dropped_in_all = 0;
  uint64_t dropped() const { return std::max(dropped_before_packets, dropped_in_all); }
};

class PcapngReader final : public WindowedReader {
 public:
  using WindowedReader::WindowedReader;

  bool next(CaptureRecord* record) override {
    while (!is_over_ && step()) {
      const size_t have = window_->ensure(8);
      if (have < 8) return ended_with(have);
      const Found found = block(record);
      if (found == Found::record) return true;
      if (found == Found::end) return false;
    }
    return false;
  }
  CaptureFormat format() const override { return CaptureFormat::pcapng; }

 private:
  enum class Found { record, nothing, end };

  Found block(CaptureRecord* record) {
    const uint32_t type = kLittle.u32(window_->data());
    if (type == kPcapngSection && !section()) return Found::end;
    const uint64_t length = order_.u32(window_->data() + 4);
    if (length < kFrameBytes || length % 4 != 0 || length > kMaxRecordBytes) {
      damaged(fmt::format("a block claims {} bytes", length));
      return Found::end;
    }
    const auto seen = static_cast<size_t>(std::min<uint64_t>(length, InputWindow::kBytes));
    if (window_->ensure(seen) < seen) {
      is_over_ = true;
      ended_with(1);
      return Found::end;
    }
    const uint8_t* body = window_->data() + 8;
    if (seen == length && order_.u32(window_->data() + length - 4) != length) {
      damaged("the two lengths of a block differ");
      return Found::end;
    }
    pending_ = length;
    return contents(order_.u32(window_->data()), body,
                    static_cast<size_t>(std::min<uint64_t>(length - kFrameBytes, seen - 8)),
                    length - kFrameBytes, record);
  }

  // `size` bytes of the body are at hand, of `whole`.
  Found contents(uint32_t type, const uint8_t* body, size_t size, uint64_t whole,
                 CaptureRecord* record) {
    switch (type) {
      case kPcapngSection:
        return Found::nothing;
      case kInterfaceBlock:
        return interface(body, size) ? Found::nothing : Found::end;
      case kEnhancedPacketBlock:
      case kOldPacketBlock:
        return packet(type, body, size, whole, record);
      case kSimplePacketBlock:
        return simple_packet(body, size, whole, record);
      case kStatisticsBlock:
        if (size >= 12) statistics(body, size);
        return Found::nothing;
      default:
        ++counters_.blocks_skipped;
        return Found::nothing;
    }
  }

  bool section() {
    if (window_->ensure(12) < 12) {
      is_over_ = true;
      return ended_with(1);
    }
    const uint8_t* magic = window_->data() + 8;
    if (kLittle.u32(magic) != kByteOrderMagic && kBig.u32(magic) != kByteOrderMagic) {
      return damaged("a section has no byte order");
    }
    order_.is_big = kBig.u32(magic) == kByteOrderMagic;
    first_interface_ += static_cast<uint32_t>(interfaces_.size());
    interfaces_.clear();
    return true;
  }

  template <class F>
  void options(const uint8_t* at, const uint8_t* end, F f) {
    while (end - at >= 4) {
      const uint16_t code = order_.u16(at), size = order_.u16(at + 2);
      const size_t padded = (size_t{size} + 3) / 4 * 4;
      at += 4;
      if (code == kOptionEnd || static_cast<size_t>(end - at) < size) return;
      f(code, at, size);
      if (static_cast<size_t>(end - at) < padded) return;
      at += padded;
    }
  }

  bool interface(const uint8_t* body, size_t size) {
    if (size < 8) return damaged("an interface is described in too few bytes");
    if (interfaces_.size() == kMaxInterfaces) return damaged("more than 4,096 interfaces");
    Interface added;
    added.link_type = order_.u16(body);
    added.snap_bytes = order_.u32(body + 4);
    options(body + 8, body + size, [&](uint16_t code, const uint8_t* value, size_t length) {
      if (code == kIfTsResol && length >= 1) added.resolution = value[0];
      if (code == kIfTsOffset && length >= 8) {
        added.offset_s = static_cast<int64_t>(order_.u64(value));
      }
    });
    interfaces_.push_back(added);
    return true;
  }

  void statistics(const uint8_t* body, size_t size) {
    const uint32_t number = order_.u32(body);
    if (number >= interfaces_.size()) return;
    uint64_t dropped = 0;
    options(body + 12, body + size, [&](uint16_t code, const uint8_t* value, size_t length) {
      if ((code == kIsbIfDrop || code == kIsbOsDrop) && length >= 8) dropped += order_.u64(value);
    });
    Interface& from = interfaces_[number];
    const uint64_t before = from.dropped();
    from.dropped_in_all = std::max(from.dropped_in_all, dropped);
    counters_.dropped += from.dropped() - before;
  }

  void dropped_before(uint32_t number, uint64_t count) {
    Interface& from = interfaces_[number];
    const uint64_t before = from.dropped();
    from.dropped_before_packets += std::min(count, UINT64_MAX - from.dropped_before_packets);
    counters_.dropped += from.dropped() - before;
  }

  Found packet(uint32_t type, const uint8_t* body, size_t size, uint64_t whole,
               CaptureRecord* record) {
    constexpr size_t kHead = 20;
    if (whole < kHead) {
      damaged("a packet block is too short");
      return Found::end;
    }
    const bool is_old = type == kOldPacketBlock;
    const uint32_t number = is_old ? order_.u16(body) : order_.u32(body);
    const uint64_t captured = order_.u32(body + 12);
    if (captured > whole - kHead || number >= interfaces_.size()) {
      damaged(captured > whole - kHead ? "a packet is longer than its block"
                                       : "a packet of an interface that is not described");
      return Found::end;
    }
    if (is_old) {
      const uint16_t drops = order_.u16(body + 2);
      if (drops != 0xffff) dropped_before(number, drops);
    } else if (size == whole) {
      const size_t padded = static_cast<size_t>((captured + 3) / 4 * 4);
      if (kHead + padded < size) {
        options(body + kHead + padded, body + size,
                [&](uint16_t code, const uint8_t* value, size_t length) {
                  if (code == kEpbDropCount && length >= 8)
                    dropped_before(number, order_.u64(value));
                });
      }
    }
    const Interface& from = interfaces_[number];
    const uint64_t units = uint64_t{order_.u32(body + 4)} << 32 | order_.u32(body + 8);
    record->has_time = true;
    const auto ns = static_cast<uint64_t>(to_ns(units, from.resolution));
    record->time_ns =
        static_cast<int64_t>(ns + static_cast<uint64_t>(from.offset_s) * 1'000'000'000);
    fill(record, number, body + kHead, size - kHead, captured, order_.u32(body + 16));
    return Found::record;
  }

  Found simple_packet(const uint8_t* body, size_t size, uint64_t whole, CaptureRecord* record) {
    if (whole < 4 || interfaces_.empty()) {
      damaged(whole < 4 ? "a packet block is too short"
                        : "a packet of an interface that is not described");
      return Found::end;
    }
    const uint64_t original = order_.u32(body);
    uint64_t captured = std::min<uint64_t>(original, whole - 4);
    if (interfaces_[0].snap_bytes != 0) {
      captured = std::min<uint64_t>(captured, interfaces_[0].snap_bytes);
    }
    record->has_time = false;
    record->time_ns = 0;
    ++counters_.records_without_time;
    fill(record, 0, body + 4, size - 4, captured, original);
    return Found::record;
  }

  void fill(CaptureRecord* record, uint32_t number, const uint8_t* data, size_t at_hand,
            uint64_t captured, uint64_t original) {
    record->link_type = interfaces_[number].link_type;
    record->is_big_endian = order_.is_big;
    record->interface = first_interface_ + number;
    record->data = data;
    record->size = static_cast<size_t>(std::min<uint64_t>({captured, at_hand, kMaxKeptBytes}));
    record->original_size = std::max(original, captured);
    ++counters_.records;
    counters_.records_cut += original > captured ? 1 : 0;
    counters_.records_too_long += captured > record->size ? 1 : 0;
  }

  ByteOrder order_;
  uint32_t first_interface_ = 0;
  std::vector<Interface> interfaces_;
};

}  // namespace

std::unique_ptr<CaptureReader> make_pcapng_reader(std::unique_ptr<InputWindow> window) {
  return std::make_unique<PcapngReader>(std::move(window));
}

}  // namespace millrace::capture
