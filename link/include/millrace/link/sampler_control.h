// SPDX-License-Identifier: Apache-2.0
// Requests to the sampler of a target and their replies, as spec/sampler_control.md has them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::link {

inline constexpr uint16_t kSamplerPort = 4244;
inline constexpr uint8_t kSamplerMagic[4] = {0xF3, 0x4D, 0x52, 0x53};
inline constexpr uint8_t kSamplerVersion = 1;
inline constexpr size_t kSamplerHeaderBytes = 12;
inline constexpr size_t kSamplerRequestBytes = 24;  // the longest
inline constexpr size_t kSamplerStatusBytes = 120;
inline constexpr size_t kSamplerReadBytes = 20;  // and 4 a word
inline constexpr size_t kSamplerReadWords = 256;
inline constexpr size_t kSamplerReplyBytes = kSamplerReadBytes + 4 * kSamplerReadWords;
inline constexpr size_t kSamplerIdentityBytes = 32;
// Words that a reply of 240 bytes holds: the payload of a control message.
inline constexpr uint16_t kSamplerMessageWords = (240 - kSamplerReadBytes) / 4;

// What a record has; the bits are those of the sample file's mode.
inline constexpr uint8_t kSamplerPc = 0;
inline constexpr uint8_t kSamplerCallers = 3;  // PC, LR, exception number
inline constexpr uint16_t kSamplerMaxJitter = 500;
// Words of a record; 0: no such mode.
constexpr uint32_t sampler_record_words(uint8_t mode) {
  return mode == kSamplerPc ? 1 : mode == kSamplerCallers ? 3 : 0;
}

enum class SamplerCommand : uint8_t { info = 0, start = 1, stop = 2, read = 3 };

enum class [[nodiscard]] SamplerStatusCode : uint8_t{
    ok = 0, unknown_command = 1, cut_short = 2, mode = 3, interval = 4, jitter = 5,
};

enum class SamplerState : uint8_t { empty = 0, sampling = 1, stopped = 2 };

struct SamplerRequest {
  SamplerCommand command = SamplerCommand::info;
  uint32_t tag = 0;
  // start
  uint8_t mode = kSamplerPc;
  uint16_t jitter_permille = 250;
  uint32_t interval_ns = 0;
  uint32_t seed = 0;
  // read
  uint32_t first_word = 0;
  uint16_t words = 0;
};

struct SamplerStatus {
  SamplerState state = SamplerState::empty;
  uint8_t mode = kSamplerPc;
  uint16_t jitter_permille = 0;
  uint32_t capacity_words = 0;
  uint32_t stored_words = 0;
  uint32_t core_khz = 0;
  uint32_t interval_cycles = 0;
  uint32_t least_interval_ns = 0;
  uint32_t most_interval_ns = 0;
  uint64_t lost = 0;
  uint64_t overruns = 0;
  uint64_t run_cycles = 0;
  uint64_t handler_cycles = 0;
  uint64_t events = 0;
  uint32_t run_number = 0;
  uint32_t identity_bytes = 0;  // at most kSamplerIdentityBytes
  uint8_t identity[kSamplerIdentityBytes] = {};
};

// What a header says; of a reply with the result ok, `body` and `body_size` are what follows it.
struct SamplerReply {
  SamplerCommand command = SamplerCommand::info;
  SamplerStatusCode result = SamplerStatusCode::ok;
  uint32_t tag = 0;
  const uint8_t* body = nullptr;
  size_t body_size = 0;
};

struct SamplerWords {
  uint32_t first_word = 0;
  uint16_t words = 0;
  uint16_t run_number = 0;        // lower 16 bits
  const uint8_t* data = nullptr;  // 4 bytes a word, little-endian
};

// Returns the bytes written.
size_t encode_sampler_request(const SamplerRequest& request, uint8_t (&out)[kSamplerRequestBytes]);

// False: no request of this version, not to be answered. Else *result says whether it is whole;
// command and tag are right in any case, a command that is not known stays as it came.
bool decode_sampler_request(const uint8_t* data, size_t size, SamplerRequest* request,
                            SamplerStatusCode* result);

// Each returns the bytes written, `out` has room for as many: kSamplerHeaderBytes,
// kSamplerStatusBytes, and kSamplerReadBytes + 4 * count. REQUIRES: count <= kSamplerReadWords.
size_t encode_sampler_refusal(SamplerCommand command, uint32_t tag, SamplerStatusCode result,
                              uint8_t* out);
size_t encode_sampler_status(SamplerCommand command, uint32_t tag, const SamplerStatus& status,
                             uint8_t* out);
size_t encode_sampler_words(uint32_t tag, uint32_t first_word, uint16_t run_number,
                            const uint32_t* words, uint16_t count, uint8_t* out);

bool decode_sampler_reply(const uint8_t* data, size_t size, SamplerReply* reply);
// Of the body of a reply to info, start, stop; of one to read. False: too short, or nonsense.
bool decode_sampler_status(const SamplerReply& reply, SamplerStatus* status);
bool decode_sampler_words(const SamplerReply& reply, SamplerWords* words);

}  // namespace millrace::link
