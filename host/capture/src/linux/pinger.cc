// SPDX-License-Identifier: Apache-2.0
// The kernel fills in the id of a datagram socket of ICMP and gives it only its own answers. Who
// may have one, a setting says, that on some systems names nobody, not even root: then a raw socket
// is tried, for which the id, the checksum and the choice of answers are ours.
#include "millrace/capture/pinger.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <linux/icmp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <random>
#include <vector>

#include "byte_order.h"
#include "millrace/host/text.h"
#include "millrace/link/internet.h"

namespace millrace::capture {

using host::Error;
using host::ErrorCode;
using host::Result;

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t kIcmpHeader = 8;
constexpr uint8_t kEchoRequest = 8, kEchoReply = 0;

enum class SocketKind : uint8_t { datagram, raw };

class SocketPinger final : public Pinger {
 public:
  SocketPinger(int descriptor, SocketKind kind, const PingOptions& options)
      : descriptor_(descriptor), kind_(kind), options_(options), sent_at_(options.count) {
    result_.address = options.address;
    if (kind_ == SocketKind::datagram) return;
    id_ = static_cast<uint16_t>(std::random_device()());
    icmp_filter wanted{~(1u << kEchoReply)};
    setsockopt(descriptor_, SOL_RAW, ICMP_FILTER, &wanted, sizeof wanted);
  }
  ~SocketPinger() override { close(descriptor_); }
  SocketPinger(const SocketPinger&) = delete;
  SocketPinger& operator=(const SocketPinger&) = delete;

  PingResult run(const std::atomic<bool>& stop) override {
    const Clock::time_point begin = Clock::now();
    Clock::time_point due = begin;
    while (!stop && result_.sent < options_.count && result_.trouble.empty()) {
      if (Clock::now() >= due) {
        send_one();
        due += milliseconds(options_.interval_ms);
        // After a stall the rhythm goes on from now; no burst makes up for it.
        due = std::max(due, Clock::now());
      }
      receive(due);
    }
    const Clock::time_point end = Clock::now() + milliseconds(options_.timeout_ms);
    while (!stop && result_.answered < result_.sent && Clock::now() < end) receive(end);
    return std::move(result_);
  }

 private:
  void send_one() {
    std::vector<uint8_t> packet(kIcmpHeader + options_.payload_bytes);
    packet[0] = kEchoRequest;
    const uint32_t number = result_.sent;
    packet[6] = static_cast<uint8_t>(number >> 8);
    packet[7] = static_cast<uint8_t>(number);
    if (kind_ == SocketKind::raw) {
      link::store_be16(&packet[4], id_);
      const uint32_t sum = link::internet_sum(0, packet.data(), packet.size());
      link::store_be16(&packet[2], link::internet_checksum(sum));
    }
    sent_at_[number] = Clock::now();
    if (send(descriptor_, packet.data(), packet.size(), 0) < 0) {
      if (errno == ENOBUFS || errno == EINTR) return;  // tried again when due
      result_.trouble = fmt::format("ping {}: {}", options_.address, std::strerror(errno));
      return;
    }
    ++result_.sent;
  }

  void receive(Clock::time_point until) {
    const auto wait = std::chrono::duration_cast<milliseconds>(until - Clock::now()).count();
    pollfd ready{descriptor_, POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(std::clamp<int64_t>(wait + 1, 0, 100))) <= 0) return;
    uint8_t bytes[256] = {};
    const ssize_t got = recv(descriptor_, bytes, sizeof bytes, MSG_DONTWAIT | MSG_TRUNC);
    const Clock::time_point now = Clock::now();
    // A raw socket gives the IPv4 header too, of 60 bytes at most.
    const size_t before = kind_ == SocketKind::raw ? size_t{bytes[0] & 15u} * 4 : 0;
    const uint8_t* packet = bytes + before;
    if (got < static_cast<ssize_t>(before + kIcmpHeader) || packet[0] != kEchoReply) return;
    if (kind_ == SocketKind::raw && kBig.u16(packet + 4) != id_) return;
    // Sequence numbers have 16 bits: the newest request with this number.
    const uint16_t low = kBig.u16(packet + 6);
    if (result_.sent == 0) return;
    const uint32_t last = result_.sent - 1;
    const uint32_t back = (last - low) & 0xffff;
    if (back > last) return;
    Clock::time_point& sent = sent_at_[last - back];
    if (sent == Clock::time_point()) return;  // a duplicate
    ++result_.answered;
    result_.rtt.add(std::chrono::duration_cast<std::chrono::nanoseconds>(now - sent).count());
    sent = {};
  }

  int descriptor_;
  SocketKind kind_;
  uint16_t id_ = 0;  // of a raw socket
  PingOptions options_;
  std::vector<Clock::time_point> sent_at_;
  PingResult result_;
};

}  // namespace

Result<std::unique_ptr<Pinger>> open_pinger(const PingOptions& options) {
  const std::string name = host::printable(options.address);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  if (inet_pton(AF_INET, options.address.c_str(), &to.sin_addr) != 1) {
    return Error{ErrorCode::usage,
                 fmt::format("ping {}: is no IPv4 address (such as 192.168.7.1)", name)};
  }
  SocketKind kind = SocketKind::datagram;
  int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_ICMP);
  if (descriptor < 0) {
    kind = SocketKind::raw;
    descriptor = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);
  }
  if (descriptor < 0) {
    if (errno == EACCES || errno == EPERM) {
      return Error{ErrorCode::permission,
                   fmt::format("ping {}: permission denied (run: sudo sysctl -w "
                               "net.ipv4.ping_group_range=\"0 2147483647\", or as root)",
                               name)};
    }
    return Error{ErrorCode::io, fmt::format("ping {}: {}", name, std::strerror(errno))};
  }
  auto pinger = std::make_unique<SocketPinger>(descriptor, kind, options);
  if (connect(descriptor, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    return Error{ErrorCode::io,
                 fmt::format("ping {}: {} (is the interface up and has it an address "
                             "of that network?)",
                             name, std::strerror(errno))};
  }
  return std::unique_ptr<Pinger>(std::move(pinger));
}

}  // namespace millrace::capture
