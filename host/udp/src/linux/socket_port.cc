// SPDX-License-Identifier: Apache-2.0
// One connected socket: the kernel then hands over answers of the target alone, and its ICMP
// errors. Datagrams go and come by the dozen in a call. Several of one size that leave together are
// one large one for most of the kernel (UDP_SEGMENT, Linux 4.18), or else go by sendmmsg. Sending
// never blocks: what the kernel does not take is counted and gone, as the pace matters more. An
// arrival's time is the kernel's (SO_TIMESTAMPNS), so that it does not matter when this thread came
// to read it; it is of the real-time clock, whose distance to the monotonic one is looked up in
// every call, since that clock may be set.
#include "millrace/udp/socket_port.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <linux/errqueue.h>
#include <linux/sock_diag.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <mutex>
#include <vector>

#include "kernel_stamps.h"
#include "millrace/capture/pinger.h"
#include "millrace/host/text.h"
#include "millrace/udp/payload.h"
#include "network_interface.h"
#include "pacing_clock.h"

namespace millrace::udp {

using host::Error;
using host::ErrorCode;
using host::Result;
using host::Status;

namespace {

constexpr size_t kMostPerCall = 64;
constexpr size_t kControl = 256;  // time stamp, overflow count
constexpr int kAskMs = 300;
constexpr int64_t kAskedNs = 50'000'000;  // between two looks at keep_going()
constexpr size_t kSpare = 64;             // a reply that is longer than the request is noticed

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  bool is_v6() const { return storage.ss_family == AF_INET6; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Result<Address> look_up(const TargetName& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* list = nullptr;
  const int failed =
      ::getaddrinfo(name.host.c_str(), std::to_string(name.port).c_str(), &hints, &list);
  if (failed != 0) {
    return Error{ErrorCode::usage, fmt::format("target {}: {} (an address such as 192.168.7.1?)",
                                               host::printable(name.host), ::gai_strerror(failed))};
  }
  Address address;
  std::memcpy(&address.storage, list->ai_addr, list->ai_addrlen);
  address.size = list->ai_addrlen;
  ::freeaddrinfo(list);
  return address;
}

std::string numeric(const Address& address) {
  char text[NI_MAXHOST] = "";
  ::getnameinfo(address.get(), address.size, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  return text;
}

class SocketPort final : public DatagramPort {
 public:
  explicit SocketPort(const SocketOptions& options)
      : options_(options), slot_bytes_(options.bytes + kSpare), in_(kMostPerCall * slot_bytes_) {
    info_.name = options.target;
    for (size_t i = 0; i < kMostPerCall; ++i) {
      in_parts_[i] = {&in_[i * slot_bytes_], slot_bytes_};
      in_headers_[i].msg_hdr.msg_iov = &in_parts_[i];
      in_headers_[i].msg_hdr.msg_iovlen = 1;
      out_headers_[i].msg_hdr.msg_iov = &out_parts_[i];
      out_headers_[i].msg_hdr.msg_iovlen = 1;
    }
  }
  ~SocketPort() override {
    if (fd_ >= 0) ::close(fd_);
  }
  SocketPort(const SocketPort&) = delete;
  SocketPort& operator=(const SocketPort&) = delete;

  Status open() {
    const Result<TargetName> name = parse_target(options_.target, options_.port);
    if (!name) return name.error();
    const Result<Address> address = look_up(*name);
    if (!address) return address.error();
    target_ = *address;
    port_ = name->port;
    numeric_ = numeric(target_);
    fd_ = ::socket(target_.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd_ < 0) return failure("socket", errno);
    set_options();
    if (::connect(fd_, target_.get(), target_.size) != 0) return unreachable(errno);
    if (Status fits = check_mtu(); !fits) return fits;
    is_segmented_ = !options_.allow_fragments;
    learn_to_wake();
    return options_.probe_ms == 0 ? Status() : probe();
  }

  host::Clock& clock() override { return pacing_clock(); }
  const PortInfo& info() const override { return info_; }

  size_t send(std::span<const std::span<const uint8_t>> datagrams) override {
    const size_t count = std::min(datagrams.size(), kMostPerCall);
    for (size_t i = 0; i < count; ++i) {
      out_parts_[i] = {const_cast<uint8_t*>(datagrams[i].data()), datagrams[i].size()};
    }
    size_t sent = send_segmented(count);
    int attempts = 0;
    while (sent < count) {
      const int got =
          ::sendmmsg(fd_, &out_headers_[sent], static_cast<unsigned>(count - sent), MSG_DONTWAIT);
      if (got > 0) {
        sent += static_cast<size_t>(got);
        continue;
      }
      const int number = errno;
      if (number == EAGAIN || number == ENOBUFS) break;
      // Errors of earlier datagrams are told once, here or to the receiver.
      note(number);
      if (++attempts > 2) break;
    }
    return sent;
  }

  size_t receive(int64_t deadline_ns, const std::function<void(const Arrival&)>& take) override {
    size_t count = receive_waiting(take);
    if (count != 0) return count;
    const int64_t left = deadline_ns - pacing_clock().now_ns();
    if (left <= 0 || trouble()) return 0;
    const timespec timeout{left / 1'000'000'000, left % 1'000'000'000};
    pollfd ready{fd_, POLLIN, 0};
    if (::ppoll(&ready, 1, &timeout, nullptr) <= 0) return 0;
    if ((ready.revents & POLLERR) != 0) read_errors();
    return receive_waiting(take);
  }

  std::optional<Error> trouble() override {
    const std::lock_guard lock(mutex_);
    return trouble_;
  }

  HostDrops host_drops() override {
    HostDrops drops = interface_drops(info_.interface);
    // SO_RXQ_OVFL tells with a datagram how many were lost before it: of the last ones only this
    // knows (Linux 4.12).
    std::array<uint32_t, SK_MEMINFO_VARS> memory{};
    socklen_t size = sizeof memory;
    const bool is_known = ::getsockopt(fd_, SOL_SOCKET, SO_MEMINFO, memory.data(), &size) == 0 &&
                          size > SK_MEMINFO_DROPS * sizeof memory[0];
    if (is_known) overflow_ = std::max<uint64_t>(overflow_, memory[SK_MEMINFO_DROPS]);
    drops.socket_overflow = overflow_;
    return drops;
  }

  std::vector<uint8_t> ask(uint16_t port, std::span<const uint8_t> request,
                           int64_t patience_ns) override {
    Address to = target_;
    // The port is at the same place in both families.
    reinterpret_cast<sockaddr_in*>(&to.storage)->sin_port = htons(port);
    const int fd = ::socket(to.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return {};
    std::vector<uint8_t> answer(2048);
    ssize_t got = -1;
    if (::connect(fd, to.get(), to.size) == 0) {
      for (int64_t waited = 0; waited < patience_ns && got < 0;
           waited += int64_t{kAskMs} * 1'000'000) {
        if (::send(fd, request.data(), request.size(), 0) < 0) break;
        pollfd ready{fd, POLLIN, 0};
        if (::poll(&ready, 1, kAskMs) > 0) {
          got = ::recv(fd, answer.data(), answer.size(), MSG_DONTWAIT);
          if (got < 0) break;  // refused: no counters there
        }
      }
    }
    ::close(fd);
    answer.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
    return answer;
  }

  PingCount ping(uint32_t count) override {
    PingCount result;
    if (target_.is_v6()) {
      result.trouble = "pings are sent to IPv4 addresses only";
      return result;
    }
    capture::PingOptions options;
    options.address = numeric_;
    options.count = count;
    const Result<std::unique_ptr<capture::Pinger>> pinger = capture::open_pinger(options);
    if (!pinger) {
      result.trouble = pinger.error().message;
      return result;
    }
    const std::atomic<bool> never{false};
    const capture::PingResult pings = (*pinger)->run(never);
    return {pings.sent, pings.answered, pings.trouble};
  }

 private:
  std::string where() const { return fmt::format("{} port {}", numeric_, port_); }

  Error failure(const char* what, int number) const {
    const bool denied = number == EACCES || number == EPERM;
    return {denied ? ErrorCode::permission : ErrorCode::io,
            fmt::format("{} to {}: {}{}", what, where(), std::strerror(number),
                        denied ? " (a firewall, or a broadcast address?)" : "")};
  }

  // It has echoed, and then this.
  Error gone(int number) const {
    switch (number) {
      case ECONNREFUSED:
        return {ErrorCode::gone,
                fmt::format("{}: went away: refused, what echoed there has ended (start it again)",
                            where())};
      case ENETUNREACH:
      case ENETDOWN:
      case ENODEV:
      case EHOSTUNREACH:
        return {ErrorCode::gone,
                fmt::format("{}: went away: {} (unplugged, or its interface was set down?)",
                            where(), std::strerror(number))};
      default:
        return failure("send", number);
    }
  }

  Error unreachable(int number) const {
    switch (number) {
      case ECONNREFUSED:
        return {
            ErrorCode::not_found,
            fmt::format("{}: refused, nothing echoes there (echo servers are on port 7 or 4242; "
                        "give ADDRESS:PORT)",
                        where())};
      case ENETUNREACH:
      case ENETDOWN:
        return {ErrorCode::not_found,
                fmt::format("{}: no way to this network (is the interface up, with an address of "
                            "it? try `millrace udp doctor`)",
                            where())};
      case EHOSTUNREACH:
        return {ErrorCode::not_found,
                fmt::format("{}: unreachable, nobody answers ARP (try `millrace udp doctor`)",
                            where())};
      case EMSGSIZE:
        return {ErrorCode::usage,
                fmt::format("{}: {} bytes are more than the way takes in one piece "
                            "(--allow-fragments)",
                            where(), options_.bytes)};
      case EINVAL:
        if (is_link_local()) {
          return {ErrorCode::usage,
                  fmt::format("{}: an address of a link needs its interface, such as fe80::1%usb0",
                              where())};
        }
        return {ErrorCode::not_found,
                fmt::format("{}: a route refuses it (see `ip route get {}`)", where(), numeric_)};
      default:
        return failure("send", number);
    }
  }

  bool is_link_local() const {
    if (!target_.is_v6()) return false;
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&target_.storage);
    return IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) && v6->sin6_scope_id == 0;
  }

  void note(int number) {
    if (number == EINTR || number == EAGAIN) return;
    const std::lock_guard lock(mutex_);
    if (!trouble_) trouble_ = has_answered_ ? gone(number) : unreachable(number);
  }

  // As few large ones; the kernel cuts them. How many of the first `count` left so.
  size_t send_segmented(size_t count) {
    const size_t bytes = out_parts_[0].iov_len;
    const size_t most = std::min(kMostPerCall, kMostPayload / bytes);
    for (size_t i = 1; i < count; ++i) {
      if (out_parts_[i].iov_len != bytes) return 0;
    }
    size_t sent = 0;
    while (is_segmented_ && count - sent > 1 && most > 1) {
      const size_t now = std::min(most, count - sent);
      alignas(cmsghdr) std::array<uint8_t, CMSG_SPACE(sizeof(uint16_t))> control{};
      msghdr header{};
      header.msg_iov = &out_parts_[sent];
      header.msg_iovlen = now;
      header.msg_control = control.data();
      header.msg_controllen = control.size();
      cmsghdr* const segment = CMSG_FIRSTHDR(&header);
      segment->cmsg_level = IPPROTO_UDP;
      segment->cmsg_type = UDP_SEGMENT;
      segment->cmsg_len = CMSG_LEN(sizeof(uint16_t));
      const auto size = static_cast<uint16_t>(bytes);
      std::memcpy(CMSG_DATA(segment), &size, sizeof size);
      if (::sendmsg(fd_, &header, MSG_DONTWAIT) < 0) {
        // A full queue may yet take a part of them; an old kernel or such an interface none, ever.
        const int number = errno;
        const bool is_for_ever = number == EINVAL || number == EIO || number == EOPNOTSUPP ||
                                 number == ENOPROTOOPT || number == EMSGSIZE;
        if (is_for_ever) {
          is_segmented_ = false;
        } else if (number != ENOBUFS) {
          note(number);
        }
        break;
      }
      sent += now;
    }
    return sent;
  }

  void set_options() {
    const int on = 1;
    const int asked = static_cast<int>(options_.receive_buffer);
    // The first needs CAP_NET_ADMIN, and then has no limit.
    if (::setsockopt(fd_, SOL_SOCKET, SO_RCVBUFFORCE, &asked, sizeof asked) != 0) {
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &asked, sizeof asked);
    }
    int granted = 0;
    socklen_t size = sizeof granted;
    ::getsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &granted, &size);
    info_.receive_buffer_asked = options_.receive_buffer;
    info_.receive_buffer_granted = static_cast<uint32_t>(granted / 2);  // socket(7): doubled
    info_.has_kernel_stamps = ::setsockopt(fd_, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) == 0;
    ::setsockopt(fd_, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof on);
    const int discover = options_.allow_fragments ? IP_PMTUDISC_DONT : IP_PMTUDISC_DO;
    if (target_.is_v6()) {
      ::setsockopt(fd_, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof on);
      ::setsockopt(fd_, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &discover, sizeof discover);
    } else {
      ::setsockopt(fd_, IPPROTO_IP, IP_RECVERR, &on, sizeof on);
      ::setsockopt(fd_, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof discover);
    }
  }

