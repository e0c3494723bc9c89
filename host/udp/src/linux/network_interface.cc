// SPDX-License-Identifier: Apache-2.0
#include "network_interface.h"

#include <ifaddrs.h>
#include <netinet/in.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

namespace millrace::udp {

namespace {

struct AddressBytes {
  const uint8_t* data = nullptr;
  size_t size = 0;
};

AddressBytes bytes_of(const sockaddr* address) {
  if (address == nullptr) return {};
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    return {reinterpret_cast<const uint8_t*>(&v4->sin_addr), sizeof v4->sin_addr};
  }
  if (address->sa_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
    return {reinterpret_cast<const uint8_t*>(&v6->sin6_addr), sizeof v6->sin6_addr};
  }
  return {};
}

// Calls f(interface) for each that has an address of the family of `like`, until it says true.
template <class F>
std::string find_interface(const sockaddr_storage& like, F f) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != like.ss_family) continue;
    if (f(*each)) return each->ifa_name;
  }
  return {};
}

}  // namespace

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

uint64_t number_in(const std::string& path) {
  std::ifstream file(path);
  uint64_t value = 0;
  file >> value;
  return file ? value : 0;
}

std::string interface_of(const sockaddr_storage& local) {
  const AddressBytes ours = bytes_of(reinterpret_cast<const sockaddr*>(&local));
  return find_interface(local, [&](const ifaddrs& each) {
    const AddressBytes its = bytes_of(each.ifa_addr);
    return its.size == ours.size && its.size != 0 &&
           std::memcmp(its.data, ours.data, its.size) == 0;
  });
}

bool is_on_link(const sockaddr_storage& target) {
  const AddressBytes wanted = bytes_of(reinterpret_cast<const sockaddr*>(&target));
  return !find_interface(target, [&](const ifaddrs& each) {
            const AddressBytes its = bytes_of(each.ifa_addr), mask = bytes_of(each.ifa_netmask);
            if (wanted.size == 0 || its.size != wanted.size || mask.size != wanted.size)
              return false;
            for (size_t i = 0; i < wanted.size; ++i) {
              if (((its.data[i] ^ wanted.data[i]) & mask.data[i]) != 0) return false;
            }
            return true;
          }).empty();
}

// IP address, HW type, flags (0x0: incomplete), ...: proc(5).
bool is_nobody(const std::string& address, const std::string& proc) {
  std::ifstream file(proc + "/net/arp");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string ip, type, flags;
    if (words >> ip >> type >> flags && ip == address) return flags == "0x0";
  }
  return false;
}

HostDrops interface_drops(const std::string& name, const std::string& sys) {
  if (name.empty()) return {};
  const std::string folder = sys + "/class/net/" + name + "/statistics/";
  const auto read = [&folder](const char* counter) { return number_in(folder + counter); };
  return {0, read("rx_dropped") + read("rx_missed_errors") + read("rx_fifo_errors"),
          read("tx_dropped") + read("tx_errors")};
}

}  // namespace millrace::udp
