// SPDX-License-Identifier: Apache-2.0
// One socket, one thread, up to 64 datagrams a call: in by recvmmsg, and the same headers, which
// hold the senders' addresses, out again by sendmmsg.
#include "millrace/udp/echo_server.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "millrace/host/text.h"

namespace millrace::udp {

using host::Error;
using host::ErrorCode;
using host::Result;
using host::Status;

namespace {

constexpr size_t kBurst = 64, kSlot = 65'536;
constexpr int kReceiveBuffer = 4 << 20;
constexpr uint16_t kEchoPort = 7;

class SocketEchoServer final : public EchoServer {
 public:
  SocketEchoServer() : bytes_(kBurst * kSlot) {}
  ~SocketEchoServer() override {
    if (fd_ >= 0) ::close(fd_);
  }
  SocketEchoServer(const SocketEchoServer&) = delete;
  SocketEchoServer& operator=(const SocketEchoServer&) = delete;

  Status open(const std::string& address, uint16_t port) {
    address_ = address;
    sockaddr_storage local{};
    socklen_t size = 0;
    auto* const v4 = reinterpret_cast<sockaddr_in*>(&local);
    auto* const v6 = reinterpret_cast<sockaddr_in6*>(&local);
    if (::inet_pton(AF_INET, address.c_str(), &v4->sin_addr) == 1) {
      v4->sin_family = AF_INET;
      v4->sin_port = htons(port);
      size = sizeof *v4;
    } else if (::inet_pton(AF_INET6, address.c_str(), &v6->sin6_addr) == 1) {
      v6->sin6_family = AF_INET6;
      v6->sin6_port = htons(port);
      size = sizeof *v6;
    } else {
      return Error{ErrorCode::usage,
                   fmt::format("address {}: is no address (such as 0.0.0.0 or 192.168.7.2)",
                               host::printable(address))};
    }
    fd_ = ::socket(local.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd_ < 0) return failure(port, errno);
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof kReceiveBuffer);
    const int on = 1;
    ::setsockopt(fd_, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof on);
    if (::bind(fd_, reinterpret_cast<const sockaddr*>(&local), size) != 0) {
      return failure(port, errno);
    }
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&local), &size);
    port_ = ntohs(local.ss_family == AF_INET ? v4->sin_port : v6->sin6_port);
    return Status();
  }

  const std::string& address() const override { return address_; }
  uint16_t port() const override { return port_; }
  const EchoCounts& counts() const override { return counts_; }

  Status run(const std::function<bool()>& keep_going) override {
    while (keep_going()) {
      prepare();
      const int got = ::recvmmsg(fd_, headers_.data(), kBurst, MSG_DONTWAIT, nullptr);
      if (got > 0) {
        reply(static_cast<size_t>(got));
        continue;
      }
      // ICMP errors of replies that nobody wanted are none of ours.
      if (got < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNREFUSED) {
        return Error{ErrorCode::io, fmt::format("receive: {}", std::strerror(errno))};
      }
      pollfd ready{fd_, POLLIN, 0};
      ::poll(&ready, 1, 100);
    }
    return Status();
  }

 private:
  Error failure(uint16_t port, int number) const {
    if (number == EACCES) {
      return {ErrorCode::permission,
              fmt::format("port {}: permission denied (ports below 1024 are root's; try --port "
                          "4242)",
                          port)};
    }
    if (number == EADDRINUSE) {
      return {ErrorCode::busy, fmt::format("port {}: another program has it (try --port 0)", port)};
    }
    return {ErrorCode::usage, fmt::format("{} port {}: {} (is it an address of this machine?)",
                                          address_, port, std::strerror(number))};
  }

  void prepare() {
    for (size_t i = 0; i < kBurst; ++i) {
      parts_[i] = {&bytes_[i * kSlot], kSlot};
      msghdr& header = headers_[i].msg_hdr;
      header = {};
      header.msg_name = &senders_[i];
      header.msg_namelen = sizeof senders_[i];
      header.msg_iov = &parts_[i];
      header.msg_iovlen = 1;
      header.msg_control = control_[i].data();
      header.msg_controllen = control_[i].size();
    }
  }

  void reply(size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i) {
      ++counts_.received;
      msghdr& header = headers_[i].msg_hdr;
      read_overflow(&header);
      const auto* sender =
          reinterpret_cast<const sockaddr_in*>(&senders_[i]);  // v6: the same place
      if (ntohs(sender->sin_port) == kEchoPort) {
        ++counts_.ignored;
        continue;
      }
      parts_[i].iov_len = headers_[i].msg_len;
      header.msg_control = nullptr;
      header.msg_controllen = 0;
      header.msg_flags = 0;
      headers_[kept++] = headers_[i];
    }
    for (size_t sent = 0; sent < kept;) {
      const int got = ::sendmmsg(fd_, &headers_[sent], static_cast<unsigned>(kept - sent), 0);
      if (got > 0) {
        sent += static_cast<size_t>(got);
        counts_.replied += static_cast<size_t>(got);
        continue;
      }
      if (errno == EAGAIN && wait_for_room()) continue;
      if (errno == EINTR) continue;
      ++counts_.refused;  // this one; the next ones may have another address
      ++sent;
    }
  }

  bool wait_for_room() const {
    pollfd ready{fd_, POLLOUT, 0};
    return ::poll(&ready, 1, 100) > 0;
  }

  void read_overflow(msghdr* header) {
    for (cmsghdr* c = CMSG_FIRSTHDR(header); c != nullptr; c = CMSG_NXTHDR(header, c)) {
      if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SO_RXQ_OVFL) continue;
      uint32_t count = 0;
      std::memcpy(&count, CMSG_DATA(c), sizeof count);
      counts_.overflow = std::max<uint64_t>(counts_.overflow, count);
    }
  }

  std::string address_;
  uint16_t port_ = 0;
  int fd_ = -1;
  EchoCounts counts_;
  std::vector<uint8_t> bytes_;
  std::array<mmsghdr, kBurst> headers_{};
  std::array<iovec, kBurst> parts_{};
  std::array<sockaddr_storage, kBurst> senders_{};
  alignas(cmsghdr) std::array<std::array<uint8_t, 64>, kBurst> control_{};
};

}  // namespace

Result<std::unique_ptr<EchoServer>> open_echo_server(const std::string& address, uint16_t port) {
  auto server = std::make_unique<SocketEchoServer>();
  if (const Status opened = server->open(address, port); !opened) return opened.error();
  return std::unique_ptr<EchoServer>(std::move(server));
}

}  // namespace millrace::udp
