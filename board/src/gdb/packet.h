// SPDX-License-Identifier: Apache-2.0
// The framing of gdb's remote protocol: $payload#checksum, acknowledgements, Ctrl-C, hex digits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace millrace::board::gdb {

// Of a payload, in both directions, before escaping: what qSupported announces.
inline constexpr size_t kMaxPacket = 0x4000;

enum class PacketEvent : uint8_t {
  none,       // more bytes are needed
  packet,     // payload() is complete, escapes undone
  ack,        // '+'
  nak,        // '-'
  interrupt,  // 0x03 between packets
  damaged,    // checksum wrong: asks to be sent again
  oversized,  // longer than kMaxPacket; not kept
};

class PacketDecoder {
 public:
  PacketEvent put(uint8_t byte);
  // REQUIRES: the last event was `packet`.
  const std::string& payload() const { return payload_; }
  // Checksums are not looked at (no-acknowledgement mode).
  void ignore_checksums(bool on) { ignore_checksums_ = on; }
  void reset();

 private:
  enum class State : uint8_t { outside, payload, escaped, first_digit, second_digit };

  PacketEvent put_payload(uint8_t byte);
  PacketEvent finish(int digit);
  void keep(uint8_t byte);

  State state_ = State::outside;
  std::string payload_;
  uint8_t sum_ = 0;
  int first_digit_ = 0;
  bool oversized_ = false;
  bool ignore_checksums_ = false;
};

// "$payload#xx", with '}', '#', '$' and '*' escaped.
std::string framed(std::string_view payload);

int hex_digit(char c);  // -1: none
std::string to_hex(std::span<const uint8_t> bytes);
std::string to_hex(std::string_view text);
// Of a whole even number of digits, else nothing.
std::optional<std::string> from_hex(std::string_view digits);

// Takes apart the arguments of a packet, left to right. After a failure everything fails.
class Arguments {
 public:
  explicit Arguments(std::string_view text) : rest_(text) {}

  // 1 to 8 hex digits.
  uint32_t hex32();
  // The next character must be `c`.
  void expect(char c);
  bool at(char c) const { return !rest_.empty() && rest_.front() == c; }
  // Everything not taken yet.
  std::string_view rest() const { return rest_; }
  bool ok() const { return ok_; }
  // Nothing failed and nothing is left.
  bool complete() const { return ok_ && rest_.empty(); }

 private:
  void fail() {
    ok_ = false;
    rest_ = {};
  }
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace millrace::board::gdb
