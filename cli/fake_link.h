// SPDX-License-Identifier: Apache-2.0
// An endpoint that opens nothing and a runner that invents results: for tests of what stands above
// run_serial().
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/link_options.h"

namespace millrace::cli {

class FakeClock final : public host::Clock {
 public:
  int64_t now_ns() override { return now_; }
  void sleep_until(int64_t deadline_ns) override { now_ = std::max(now_, deadline_ns); }
  bool is_virtual() const override { return true; }

 private:
  int64_t now_ = 0;
};

class FakeTransport final : public host::Transport {
 public:
  explicit FakeTransport(host::Clock& clock) : clock_(clock) {}
  host::IoResult read(std::span<uint8_t>, int64_t) override { return {}; }
  host::IoResult write(std::span<const uint8_t>, int64_t) override { return {}; }
  host::Clock& clock() override { return clock_; }
  const host::PortIdentity& identity() const override { return identity_; }
  host::Result<host::ModemLines> modem_lines() override { return host::ModemLines{}; }
  host::Status set_modem_lines(std::optional<bool>, std::optional<bool>) override { return {}; }
  std::string settings() const override { return "fake"; }

 private:
  host::Clock& clock_;
  host::PortIdentity identity_;
};

class FakeEndpoint final : public host::Endpoint {
 public:
  const std::string& name() const override { return name_; }
  host::Clock& clock() override { return clock_; }
  host::Result<std::unique_ptr<host::Transport>> open(const host::OpenOptions&) override {
    return std::unique_ptr<host::Transport>(std::make_unique<FakeTransport>(clock_));
  }
  host::Result<std::unique_ptr<host::Transport>> reopen(const host::OpenOptions& options,
                                                        int64_t) override {
    return open(options);
  }

 private:
  std::string name_ = "fake:";
  FakeClock clock_;
};

// Passes every run at `bytes_per_s` unless `alter` changes the result. Keeps what it was asked.
struct FakeRunner {
  double bytes_per_s = 20e6;
  std::function<void(size_t run, host::RunResult&)> alter;
  std::vector<host::RunSettings> asked;
  std::vector<int64_t> opened_after_ns;  // how long open() took

  Runner runner() {
    return [this](host::Endpoint& endpoint, const host::RunSettings& settings,
                  const host::RunHooks&) -> host::Result<host::RunResult> {
      const int64_t before = endpoint.clock().now_ns();
      if (auto transport = endpoint.open(settings.open); !transport) return transport.error();
      opened_after_ns.push_back(endpoint.clock().now_ns() - before);
      host::RunResult result;
      result.settings = settings;
      result.port.path = "/dev/fake";
      result.end = host::RunEnd::complete;
      result.protocol = host::Protocol::extended;
      result.in_bytes = uint64_t{settings.frame_size} * settings.frame_count;
      result.frames = settings.frame_count;
      result.bytes_per_s = bytes_per_s;
      result.duration_ns =
          static_cast<int64_t>(static_cast<double>(result.in_bytes) / bytes_per_s * 1e9);
      result.verdict = {host::VerdictKind::device_bound, false, "device-bound: it was"};
      if (alter) alter(asked.size(), result);
      asked.push_back(settings);
      return result;
    };
  }
};

inline void make_fail(host::RunResult& result, host::VerdictKind kind, host::RunEnd end) {
  result.end = end;
  result.verdict = {kind, true, "failed: it did"};
}

}  // namespace millrace::cli
