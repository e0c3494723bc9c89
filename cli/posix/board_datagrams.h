// SPDX-License-Identifier: Apache-2.0
// Targets `board:IMAGE?KEY=VALUE&...` of the UDP measurements: the firmware's network interface at
// a virtual host, in virtual time.
#pragma once

#include <memory>
#include <string>

#include "millrace/host/result.h"
#include "millrace/udp/datagram_port.h"

namespace millrace::cli {

struct BoardNetwork {
  std::string host;    // ADDRESS or ADDRESS/PREFIX; empty: what the device gives by DHCP
  std::string device;  // empty: the DHCP server's
  uint16_t port = 7;
};

// Starts the board and waits until its device answers ARP. `rest` as for make_board_machine().
// Errors: usage; not_found: no network function, no address, no neighbour.
host::Result<std::unique_ptr<udp::DatagramPort>> make_board_datagrams(const std::string& rest,
                                                                      const BoardNetwork& network);

}  // namespace millrace::cli
