// SPDX-License-Identifier: Apache-2.0
// Documentation/usb/usbmon.rst, "Raw text data format":
//   ffff8f1c 3575914555 S Ci:1:001:0 s a3 00 0000 0003 0004 4 <
//   ffff8f1c 3575914560 C Ci:1:001:0 0 4 = 01050000
// URB tag, time in us, event, address, status word or setup packet, (iso descriptors,) length, data
// tag and data words.
#include "usbmon_text.h"

#include <charconv>

namespace millrace::capture {
namespace {

class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}
  std::string_view next() {
    const size_t begin = rest_.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) {
      rest_ = {};
      return {};
    }
    rest_.remove_prefix(begin);
    const size_t end = std::min(rest_.find_first_of(" \t\r"), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return word;
  }

 private:
  std::string_view rest_;
};

template <class T>
bool number(std::string_view text, T* value, int base = 10) {
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, *value, base);
  return !text.empty() && error == std::errc() && at == end;
}

bool transfer_of(char letter, TransferType* transfer) {
  switch (letter) {
    case 'Z':
      *transfer = TransferType::isochronous;
      return true;
    case 'I':
      *transfer = TransferType::interrupt;
      return true;
    case 'C':
      *transfer = TransferType::control;
      return true;
    case 'B':
      *transfer = TransferType::bulk;
      return true;
    default:
      return false;
  }
}

// Ci:1:001:0, or Ci:001:00 without a bus.
bool parse_address(std::string_view word, UrbEvent* event) {
  if (word.size() < 4 || word[2] != ':' || (word[1] != 'i' && word[1] != 'o')) return false;
  if (!transfer_of(word[0], &event->transfer)) return false;
  const uint8_t direction = word[1] == 'i' ? 0x80 : 0;
  unsigned parts[3] = {};
  size_t count = 0;
  word.remove_prefix(3);
  while (count < 3) {
    const size_t colon = std::min(word.find(':'), word.size());
    if (!number(word.substr(0, colon), &parts[count])) return false;
    ++count;
    if (colon == word.size()) {
      word = {};
      break;
    }
    word.remove_prefix(colon + 1);
  }
  if (count < 2 || !word.empty()) return false;
  const unsigned bus = count == 3 ? parts[0] : 0;
  const unsigned device = parts[count - 2], endpoint = parts[count - 1];
  if (bus > 0xffff || device > 127 || endpoint > 15) return false;
  event->bus = static_cast<uint16_t>(bus);
  event->device = static_cast<uint16_t>(device);
  event->endpoint = static_cast<uint8_t>(endpoint | direction);
  return true;
}

bool parse_setup(Words& words, UrbEvent* event) {
  static constexpr unsigned kDigits[] = {2, 2, 4, 4, 4};
  size_t at = 0;
  for (const unsigned digits : kDigits) {
    unsigned value = 0;
    const std::string_view word = words.next();
    if (word.size() != digits || !number(word, &value, 16)) return false;
    event->setup[at++] = static_cast<uint8_t>(value);
    if (digits == 4) event->setup[at++] = static_cast<uint8_t>(value >> 8);
  }
  event->has_setup = true;
  return true;
}

// -115, or with more numbers for interrupt and isochronous: -115:8:2934.
bool parse_status(std::string_view word, UrbEvent* event) {
  return number(word.substr(0, std::min(word.find(':'), word.size())), &event->status);
}

// An isochronous URB has the number of its descriptors and some of them: -18:0:1024.
std::string_view skip_descriptors(Words& words, std::string_view word) {
  unsigned count = 0;
  if (!number(word, &count)) return word;
  word = words.next();
  while (word.find(':') != std::string_view::npos) word = words.next();
  return word;
}

size_t parse_data(Words& words, uint8_t* bytes) {
  size_t size = 0;
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    for (size_t i = 0; i + 1 < word.size() && size < kMaxTextData; i += 2, ++size) {
      if (!number(word.substr(i, 2), &bytes[size], 16)) return size;
    }
  }
  return size;
}

}  // namespace

bool parse_usbmon_line(std::string_view line, UrbEvent* event) {
  thread_local uint8_t bytes[kMaxTextData];
  *event = UrbEvent();
  Words words(line);
  uint64_t time_us = 0;
  if (!number(words.next(), &event->id, 16) || !number(words.next(), &time_us)) return false;
  // Beyond what usbmon can write; multiplied by 1,000 it would not fit.
  if (time_us > UINT64_C(0xffffffffffff)) return false;
  event->time_ns = static_cast<int64_t>(time_us) * 1000;
  const std::string_view type = words.next();
  if (type == "S") {
    event->type = UrbEventType::submission;
  } else if (type == "C") {
    event->type = UrbEventType::completion;
  } else if (type == "E") {
    event->type = UrbEventType::refusal;
  } else {
    return false;
  }
  if (!parse_address(words.next(), event)) return false;
  const std::string_view status = words.next();
  if (status == "s") {
    if (!parse_setup(words, event)) return false;
  } else if (!parse_status(status, event)) {
    return false;
  }
  std::string_view word = words.next();
  if (event->transfer == TransferType::isochronous) word = skip_descriptors(words, word);
  if (!number(word, &event->length)) return false;
  if (words.next() == "=") {
    event->data_was_expected = true;
    event->data = bytes;
    event->size = std::min<size_t>(parse_data(words, bytes), event->length);
  }
  return true;
}

}  // namespace millrace::capture
