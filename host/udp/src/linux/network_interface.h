// SPDX-License-Identifier: Apache-2.0
// What Linux says of its network interfaces in /sys/class/net.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "millrace/udp/datagram_port.h"

namespace millrace::udp {

// The first line of a file; empty if it cannot be read.
std::string first_line(const std::string& path);
// The number in it; 0 if there is none.
uint64_t number_in(const std::string& path);
// Which interface has this address; empty: none.
std::string interface_of(const sockaddr_storage& local);
// The target is in a network of one of our interfaces, or is ourselves: no router on the way.
bool is_on_link(const sockaddr_storage& target);
// The kernel has asked by ARP who has this IPv4 address, and nobody has answered.
bool is_nobody(const std::string& address, const std::string& proc = "/proc");
HostDrops interface_drops(const std::string& name, const std::string& sys = "/sys");

}  // namespace millrace::udp
