// SPDX-License-Identifier: Apache-2.0
// A stream ends when its run is interrupted, and that a run sees between two reads: so the time is
// looked at there, by a transport around the real one.
#include "millrace/sampling/serial_channel.h"

#include <algorithm>
#include <utility>

#include "millrace/host/text.h"

namespace millrace::sampling {

using host::Endpoint;
using host::Error;
using host::ErrorCode;
using host::IoResult;
using host::OpenOptions;
using host::Result;
using host::RunEnd;
using host::Status;
using host::Transport;

namespace {

constexpr int64_t kMostReadNs = 20'000'000;  // between two looks at the time

// When a run has to end.
struct Limit {
  int64_t until_ns;
  const std::function<bool()>& keep_going;
  std::atomic<bool> is_over{false};

  void look(int64_t now_ns) {
    if (now_ns >= until_ns || !keep_going()) is_over = true;
  }
};

class LimitedTransport final : public Transport {
 public:
  LimitedTransport(std::unique_ptr<Transport> inner, Limit& limit)
      : inner_(std::move(inner)), limit_(limit) {}

  IoResult read(std::span<uint8_t> into, int64_t deadline_ns) override {
    const int64_t now_ns = inner_->clock().now_ns();
    limit_.look(now_ns);
    return inner_->read(into, std::min(deadline_ns, now_ns + kMostReadNs));
  }
  IoResult write(std::span<const uint8_t> from, int64_t deadline_ns) override {
    return inner_->write(from, deadline_ns);
  }
  host::Clock& clock() override { return inner_->clock(); }
  const host::PortIdentity& identity() const override { return inner_->identity(); }
  Result<host::ModemLines> modem_lines() override { return inner_->modem_lines(); }
  Status set_modem_lines(std::optional<bool> dtr, std::optional<bool> rts) override {
    return inner_->set_modem_lines(dtr, rts);
  }
  std::vector<std::string> other_holders() override { return inner_->other_holders(); }
  std::string settings() const override { return inner_->settings(); }

 private:
  std::unique_ptr<Transport> inner_;
  Limit& limit_;
};

class LimitedEndpoint final : public Endpoint {
 public:
  LimitedEndpoint(Endpoint& inner, Limit& limit) : inner_(inner), limit_(limit) {}

  const std::string& name() const override { return inner_.name(); }
  host::Clock& clock() override { return inner_.clock(); }
  Result<std::unique_ptr<Transport>> open(const OpenOptions& options) override {
    return wrapped(inner_.open(options));
  }
  Result<std::unique_ptr<Transport>> reopen(const OpenOptions& options,
                                            int64_t deadline_ns) override {
    return wrapped(inner_.reopen(options, deadline_ns));
  }

 private:
  Result<std::unique_ptr<Transport>> wrapped(Result<std::unique_ptr<Transport>> opened) {
    if (!opened) return opened;
    return std::unique_ptr<Transport>(
        std::make_unique<LimitedTransport>(std::move(*opened), limit_));
  }

  Endpoint& inner_;
  Limit& limit_;
};

}  // namespace

SerialLoad::SerialLoad(SerialSamplerChannel& channel, const host::RunSettings& settings)
    : channel_(channel), settings_(settings) {
  settings_.frame_count = UINT32_MAX;
  settings_.protocol = host::Protocol::extended;
  settings_.follow_replug_ms = 0;
}

Workload SerialLoad::workload() {
  return [this](int64_t until_ns, const std::function<bool()>& keep_going) {
    return run(until_ns, keep_going);
  };
}

Status SerialLoad::run(int64_t until_ns, const std::function<bool()>& keep_going) {
  channel_.close();
  Limit limit{until_ns, keep_going};
  LimitedEndpoint endpoint(channel_.endpoint(), limit);
  host::RunHooks hooks;
  hooks.interrupted = &limit.is_over;
  const Result<host::RunResult> result = host::run_serial(endpoint, settings_, hooks);
  if (!result) return result.error();
  figures_.bytes += result->in_bytes + result->out_bytes;
  figures_.faults += result->faults.size();
  figures_.bytes_per_s = result->bytes_per_s;
  if (result->end == RunEnd::gone) {
    return Error{ErrorCode::gone, host::printable(endpoint.name()) + ": the device went away"};
  }
  if (!limit.is_over && result->end != RunEnd::interrupted) {
    return Error{ErrorCode::protocol, host::printable(endpoint.name()) +
                                          ": the stream ended early: " + result->verdict.sentence};
  }
  return {};
}

}  // namespace millrace::sampling
