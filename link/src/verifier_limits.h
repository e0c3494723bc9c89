// SPDX-License-Identifier: Apache-2.0
// Constants that the parts of the verifier share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::link {

// Window sizes at which a resynchronisation is tried. The first two fit the keys of find_nearest().
inline constexpr size_t kStages = 8;
inline constexpr size_t kStageBytes[kStages] = {6, 22, 64, 128, 256, 512, 1024, 2048};

// What stays in the window when foreign bytes are dropped: more than the longest message.
inline constexpr size_t kKeptBytes = 512;

inline constexpr uint64_t kHoldBytes = 4096;
inline constexpr uint64_t kHoldBytesAtStart = 262144;
inline constexpr uint64_t kSureJump = 512;

// Stream bytes that far searches may look through for each received byte, about 2 ns of work.
inline constexpr uint32_t kCreditPerByte = 4;

// How far back older data is looked for when whole cache lines are wrong.
inline constexpr uint64_t kOlderBytes = uint64_t{1} << 20;
inline constexpr uint32_t kLineBytes = 32;
// Fewer wrong bytes are no cache line of which some are equal by chance.
inline constexpr size_t kLeastLineBytes = 24;

// Fewer damaged bytes are not called text: 98 of 256 values are, so one in 18 runs of 3 is by
// chance.
inline constexpr size_t kLeastTextInPlace = 3;

}  // namespace millrace::link
