// SPDX-License-Identifier: Apache-2.0
// Control messages of spec/stream.md: framing, and one struct with encode/decode a payload.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::link {

inline constexpr uint8_t kMessageSync[4] = {0xF1, 0x4D, 0x52, 0x5A};
inline constexpr uint8_t kStreamVersion = 1;
inline constexpr size_t kMessageHeaderBytes = 8;
inline constexpr size_t kMessageOverhead = kMessageHeaderBytes + 4;
inline constexpr size_t kMaxPayload = 240;
inline constexpr size_t kMaxMessage = kMaxPayload + kMessageOverhead;

enum class MessageType : uint8_t {
  hello = 1,
  run = 2,
  started = 3,
  report = 4,
  counters = 5,
  get_counters = 6,
  stop = 7,
  end = 8,
  sampler_request = 9,  // spec/sampler_control.md
  sampler_reply = 10,
};

enum class [[nodiscard]] ParseStatus : uint8_t{
    complete,   // a whole message with a right CRC stands at the start of the bytes
    need_more,  // what is there could be the start of one
    not_one,    // no message starts here
};

struct Message {
  MessageType type{};
  const uint8_t* payload = nullptr;  // into the bytes given to parse_message()
  size_t payload_size = 0;
  size_t total_size = 0;  // header, payload and CRC
};

// Looks for one message at data[0]; *out is set only when the result is complete.
ParseStatus parse_message(const uint8_t* data, size_t size, Message* out);

// Writes header and CRC around `payload`; returns the bytes written, 0 if payload_size is above
// kMaxPayload or `out_size` is too small. `payload` may be null when payload_size is 0.
size_t encode_message(MessageType type, const uint8_t* payload, size_t payload_size, uint8_t* out,
                      size_t out_size);

inline constexpr uint8_t kCanStreamOut = 1;
inline constexpr uint8_t kCanWindow = 2;
inline constexpr uint8_t kCanDiscard = 4;
inline constexpr uint8_t kCanCountDuringRun = 8;
inline constexpr uint8_t kHasSampler = 16;

struct Hello {
  static constexpr size_t kBytes = 92;
  uint8_t version = kStreamVersion;
  uint8_t capabilities = 0;
  uint16_t max_window_frames = 0;
  uint32_t session_id = 0;
  uint32_t boot_counter = 0;
  uint32_t usb_speed_mbit = 0;
  uint32_t tx_buffer_bytes = 0;
  uint32_t rx_buffer_bytes = 0;
  char firmware_name[25] = {};  // always 0-terminated; 24 bytes on the wire
  char firmware_version[17] = {};
  char board[25] = {};
  uint32_t max_frame_bytes = 0;
};

enum class Direction : uint8_t { in = 1, out = 2, both = 3 };

struct RunRequest {
  static constexpr size_t kBytes = 32;
  uint32_t session_id = 0;
  uint32_t run_id = 0;
  Direction direction = Direction::in;
  bool discard_mode = false;
  uint16_t window_frames = 0;
  uint32_t frame_size = 0;
  uint32_t frame_count = 0;
  uint32_t seed = 42;
  uint32_t counters_interval_ms = 0;
  uint32_t discard_after_ms = 0;
};

// A later version may have more: a receiver treats every value but `started` as a refusal.
enum class StartStatus : uint8_t {
  started = 0,
  wrong_session = 1,
  frame_size = 2,
  frame_count = 3,
  direction = 4,
  window = 5,
  flags = 6,
};

struct Started {
  static constexpr size_t kBytes = 40;
  uint32_t session_id = 0;
  uint32_t run_id = 0;
  StartStatus status = StartStatus::started;
  char reason[32] = {};  // always 0-terminated; 31 bytes on the wire
};

inline constexpr uint32_t kRunComplete = 1;
inline constexpr uint32_t kRunStopped = 2;
inline constexpr uint32_t kRunOutTimedOut = 4;
inline constexpr uint32_t kRunActive = 8;

struct DeviceCounters {
  static constexpr size_t kBytes = 168;
  uint32_t session_id = 0;
  uint32_t run_id = 0;
  uint32_t boot_counter = 0;
  uint32_t state = 0;
  uint64_t in_offered_bytes = 0;
  uint64_t in_accepted_bytes = 0;
  uint64_t in_discarded_bytes = 0;
  uint32_t short_writes = 0;
  uint32_t discards = 0;
  uint32_t longest_blocked_us = 0;
  uint32_t frames_sent = 0;
  uint64_t total_blocked_us = 0;
  uint64_t run_us = 0;
  uint32_t acks_received = 0;
  uint32_t out_frames = 0;
  uint64_t out_received_bytes = 0;
  uint64_t out_verified_bytes = 0;
  uint64_t out_lost_bytes = 0;
  uint64_t out_duplicated_bytes = 0;
  uint64_t out_inserted_bytes = 0;
  uint64_t out_altered_bytes = 0;
  uint32_t out_faults = 0;
  uint32_t out_first_fault_kind = 0;
  uint64_t out_first_fault_offset = 0;
  uint32_t foreign_bytes = 0;
  uint8_t first_foreign[16] = {};
  uint32_t dropped_handshakes = 0;
};

// Each decode returns false, and leaves *out alone, if `size` is below kBytes or a direction is not
// listed. Each encode fills exactly kBytes.
bool decode(const uint8_t* payload, size_t size, Hello* out);
bool decode(const uint8_t* payload, size_t size, RunRequest* out);
bool decode(const uint8_t* payload, size_t size, Started* out);
bool decode(const uint8_t* payload, size_t size, DeviceCounters* out);
void encode(const Hello& in, uint8_t (&payload)[Hello::kBytes]);
void encode(const RunRequest& in, uint8_t (&payload)[RunRequest::kBytes]);
void encode(const Started& in, uint8_t (&payload)[Started::kBytes]);
void encode(const DeviceCounters& in, uint8_t (&payload)[DeviceCounters::kBytes]);

}  // namespace millrace::link