  Status check_mtu() {
    Address local;
    local.size = sizeof local.storage;
    if (::getsockname(fd_, reinterpret_cast<sockaddr*>(&local.storage), &local.size) == 0) {
      info_.interface = interface_of(local.storage);
    }
    if (!is_on_link(target_.storage)) {
      info_.description = "in no network of this machine: reached by a router";
    }
    int mtu = 0;
    socklen_t size = sizeof mtu;
    const int level = target_.is_v6() ? IPPROTO_IPV6 : IPPROTO_IP;
    if (::getsockopt(fd_, level, target_.is_v6() ? IPV6_MTU : IP_MTU, &mtu, &size) != 0) {
      return Status();
    }
    info_.mtu = static_cast<uint32_t>(mtu);
    const uint32_t headers = target_.is_v6() ? 48 : 28;
    if (options_.bytes + headers <= info_.mtu || options_.allow_fragments) return Status();
    return Error{ErrorCode::usage,
                 fmt::format("{}: {} bytes do not fit into the MTU of {} ({} bytes do; "
                             "--allow-fragments sends them in parts)",
                             where(), options_.bytes, mtu, info_.mtu - headers)};
  }

  // One request of `bytes` before anything is measured; true: it came back in a third of the time.
  bool is_echoed(uint32_t session, uint32_t number, size_t bytes) {
    std::vector<uint8_t> request(bytes);
    encode_payload({session, number, 0, 0}, request);
    const std::span<const uint8_t> one(request);
    send({&one, 1});
    const int64_t until = pacing_clock().now_ns() + int64_t{options_.probe_ms} * 1'000'000 / 3;
    bool is_answered = false;
    while (!is_answered && !trouble() && options_.keep_going() && pacing_clock().now_ns() < until) {
      const int64_t slice = std::min(until, pacing_clock().now_ns() + kAskedNs);
      receive(slice, [&](const Arrival& arrival) {
        Payload payload;
        const PayloadStatus status = decode_payload(arrival.bytes, session, &payload);
        is_answered =
            is_answered || (status == PayloadStatus::good && arrival.bytes.size() == bytes);
      });
    }
    return is_answered;
  }

