// SPDX-License-Identifier: Apache-2.0
// Everything here can be read without root. Firewall rules cannot: that there are some is all that
// is said of them.
#include "millrace/udp/network_doctor.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>

#include "millrace/host/text.h"
#include "network_interface.h"

namespace millrace::udp {

using host::Error;
using host::ErrorCode;
using host::printable;
using host::Result;

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDrivers[] = {"cdc_ncm", "cdc_ether", "cdc_eem", "rndis_host"};
constexpr const char* kNtb[] = {"bmNtbFormatsSupported", "dwNtbInMaxSize", "dwNtbOutMaxSize",
                                "wNtbOutMaxDatagrams",   "rx_max",         "tx_max",
                                "tx_timer_usecs"};
constexpr uint64_t kBuffer = 4 << 20;

uint16_t hex_in(const std::string& path) {
  const std::string text = first_line(path);
  uint16_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

std::string link_name(const fs::path& path) {
  std::error_code error;
  return fs::read_symlink(path, error).filename().string();
}

NetworkDevice read_device(const std::string& name, const NetworkFacts& facts) {
  const std::string folder = facts.sys + "/class/net/" + name;
  NetworkDevice d;
  d.name = name;
  d.driver = link_name(folder + "/device/driver");
  d.mac = first_line(folder + "/address");
  d.mtu = static_cast<uint32_t>(number_in(folder + "/mtu"));
  const std::string flags = first_line(folder + "/flags");
  uint32_t bits = 0;
  if (flags.size() > 2) std::from_chars(flags.data() + 2, flags.data() + flags.size(), bits, 16);
  d.is_up = (bits & IFF_UP) != 0;
  d.has_carrier = first_line(folder + "/carrier") == "1";  // unreadable while it is down
  std::error_code error;
  const fs::path device = fs::canonical(folder + "/device", error);
  if (!error) {
    const std::string usb = device.parent_path().string();  // of the interface: the USB device
    d.vid = hex_in(usb + "/idVendor");
    d.pid = hex_in(usb + "/idProduct");
    d.product = first_line(usb + "/product");
    d.serial = first_line(usb + "/serial");
    d.is_usb = d.vid != 0 || d.pid != 0;
  }
  for (const char* parameter : kNtb) {
    const std::string value = first_line(folder + "/cdc_ncm/" + parameter);
    if (!value.empty()) d.ntb.emplace_back(parameter, value);
  }
  if (facts.addresses) d.addresses = facts.addresses(name);
  if (facts.offloads) d.offloads = facts.offloads(name);
  return d;
}

void examine(NetworkDevice* d) {
  const auto find = [d](bool is_blocking, std::string sentence, std::string remedy) {
    d->findings.push_back({is_blocking, std::move(sentence), std::move(remedy)});
  };
  if (!d->is_up) find(true, "is down", fmt::format("sudo ip link set {} up", d->name));
  if (d->is_up && !d->has_carrier) {
    find(true, "the device says that it is not connected (firmware started? cable?)", "");
  }
  if (d->addresses.empty()) {
    find(true, "has no IPv4 address; a device with a DHCP server gives one by itself",
         fmt::format("sudo ip addr add 192.168.7.2/24 dev {}", d->name));
  }
  if (d->mtu != 0 && d->mtu < 1500) {
    find(false,
         fmt::format("its MTU is {}: no more than {} bytes in a datagram", d->mtu,
                     d->mtu > 28 ? d->mtu - 28 : 0),
         fmt::format("sudo ip link set {} mtu 1500", d->name));
  }
  const bool is_known =
      std::find(std::begin(kDrivers), std::end(kDrivers), d->driver) != std::end(kDrivers);
  if (d->is_usb && !is_known) {
    find(false,
         fmt::format("its driver is {}, none of the usual ones of such devices",
                     d->driver.empty() ? "unknown" : d->driver),
         "");
  }
  if (d->driver == "rndis_host" || d->driver == "cdc_eem") {
    find(false, fmt::format("its driver {} puts one datagram into a transfer", d->driver), "");
  }
  for (const auto& [key, value] : d->ntb) {
    if (key != "tx_timer_usecs" || value == "0") continue;
    find(false,
         fmt::format("cdc_ncm holds a datagram back for up to {} us to see whether more come: "
                     "single round trips are that much longer",
                     value),
         fmt::format("echo 5 | sudo tee /sys/class/net/{}/cdc_ncm/tx_timer_usecs", d->name));
  }
}

std::vector<NetworkFinding> examine_machine(const NetworkFacts& facts) {
  std::vector<NetworkFinding> out;
  const uint64_t most = number_in(facts.proc + "/sys/net/core/rmem_max");
  if (most != 0 && most < kBuffer) {
    out.push_back({false,
                   fmt::format("a socket may have {} bytes of receive buffer: replies may be lost "
                               "here",
                               most),
                   fmt::format("sudo sysctl -w net.core.rmem_max={}", kBuffer)});
  }
  std::ifstream range(facts.proc + "/sys/net/ipv4/ping_group_range");
  uint64_t low = 0, high = 0;
  if (range >> low >> high && low > high) {
    out.push_back({false, "nobody may send pings without root",
                   "sudo sysctl -w net.ipv4.ping_group_range=\"0 2147483647\""});
  }
  std::ifstream modules(facts.proc + "/modules");
  for (std::string line; std::getline(modules, line);) {
    if (line.rfind("nf_tables ", 0) != 0 && line.rfind("iptable_filter ", 0) != 0) continue;
    out.push_back(
        {false, "there is a firewall; its rules may drop UDP or ICMP", "sudo nft list ruleset"});
    break;
  }
  return out;
}

// usb:16c0:0489
bool parse_usb(const std::string& which, uint16_t* vid, uint16_t* pid) {
  const size_t colon = which.find(':', 4);
  if (colon == std::string::npos) return false;
  const auto read = [](std::string_view text, uint16_t* value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value, 16);
    return error == std::errc() && end == text.data() + text.size() && !text.empty();
  };
  return read(std::string_view(which).substr(4, colon - 4), vid) &&
         read(std::string_view(which).substr(colon + 1), pid);
}

std::vector<std::string> ipv4_of(const std::string& name) {
  std::vector<std::string> out;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return out;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET ||
        each->ifa_netmask == nullptr || name != each->ifa_name) {
      continue;
    }
    char text[INET_ADDRSTRLEN] = "";
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr, text,
                sizeof text);
    const uint32_t mask = reinterpret_cast<const sockaddr_in*>(each->ifa_netmask)->sin_addr.s_addr;
    out.push_back(fmt::format("{}/{}", text, std::popcount(mask)));
  }
  return out;
}

