// SPDX-License-Identifier: Apache-2.0
// An echo server over sockets of this machine, without root.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "millrace/udp/datagram_port.h"

namespace millrace::udp {

struct SocketOptions {
  std::string target;   // ADDRESS[:PORT], [IPv6]:PORT or a name
  uint16_t port = 7;    // where the target names none
  uint32_t bytes = 32;  // of the datagrams
  bool allow_fragments = false;
  uint32_t receive_buffer = 4 << 20;
  uint32_t probe_ms = 1000;  // how long the first echo may take; 0: not tried
  std::function<bool()> keep_going = [] { return true; };  // asked while it is waited for
};

// Looks the target up, and sees whether it echoes at all. Errors: usage (no such name, MTU too
// small), not_found (unreachable, nobody answers), permission, interrupted.
host::Result<std::unique_ptr<DatagramPort>> open_socket_port(const SocketOptions& options);

struct TargetName {
  std::string host;
  uint16_t port = 0;
};
// Errors: usage.
host::Result<TargetName> parse_target(const std::string& text, uint16_t default_port);

}  // namespace millrace::udp
