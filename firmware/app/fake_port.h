// SPDX-License-Identifier: Apache-2.0
// A Port in memory for tests: what it takes and when is scripted, and its clock stands still unless
// told otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "firmware/port/port.h"

namespace millrace::firmware {

class FakePort final : public Port {
 public:
  static constexpr size_t kEverything = ~size_t{0};

  // What the host sends.
  void host_sends(const std::string& bytes) { input += bytes; }

  size_t write(const uint8_t* data, size_t size) override {
    ++writes;
    largest_write = size > largest_write ? size : largest_write;
    size_t take = accept;
    if (!script.empty()) {
      take = script.front();
      script.pop_front();
    }
    if (take > size) take = size;
    output.append(reinterpret_cast<const char*>(data), take);
    clock_us += write_us;
    return take;
  }
  size_t read(uint8_t* data, size_t size) override {
    if (size > read_piece) size = read_piece;
    if (size > input.size()) size = input.size();
    input.copy(reinterpret_cast<char*>(data), size);
    input.erase(0, size);
    return size;
  }
  void flush() override { flushes.push_back(output.size()); }
  uint32_t now_us() override { return clock_us; }
  uint32_t entropy() override { return next_entropy++; }
  void idle(uint32_t max_us) override {
    ++idles;
    last_idle_us = max_us;
  }
  PortInfo info() override { return port_info; }

  std::string input;
  std::string output;
  std::vector<size_t> flushes;  // output.size() at each flush()
  std::deque<size_t> script;    // bytes that the next writes take
  size_t accept = kEverything;  // bytes that a write takes when the script is at its end
  size_t read_piece = kEverything;
  uint32_t clock_us = 0;
  uint32_t write_us = 0;  // that each write takes
  uint32_t next_entropy = 0x1000;
  uint32_t last_idle_us = 0;
  size_t writes = 0;
  size_t largest_write = 0;
  size_t idles = 0;
  PortInfo port_info{"fake", 480, 8192, 4096, 7};
};

}  // namespace millrace::firmware
