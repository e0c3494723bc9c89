// SPDX-License-Identifier: Apache-2.0
// A plain UDP echo server: every datagram goes back as it came.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "millrace/host/result.h"

namespace millrace::udp {

struct EchoCounts {
  uint64_t received = 0, replied = 0;
  uint64_t refused = 0;   // replies that the system did not take
  uint64_t ignored = 0;   // from port 7: two echo servers would never end
  uint64_t overflow = 0;  // lost before they could be read
};

class EchoServer {
 public:
  virtual ~EchoServer() = default;
  virtual const std::string& address() const = 0;
  virtual uint16_t port() const = 0;
  // Until keep_going() says no, asked ten times a second at least.
  virtual host::Status run(const std::function<bool()>& keep_going) = 0;
  virtual const EchoCounts& counts() const = 0;
};

// `address`: numeric, IPv4 or IPv6; port 0: any that is free. Errors: usage, permission, busy.
host::Result<std::unique_ptr<EchoServer>> open_echo_server(const std::string& address,
                                                           uint16_t port);

}  // namespace millrace::udp
