// SPDX-License-Identifier: Apache-2.0
// Names in a message may be cut short by a pointer to an earlier name (RFC 1035, 4.1.4). Only
// pointers backwards are followed, so that a name ends whatever the bytes are.
//
// A question for any other type of our name is answered with what types there are (NSEC, RFC 6762,
// 6.1): hosts ask for IPv4 and IPv6 at once, and would wait seconds for the second answer.
#include "firmware/app/echo/mdns_responder.h"

#include <string.h>

namespace millrace::firmware {
namespace {

constexpr size_t kHeader = 12;
constexpr uint16_t kTypeA = 1, kTypePtr = 12, kTypeNsec = 47, kTypeAny = 255;
constexpr uint16_t kClassIn = 1, kClassAny = 255, kTopBit = 0x8000;  // QU, or cache flush
constexpr uint32_t kTtlS = 120, kLegacyTtlS = 10;                    // RFC 6762, 10 and 6.7
constexpr size_t kMaxQuestions = 32;
constexpr size_t kMaxName = 64 + 7;  // label, "local", or a reversed address

// A name as it stands in a message: length, label, ..., 0.
struct WireName {
  uint8_t bytes[kMaxName];
  size_t size = 0;

  void label(const char* text, size_t length) {
    bytes[size++] = static_cast<uint8_t>(length);
    memcpy(bytes + size, text, length);
    size += length;
  }
  void number(uint32_t value) {
    char digits[3];
    size_t count = 0;
    if (value >= 100) digits[count++] = static_cast<char>('0' + value / 100);
    if (value >= 10) digits[count++] = static_cast<char>('0' + value / 10 % 10);
    digits[count++] = static_cast<char>('0' + value % 10);
    label(digits, count);
  }
  void end() { bytes[size++] = 0; }
};

WireName own_name(const NetworkConfig& config) {
  WireName name;
  size_t length = strlen(config.name);
  name.label(config.name, length < 63 ? length : 63);
  name.label("local", 5);
  name.end();
  return name;
}

WireName reverse_name(const NetworkConfig& config) {
  WireName name;
  for (unsigned shift = 0; shift < 32; shift += 8) name.number(config.address >> shift & 0xff);
  name.label("in-addr", 7);
  name.label("arpa", 4);
  name.end();
  return name;
}

uint8_t lower(uint8_t c) { return c >= 'A' && c <= 'Z' ? static_cast<uint8_t>(c + 32) : c; }

bool same_label(const uint8_t* a, const uint8_t* b) {
  if (*a != *b) return false;
  for (size_t i = 1; i <= *a; ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

// Whether the name at `at` is `name`; *next is set to what follows it. False with *next == 0: it is
// malformed.
bool match_name(const uint8_t* data, size_t size, size_t at, const WireName& name, size_t* next) {
  size_t own = 0;
  bool same = true;
  *next = 0;
  size_t follows = 0;
  size_t limit = at;  // pointers go to before this
  while (true) {
    if (at >= size) return false;
    const size_t length = data[at];
    if (length >= 0xc0) {
      if (at + 1 >= size) return false;
      const size_t target = (length & 0x3f) << 8 | data[at + 1];
      if (follows == 0) follows = at + 2;
      if (target >= limit) return false;
      limit = at = target;
      continue;
    }
    if (length > 63 || at + 1 + length > size) return false;
    same = same && own < name.size && same_label(data + at, name.bytes + own);
    if (same) own += 1 + length;
    at += 1 + length;
    if (length == 0) break;
  }
  *next = follows == 0 ? at : follows;
  return same && own == name.size;
}

class RecordWriter {
 public:
  RecordWriter(uint8_t* out, bool legacy) : out_(out), legacy_(legacy) {}

  void bytes(const void* data, size_t size) {
    memcpy(out_ + size_, data, size);
    size_ += size;
  }
  // Up to the length of the data, which is `data_size`.
  void record(const WireName& name, uint16_t type, size_t data_size) {
    bytes(name.bytes, name.size);
    uint8_t fixed[10];
    store_be16(fixed, type);
    store_be16(fixed + 2, legacy_ ? kClassIn : kClassIn | kTopBit);
    store_be32(fixed + 4, legacy_ ? kLegacyTtlS : kTtlS);
    store_be16(fixed + 8, static_cast<uint16_t>(data_size));
    bytes(fixed, sizeof(fixed));
    ++answers_;
  }
  size_t size() const { return size_; }
  unsigned answers() const { return answers_; }

 private:
  uint8_t* out_;
  bool legacy_;
  size_t size_ = kHeader;
  unsigned answers_ = 0;
};

struct Wanted {
  bool address = false;
  bool pointer = false;
  bool types_of_name = false;
  bool types_of_reverse = false;
};

// `type` and window block 0 of a bitmap with that type alone (RFC 4034, 4.1.2).
void write_nsec(RecordWriter& out, const WireName& name, uint16_t type) {
  uint8_t bitmap[2 + 2] = {0, static_cast<uint8_t>(type / 8 + 1), 0, 0};
  bitmap[2 + type / 8] = static_cast<uint8_t>(0x80 >> type % 8);
  const size_t bitmap_size = 2 + size_t{bitmap[1]};
  out.record(name, kTypeNsec, name.size + bitmap_size);
  out.bytes(name.bytes, name.size);
  out.bytes(bitmap, bitmap_size);
}

void write_answers(const NetworkConfig& config, const Wanted& wanted, RecordWriter& out) {
  const WireName name = own_name(config), reverse = reverse_name(config);
  if (wanted.address) {
    uint8_t address[4];
    store_be32(address, config.address);
    out.record(name, kTypeA, sizeof(address));
    out.bytes(address, sizeof(address));
  }
  if (wanted.pointer) {
    out.record(reverse, kTypePtr, name.size);
    out.bytes(name.bytes, name.size);
  }
  if (wanted.types_of_name) write_nsec(out, name, kTypeA);
  if (wanted.types_of_reverse) write_nsec(out, reverse, kTypePtr);
}

void write_header(uint8_t* out, uint16_t id, unsigned questions, unsigned answers) {
  memset(out, 0, kHeader);
  store_be16(out, id);
  store_be16(out + 2, 0x8400);  // an authoritative response
  store_be16(out + 4, questions);
  store_be16(out + 6, answers);
}

}  // namespace

MdnsReply answer_mdns(const NetworkConfig& config, const uint8_t* data, size_t size,
                      uint16_t source_port, uint8_t* out) {
  MdnsReply reply;
  if (size < kHeader || (load_be16(data + 2) & 0xf80f) != 0) return reply;  // a query, no error
  const size_t questions = load_be16(data + 4);
  const WireName name = own_name(config), reverse = reverse_name(config);
  // A plain resolver wants an answer as of a plain server, with its question (RFC 6762, 6.7).
  const bool legacy = source_port != kMdnsPort;
  Wanted wanted;
  bool all_unicast = true;
  bool any = false;
  uint8_t question[kMaxName + 4];
  size_t question_size = 0;
  size_t at = kHeader;
  for (size_t i = 0; i < questions && i < kMaxQuestions; ++i) {
    size_t next, next_again;
    const bool is_name = match_name(data, size, at, name, &next);
    const bool is_reverse = match_name(data, size, at, reverse, &next_again);
    if (next == 0 || next + 4 > size) break;
    const uint16_t type = load_be16(data + next);
    const uint16_t asked_class = load_be16(data + next + 2);
    const uint16_t bare_class = asked_class & 0x7fff;
    at = next + 4;
    if (!is_name && !is_reverse) continue;
    if (bare_class != kClassIn && bare_class != kClassAny) continue;
    any = true;
    if ((asked_class & kTopBit) == 0) all_unicast = false;
    const bool every = type == kTypeAny;
    if (is_name) ((type == kTypeA || every) ? wanted.address : wanted.types_of_name) = true;
    if (is_reverse) ((type == kTypePtr || every) ? wanted.pointer : wanted.types_of_reverse) = true;
    if (legacy && question_size == 0) {
      const WireName& asked = is_name ? name : reverse;
      memcpy(question, asked.bytes, asked.size);
      memcpy(question + asked.size, data + next, 4);
      question_size = asked.size + 4;
    }
    if (legacy) break;
  }
  if (!any) return reply;
  RecordWriter writer(out, legacy);
  writer.bytes(question, question_size);
  write_answers(config, wanted, writer);
  write_header(out, legacy ? load_be16(data) : uint16_t{0}, legacy ? 1 : 0, writer.answers());
  reply.size = writer.size();
  reply.unicast = legacy || all_unicast;
  return reply;
}

size_t write_mdns_announcement(const NetworkConfig& config, uint8_t* out) {
  Wanted wanted;
  wanted.address = wanted.pointer = true;
  RecordWriter writer(out, false);
  write_answers(config, wanted, writer);
  write_header(out, 0, 0, writer.answers());
  return writer.size();
}

}  // namespace millrace::firmware
