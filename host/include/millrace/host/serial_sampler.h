// SPDX-License-Identifier: Apache-2.0
// The sampler of a device that speaks spec/stream.md, over its serial port.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "millrace/host/transport.h"

namespace millrace::host {

class Dialogue;

class SerialSampler {
 public:
  // `endpoint` outlives this. Nothing is opened yet.
  SerialSampler(Endpoint& endpoint, const OpenOptions& options);
  ~SerialSampler();
  SerialSampler(const SerialSampler&) = delete;
  SerialSampler& operator=(const SerialSampler&) = delete;

  // Opens the port if it is not open, and asks who is there. The reply; empty if none came in time.
  // Errors: those of Endpoint::open(), not_found (no device of ours, or one without a sampler),
  // gone.
  Result<std::vector<uint8_t>> ask(std::span<const uint8_t> request);
  // So that something else may open the port; ask() opens it again.
  void close();

  Endpoint& endpoint() { return endpoint_; }

 private:
  Status open();
  Error gone(const IoResult& io) const;

  Endpoint& endpoint_;
  OpenOptions options_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Dialogue> dialogue_;
};

}  // namespace millrace::host
