// SPDX-License-Identifier: Apache-2.0
// profile.proto by hand: six message types of varints and strings, which is less than what a
// protobuf library brings with it. The gzip frame (RFC 1952) has stored blocks only; every reader
// takes them, and a profile of a microcontroller is a few hundred KB.
#include <algorithm>
#include <array>
#include <map>

#include "millrace/profile/viewers.h"
#include "output/chains.h"

namespace millrace::profile {
namespace {

class Message {
 public:
  void number(uint32_t field, uint64_t value) {
    if (value == 0) return;  // proto3: the default is left out
    varint(uint64_t{field} << 3);
    varint(value);
  }
  void bytes(uint32_t field, const std::string& value) {
    varint(uint64_t{field} << 3 | 2);
    varint(value.size());
    data_ += value;
  }
  void message(uint32_t field, const Message& value) { bytes(field, value.data_); }
  void packed(uint32_t field, const std::vector<uint64_t>& values) {
    Message inner;
    for (const uint64_t value : values) inner.varint(value);
    bytes(field, inner.data_);
  }
  const std::string& data() const { return data_; }

 private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) data_ += static_cast<char>(value | 0x80);
    data_ += static_cast<char>(value);
  }
  std::string data_;
};

uint32_t crc32(const std::string& data) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> out{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1) != 0 ? 0xEDB88320u : 0);
      out[i] = value;
    }
    return out;
  }();
  uint32_t crc = 0xFFFFFFFF;
  for (const char c : data) crc = crc >> 8 ^ table[(crc ^ static_cast<uint8_t>(c)) & 0xFFu];
  return ~crc;
}

std::vector<uint8_t> gzip(const std::string& data) {
  constexpr size_t kBlock = 65535;
  std::vector<uint8_t> out = {0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255};
  const auto put = [&out](uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out.push_back(static_cast<uint8_t>(value >> 8 * i));
  };
  size_t at = 0;
  do {
    const size_t size = std::min(kBlock, data.size() - at);
    put(at + size == data.size() ? 1 : 0, 1);
    put(size, 2);
    put(~uint64_t{size}, 2);
    out.insert(out.end(), data.begin() + static_cast<ptrdiff_t>(at),
               data.begin() + static_cast<ptrdiff_t>(at + size));
    at += size;
  } while (at < data.size());
  put(crc32(data), 4);
  put(data.size(), 4);
  return out;
}

class PprofBuilder {
 public:
  PprofBuilder(ElfIndex* index, const Profile& profile) : index_(*index), chains_(index) {
    text("");
    const std::string unit = profile.unit == WeightUnit::samples ? "count" : "cycles";
    value_type(profile.unit == WeightUnit::samples ? "samples" : "cycles", unit);
    if (profile.has_stall) value_type("stall", unit);
    for (const StackSample& sample : profile.stacks) {
      Message one;
      std::vector<uint64_t> locations = {location(sample.pc)};
      for (const uint32_t caller : sample.callers) locations.push_back(location(caller - 2));
      if (sample.exception != 0) locations.push_back(exception(sample.exception));
      one.packed(1, locations);
      one.packed(2, profile.has_stall ? std::vector<uint64_t>{sample.weight, sample.stall}
                                      : std::vector<uint64_t>{sample.weight});
      root_.message(2, one);
    }
    mapping();
  }

  std::string finish() {
    Message texts;
    for (const std::string& one : strings_) texts.bytes(6, one);
    return root_.data() + rest_.data() + texts.data();
  }

 private:
  uint64_t text(const std::string& value) {
    const auto [it, is_new] = string_ids_.emplace(value, strings_.size());
    if (is_new) strings_.push_back(value);
    return it->second;
  }

  void value_type(const std::string& type, const std::string& unit) {
    Message one;
    one.number(1, text(type));
    one.number(2, text(unit));
    root_.message(1, one);
  }

  void mapping() {
    Message one;
    one.number(1, 1);
    one.number(2, 0);
    one.number(3, uint64_t{1} << 32);
    one.number(5, text(index_.path()));
    const Identity id = index_.build_id();
    std::string hex = id.text();
    if (id.kind != IdentityKind::none) one.number(6, text(hex.substr(hex.rfind(' ') + 1)));
    for (uint32_t field = 7; field <= 10; ++field) one.number(field, 1);
    root_.message(3, one);
  }

  uint64_t function(const NamedFrame& frame) {
    const auto [it, is_new] =
        functions_.emplace(std::make_pair(frame.name, frame.file), functions_.size() + 1);
    if (is_new) {
      Message one;
      one.number(1, it->second);
      one.number(2, text(frame.name));
      one.number(3, text(frame.name));
      one.number(4, text(frame.file));
      rest_.message(5, one);
    }
    return it->second;
  }

  uint64_t add_location(uint64_t key, uint32_t address, const std::vector<NamedFrame>& frames) {
    const auto [it, is_new] = locations_.emplace(key, locations_.size() + 1);
    if (!is_new) return it->second;
    Message one;
    one.number(1, it->second);
    one.number(2, 1);
    one.number(3, address);
    for (const NamedFrame& frame : frames) {
      Message line;
      line.number(1, function(frame));
      line.number(2, frame.line);
      one.message(4, line);
    }
    rest_.message(4, one);
    return it->second;
  }

  uint64_t location(uint32_t pc) { return add_location(pc, pc, chains_.at(pc)); }
  uint64_t exception(uint16_t number) {
    NamedFrame frame;
    frame.name = exception_name(number);
    return add_location(uint64_t{1} << 32 | number, 0, {frame});
  }

  ElfIndex& index_;
  Chains chains_;
  Message root_, rest_;
  std::vector<std::string> strings_;
  std::map<std::string, uint64_t> string_ids_;
  std::map<std::pair<std::string, std::string>, uint64_t> functions_;
  std::map<uint64_t, uint64_t> locations_;
};

}  // namespace

std::vector<uint8_t> pprof_file(ElfIndex* index, const Profile& profile) {
  return gzip(PprofBuilder(index, profile).finish());
}

}  // namespace millrace::profile
