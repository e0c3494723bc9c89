// SPDX-License-Identifier: Apache-2.0
// The `board:` port name: firmware on the virtual Teensy 4.1 behind a virtual USB host, all in
// virtual time.
#pragma once

#include <memory>
#include <string>

#include "millrace/host/transport.h"

namespace millrace::cli {

// `rest`: IMAGE[?KEY=VALUE&...] with keys host (a built-in profile or a file), pcap, pcap_packets
// (files to write), pcap_sof, icache, dcache (on, off), psram, seed, timing (a file), and any
// parameter of the host profile. Errors: usage.
host::Result<std::unique_ptr<host::Endpoint>> make_board_endpoint(const std::string& rest);

}  // namespace millrace::cli
