// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <charconv>

#include "millrace/host/text.h"
#include "millrace/udp/socket_port.h"

namespace millrace::udp {

using host::Error;
using host::ErrorCode;

host::Result<TargetName> parse_target(const std::string& text, uint16_t default_port) {
  const Error wrong{
      ErrorCode::usage,
      fmt::format("target {}: write ADDRESS, ADDRESS:PORT, [IPv6]:PORT or board:IMAGE",
                  host::printable(text))};
  TargetName target{text, default_port};
  std::string port;
  if (!text.empty() && text[0] == '[') {
    const size_t end = text.find(']');
    if (end == std::string::npos) return wrong;
    target.host = text.substr(1, end - 1);
    if (end + 1 < text.size()) {
      if (text[end + 1] != ':') return wrong;
      port = text.substr(end + 2);
      if (port.empty()) return wrong;
    }
  } else if (const size_t colon = text.find(':');
             colon != std::string::npos && colon == text.rfind(':')) {
    target.host = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (port.empty()) return wrong;
  }
  if (target.host.empty() || target.host.size() > 255) return wrong;
  if (port.empty()) return target;
  const char* const last = port.data() + port.size();
  const auto [end, error] = std::from_chars(port.data(), last, target.port);
  if (error != std::errc() || end != last || target.port == 0) return wrong;
  return target;
}

}  // namespace millrace::udp
