// SPDX-License-Identifier: Apache-2.0
// Three grammars share one byte stream and none of them has an escape: nine bytes of anything are a
// classic handshake. What keeps them apart:
//
// - The probe is looked for at every alignment, beside everything else. Bytes that could be the
//   start of one are held back before nine bytes are taken as a handshake: `AT\r` and then a probe
//   are three foreign bytes and a probe, not a handshake of both.
// - The four sync bytes start a message wherever they stand; their prefix is held back likewise.
// - A handshake whose last bytes happen to be such a prefix (acknowledge byte 'M' or 0xF1) is held
//   for 50 ms. A probe or a message comes in one write and is complete long before.
// - A handshake that asks for frames above 16 MiB is none, and neither is what follows: all is
//   foreign until a message, a probe or 500 ms of silence. Going on byte by byte instead would take
//   some nine bytes in the middle of a text for a handshake and send a stream that nobody wants.
#include "firmware/app/command_parser.h"

#include <string.h>

#include "millrace/link/bytes.h"

namespace millrace::firmware {
namespace {

// Where from `i` on the first byte of a probe stands, or `size`. Four bytes a step: in an OUT
// stream this sees every byte, and one at a time it took twice as long as the verifier.
size_t find_first_letter(const uint8_t* data, size_t i, size_t size) {
  constexpr uint32_t kLetter = 'M', kOnes = 0x01010101;
  for (; size - i >= 4; i += 4) {
    const uint32_t word = link::load_le32(data + i) ^ kLetter * kOnes;
    // Not 0 if and only if a byte of `word` is 0.
    if (((word - kOnes) & ~word & 0x80 * kOnes) != 0) break;
  }
  while (i < size && data[i] != kLetter) ++i;
  return i;
}

}  // namespace

void CommandParser::push(uint8_t byte, uint64_t now_us) {
  drop(consumed_);
  consumed_ = 0;
  last_byte_us_ = now_us;
  if (size_ == sizeof(buffer_)) {
    resync_ = true;
    drop_foreign(size_);
  }
  buffer_[size_++] = byte;
  if (!matcher_.push(byte)) return;
  if (size_ > link::kProbeBytes) count_foreign(buffer_, size_ - link::kProbeBytes);
  reset();
  probe_ready_ = true;
}

size_t CommandParser::scan_for_probe(const uint8_t* data, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    if (matcher_.matched() == 0) {
      i = find_first_letter(data, i, size);
      if (i == size) return 0;
    }
    if (!matcher_.push(data[i])) continue;
    reset();
    probe_ready_ = true;
    return i + 1;
  }
  return 0;
}

void CommandParser::set_mode(ParseMode mode, uint32_t acks) {
  mode_ = mode;
  expected_acks_ = acks;
}

void CommandParser::reset() {
  size_ = consumed_ = 0;
  resync_ = false;
  expected_acks_ = 0;
}

void CommandParser::tick(uint64_t now_us) {
  drop(consumed_);
  consumed_ = 0;
  if ((size_ == 0 && !resync_) || now_us - last_byte_us_ < kSilenceUs) return;
  resync_ = false;
  // A handshake that is complete is held or kept, not silent.
  const bool complete_handshake = mode_ != ParseMode::run && size_ >= link::kHandshakeBytes &&
                                  size_ - find_sync() < sizeof(link::kMessageSync);
  if (size_ == 0 || complete_handshake) return;
  if (mode_ == ParseMode::idle || mode_ == ParseMode::classic_run) ++dropped_handshakes_;
  drop_foreign(size_);
  matcher_.reset();
}

bool CommandParser::next(Command* out, uint64_t now_us) {
  drop(consumed_);
  consumed_ = 0;
  if (probe_ready_) {
    probe_ready_ = false;
    out->kind = Command::Kind::probe;
    return true;
  }
  Step result = Step::again;
  while (result == Step::again && size_ > 0) result = step(out, now_us);
  return result == Step::found;
}

