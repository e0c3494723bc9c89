// SPDX-License-Identifier: Apache-2.0
// Every timeout and every figure takes its time from the clock of the transport it is about, so
// that a transport may live in virtual time.
#pragma once

#include <cstdint>

namespace millrace::host {

class Clock {
 public:
  virtual ~Clock() = default;
  // Nanoseconds since some fixed point; never goes back.
  virtual int64_t now_ns() = 0;
  // Returns at `deadline_ns` or, in virtual time, after advancing to it.
  virtual void sleep_until(int64_t deadline_ns) = 0;
  // True: time passes only inside calls to the transport and sleep_until(); such a transport must
  // be used from one thread, and CPU shares mean nothing.
  virtual bool is_virtual() const = 0;
};

// The monotonic clock of this machine. Any thread.
Clock& system_clock();

}  // namespace millrace::host
