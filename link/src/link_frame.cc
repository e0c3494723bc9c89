// SPDX-License-Identifier: Apache-2.0
#include "millrace/link/link_frame.h"

#include <string.h>

#include "millrace/link/bytes.h"
#include "millrace/link/crc32c.h"

namespace millrace::link {
namespace {

constexpr uint8_t kFromHost = 0x10;
constexpr uint8_t kEndOfMessage = 0x20;
constexpr uint8_t kReservedFlags = 0xC0;
constexpr size_t kCheckedBytes = 14;

void load_text(const uint8_t* p, size_t wire, char* out) {
  memcpy(out, p, wire);
  out[wire] = 0;
}

void store_text(uint8_t* p, size_t wire, const char* in) {
  size_t i = 0;
  for (; i < wire && in[i] != 0; ++i) p[i] = static_cast<uint8_t>(in[i]);
  for (; i < wire; ++i) p[i] = 0;
}

// What a header may say: DATA of 0 bytes stands for 65,536; the others are small.
bool plausible(const FrameHeader& header) {
  switch (header.type) {
    case FrameType::data:
      return true;
    case FrameType::hello:
    case FrameType::welcome:
    case FrameType::notice:
    case FrameType::gap:
    case FrameType::end:
    case FrameType::ack:
    case FrameType::probe:
    case FrameType::bye:
      return header.payload <= kLinkMaxControl;
  }
  return false;
}

bool decode_entry(const uint8_t* p, LinkStreamEntry* out) {
  if (p[0] >= kLinkMaxStreams || (p[1] != 1 && p[1] != 2)) return false;
  out->stream = p[0];
  out->from_host = p[1] == 2;
  out->priority = p[2];
  out->ended = (p[3] & 1) != 0;
  out->unit_bytes = load_le32(p + 4);
  out->buffer_bytes = load_le32(p + 8);
  out->window_frames = load_le16(p + 12);
  out->max_payload = load_le16(p + 14);
  if (out->max_payload == 0) out->max_payload = kLinkMaxPayload;
  out->first_sequence = load_le32(p + 16);
  out->first_offset = load_le64(p + 20);
  load_text(p + 28, 8, out->name);
  return out->unit_bytes != 0 && out->window_frames != 0;
}

void encode_entry(const LinkStreamEntry& in, uint8_t* p) {
  p[0] = in.stream;
  p[1] = in.from_host ? 2 : 1;
  p[2] = in.priority;
  p[3] = in.ended ? 1 : 0;
  store_le32(p + 4, in.unit_bytes);
  store_le32(p + 8, in.buffer_bytes);
  store_le16(p + 12, in.window_frames);
  store_le16(p + 14, static_cast<uint16_t>(in.max_payload));
  store_le32(p + 16, in.first_sequence);
  store_le64(p + 20, in.first_offset);
  store_text(p + 28, 8, in.name);
}

}  // namespace

HeaderStatus parse_header(const uint8_t* data, size_t size, FrameHeader* out) {
  if (size > 0 && data[0] != kLinkSync0) return HeaderStatus::not_one;
  if (size > 1 && data[1] != kLinkSync1) return HeaderStatus::not_one;
  if (size < kLinkHeaderBytes) return HeaderStatus::need_more;
  const uint16_t check = static_cast<uint16_t>(crc32c_bulk(data, kCheckedBytes));
  if (load_le16(data + kCheckedBytes) != check) return HeaderStatus::not_one;
  if (header_version(data) != kLinkVersion) return HeaderStatus::other_version;
  if ((data[3] & kReservedFlags) != 0) return HeaderStatus::not_one;
  FrameHeader header;
  header.type = static_cast<FrameType>(data[2] & 15);
  header.stream = data[3] & 15;
  header.from_host = (data[3] & kFromHost) != 0;
  header.end_of_message = (data[3] & kEndOfMessage) != 0;
  header.sequence = load_le32(data + 4);
  header.offset = load_le32(data + 8);
  header.payload = load_le16(data + 12);
  if (header.type == FrameType::data && header.payload == 0) header.payload = kLinkMaxPayload;
  if (!plausible(header)) return HeaderStatus::not_one;
  *out = header;
  return HeaderStatus::complete;
}

void encode_header(const FrameHeader& header, uint8_t* out) {
  out[0] = kLinkSync0;
  out[1] = kLinkSync1;
  out[2] = static_cast<uint8_t>(kLinkVersion << 4 | static_cast<uint8_t>(header.type));
  out[3] = static_cast<uint8_t>(header.stream | (header.from_host ? kFromHost : 0) |
                                (header.end_of_message ? kEndOfMessage : 0));
  store_le32(out + 4, header.sequence);
  store_le32(out + 8, header.offset);
  store_le16(out + 12, static_cast<uint16_t>(header.payload));
  store_le16(out + kCheckedBytes, static_cast<uint16_t>(crc32c_bulk(out, kCheckedBytes)));
}

uint32_t frame_crc(const uint8_t* frame, uint32_t payload) {
  return crc32c_bulk(frame, kLinkHeaderBytes + payload);
}

size_t finish_frame(const FrameHeader& header, uint32_t tag, uint8_t* out) {
  encode_header(header, out);
  store_le32(out + kLinkHeaderBytes + header.payload, frame_crc(out, header.payload) ^ tag);
  return header.frame_bytes();
}

bool decode(const uint8_t* p, size_t size, LinkHello* out) {
  if (size < LinkHello::kBytes) return false;
  if (p[0] > p[1] || load_le32(p + 4) == 0 || load_le32(p + 8) == 0) return false;
  out->version_min = p[0];
  out->version_max = p[1];
  out->nonce = load_le32(p + 4);
  out->host_instance = load_le32(p + 8);
  out->session = load_le32(p + 12);
  out->boot_id = load_le32(p + 16);
  out->max_payload = load_le32(p + 20);
  return true;
}

size_t encode(const LinkHello& in, uint8_t* p) {
  memset(p, 0, LinkHello::kBytes);
  p[0] = in.version_min;
  p[1] = in.version_max;
  store_le32(p + 4, in.nonce);
  store_le32(p + 8, in.host_instance);
  store_le32(p + 12, in.session);
  store_le32(p + 16, in.boot_id);
  store_le32(p + 20, in.max_payload);
  return LinkHello::kBytes;
}

bool decode(const uint8_t* p, size_t size, LinkWelcome* out) {
  if (size < LinkWelcome::kFixedBytes) return false;
  const size_t count = p[2];
  if (p[0] != kLinkVersion || p[1] > 2 || count > size_t{2} * kLinkMaxStreams) return false;
  if (size < LinkWelcome::kFixedBytes + count * LinkStreamEntry::kBytes) return false;
  const bool connected = p[1] != static_cast<uint8_t>(WelcomeStatus::session_unknown);
  if (connected && (load_le32(p + 12) == 0 || load_le32(p + 16) == 0)) return false;
  LinkStreamEntry entry;
  for (size_t i = 0; i < count; ++i) {
    if (!decode_entry(p + LinkWelcome::kFixedBytes + i * LinkStreamEntry::kBytes, &entry)) {
      return false;
    }
  }
  for (size_t i = 0; i < count; ++i) {
    (void)decode_entry(p + LinkWelcome::kFixedBytes + i * LinkStreamEntry::kBytes,
                       &out->streams[i]);
  }
  out->version = p[0];
  out->status = static_cast<WelcomeStatus>(p[1]);
  out->stream_count = static_cast<uint8_t>(count);
  out->nonce = load_le32(p + 4);
  out->host_instance = load_le32(p + 8);
  out->session = load_le32(p + 12);
  out->tag = load_le32(p + 16);
  out->boot_id = load_le32(p + 20);
  out->boot_counter = load_le32(p + 24);
  out->max_payload = load_le32(p + 28);
  load_text(p + 32, 28, out->device);
  return true;
}

size_t encode(const LinkWelcome& in, uint8_t* p) {
  p[0] = in.version;
  p[1] = static_cast<uint8_t>(in.status);
  p[2] = in.stream_count;
  p[3] = 0;
  store_le32(p + 4, in.nonce);
  store_le32(p + 8, in.host_instance);
  store_le32(p + 12, in.session);
  store_le32(p + 16, in.tag);
  store_le32(p + 20, in.boot_id);
  store_le32(p + 24, in.boot_counter);
  store_le32(p + 28, in.max_payload);
  store_text(p + 32, 28, in.device);
  for (size_t i = 0; i < in.stream_count; ++i) {
    encode_entry(in.streams[i], p + LinkWelcome::kFixedBytes + i * LinkStreamEntry::kBytes);
  }
  return LinkWelcome::kFixedBytes + in.stream_count * LinkStreamEntry::kBytes;
}

bool decode(const uint8_t* p, size_t size, LinkNotice* out) {
  if (size < LinkNotice::kBytes || p[0] < 1 || p[0] > 3) return false;
  out->code = static_cast<NoticeCode>(p[0]);
  out->version_min = p[1];
  out->version_max = p[2];
  return true;
}

size_t encode(const LinkNotice& in, uint8_t* p) {
  p[0] = static_cast<uint8_t>(in.code);
  p[1] = in.version_min;
  p[2] = in.version_max;
  p[3] = 0;
  return LinkNotice::kBytes;
}

bool decode(const uint8_t* p, size_t size, GapRecord* out) {
  if (size < GapRecord::kBytes || load_le64(p + 8) == 0) return false;
  out->offset = load_le64(p);
  out->bytes = load_le64(p + 8);
  out->first_unit = load_le64(p + 16);
  out->last_unit = load_le64(p + 24);
  return out->bytes < uint64_t{1} << 63 && out->offset < uint64_t{1} << 63;
}

size_t encode(const GapRecord& in, uint8_t* p) {
  store_le64(p, in.offset);
  store_le64(p + 8, in.bytes);
  store_le64(p + 16, in.first_unit);
  store_le64(p + 24, in.last_unit);
  return GapRecord::kBytes;
}

bool decode_ack_entry(const uint8_t* payload, size_t size, size_t* at, AckEntry* out) {
  if (size < *at || size - *at < AckEntry::kFixedBytes) return false;
  const uint8_t* p = payload + *at;
  const size_t words = p[1];
  if (p[0] >= kLinkMaxStreams || words > AckEntry::kMaxWords) return false;
  const size_t bytes = AckEntry::kFixedBytes + 4 * words;
  if (size - *at < bytes) return false;
  out->stream = p[0];
  out->words = p[1];
  out->window_frames = load_le16(p + 2);
  out->next = load_le32(p + 4);
  out->released = load_le32(p + 8);
  out->credit = load_le32(p + 12);
  for (size_t i = 0; i < words; ++i) out->bitmap[i] = load_le32(p + 16 + 4 * i);
  *at += bytes;
  return true;
}

size_t encode_ack_entry(const AckEntry& in, uint8_t* p) {
  p[0] = in.stream;
  p[1] = in.words;
  store_le16(p + 2, in.window_frames);
  store_le32(p + 4, in.next);
  store_le32(p + 8, in.released);
  store_le32(p + 12, in.credit);
  for (size_t i = 0; i < in.words; ++i) store_le32(p + 16 + 4 * i, in.bitmap[i]);
  return AckEntry::kFixedBytes + 4 * size_t{in.words};
}

}  // namespace millrace::link
