// SPDX-License-Identifier: Apache-2.0
#include "millrace/host/serial_sampler.h"

#include <fmt/core.h>

#include "dialogue.h"
#include "millrace/host/text.h"

namespace millrace::host {

namespace {

constexpr int64_t kHelloProbeNs = 2000 * kMillisecond;
constexpr int64_t kReplyNs = 1000 * kMillisecond;

}  // namespace

SerialSampler::SerialSampler(Endpoint& endpoint, const OpenOptions& options)
    : endpoint_(endpoint), options_(options) {}

SerialSampler::~SerialSampler() = default;

void SerialSampler::close() {
  dialogue_.reset();
  transport_.reset();
}

Error SerialSampler::gone(const IoResult& io) const {
  if (io.kind == IoKind::error) return io.error;
  return {ErrorCode::gone, printable(endpoint_.name()) + ": the device went away" +
                               (io.error.message.empty() ? "" : " (" + io.error.message + ")")};
}

Status SerialSampler::open() {
  Result<std::unique_ptr<Transport>> opened = endpoint_.open(options_);
  if (!opened) return opened.error();
  transport_ = std::move(*opened);
  dialogue_ = std::make_unique<Dialogue>(*transport_);
  IoResult io;
  const std::optional<link::Hello> hello = dialogue_->probe(kHelloProbeNs, &io);
  Status status;
  if (io.kind == IoKind::gone || io.kind == IoKind::error) {
    status = gone(io);
  } else if (!hello) {
    status = Error{ErrorCode::not_found,
                   fmt::format("{}: the device does not answer (the sampler needs firmware that "
                               "speaks spec/stream.md on this port)",
                               printable(endpoint_.name()))};
  } else if ((hello->capabilities & link::kHasSampler) == 0) {
    status = Error{ErrorCode::not_found,
                   fmt::format("{}: {} {} has no sampler (build it in, docs/profile.md)",
                               printable(endpoint_.name()), printable(hello->firmware_name),
                               printable(hello->firmware_version))};
  }
  if (!status) close();
  return status;
}

Result<std::vector<uint8_t>> SerialSampler::ask(std::span<const uint8_t> request) {
  if (transport_ == nullptr) {
    if (Status opened = open(); !opened) return opened.error();
  }
  const int64_t deadline_ns = transport_->clock().now_ns() + kReplyNs;
  std::vector<uint8_t> reply;
  IoResult io = dialogue_->send(link::MessageType::sampler_request, request, deadline_ns);
  if (io.kind == IoKind::done) {
    io = dialogue_->await(link::MessageType::sampler_reply, deadline_ns, deadline_ns, &reply);
  }
  if (io.kind == IoKind::gone || io.kind == IoKind::error) {
    close();
    return gone(io);
  }
  return reply;
}

}  // namespace millrace::host
