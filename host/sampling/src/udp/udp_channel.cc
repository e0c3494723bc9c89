// SPDX-License-Identifier: Apache-2.0
#include "millrace/sampling/udp_channel.h"

#include <algorithm>

namespace millrace::sampling {

using host::Result;
using host::Status;

namespace {

// A step ends when keep_going() says so; its own end must not come first.
constexpr int64_t kBeyondNs = 1'000'000'000;
constexpr int64_t kPatienceNs = 500'000'000;

}  // namespace

Result<std::vector<uint8_t>> UdpSamplerChannel::ask(std::span<const uint8_t> request) {
  std::vector<uint8_t> reply = port_.ask(link::kSamplerPort, request, kPatienceNs);
  if (reply.empty()) {
    if (const auto trouble = port_.trouble()) return *trouble;
  }
  return reply;
}

UdpLoad::UdpLoad(udp::DatagramPort& port, const udp::StepPlan& plan, uint32_t session_id)
    : port_(port), plan_(plan) {
  session_.id = session_id;
}

Workload UdpLoad::workload() {
  return [this](int64_t until_ns, const std::function<bool()>& keep_going) {
    return run(until_ns, keep_going);
  };
}

Status UdpLoad::run(int64_t until_ns, const std::function<bool()>& keep_going) {
  const int64_t left_ns = until_ns - port_.clock().now_ns();
  if (left_ns <= 0) return {};
  udp::StepPlan plan = plan_;
  plan.duration_ns = left_ns + kBeyondNs;
  if (plan.rate_per_s > 0) {
    const double most = static_cast<double>(udp::kMostDatagrams) / plan.rate_per_s * 1e9;
    plan.duration_ns = std::min(plan.duration_ns, static_cast<int64_t>(most));
  }
  session_.keep_going = [&] { return port_.clock().now_ns() < until_ns && keep_going(); };
  const udp::StepResult step = udp::run_step(port_, plan, session_);
  figures_.sent += step.sent + step.refused;
  figures_.answered += step.answered;
  figures_.answered_per_s = step.answered_per_s;
  if (figures_.fault == udp::HostFault::none) figures_.fault = step.fault;
  if (const auto trouble = port_.trouble()) return *trouble;
  return {};
}

}  // namespace millrace::sampling