  Status probe() {
    constexpr uint32_t kTimes = 3;
    const uint32_t session = static_cast<uint32_t>(pacing_clock().now_ns()) | 1;
    for (uint32_t i = 0; i < kTimes && !has_answered_ && options_.keep_going(); ++i) {
      has_answered_ = is_echoed(session, i, options_.bytes);
      if (const std::optional<Error> error = trouble()) return *error;
    }
    if (has_answered_) return Status();
    if (!options_.keep_going()) return Error{ErrorCode::interrupted, where() + ": interrupted"};
    if (is_nobody(numeric_)) {
      return Error{
          ErrorCode::not_found,
          fmt::format("{}: nobody answers ARP (is the device on, the address its own?)", where())};
    }
    if (options_.bytes > kLeastPayload && is_echoed(session, kTimes, kLeastPayload)) {
      return Error{ErrorCode::not_found,
                   fmt::format("{}: no echo of {} bytes within {} ms, but of {} (a smaller MTU on "
                               "the way, or a smaller buffer in the device: try a smaller --size)",
                               where(), options_.bytes, options_.probe_ms, kLeastPayload)};
    }
    return Error{ErrorCode::not_found,
                 fmt::format("{}: no echo within {} ms{} (does it answer pings? is a firewall in "
                             "between?)",
                             where(), options_.probe_ms,
                             info_.description.empty() ? "" : "; it is " + info_.description)};
  }

