// SPDX-License-Identifier: Apache-2.0
#include "millrace/link/control_message.h"

#include <string.h>

#include "millrace/link/bytes.h"
#include "millrace/link/crc32c.h"

namespace millrace::link {
namespace {

// `wire` bytes, 0-padded, into a string of wire + 1 characters, and back.
void load_text(const uint8_t* p, size_t wire, char* out) {
  memcpy(out, p, wire);
  out[wire] = 0;
}

void store_text(uint8_t* p, size_t wire, const char* in) {
  size_t i = 0;
  for (; i < wire && in[i] != 0; ++i) p[i] = static_cast<uint8_t>(in[i]);
  for (; i < wire; ++i) p[i] = 0;
}

bool known_type(uint8_t type) {
  return type >= static_cast<uint8_t>(MessageType::hello) &&
         type <= static_cast<uint8_t>(MessageType::sampler_reply);
}

}  // namespace

ParseStatus parse_message(const uint8_t* data, size_t size, Message* out) {
  for (size_t i = 0; i < size && i < sizeof(kMessageSync); ++i) {
    if (data[i] != kMessageSync[i]) return ParseStatus::not_one;
  }
  if (size > 4 && data[4] != kStreamVersion) return ParseStatus::not_one;
  if (size > 5 && !known_type(data[5])) return ParseStatus::not_one;
  if (size < kMessageHeaderBytes) return ParseStatus::need_more;
  const size_t payload_size = load_le16(data + 6);
  if (payload_size > kMaxPayload) return ParseStatus::not_one;
  const size_t total = payload_size + kMessageOverhead;
  if (size < total) return ParseStatus::need_more;
  if (load_le32(data + total - 4) != crc32c(data, total - 4)) return ParseStatus::not_one;
  out->type = static_cast<MessageType>(data[5]);
  out->payload = data + kMessageHeaderBytes;
  out->payload_size = payload_size;
  out->total_size = total;
  return ParseStatus::complete;
}

size_t encode_message(MessageType type, const uint8_t* payload, size_t payload_size, uint8_t* out,
                      size_t out_size) {
  const size_t total = payload_size + kMessageOverhead;
  if (payload_size > kMaxPayload || out_size < total) return 0;
  memcpy(out, kMessageSync, sizeof(kMessageSync));
  out[4] = kStreamVersion;
  out[5] = static_cast<uint8_t>(type);
  store_le16(out + 6, static_cast<uint16_t>(payload_size));
  if (payload_size > 0) memcpy(out + kMessageHeaderBytes, payload, payload_size);
  store_le32(out + total - 4, crc32c(out, total - 4));
  return total;
}

bool decode(const uint8_t* p, size_t size, Hello* out) {
  if (size < Hello::kBytes) return false;
  out->version = p[0];
  out->capabilities = p[1];
  out->max_window_frames = load_le16(p + 2);
  out->session_id = load_le32(p + 4);
  out->boot_counter = load_le32(p + 8);
  out->usb_speed_mbit = load_le32(p + 12);
  out->tx_buffer_bytes = load_le32(p + 16);
  out->rx_buffer_bytes = load_le32(p + 20);
  load_text(p + 24, 24, out->firmware_name);
  load_text(p + 48, 16, out->firmware_version);
  load_text(p + 64, 24, out->board);
  out->max_frame_bytes = load_le32(p + 88);
  return true;
}

void encode(const Hello& in, uint8_t (&p)[Hello::kBytes]) {
  p[0] = in.version;
  p[1] = in.capabilities;
  store_le16(p + 2, in.max_window_frames);
  store_le32(p + 4, in.session_id);
  store_le32(p + 8, in.boot_counter);
  store_le32(p + 12, in.usb_speed_mbit);
  store_le32(p + 16, in.tx_buffer_bytes);
  store_le32(p + 20, in.rx_buffer_bytes);
  store_text(p + 24, 24, in.firmware_name);
  store_text(p + 48, 16, in.firmware_version);
  store_text(p + 64, 24, in.board);
  store_le32(p + 88, in.max_frame_bytes);
}

bool decode(const uint8_t* p, size_t size, RunRequest* out) {
  if (size < RunRequest::kBytes) return false;
  if (p[8] < 1 || p[8] > 3) return false;
  out->session_id = load_le32(p);
  out->run_id = load_le32(p + 4);
  out->direction = static_cast<Direction>(p[8]);
  out->discard_mode = (p[9] & 1) != 0;
  out->window_frames = load_le16(p + 10);
  out->frame_size = load_le32(p + 12);
  out->frame_count = load_le32(p + 16);
  out->seed = load_le32(p + 20);
  out->counters_interval_ms = load_le32(p + 24);
  out->discard_after_ms = load_le32(p + 28);
  return true;
}

void encode(const RunRequest& in, uint8_t (&p)[RunRequest::kBytes]) {
  store_le32(p, in.session_id);
  store_le32(p + 4, in.run_id);
  p[8] = static_cast<uint8_t>(in.direction);
  p[9] = in.discard_mode ? 1 : 0;
  store_le16(p + 10, in.window_frames);
  store_le32(p + 12, in.frame_size);
  store_le32(p + 16, in.frame_count);
  store_le32(p + 20, in.seed);
  store_le32(p + 24, in.counters_interval_ms);
  store_le32(p + 28, in.discard_after_ms);
}

bool decode(const uint8_t* p, size_t size, Started* out) {
  if (size < Started::kBytes) return false;
  out->session_id = load_le32(p);
  out->run_id = load_le32(p + 4);
  out->status = static_cast<StartStatus>(p[8]);
  load_text(p + 9, 31, out->reason);
  return true;
}

void encode(const Started& in, uint8_t (&p)[Started::kBytes]) {
  store_le32(p, in.session_id);
  store_le32(p + 4, in.run_id);
  p[8] = static_cast<uint8_t>(in.status);
  store_text(p + 9, 31, in.reason);
}

bool decode(const uint8_t* p, size_t size, DeviceCounters* out) {
  if (size < DeviceCounters::kBytes) return false;
  out->session_id = load_le32(p);
  out->run_id = load_le32(p + 4);
  out->boot_counter = load_le32(p + 8);
  out->state = load_le32(p + 12);
  out->in_offered_bytes = load_le64(p + 16);
  out->in_accepted_bytes = load_le64(p + 24);
  out->in_discarded_bytes = load_le64(p + 32);
  out->short_writes = load_le32(p + 40);
  out->discards = load_le32(p + 44);
  out->longest_blocked_us = load_le32(p + 48);
  out->frames_sent = load_le32(p + 52);
  out->total_blocked_us = load_le64(p + 56);
  out->run_us = load_le64(p + 64);
  out->acks_received = load_le32(p + 72);
  out->out_frames = load_le32(p + 76);
  out->out_received_bytes = load_le64(p + 80);
  out->out_verified_bytes = load_le64(p + 88);
  out->out_lost_bytes = load_le64(p + 96);
  out->out_duplicated_bytes = load_le64(p + 104);
  out->out_inserted_bytes = load_le64(p + 112);
  out->out_altered_bytes = load_le64(p + 120);
  out->out_faults = load_le32(p + 128);
  out->out_first_fault_kind = load_le32(p + 132);
  out->out_first_fault_offset = load_le64(p + 136);
  out->foreign_bytes = load_le32(p + 144);
  memcpy(out->first_foreign, p + 148, 16);
  out->dropped_handshakes = load_le32(p + 164);
  return true;
}

void encode(const DeviceCounters& in, uint8_t (&p)[DeviceCounters::kBytes]) {
  store_le32(p, in.session_id);
  store_le32(p + 4, in.run_id);
  store_le32(p + 8, in.boot_counter);
  store_le32(p + 12, in.state);
  store_le64(p + 16, in.in_offered_bytes);
  store_le64(p + 24, in.in_accepted_bytes);
  store_le64(p + 32, in.in_discarded_bytes);
  store_le32(p + 40, in.short_writes);
  store_le32(p + 44, in.discards);
  store_le32(p + 48, in.longest_blocked_us);
  store_le32(p + 52, in.frames_sent);
  store_le64(p + 56, in.total_blocked_us);
  store_le64(p + 64, in.run_us);
  store_le32(p + 72, in.acks_received);
  store_le32(p + 76, in.out_frames);
  store_le64(p + 80, in.out_received_bytes);
  store_le64(p + 88, in.out_verified_bytes);
  store_le64(p + 96, in.out_lost_bytes);
  store_le64(p + 104, in.out_duplicated_bytes);
  store_le64(p + 112, in.out_inserted_bytes);
  store_le64(p + 120, in.out_altered_bytes);
  store_le32(p + 128, in.out_faults);
  store_le32(p + 132, in.out_first_fault_kind);
  store_le64(p + 136, in.out_first_fault_offset);
  store_le32(p + 144, in.foreign_bytes);
  memcpy(p + 148, in.first_foreign, 16);
  store_le32(p + 164, in.dropped_handshakes);
}

}  // namespace millrace::link
