// SPDX-License-Identifier: Apache-2.0
// A sampler behind a UDP port, and UDP echoes as the work that it is sampled at.
#pragma once

#include <memory>
#include <string>

#include "millrace/sampling/record.h"
#include "millrace/udp/datagram_port.h"
#include "millrace/udp/step.h"

namespace millrace::sampling {

class UdpSamplerChannel final : public SamplerChannel {
 public:
  explicit UdpSamplerChannel(udp::DatagramPort& port) : port_(port) {}

  host::Result<std::vector<uint8_t>> ask(std::span<const uint8_t> request) override;
  host::Clock& clock() override { return port_.clock(); }
  const std::string& name() const override { return port_.info().name; }
  uint16_t words_per_reply() const override { return link::kSamplerReadWords; }

 private:
  udp::DatagramPort& port_;
};

// Echo requests to the port that `port` leads to.
class UdpLoad {
 public:
  struct Figures {
    uint64_t sent = 0, answered = 0;
    double answered_per_s = 0;  // of the last round
    udp::HostFault fault = udp::HostFault::none;
  };

  // `plan`: its rate or in_flight, and bytes; times are the recorder's. Both outlive workload().
  UdpLoad(udp::DatagramPort& port, const udp::StepPlan& plan, uint32_t session_id);
  Workload workload();
  const Figures& figures() const { return figures_; }

 private:
  host::Status run(int64_t until_ns, const std::function<bool()>& keep_going);

  udp::DatagramPort& port_;
  udp::StepPlan plan_;
  udp::Session session_;
  Figures figures_;
};

}  // namespace millrace::sampling
