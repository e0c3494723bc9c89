// SPDX-License-Identifier: Apache-2.0
// Makes commands of the bytes from the host: probes, control messages, classic handshakes and
// acknowledgements. What is none of these is foreign: counted, and the first bytes kept.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/link/classic_stream.h"
#include "millrace/link/control_message.h"

namespace millrace::firmware {

// What the bytes can be, by what the device does.
enum class ParseMode : uint8_t {
  idle,         // probe, messages, handshakes
  classic_run,  // probe, messages; a handshake is kept until the run has ended
  classic_ack,  // probe; every byte is an acknowledgement
  run,          // probe, messages, and 0x06 as far as acknowledgements are outstanding
};

struct Command {
  enum class Kind : uint8_t { probe, message, handshake, ack };
  Kind kind = Kind::probe;
  link::Message message;  // points into the parser, valid until its next call
  link::Handshake handshake;
};

class CommandParser {
 public:
  // No device has frames as large as a text (`AT+G`, at least 0x09000000) read as a frame size.
  static constexpr uint32_t kMaxFrameBytes = 16u << 20;
  static constexpr uint64_t kSilenceUs = 500'000;  // an incomplete handshake is dropped
  static constexpr uint64_t kHoldUs = 50'000;      // see command_parser.cc
  static constexpr size_t kKeptForeign = 16;

  // Call push() for a byte, then next() until it returns false; `now_us` never goes back. A change
  // of mode applies to the bytes from the next next() on.
  void push(uint8_t byte, uint64_t now_us);
  bool next(Command* out, uint64_t now_us);
  // For OUT streams, whose bytes are not commands: looks only for the probe. Returns the number of
  // bytes up to and including the end of one (next() then returns it), or 0 if there is none.
  size_t scan_for_probe(const uint8_t* data, size_t size);
  // Applies the silence; call it once a loop, then next().
  void tick(uint64_t now_us);

  // `acks`: 0x06 bytes that count as acknowledgements in modes run and idle (those of the last
  // frames of a run that has ended come late).
  void set_mode(ParseMode mode, uint32_t acks);
  void set_expected_acks(uint32_t acks) { expected_acks_ = acks; }
  uint32_t expected_acks() const { return expected_acks_; }
  // Forgets what is incomplete and the acknowledgements that are outstanding.
  void reset();

  // Starts counting foreign bytes anew.
  void forget_foreign();

  bool has_pending() const { return size_ > consumed_; }
  uint32_t foreign_bytes() const { return foreign_bytes_; }
  const uint8_t (&first_foreign() const)[kKeptForeign] { return first_foreign_; }
  uint32_t dropped_handshakes() const { return dropped_handshakes_; }

 private:
  enum class Step : uint8_t { again, wait, found };

  Step step(Command* out, uint64_t now_us);
  Step step_between_messages(Command* out, size_t sync_at, uint64_t now_us);
  Step step_handshake(Command* out);
  size_t find_sync() const;
  size_t probe_tail() const;
  void drop(size_t bytes);
  void drop_foreign(size_t bytes);
  void count_foreign(const uint8_t* data, size_t size);

  ParseMode mode_ = ParseMode::idle;
  link::ProbeMatcher matcher_;
  bool probe_ready_ = false;
  bool resync_ = false;  // bytes are foreign until a message, a probe or silence
  uint32_t expected_acks_ = 0;
  uint64_t last_byte_us_ = 0;
  size_t consumed_ = 0;  // bytes of the last command, still in the buffer
  size_t size_ = 0;
  uint8_t buffer_[link::kMaxMessage + link::kProbeBytes];
  uint32_t foreign_bytes_ = 0;
  uint8_t first_foreign_[kKeptForeign] = {};
  uint32_t dropped_handshakes_ = 0;
};

}  // namespace millrace::firmware
