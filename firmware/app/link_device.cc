// SPDX-License-Identifier: Apache-2.0
// The demonstration streams are those of spec/classic_stream.md: JSF32, one frame of 1 MiB after
// the other, generated straight into the ring that is sent from. Commands are text lines on stream
// 1:
//   source BYTES [seed N] [rate BYTES_PER_S] [drop]   sends so many bytes on stream 0, then END
//   sink [seed N]       verifies what comes on stream 0 and says at its END how much was wrong
//   echo                returns on stream 0 what comes on stream 0 (so it begins)
//   info                says how much memory there is
#include "firmware/app/link_device.h"

#include <string.h>

namespace millrace::firmware {
namespace {

constexpr uint32_t kFrameBytes = 1u << 20;
constexpr uint32_t kIdleUs = 1'000;
// More is a clock that went back by a little, which must not end every timeout at once.
constexpr uint32_t kLongestPollUs = UINT32_MAX / 2;
constexpr uint32_t kDropBlock = 512;
constexpr uint32_t kDropBurst = 4096;

link::StreamShape shape(uint32_t seed) { return {seed, kFrameBytes, 0xFFFFFFFF}; }

link::SenderOptions sender_options(uint8_t stream, const char* name, uint8_t priority,
                                   uint32_t payload, uint32_t unit) {
  link::SenderOptions o;
  o.stream = stream;
  o.name = name;
  o.priority = priority;
  o.max_payload = payload;
  o.unit_bytes = unit;
  return o;
}

// The next word of a line, ended with 0; *line moves behind it. Null: none.
char* next_word(char** line) {
  char* p = *line;
  while (*p == ' ') ++p;
  if (*p == 0) return nullptr;
  char* word = p;
  while (*p != 0 && *p != ' ') ++p;
  if (*p != 0) *p++ = 0;
  *line = p;
  return word;
}

bool same(const char* a, const char* b) {
  size_t i = 0;
  while (a[i] != 0 && a[i] == b[i]) ++i;
  return a[i] == b[i];
}

bool parse_number(const char* text, uint64_t* out) {
  if (text == nullptr || *text == 0) return false;
  uint64_t value = 0;
  for (; *text != 0; ++text) {
    if (*text < '0' || *text > '9' || value > UINT64_MAX / 20) return false;
    value = value * 10 + static_cast<uint64_t>(*text - '0');
  }
  *out = value;
  return true;
}

}  // namespace

LinkDevice::LinkDevice(Port& port, const LinkDeviceOptions& options)
    : port_(port),
      options_(options),
      data_(options.data,
            sender_options(kLinkData, "data", 1, options.max_payload, options.unit_bytes)),
      text_(options.text, sender_options(kLinkText, "text", 0, 256, 1)),
      data_in_(options.data_in, kLinkData),
      text_in_(options.text_in, kLinkText),
      senders_{&data_, &text_},
      receivers_{&data_in_, &text_in_},
      peer_(
          [this] {
            link::LinkOptions o;
            const PortInfo info = port_.info();
            o.senders = senders_;
            o.sender_count = 2;
            o.receivers = receivers_;
            o.receiver_count = 2;
            o.random = random;
            o.random_context = this;
            o.device_name = info.board;
            o.boot_counter = info.boot_counter;
            return o;
          }(),
          options.scan_buffer, options.scan_bytes),
      cursor_(shape(0)) {
  last_now_us_ = port_.now_us();
}

uint32_t LinkDevice::random(void* context) {
  return static_cast<LinkDevice*>(context)->port_.entropy();
}

void LinkDevice::link_lost() { peer_.port_lost(); }

void LinkDevice::poll() {
  const uint32_t now = port_.now_us();
  const uint32_t passed = now - last_now_us_;  // modulo 2^32: right across the wrap
  if (passed <= kLongestPollUs) now_us_ += passed;
  last_now_us_ = now;
  bool worked = receive();
  if (session_ != peer_.session()) {
    session_ = peer_.session();
    mode_ = Mode::echo;
    line_size_ = 0;
  }
  if (options_.demo && run_demo()) worked = true;
  peer_.poll(now_us_);
  if (send()) worked = true;
  if (worked) return;
  const uint64_t wait = peer_.wakeup_us(now_us_) - now_us_;
  port_.idle(wait < kIdleUs ? static_cast<uint32_t>(wait) : kIdleUs);
}

bool LinkDevice::receive() {
  size_t room = 0;
  uint8_t* space = peer_.space(&room);
  const size_t got = port_.read(space, room);
  if (got > 0) peer_.received(got <= room ? got : room, now_us_);
  return got > 0;
}

bool LinkDevice::send() {
  bool worked = false;
  while (true) {
    const link::OutputBytes out = peer_.output(now_us_);
    if (out.size == 0) break;
    const size_t taken = port_.write(out.data, out.size);
    peer_.sent(taken, now_us_);
    if (taken > 0) worked = unflushed_ = true;
    if (taken < out.size) return worked;
  }
  // Nothing more to send at the moment: the last bytes shall not wait for a full packet.
  if (unflushed_) port_.flush();
  unflushed_ = false;
  return worked;
}

// --- The demonstration ---

bool LinkDevice::run_demo() {
  bool worked = read_command();
  switch (mode_) {
    case Mode::none:
      break;
    case Mode::source:
      worked = run_source() || worked;
      break;
    case Mode::sink:
      worked = run_sink() || worked;
      break;
    case Mode::echo:
      worked = run_echo() || worked;
      break;
  }
  return worked;
}

bool LinkDevice::read_command() {
  // An answer takes at most one frame; without room for it the command waits.
  if (text_.free_bytes() < 128) return false;
  const link::Chunk chunk = text_in_.peek();
  if (chunk.kind == link::ChunkKind::none) return false;
  if (chunk.kind != link::ChunkKind::data) {
    text_in_.consume(0);
    return true;
  }
  size_t used = 0;
  while (used < chunk.size) {
    const char c = static_cast<char>(chunk.data[used++]);
    if (c == '\n') {
      line_[line_size_] = 0;
      line_size_ = 0;
      on_command(line_);
      break;
    }
    if (line_size_ + 1 < sizeof(line_)) line_[line_size_++] = c;
  }
  text_in_.consume(used);
  return true;
}

void LinkDevice::say(const char* text, uint64_t number) {
  char digits[21];
  size_t at = sizeof(digits) - 1;
  digits[at] = 0;
  do {
    digits[--at] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number > 0);
  (void)text_.write(reinterpret_cast<const uint8_t*>(text), strlen(text), now_us_);
  (void)text_.write(reinterpret_cast<const uint8_t*>(digits + at), strlen(digits + at), now_us_);
  const uint8_t newline = '\n';
  (void)text_.write(&newline, 1, now_us_);
  text_.end_of_message();
}

void LinkDevice::on_command(char* line) {
  const char* word = next_word(&line);
  if (word == nullptr) return;
  uint64_t bytes = 0, seed = 42, rate = 0;
  bool good = true;
  const bool source = same(word, "source");
  const bool sink = same(word, "sink");
  if (source) good = parse_number(next_word(&line), &bytes);
  bool drop = false;
  for (char* option = next_word(&line); good && option != nullptr; option = next_word(&line)) {
    if (same(option, "drop")) {
      drop = true;
    } else if (same(option, "seed")) {
      good = parse_number(next_word(&line), &seed) && seed <= UINT32_MAX;
    } else if (same(option, "rate")) {
      good = parse_number(next_word(&line), &rate) && rate <= UINT32_MAX;
    } else {
      good = false;
    }
  }
  if (!good || !(source || sink || same(word, "echo") || same(word, "info"))) {
    say("error: source BYTES [seed N] [rate N] [drop], sink [seed N], echo, info; version ", 1);
    return;
  }
  if (same(word, "info")) {
    say("ring bytes ", data_.ring_bytes());
    return;
  }
  mode_ = source ? Mode::source : sink ? Mode::sink : Mode::echo;
  cursor_ = link::StreamCursor(shape(static_cast<uint32_t>(seed)));
  sunk_ = sink_wrong_ = sourced_ = 0;
  source_left_ = bytes;
  rate_bytes_per_s_ = static_cast<uint32_t>(rate);
  may_drop_ = drop;
  source_start_us_ = now_us_;
  say(source ? "source " : sink ? "sink " : "echo ", bytes);
}

bool LinkDevice::run_source() {
  if (source_left_ == 0) {
    if (data_.ended() || !data_.end()) return false;
    return true;
  }
  uint64_t budget = source_left_;
  if (rate_bytes_per_s_ != 0) {
    // 16.16 fixed point would lose bytes over hours; a product of 64 bits does not for 10 days.
    const uint64_t due = (now_us_ - source_start_us_) * rate_bytes_per_s_ / 1'000'000;
    if (due <= sourced_) return false;
    if (due - sourced_ < budget) budget = due - sourced_;
  }
  const uint64_t before = source_left_;
  while (budget > 0) {
    size_t piece = 0;
    if (may_drop_) {
      uint8_t block[kDropBlock];
      piece = budget < kDropBlock ? static_cast<size_t>(budget) : kDropBlock;
      cursor_.read(block, piece);
      (void)data_.write_or_drop(block, piece, now_us_);
    } else {
      uint8_t* to = data_.reserve(&piece);
      if (to == nullptr) break;
      if (piece > budget) piece = static_cast<size_t>(budget);
      cursor_.read(to, piece);
      data_.commit(piece, now_us_);
    }
    budget -= piece;
    source_left_ -= piece;
    sourced_ += piece;
    // A producer that neither waits nor has a rate must let the port have its turn.
    if (may_drop_ && rate_bytes_per_s_ == 0 && before - source_left_ >= kDropBurst) break;
  }
  return source_left_ != before;
}

bool LinkDevice::run_sink() {
  const link::Chunk chunk = data_in_.peek();
  if (chunk.kind == link::ChunkKind::none) return false;
  if (chunk.kind == link::ChunkKind::end) {
    if (text_.free_bytes() < 256) return false;
    data_in_.consume(0);
    say("sunk ", sunk_);
    say("wrong ", sink_wrong_);
    mode_ = Mode::none;
    return true;
  }
  if (chunk.kind == link::ChunkKind::gap) {
    cursor_.skip(chunk.gap_bytes);
    data_in_.consume(0);
    return true;
  }
  size_t right = 0;
  while (right < chunk.size) {
    right += cursor_.match(chunk.data + right, chunk.size - right);
    if (right == chunk.size) break;
    ++sink_wrong_;
    ++right;
    cursor_.skip(1);
  }
  sunk_ += chunk.size;
  data_in_.consume(chunk.size);
  return true;
}

bool LinkDevice::run_echo() {
  const link::Chunk chunk = data_in_.peek();
  if (chunk.kind == link::ChunkKind::none) return false;
  if (chunk.kind == link::ChunkKind::end) {
    if (!data_.end()) return false;
    data_in_.consume(0);
    return true;
  }
  if (chunk.kind == link::ChunkKind::gap) {
    data_in_.consume(0);
    return true;
  }
  const size_t taken = data_.write(chunk.data, chunk.size, now_us_);
  if (taken == chunk.size && chunk.end_of_message) data_.end_of_message();
  data_in_.consume(taken);
  return taken > 0;
}

}  // namespace millrace::firmware
