// SPDX-License-Identifier: Apache-2.0
#include "link_errors.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "millrace/host/text.h"
#include "millrace/link/classic_stream.h"
#include "millrace/link/control_message.h"
#include "millrace/link/stream_cursor.h"

namespace millrace::host {

using link::LinkFailure;

namespace {

bool is_text(const uint8_t* data, size_t size) {
  return std::all_of(data, data + size, [](uint8_t c) {
    return (c >= 0x20 && c < 0x7f) || c == '\r' || c == '\n' || c == '\t';
  });
}

// The stream of the published harness with its usual seed.
bool is_classic(const uint8_t* data, size_t size) {
  if (size < 16) return false;
  std::vector<uint8_t> expected(16);
  link::StreamCursor cursor({link::kDefaultSeed, 1u << 20, 1});
  cursor.read(expected.data(), expected.size());
  return std::memcmp(expected.data(), data, expected.size()) == 0;
}

}  // namespace

Error broken_protocol_error(const std::string& port, const char* what) {
  return {
      ErrorCode::protocol,
      fmt::format("{}: the device breaks the link protocol: {} (update its firmware)", port, what)};
}

Error link_failure_error(const std::string& port, const link::LinkPeer& peer) {
  switch (peer.failure()) {
    case LinkFailure::none:
      break;
    case LinkFailure::device_restarted:
      return {ErrorCode::gone,
              port +
                  ": the device has started anew: the session and what it had not sent are lost "
                  "(start a new session)"};
    case LinkFailure::session_unknown:
      return {ErrorCode::gone,
              port +
                  ": the device has given the session up for another program's, or at a request "
                  "(start a new session)"};
    case LinkFailure::other_host:
      return {ErrorCode::busy, port + ": another program keeps opening this port (end it first)"};
    case LinkFailure::other_version:
      return {ErrorCode::protocol,
              fmt::format(
                  "{}: the device speaks versions {}..{} of the link protocol, this program "
                  "version {} (update the older one)",
                  port, peer.other_version_min(), peer.other_version_max(), link::kLinkVersion)};
    case LinkFailure::frame_limit:
      return {ErrorCode::protocol,
              port + ": the frames of the device and of this program are too large for each other"};
    case LinkFailure::lost_before_resume:
      return {ErrorCode::gone,
              port + ": cannot resume: the device no longer keeps what was not received"};
    case LinkFailure::bad_answer:
      return broken_protocol_error(
          port, "it was asked to go on with a session and answers with another, or elsewhere");
  }
  return {ErrorCode::protocol, port + ": the link failed"};
}

Error measuring_device_error(const std::string& port) {
  return {ErrorCode::protocol,
          port +
              ": the device speaks the measuring protocol (use `millrace serial`, or flash a link "
              "firmware)"};
}

Error silent_error(const std::string& port) {
  return {ErrorCode::gone,
          port +
              ": the device is there and answers no more (it keeps the session as long as its "
              "firmware runs: go on with --resume, or wait longer with --timeout-ms)"};
}

Error no_answer_error(const std::string& port, const link::LinkPeer& peer) {
  size_t size = 0;
  const uint8_t* foreign = peer.scanner().foreign(&size);
  const link::ScannerCounters& seen = peer.scanner().counters();
  constexpr const char* kRemedy = "does its firmware speak the link protocol? see docs/link.md";
  std::string what;
  if (seen.echoed_frames > 0) {
    what = "returns what it gets: an echo, or a terminal that is not raw (is firmware running?)";
  } else if (seen.other_version_headers > 0) {
    what = fmt::format(
        "answers in version {} of the link protocol, this program speaks {} (update the older one)",
        peer.scanner().other_version(), link::kLinkVersion);
  } else if (peer.counters().bad_payloads > 0) {
    return broken_protocol_error(port, "its answer holds values that are not allowed");
  } else if (peer.counters().connections > 0 && peer.counters().notices_in > 0) {
    what = "opens a session and forgets it at once (does it restart again and again?)";
  } else if (size == 0) {
    return {ErrorCode::timeout, fmt::format("{}: no answer ({})", port, kRemedy)};
  } else if (size >= 4 && std::memcmp(foreign, link::kMessageSync, 4) == 0) {
    return measuring_device_error(port);
  } else if (is_classic(foreign, size)) {
    what = "sends the published harness's stream (use `millrace serial`, or flash a link firmware)";
  } else if (is_text(foreign, size)) {
    const std::string text(reinterpret_cast<const char*>(foreign), std::min<size_t>(size, 40));
    what = fmt::format("sends text: {} ({})", printable(text), kRemedy);
  } else {
    what = fmt::format("sends bytes that are no frames: {:02x} {:02x} {:02x} {:02x} ({})",
                       foreign[0], size > 1 ? foreign[1] : 0, size > 2 ? foreign[2] : 0,
                       size > 3 ? foreign[3] : 0, kRemedy);
  }
  return {ErrorCode::protocol, fmt::format("{}: the device {}", port, what)};
}

}  // namespace millrace::host
