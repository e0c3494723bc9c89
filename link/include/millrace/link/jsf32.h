// SPDX-License-Identifier: Apache-2.0
// JSF32, the generator of spec/classic_stream.md: Bob Jenkins' small PRNG, two-rotate variant.
#pragma once

#include <cstdint>

namespace millrace::link {

class Jsf32 {
 public:
  // The state after the 20 discarded rounds: the first next() returns output number 0.
  explicit constexpr Jsf32(uint32_t seed) : a_(0xf1ea5eed), b_(seed), c_(seed), d_(seed) {
    for (int i = 0; i < 20; ++i) next();
  }

  // Advances by one step and returns the output.
  constexpr uint32_t next() {
    const uint32_t e = a_ - rotate_left(b_, 27);
    a_ = b_ ^ rotate_left(c_, 17);
    b_ = c_ + d_;
    c_ = d_ + e;
    d_ = e + a_;
    return d_;
  }

  // Undoes the last next(). Before output 0 it runs on into the discarded rounds, harmlessly.
  constexpr void step_back() {
    const uint32_t e = d_ - a_;
    const uint32_t d = c_ - e;
    const uint32_t c = b_ - d;
    const uint32_t b = a_ ^ rotate_left(c, 17);
    a_ = e + rotate_left(b, 27);
    b_ = b;
    c_ = c;
    d_ = d;
  }

  // The output that the last next() returned.
  constexpr uint32_t current() const { return d_; }

 private:
  static constexpr uint32_t rotate_left(uint32_t x, int k) { return (x << k) | (x >> (32 - k)); }

  uint32_t a_, b_, c_, d_;
};

}  // namespace millrace::link
