// SPDX-License-Identifier: Apache-2.0
// One thread: a piece of the run, a look at the sockets, and so on. A piece is 2 million cycles,
// some 10 ms of this machine, so that gdb's Ctrl-C is answered at once while a look (one poll())
// costs nothing against it. With the board at rest poll() waits.
//
// Only 127.0.0.1 is listened to: whoever can connect can read and change everything in the board.
#include "cli/posix/gdb_listener.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "millrace/board/gdb_server.h"

namespace millrace::cli {

using board::GdbServer;
using board::GdbState;
using host::Error;
using host::ErrorCode;
using host::Result;

namespace {

constexpr uint64_t kPiece = 2'000'000;
constexpr int kRestMs = 50;
// Of gdb's bytes between two answers: bounds what an unread flood of questions can pile up.
constexpr size_t kReceived = 4096;

class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Socket() { reset(); }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void reset() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

Error listen_error(unsigned port, int code) {
  const std::string what = fmt::format("listen on 127.0.0.1:{} for gdb: ", port);
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

Result<Socket> listen_on(unsigned port) {
  if (port > 65535) {
    return Error{ErrorCode::usage, fmt::format("gdb port {}: ports end at 65535", port)};
  }
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return listen_error(port, errno);
  const int on = 1;  // a port whose last connection is in TIME_WAIT is free
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), 4) != 0) {
    return listen_error(port, errno);
  }
  return socket;
}

unsigned port_of(const Socket& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.sin_port);
}

class Session {
 public:
  Session(board::Board& board, const GdbOptions& options, Socket listener)
      : server_(board), options_(options), listener_(std::move(listener)) {}

  GdbOutcome serve() {
    for (;;) {
      if (options_.interrupted != nullptr && *options_.interrupted) {
        return {GdbEnd::interrupted, server_.last_stop()};
      }
      if (server_.running()) server_.run(kPiece);
      if (options_.between) options_.between();
      exchange();
      const GdbState state = server_.state();
      if (state == GdbState::killed) return {GdbEnd::killed, server_.last_stop()};
      if (state == GdbState::ended || (state == GdbState::exited && !client_.valid())) {
        return {GdbEnd::stopped, server_.last_stop()};
      }
    }
  }

 private:
  // Sends, then waits for what there is to receive.
  void exchange() {
    pending_ += server_.take_output();
    if (client_.valid()) send();
    const bool asks = client_.valid() && pending_.empty();
    std::array<pollfd, 2> sockets{};
    sockets[0] = {listener_.get(), POLLIN, 0};
    sockets[1] = {client_.get(), static_cast<short>(asks ? POLLIN : POLLOUT), 0};  // -1: left out
    if (::poll(sockets.data(), sockets.size(), server_.running() ? 0 : kRestMs) <= 0) return;
    if (sockets[0].revents != 0) accept();
    if (sockets[1].revents != 0 && client_.valid() && asks) receive();
  }

  void accept() {
    Socket came(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!came.valid() || client_.valid()) return;  // one at a time
    const int on = 1;
    ::setsockopt(came.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    client_ = std::move(came);
    pending_.clear();
    server_.connect();
  }

  void receive() {
    std::array<uint8_t, kReceived> bytes{};
    const ssize_t size = ::recv(client_.get(), bytes.data(), bytes.size(), 0);
    if (size > 0) {
      server_.receive(std::span(bytes).first(static_cast<size_t>(size)));
      pending_ += server_.take_output();
      send();
      const GdbState state = server_.state();
      if (state == GdbState::detached || state == GdbState::killed) drop();
    } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
      drop();
    }
  }

  void send() {
    while (client_.valid() && !pending_.empty()) {
      const ssize_t size = ::send(client_.get(), pending_.data(), pending_.size(), MSG_NOSIGNAL);
      if (size > 0) {
        pending_.erase(0, static_cast<size_t>(size));
      } else if (errno == EAGAIN || errno == EINTR) {
        return;
      } else {
        drop();
      }
    }
  }

  void drop() {
    client_.reset();
    pending_.clear();
    server_.disconnect();
  }

  GdbServer server_;
  const GdbOptions& options_;
  Socket listener_;
  Socket client_;
  std::string pending_;  // for client_
};

}  // namespace

Result<GdbOutcome> serve_gdb(board::Board& board, const GdbOptions& options) {
  Result<Socket> listener = listen_on(options.port);
  if (!listener) return listener.error();
  if (options.on_listening) options.on_listening(port_of(*listener));
  return Session(board, options, std::move(*listener)).serve();
}

}  // namespace millrace::cli
