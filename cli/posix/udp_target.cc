// SPDX-License-Identifier: Apache-2.0
#include "cli/posix/udp_target.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Result;
using host::Status;

namespace {
const std::string kBoard = "board:";
}

bool UdpTarget::is_board() const { return name.rfind(kBoard, 0) == 0; }

void UdpTarget::add_to(Command& command) {
  command.positional("TARGET",
                     "ADDRESS, ADDRESS:PORT, [IPv6]:PORT, a name, or board:IMAGE?KEY=VALUE for "
                     "firmware on the virtual board, in virtual time",
                     ValueKind::text, true, &name);
  command.text("--host-address", "ADDRESS/PREFIX",
               "board: the host's address, for firmware without a DHCP server", ValueKind::text,
               &board.host);
  command.text("--device-address", "ADDRESS", "board: the device's (its DHCP server)",
               ValueKind::text, &board.device);
}

Status UdpTarget::check() const {
  if (is_board() || (board.host.empty() && board.device.empty())) return Status();
  return Error{ErrorCode::usage, "--host-address and --device-address are for board: targets"};
}

Result<std::unique_ptr<udp::DatagramPort>> UdpTarget::open(uint32_t bytes) const {
  if (is_board()) return make_board_datagrams(name.substr(kBoard.size()), board);
  udp::SocketOptions options = socket;
  options.target = name;
  options.bytes = bytes;
  return udp::open_socket_port(options);
}

}  // namespace millrace::cli
