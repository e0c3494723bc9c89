// SPDX-License-Identifier: Apache-2.0
// One thread: a piece of the run, a look at the sockets, and so on. A piece is 2 million cycles,
// some 10 ms of this machine, so that gdb's Ctrl-C is answered at once while a look (one poll())
// costs nothing against it. With the board at rest poll() waits.
#include "cli/posix/gdb_listener.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <span>
#include <string>
#include <utility>

#include "cli/posix/local_socket.h"
#include "millrace/board/gdb_server.h"

namespace millrace::cli {

using board::GdbServer;
using board::GdbState;
using host::Result;

namespace {

constexpr uint64_t kGdbSliceNs = 2'000'000;
constexpr int kRestMs = 50;
// Of gdb's bytes between two answers: bounds what an unread flood of questions can pile up.
constexpr size_t kReceived = 4096;

class Session {
 public:
  Session(board::Board& board, const GdbOptions& options, Socket listener)
      : server_(board), options_(options), listener_(std::move(listener)) {}

  GdbOutcome serve() {
    for (;;) {
      if (options_.interrupted != nullptr && *options_.interrupted) {
        return {GdbEnd::interrupted, server_.last_stop()};
      }
      if (server_.running()) server_.run(kGdbSliceNs);
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
    Socket came = accept_from(listener_);
    if (!came.valid() || client_.valid()) return;  // one at a time
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
  Result<Socket> listener = listen_locally(options.port, "gdb");
  if (!listener) return listener.error();
  if (options.on_listening) options.on_listening(port_of(*listener));
  return Session(board, options, std::move(*listener)).serve();
}

}  // namespace millrace::cli
