// SPDX-License-Identifier: Apache-2.0
#include "millrace/link/sampler_control.h"

#include <string.h>

#include "millrace/link/bytes.h"

namespace millrace::link {
namespace {

constexpr uint8_t kRequest = 1, kReply = 2;
constexpr size_t kStartBytes = 24, kReadRequestBytes = 20;

void write_header(uint8_t* out, uint8_t kind, SamplerCommand command, SamplerStatusCode result,
                  uint32_t tag) {
  memcpy(out, kSamplerMagic, sizeof(kSamplerMagic));
  out[4] = kSamplerVersion;
  out[5] = kind;
  out[6] = static_cast<uint8_t>(command);
  out[7] = static_cast<uint8_t>(result);
  store_le32(out + 8, tag);
}

bool has_header(const uint8_t* data, size_t size, uint8_t kind) {
  return size >= kSamplerHeaderBytes && memcmp(data, kSamplerMagic, sizeof(kSamplerMagic)) == 0 &&
         data[4] == kSamplerVersion && data[5] == kind;
}

}  // namespace

size_t encode_sampler_request(const SamplerRequest& request, uint8_t (&out)[kSamplerRequestBytes]) {
  write_header(out, kRequest, request.command, SamplerStatusCode::ok, request.tag);
  if (request.command == SamplerCommand::start) {
    out[12] = request.mode;
    out[13] = 0;
    store_le16(out + 14, request.jitter_permille);
    store_le32(out + 16, request.interval_ns);
    store_le32(out + 20, request.seed);
    return kStartBytes;
  }
  if (request.command == SamplerCommand::read) {
    store_le32(out + 12, request.first_word);
    store_le16(out + 16, request.words);
    store_le16(out + 18, 0);
    return kReadRequestBytes;
  }
  return kSamplerHeaderBytes;
}

bool decode_sampler_request(const uint8_t* data, size_t size, SamplerRequest* request,
                            SamplerStatusCode* result) {
  if (!has_header(data, size, kRequest)) return false;
  *request = SamplerRequest();
  request->command = static_cast<SamplerCommand>(data[6]);
  request->tag = load_le32(data + 8);
  *result = SamplerStatusCode::ok;
  switch (request->command) {
    case SamplerCommand::info:
    case SamplerCommand::stop:
      return true;
    case SamplerCommand::start:
      if (size < kStartBytes) {
        *result = SamplerStatusCode::cut_short;
        return true;
      }
      request->mode = data[12];
      request->jitter_permille = load_le16(data + 14);
      request->interval_ns = load_le32(data + 16);
      request->seed = load_le32(data + 20);
      if (sampler_record_words(request->mode) == 0) *result = SamplerStatusCode::mode;
      if (request->jitter_permille > kSamplerMaxJitter) *result = SamplerStatusCode::jitter;
      return true;
    case SamplerCommand::read:
      if (size < kReadRequestBytes) {
        *result = SamplerStatusCode::cut_short;
        return true;
      }
      request->first_word = load_le32(data + 12);
      request->words = load_le16(data + 16);
      return true;
  }
  *result = SamplerStatusCode::unknown_command;
  return true;
}

size_t encode_sampler_refusal(SamplerCommand command, uint32_t tag, SamplerStatusCode result,
                              uint8_t* out) {
  write_header(out, kReply, command, result, tag);
  return kSamplerHeaderBytes;
}

size_t encode_sampler_status(SamplerCommand command, uint32_t tag, const SamplerStatus& status,
                             uint8_t* out) {
  write_header(out, kReply, command, SamplerStatusCode::ok, tag);
  out[12] = static_cast<uint8_t>(status.state);
  out[13] = status.mode;
  store_le16(out + 14, status.jitter_permille);
  store_le32(out + 16, status.capacity_words);
  store_le32(out + 20, status.stored_words);
  store_le32(out + 24, status.core_khz);
  store_le32(out + 28, status.interval_cycles);
  store_le32(out + 32, status.least_interval_ns);
  store_le32(out + 36, status.most_interval_ns);
  store_le64(out + 40, status.lost);
  store_le64(out + 48, status.overruns);
  store_le64(out + 56, status.run_cycles);
  store_le64(out + 64, status.handler_cycles);
  store_le64(out + 72, status.events);
  store_le32(out + 80, status.run_number);
  const uint32_t bytes = status.identity_bytes > kSamplerIdentityBytes
                             ? static_cast<uint32_t>(kSamplerIdentityBytes)
                             : status.identity_bytes;
  store_le32(out + 84, bytes);
  memset(out + 88, 0, kSamplerIdentityBytes);
  memcpy(out + 88, status.identity, bytes);
  return kSamplerStatusBytes;
}

size_t encode_sampler_words(uint32_t tag, uint32_t first_word, uint16_t run_number,
                            const uint32_t* words, uint16_t count, uint8_t* out) {
  write_header(out, kReply, SamplerCommand::read, SamplerStatusCode::ok, tag);
  store_le32(out + 12, first_word);
  store_le16(out + 16, count);
  store_le16(out + 18, run_number);
  for (uint16_t i = 0; i < count; ++i)
    store_le32(out + kSamplerReadBytes + size_t{4} * i, words[i]);
  return kSamplerReadBytes + size_t{4} * count;
}

bool decode_sampler_reply(const uint8_t* data, size_t size, SamplerReply* reply) {
  if (!has_header(data, size, kReply)) return false;
  reply->command = static_cast<SamplerCommand>(data[6]);
  reply->result = static_cast<SamplerStatusCode>(data[7]);
  reply->tag = load_le32(data + 8);
  reply->body = data + kSamplerHeaderBytes;
  reply->body_size = size - kSamplerHeaderBytes;
  return true;
}

bool decode_sampler_status(const SamplerReply& reply, SamplerStatus* status) {
  if (reply.result != SamplerStatusCode::ok || reply.command == SamplerCommand::read ||
      reply.body_size < kSamplerStatusBytes - kSamplerHeaderBytes) {
    return false;
  }
  const uint8_t* data = reply.body - kSamplerHeaderBytes;
  *status = SamplerStatus();
  if (data[12] > 2 || sampler_record_words(data[13]) == 0 ||
      load_le32(data + 84) > kSamplerIdentityBytes) {
    return false;
  }
  status->state = static_cast<SamplerState>(data[12]);
  status->mode = data[13];
  status->jitter_permille = load_le16(data + 14);
  status->capacity_words = load_le32(data + 16);
  status->stored_words = load_le32(data + 20);
  status->core_khz = load_le32(data + 24);
  status->interval_cycles = load_le32(data + 28);
  status->least_interval_ns = load_le32(data + 32);
  status->most_interval_ns = load_le32(data + 36);
  status->lost = load_le64(data + 40);
  status->overruns = load_le64(data + 48);
  status->run_cycles = load_le64(data + 56);
  status->handler_cycles = load_le64(data + 64);
  status->events = load_le64(data + 72);
  status->run_number = load_le32(data + 80);
  status->identity_bytes = load_le32(data + 84);
  memcpy(status->identity, data + 88, kSamplerIdentityBytes);
  return status->stored_words <= status->capacity_words;
}

bool decode_sampler_words(const SamplerReply& reply, SamplerWords* words) {
  constexpr size_t kFixed = kSamplerReadBytes - kSamplerHeaderBytes;
  if (reply.result != SamplerStatusCode::ok || reply.command != SamplerCommand::read ||
      reply.body_size < kFixed) {
    return false;
  }
  words->first_word = load_le32(reply.body);
  words->words = load_le16(reply.body + 4);
  words->run_number = load_le16(reply.body + 6);
  words->data = reply.body + kFixed;
  return reply.body_size - kFixed >= size_t{4} * words->words;
}

}  // namespace millrace::link