  void read_errors() {
    for (int i = 0; i < 64; ++i) {
      std::array<uint8_t, 512> control{};
      msghdr header{};
      header.msg_control = control.data();
      header.msg_controllen = control.size();
      if (::recvmsg(fd_, &header, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return;
      for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
        const bool is_error = (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
                              (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR);
        if (!is_error || c->cmsg_len < CMSG_LEN(sizeof(sock_extended_err))) continue;
        sock_extended_err error{};
        std::memcpy(&error, CMSG_DATA(c), sizeof error);
        if (error.ee_errno != ENOBUFS) note(static_cast<int>(error.ee_errno));
      }
    }
  }

  size_t receive_waiting(const std::function<void(const Arrival&)>& take) {
    for (size_t i = 0; i < kMostPerCall; ++i) {
      in_headers_[i].msg_hdr.msg_control = control_[i].data();
      in_headers_[i].msg_hdr.msg_controllen = kControl;
    }
    const int got = ::recvmmsg(fd_, in_headers_.data(), kMostPerCall, MSG_DONTWAIT, nullptr);
    if (got < 0) {
      note(errno);
      return 0;
    }
    const int64_t now = pacing_clock().now_ns();
    stamps_.compare(wall_clock_ahead_ns());
    for (size_t i = 0; i < static_cast<size_t>(got); ++i) {
      const int64_t at = read_control(&in_headers_[i].msg_hdr, now);
      const size_t size = std::min<size_t>(in_headers_[i].msg_len, slot_bytes_);
      take({at, {&in_[i * slot_bytes_], size}});
    }
    return static_cast<size_t>(got);
  }

  // When the datagram came, as far as that is known, or else `now`.
  int64_t read_control(msghdr* header, int64_t now) {
    int64_t at = now;
    for (cmsghdr* c = CMSG_FIRSTHDR(header); c != nullptr; c = CMSG_NXTHDR(header, c)) {
      if (c->cmsg_level != SOL_SOCKET) continue;
      if (c->cmsg_type == SO_TIMESTAMPNS) {
        timespec stamp{};
        std::memcpy(&stamp, CMSG_DATA(c), sizeof stamp);
        at = stamps_.to_monotonic(stamp.tv_sec * 1'000'000'000 + stamp.tv_nsec, now);
      } else if (c->cmsg_type == SO_RXQ_OVFL) {
        uint32_t count = 0;
        std::memcpy(&count, CMSG_DATA(c), sizeof count);
        overflow_ = std::max<uint64_t>(overflow_, count);
      }
    }
    return at;
  }

  const SocketOptions options_;
  const size_t slot_bytes_;
  Address target_;
  uint16_t port_ = 0;
  std::string numeric_;
  int fd_ = -1;
  KernelStamps stamps_;
  PortInfo info_;
  std::vector<uint8_t> in_;
  std::array<iovec, kMostPerCall> in_parts_{}, out_parts_{};
  std::array<mmsghdr, kMostPerCall> in_headers_{}, out_headers_{};
  alignas(cmsghdr) std::array<std::array<uint8_t, kControl>, kMostPerCall> control_{};
  uint64_t overflow_ = 0;
  bool is_segmented_ = true;
  bool has_answered_ = false;  // the probe
  std::mutex mutex_;
  std::optional<Error> trouble_;
};

}  // namespace

Result<std::unique_ptr<DatagramPort>> open_socket_port(const SocketOptions& options) {
  auto port = std::make_unique<SocketPort>(options);
  if (const Status opened = port->open(); !opened) return opened.error();
  return std::unique_ptr<DatagramPort>(std::move(port));
}

}  // namespace millrace::udp
