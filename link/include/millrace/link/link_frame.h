// SPDX-License-Identifier: Apache-2.0
// Frames of spec/link_protocol.md: constants, the header, and one struct with encode/decode a
// payload.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::link {

inline constexpr uint8_t kLinkSync0 = 0xD5;
inline constexpr uint8_t kLinkSync1 = 0x4C;
inline constexpr uint8_t kLinkVersion = 1;
inline constexpr size_t kLinkHeaderBytes = 16;
inline constexpr size_t kLinkTrailerBytes = 4;
inline constexpr size_t kLinkOverhead = kLinkHeaderBytes + kLinkTrailerBytes;
inline constexpr uint32_t kLinkMaxPayload = 65536;
inline constexpr uint8_t kLinkMaxStreams = 8;  // a direction
// Payload of everything but DATA; a receiver takes this much, whatever its limit for DATA.
inline constexpr uint32_t kLinkMaxControl = 768;

enum class FrameType : uint8_t {
  hello = 1,
  welcome = 2,
  notice = 3,
  data = 4,
  gap = 5,
  end = 6,
  ack = 7,
  probe = 8,
  bye = 9,
};

struct FrameHeader {
  FrameType type{};
  uint8_t stream = 0;
  bool from_host = false;
  bool end_of_message = false;
  uint32_t sequence = 0;
  uint32_t offset = 0;   // low 32 bits of the stream offset
  uint32_t payload = 0;  // bytes, 0..65,536
  size_t frame_bytes() const { return payload + kLinkOverhead; }
};

enum class [[nodiscard]] HeaderStatus : uint8_t{
    complete,       // 16 bytes with a right check
    need_more,      // could be the start of a header
    not_one,        // no header starts here
    other_version,  // sync and check are right, the version is not 1
};

// Looks for a header at data[0]; *out is set only when the result is complete.
HeaderStatus parse_header(const uint8_t* data, size_t size, FrameHeader* out);
// The version nibble of a header that parse_header() called other_version.
inline uint8_t header_version(const uint8_t* data) { return static_cast<uint8_t>(data[2] >> 4); }

// Writes the 16 bytes. REQUIRES: payload <= 65,536, and 1 or more with type data.
void encode_header(const FrameHeader& header, uint8_t* out);
// The CRC-32C of a frame's header and payload, before the session's tag is put on it.
uint32_t frame_crc(const uint8_t* frame, uint32_t payload);
// Header and trailer around a payload that stands at out + 16 already; returns the frame's size.
size_t finish_frame(const FrameHeader& header, uint32_t tag, uint8_t* out);

// --- HELLO, host to device; tag 0 ---
struct LinkHello {
  static constexpr size_t kBytes = 28;
  uint8_t version_min = kLinkVersion;
  uint8_t version_max = kLinkVersion;
  uint32_t nonce = 0;          // new for every attempt to connect; not 0
  uint32_t host_instance = 0;  // of the host program; not 0
  uint32_t session = 0;        // to go on with; 0: a new one
  uint32_t boot_id = 0;        // of the device at that time
  uint32_t max_payload = 0;    // largest DATA payload the host takes
};

// --- WELCOME, device to host; tag 0 ---
enum class WelcomeStatus : uint8_t {
  new_session = 0,      // as asked
  resumed = 1,          // as asked
  session_unknown = 2,  // not connected: the device has started anew, or another host came
};

struct LinkStreamEntry {
  static constexpr size_t kBytes = 36;
  uint8_t stream = 0;
  bool from_host = false;
  uint8_t priority = 0;  // 0 goes first
  bool ended = false;
  uint32_t unit_bytes = 1;    // a sample; gaps are whole units
  uint32_t buffer_bytes = 0;  // device to host: retransmit memory; host to device: credit
  uint16_t window_frames = 0;
  uint32_t max_payload = 0;     // on the wire 0 stands for 65,536
  uint32_t first_sequence = 0;  // device to host: oldest kept; host to device: next expected
  uint64_t first_offset = 0;
  char name[9] = {};  // always 0-terminated; 8 bytes on the wire
};