std::vector<std::pair<std::string, bool>> offloads_of(const std::string& name) {
  constexpr std::pair<const char*, uint32_t> kAsked[] = {{"rx-checksum", ETHTOOL_GRXCSUM},
                                                         {"tx-checksum", ETHTOOL_GTXCSUM},
                                                         {"gso", ETHTOOL_GGSO},
                                                         {"gro", ETHTOOL_GGRO}};
  std::vector<std::pair<std::string, bool>> out;
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || name.size() >= IFNAMSIZ) return out;
  for (const auto& [text, command] : kAsked) {
    ethtool_value value{command, 0};
    ifreq request{};
    name.copy(request.ifr_name, IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char*>(&value);
    if (::ioctl(fd, SIOCETHTOOL, &request) == 0) out.emplace_back(text, value.data != 0);
  }
  ::close(fd);
  return out;
}

}  // namespace

NetworkFacts facts_of_this_machine() {
  NetworkFacts facts;
  facts.addresses = ipv4_of;
  facts.offloads = offloads_of;
  return facts;
}

Result<NetworkReport> examine_network(const std::string& which, const NetworkFacts& facts) {
  uint16_t vid = 0, pid = 0;
  const bool is_usb_id = which.rfind("usb:", 0) == 0;
  if (is_usb_id && !parse_usb(which, &vid, &pid)) {
    return Error{ErrorCode::usage,
                 fmt::format("interface {}: write usb:VID:PID in hex, such as usb:1209:0001",
                             printable(which))};
  }
  std::string wanted = which;
  std::transform(wanted.begin(), wanted.end(), wanted.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  NetworkReport report;
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& each : fs::directory_iterator(facts.sys + "/class/net", error)) {
    names.push_back(each.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    NetworkDevice device = read_device(name, facts);
    const bool is_wanted = which.empty() ? device.is_usb
                           : is_usb_id   ? device.is_usb && device.vid == vid && device.pid == pid
                                         : name == which || device.mac == wanted;
    if (!is_wanted) continue;
    examine(&device);
    report.devices.push_back(std::move(device));
  }
  if (report.devices.empty()) {
    const char* const hint =
        "(plugged in? firmware with CDC-NCM or CDC-ECM? see `ip link` and `sudo dmesg`)";
    return Error{ErrorCode::not_found,
                 which.empty()
                     ? fmt::format("there is no USB network interface {}", hint)
                     : fmt::format("there is no interface {} {}", printable(which), hint)};
  }
  report.findings = examine_machine(facts);
  return report;
}

}  // namespace millrace::udp
