// SPDX-License-Identifier: Apache-2.0
// bmRequestType and bRequest of requests that several of the host's drivers send
// (USB 2.0 9.3, 9.4).
#pragma once

#include <cstdint>

namespace millrace::board {

inline constexpr uint8_t kToInterface = 0x01, kToEndpoint = 0x02;
inline constexpr uint8_t kClassToInterface = 0x21, kClassFromInterface = 0xA1;
inline constexpr uint8_t kClearFeature = 1;  // of an endpoint: ENDPOINT_HALT is feature 0
inline constexpr uint8_t kGetDescriptor = 6;

}  // namespace millrace::board
