// SPDX-License-Identifier: Apache-2.0
// A port in memory on the wall clock: what push() gave is read, then close_port() makes it gone.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "millrace/host/transport.h"

namespace millrace::host::testing {

class MemoryTransport final : public Transport {
 public:
  // push() and close_port() from any thread.
  void push(std::span<const uint8_t> bytes) {
    const std::lock_guard lock(mutex_);
    waiting_.insert(waiting_.end(), bytes.begin(), bytes.end());
    changed_.notify_all();
  }
  void close_port() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  // Bytes not read yet.
  size_t waiting() {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
  }

  IoResult read(std::span<uint8_t> into, int64_t deadline_ns) override {
    std::unique_lock lock(mutex_);
    const auto left =
        std::chrono::nanoseconds(std::max<int64_t>(0, deadline_ns - system_clock().now_ns()));
    changed_.wait_for(lock, left, [&] { return closed_ || !waiting_.empty(); });
    IoResult result;
    if (!waiting_.empty()) {
      const size_t n = std::min(into.size(), waiting_.size());
      std::copy_n(waiting_.begin(), n, into.begin());
      waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(n));
      result.kind = IoKind::done;
      result.size = n;
    } else if (closed_) {
      result.kind = IoKind::gone;
      result.error = {ErrorCode::gone, "memory: closed"};
    }
    return result;
  }
  IoResult write(std::span<const uint8_t> from, int64_t) override {
    IoResult result;
    result.kind = IoKind::done;
    result.size = from.size();
    return result;
  }
  Clock& clock() override { return system_clock(); }
  const PortIdentity& identity() const override { return identity_; }
  Result<ModemLines> modem_lines() override {
    return Error{ErrorCode::unsupported, "memory has no modem lines"};
  }
  Status set_modem_lines(std::optional<bool>, std::optional<bool>) override { return {}; }
  std::string settings() const override { return "in memory"; }

 private:
  PortIdentity identity_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<uint8_t> waiting_;
  bool closed_ = false;
};

}  // namespace millrace::host::testing
