// SPDX-License-Identifier: Apache-2.0
// What the commands of `udp` measure: an address, or firmware on the virtual board.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cli/command_line.h"
#include "cli/posix/board_datagrams.h"
#include "millrace/host/result.h"
#include "millrace/udp/datagram_port.h"
#include "millrace/udp/socket_port.h"

namespace millrace::cli {

struct UdpTarget {
  std::string name;  // as typed
  udp::SocketOptions socket;
  BoardNetwork board;

  bool is_board() const;
  // The target itself, and the addresses of a virtual board. *this must outlive `command`.
  void add_to(Command& command);
  // Errors: usage.
  host::Status check() const;
  // `bytes`: of the datagrams. Errors: those of open_socket_port(), make_board_datagrams().
  host::Result<std::unique_ptr<udp::DatagramPort>> open(uint32_t bytes) const;
};

}  // namespace millrace::cli