struct LinkWelcome {
  static constexpr size_t kFixedBytes = 60;
  static constexpr size_t kMaxBytes =
      kFixedBytes + size_t{2} * kLinkMaxStreams * LinkStreamEntry::kBytes;
  static_assert(kMaxBytes <= kLinkMaxControl, "a WELCOME is a control frame");
  uint8_t version = kLinkVersion;
  WelcomeStatus status = WelcomeStatus::new_session;
  uint8_t stream_count = 0;
  uint32_t nonce = 0;
  uint32_t host_instance = 0;
  uint32_t session = 0;       // not 0 unless unknown
  uint32_t tag = 0;           // of every later frame of this connection; not 0 unless unknown
  uint32_t boot_id = 0;       // random, drawn once a boot
  uint32_t boot_counter = 0;  // 0: the board cannot tell
  uint32_t max_payload = 0;   // largest DATA payload the device takes
  char device[29] = {};       // always 0-terminated; 28 bytes on the wire
  LinkStreamEntry streams[2 * kLinkMaxStreams];
};

// --- NOTICE, both ways; tag 0 ---
enum class NoticeCode : uint8_t {
  no_session = 1,     // frames came that belong to no session known here: say HELLO
  other_version = 2,  // version_min..version_max are spoken here
  frame_limit = 3,    // the limits of HELLO leave no room for a frame of the device
};

struct LinkNotice {
  static constexpr size_t kBytes = 4;
  NoticeCode code = NoticeCode::no_session;
  uint8_t version_min = kLinkVersion;
  uint8_t version_max = kLinkVersion;
};

// --- ACK, both ways ---
struct AckEntry {
  static constexpr size_t kFixedBytes = 16;
  static constexpr uint32_t kMaxWords = 16;  // 512 frames
  uint8_t stream = 0;
  uint8_t words = 0;                // of the bitmap
  uint16_t window_frames = 0;       // may be sent from `released` on
  uint32_t next = 0;                // all before it arrived
  uint32_t released = 0;            // all before it was taken by the application
  uint32_t credit = 0;              // bytes that may be sent, from the offset of `released` on
  uint32_t bitmap[kMaxWords] = {};  // bit i of word w: sequence next + 1 + 32 w + i arrived
};

// --- GAP, a record in a stream ---
struct GapRecord {
  static constexpr size_t kBytes = 32;
  uint64_t offset = 0;  // of the first byte that was lost
  uint64_t bytes = 0;
  uint64_t first_unit = 0;
  uint64_t last_unit = 0;
};

// Each decode returns false, and leaves *out alone, for what the specification does not allow.
// Encodes return the bytes written.
bool decode(const uint8_t* payload, size_t size, LinkHello* out);
bool decode(const uint8_t* payload, size_t size, LinkWelcome* out);
bool decode(const uint8_t* payload, size_t size, LinkNotice* out);
bool decode(const uint8_t* payload, size_t size, GapRecord* out);
size_t encode(const LinkHello& in, uint8_t* payload);
size_t encode(const LinkWelcome& in, uint8_t* payload);
size_t encode(const LinkNotice& in, uint8_t* payload);
size_t encode(const GapRecord& in, uint8_t* payload);

// ACK: the number of the newest probe heard (0: none), then entries one after the other.
// decode_ack_entry() reads the one at *at and moves behind it; false at the end or if malformed.
inline constexpr size_t kAckFixedBytes = 4;
bool decode_ack_entry(const uint8_t* payload, size_t size, size_t* at, AckEntry* out);
size_t encode_ack_entry(const AckEntry& in, uint8_t* out);

// a - b of sequence numbers and other counters that wrap at 2^32.
inline int32_t wrapped_difference(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b); }

}  // namespace millrace::link
