// SPDX-License-Identifier: Apache-2.0
#include "cli/posix/local_socket.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Result;

namespace {

Error listen_error(unsigned port, std::string_view user, int code) {
  const std::string what = fmt::format("listen on 127.0.0.1:{} for {}: ", port, user);
  if (code == EADDRINUSE) {
    return {ErrorCode::busy,
            what + "another program has the port (name another one, or 0 for any that is free)"};
  }
  if (code == EACCES) {
    return {ErrorCode::permission,
            what + "not permitted (name a port from 1024 on, or 0 for any that is free)"};
  }
  return {ErrorCode::io, what + std::strerror(code)};
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Socket::reset() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Result<Socket> listen_locally(unsigned port, std::string_view user) {
  if (port > 65535) {
    return Error{ErrorCode::usage, fmt::format("{} port {}: ports end at 65535", user, port)};
  }
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return listen_error(port, user, errno);
  const int on = 1;  // a port whose last connection is in TIME_WAIT is free
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), 4) != 0) {
    return listen_error(port, user, errno);
  }
  return socket;
}

unsigned port_of(const Socket& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.sin_port);
}

Socket accept_from(const Socket& listener) {
  Socket came(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  const int on = 1;
  if (came.valid()) ::setsockopt(came.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return came;
}

}  // namespace millrace::cli