CommandParser::Step CommandParser::step(Command* out, uint64_t now_us) {
  if (mode_ == ParseMode::classic_ack) {
    out->kind = Command::Kind::ack;
    consumed_ = 1;
    return Step::found;
  }
  const size_t sync_at = find_sync();
  if (sync_at > 0 || size_ < sizeof(link::kMessageSync)) {
    return step_between_messages(out, sync_at, now_us);
  }
  switch (link::parse_message(buffer_, size_, &out->message)) {
    case link::ParseStatus::complete:
      out->kind = Command::Kind::message;
      consumed_ = out->message.total_size;
      resync_ = false;
      return Step::found;
    case link::ParseStatus::need_more:
      return Step::wait;
    case link::ParseStatus::not_one:
      break;
  }
  // Its payload must not be taken for a handshake.
  if (mode_ != ParseMode::run) resync_ = true;
  drop_foreign(1);
  return Step::again;
}

// The buffer does not start with a whole sync; one, or a part of one at the end, is at `sync_at`.
CommandParser::Step CommandParser::step_between_messages(Command* out, size_t sync_at,
                                                         uint64_t now_us) {
  if (expected_acks_ > 0 && buffer_[0] == link::kAckByte && !resync_) {
    --expected_acks_;
    out->kind = Command::Kind::ack;
    consumed_ = 1;
    return Step::found;
  }
  const size_t probe_at = size_ - probe_tail();
  const size_t known_foreign = sync_at < probe_at ? sync_at : probe_at;
  if (resync_) {
    if (known_foreign == 0) return Step::wait;
    drop_foreign(known_foreign);
    return Step::again;
  }
  if (mode_ == ParseMode::run) {
    if (known_foreign == 0) return Step::wait;
    drop_foreign(1);
    return Step::again;
  }
  if (size_ - sync_at >= sizeof(link::kMessageSync)) {
    drop_foreign(sync_at);
    return Step::again;
  }
  if (size_ < link::kHandshakeBytes) return Step::wait;
  if (known_foreign < link::kHandshakeBytes && now_us - last_byte_us_ < kHoldUs) return Step::wait;
  return step_handshake(out);
}

CommandParser::Step CommandParser::step_handshake(Command* out) {
  if (mode_ == ParseMode::classic_run) {
    // One handshake is kept; more than that and the start of a probe is none.
    if (size_ <= link::kHandshakeBytes + link::kProbeBytes) return Step::wait;
    resync_ = true;
    return Step::again;
  }
  const link::Handshake handshake = link::decode_handshake(buffer_);
  if (handshake.frame_count > 0 && handshake.frame_size > kMaxFrameBytes) {
    resync_ = true;
    drop_foreign(1);
    return Step::again;
  }
  if (handshake.frame_count == 0 || handshake.frame_size == 0) {
    drop(link::kHandshakeBytes);
    return Step::again;
  }
  out->kind = Command::Kind::handshake;
  out->handshake = handshake;
  consumed_ = link::kHandshakeBytes;
  return Step::found;
}

// Where the sync bytes, or at the end of the buffer a part of them, start; size_ if nowhere.
size_t CommandParser::find_sync() const {
  for (size_t at = 0; at < size_; ++at) {
    const size_t left = size_ - at;
    const size_t compared = left < sizeof(link::kMessageSync) ? left : sizeof(link::kMessageSync);
    if (memcmp(buffer_ + at, link::kMessageSync, compared) == 0) return at;
  }
  return size_;
}

// Bytes at the end of the buffer that may be the start of a probe.
size_t CommandParser::probe_tail() const {
  return matcher_.matched() < size_ ? matcher_.matched() : size_;
}

void CommandParser::drop(size_t bytes) {
  size_ -= bytes;
  if (size_ > 0 && bytes > 0) memmove(buffer_, buffer_ + bytes, size_);
}

void CommandParser::drop_foreign(size_t bytes) {
  count_foreign(buffer_, bytes);
  drop(bytes);
}

void CommandParser::forget_foreign() {
  foreign_bytes_ = 0;
  memset(first_foreign_, 0, sizeof(first_foreign_));
}

void CommandParser::count_foreign(const uint8_t* data, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    if (foreign_bytes_ < kKeptForeign) first_foreign_[foreign_bytes_] = data[i];
    if (foreign_bytes_ < 0xffffffffu) ++foreign_bytes_;
  }
}

}  // namespace millrace::firmware
