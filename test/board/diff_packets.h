// SPDX-License-Identifier: Apache-2.0
// Random instruction packets as one Thumb image that runs on the virtual core and on
// qemu-system-arm -M mps2-an500 alike.
#pragma once

#include <cstdint>
#include <vector>

namespace millrace::board::diff {

// The image's memory map; both machines have RAM here.
inline constexpr uint32_t kCode = 0x2000;
inline constexpr uint32_t kScratch = 0x20000000;  // what loads and stores touch
inline constexpr uint32_t kScratchBytes = 1024;   // the stack is in its upper half
inline constexpr uint32_t kStack = kScratch + 768;
inline constexpr uint32_t kVariables = 0x20001000;  // next record, semihosting blocks
inline constexpr uint32_t kRecords = 0x20010000;
// r0-r12, lr, APSR, SP, hash of the scratch area; with FP also FPSCR and s0-s31.
inline constexpr unsigned kRecordWords = 17;
inline constexpr unsigned kFpWords = 33;

struct Options {
  uint64_t seed = 1;
  unsigned packets = 1000;
  bool fp = false;
};

struct Image {
  std::vector<uint8_t> bytes;            // from address 0
  std::vector<uint32_t> packet_address;  // of each packet; one more: the end of the last
  uint64_t instructions = 0;             // generated; executed are a few less
  unsigned record_words = kRecordWords;
};

// The same options give the same image.
Image generate(const Options& options);

}  // namespace millrace::board::diff
