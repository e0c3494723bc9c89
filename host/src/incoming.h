// SPDX-License-Identifier: Apache-2.0
// Takes received bytes apart into control messages and what stands between them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "millrace/link/control_message.h"

namespace millrace::host {

class Incoming {
 public:
  struct Item {
    enum class Kind { none, message, other } kind = Kind::none;
    link::Message message;             // kind message
    std::span<const uint8_t> other{};  // kind other: bytes that belong to no message
  };

  void append(std::span<const uint8_t> bytes);
  // The next message or run of other bytes; none: all is taken, or what is left could be the start
  // of a message. Pointers are valid until the next append().
  Item next();
  // Everything not taken yet; it is taken by that. Valid until the next append().
  std::span<const uint8_t> take_rest();

 private:
  std::vector<uint8_t> bytes_;
  size_t taken_ = 0;
};

}  // namespace millrace::host
