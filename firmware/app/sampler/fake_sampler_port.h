// SPDX-License-Identifier: Apache-2.0
// A sampler's timer in memory, and a sampler over it, for tests.
#pragma once

#include <cstdint>
#include <vector>

#include "firmware/app/sampler/sampler.h"

namespace millrace::firmware {

inline constexpr uint32_t kCyclesPerTick = 25;  // 600 MHz, 24 MHz

// A timer that loads a distance when it runs out, as the PIT does.
class FakeSamplerPort final : public SamplerPort {
 public:
  uint32_t cycles() override { return now; }
  uint32_t core_khz() override { return 600'000; }
  uint32_t timer_khz() override { return 24'000; }
  void start_timer(uint32_t first_ticks, uint32_t second_ticks) override {
    running = true;
    current = first_ticks;
    load = second_ticks;
  }
  void stop_timer() override { running = false; }
  uint32_t entropy() override { return 12345; }
  uint32_t events() override { return event_count; }
  size_t build_id(uint8_t* out, size_t room) override {
    if (room < 3) return 0;
    for (uint8_t i = 0; i < 3; ++i) out[i] = static_cast<uint8_t>(i + 7);
    return 3;
  }

  bool running = false;
  uint32_t current = 0, load = 0;
  uint32_t now = 1'000'000;
  uint32_t event_count = 40;
};

// With a buffer of 600 words.
struct SamplerFixture {
  SamplerFixture() : sampler(port, memory, buffer.data(), static_cast<uint32_t>(buffer.size())) {}

  std::vector<uint8_t> request(const link::SamplerRequest& what) const {
    uint8_t wire[link::kSamplerRequestBytes];
    const size_t size = link::encode_sampler_request(what, wire);
    return {wire, wire + size};
  }
  std::vector<uint8_t> request(link::SamplerCommand command) const {
    link::SamplerRequest what;
    what.command = command;
    what.tag = 0xcafe0001;
    what.interval_ns = 100'000;
    what.words = 1000;
    return request(what);
  }

  FakeSamplerPort port;
  SamplerMemory memory;
  std::vector<uint32_t> buffer = std::vector<uint32_t>(600, 0x60001234);
  Sampler sampler;
};

}  // namespace millrace::firmware
