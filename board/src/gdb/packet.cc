// SPDX-License-Identifier: Apache-2.0
#include "gdb/packet.h"

namespace millrace::board::gdb {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr uint8_t kInterrupt = 3;
constexpr uint8_t kEscapeBit = 0x20;

}  // namespace

void PacketDecoder::reset() {
  state_ = State::outside;
  ignore_checksums_ = false;
}

void PacketDecoder::keep(uint8_t byte) {
  if (payload_.size() == kMaxPacket) {
    oversized_ = true;
  } else {
    payload_ += static_cast<char>(byte);
  }
}

PacketEvent PacketDecoder::put(uint8_t byte) {
  switch (state_) {
    case State::outside:
      if (byte == '$') {
        state_ = State::payload;
        payload_.clear();
        sum_ = 0;
        oversized_ = false;
      }
      return byte == '+'          ? PacketEvent::ack
             : byte == '-'        ? PacketEvent::nak
             : byte == kInterrupt ? PacketEvent::interrupt
                                  : PacketEvent::none;
    case State::payload:
    case State::escaped:
      return put_payload(byte);
    case State::first_digit:
      first_digit_ = hex_digit(static_cast<char>(byte));
      state_ = State::second_digit;
      return PacketEvent::none;
    case State::second_digit:
      state_ = State::outside;
      return finish(hex_digit(static_cast<char>(byte)));
  }
  return PacketEvent::none;
}

PacketEvent PacketDecoder::put_payload(uint8_t byte) {
  if (byte == '$') {  // never inside a packet: the one before was cut off
    state_ = State::payload;
    payload_.clear();
    sum_ = 0;
    oversized_ = false;
    return PacketEvent::none;
  }
  if (byte == '#') {
    state_ = State::first_digit;
    return PacketEvent::none;
  }
  sum_ = static_cast<uint8_t>(sum_ + byte);
  if (state_ == State::escaped) {
    keep(byte ^ kEscapeBit);
    state_ = State::payload;
  } else if (byte == '}') {
    state_ = State::escaped;
  } else {
    keep(byte);
  }
  return PacketEvent::none;
}

PacketEvent PacketDecoder::finish(int digit) {
  const bool right = first_digit_ >= 0 && digit >= 0 && first_digit_ * 16 + digit == sum_;
  if (!right && !ignore_checksums_) return PacketEvent::damaged;
  return oversized_ ? PacketEvent::oversized : PacketEvent::packet;
}

std::string framed(std::string_view payload) {
  std::string out = "$";
  out.reserve(payload.size() + 8);
  for (const char c : payload) {
    if (c == '}' || c == '#' || c == '$' || c == '*') {
      out += '}';
      out += static_cast<char>(c ^ kEscapeBit);
    } else {
      out += c;
    }
  }
  uint8_t sum = 0;
  for (size_t i = 1; i < out.size(); ++i) sum = static_cast<uint8_t>(sum + out[i]);
  out += '#';
  out += kDigits[sum >> 4];
  out += kDigits[sum & 15];
  return out;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string to_hex(std::span<const uint8_t> bytes) {
  std::string out;
  out.reserve(2 * bytes.size());
  for (const uint8_t byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string to_hex(std::string_view text) {
  return to_hex(std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

std::optional<std::string> from_hex(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string out;
  out.reserve(digits.size() / 2);
  for (size_t i = 0; i < digits.size(); i += 2) {
    const int high = hex_digit(digits[i]);
    const int low = hex_digit(digits[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
  }
  return out;
}

uint32_t Arguments::hex32() {
  uint32_t value = 0;
  size_t digits = 0;
  for (; digits < rest_.size() && hex_digit(rest_[digits]) >= 0; ++digits) {
    if (value >> 28 != 0) {
      fail();
      return 0;
    }
    value = value << 4 | static_cast<uint32_t>(hex_digit(rest_[digits]));
  }
  if (digits == 0) {
    fail();
    return 0;
  }
  rest_.remove_prefix(digits);
  return value;
}

void Arguments::expect(char c) {
  if (!at(c)) {
    fail();
    return;
  }
  rest_.remove_prefix(1);
}

}  // namespace millrace::board::gdb
