// SPDX-License-Identifier: Apache-2.0
// A sampler behind a serial port, and streams over that port as the work that it is sampled at.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "millrace/host/serial_run.h"
#include "millrace/host/serial_sampler.h"
#include "millrace/sampling/record.h"

namespace millrace::sampling {

class SerialSamplerChannel final : public SamplerChannel {
 public:
  // `endpoint` outlives this.
  SerialSamplerChannel(host::Endpoint& endpoint, const host::OpenOptions& options)
      : sampler_(endpoint, options) {}

  host::Result<std::vector<uint8_t>> ask(std::span<const uint8_t> request) override {
    return sampler_.ask(request);
  }
  host::Clock& clock() override { return sampler_.endpoint().clock(); }
  const std::string& name() const override { return sampler_.endpoint().name(); }
  uint16_t words_per_reply() const override { return link::kSamplerMessageWords; }
  host::Endpoint& endpoint() { return sampler_.endpoint(); }
  void close() { sampler_.close(); }

 private:
  mutable host::SerialSampler sampler_;
};

// Streams as `serial bench` makes them, each until the round is over.
class SerialLoad {
 public:
  struct Figures {
    uint64_t bytes = 0, faults = 0;
    double bytes_per_s = 0;  // of the last round
  };

  // `settings`: all but the number of frames, which is as many as come. The channel outlives this,
  // and this the workload.
  SerialLoad(SerialSamplerChannel& channel, const host::RunSettings& settings);
  Workload workload();
  const Figures& figures() const { return figures_; }

 private:
  host::Status run(int64_t until_ns, const std::function<bool()>& keep_going);

  SerialSamplerChannel& channel_;
  host::RunSettings settings_;
  Figures figures_;
};

}  // namespace millrace::sampling
