// SPDX-License-Identifier: Apache-2.0
// TCP on 127.0.0.1 for programs that look at the board from outside. Nowhere else: whoever can
// connect can change everything in the board.
#pragma once

#include <string_view>
#include <utility>

#include "millrace/host/result.h"

namespace millrace::cli {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;
  ~Socket() { reset(); }
  int get() const { return fd_; }  // -1: none
  bool valid() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_ = -1;
};

// Neither blocks. `user` is who shall connect, for the sentence of an error: "gdb". Port 0: any
// that is free.
host::Result<Socket> listen_locally(unsigned port, std::string_view user);
unsigned port_of(const Socket& socket);
// The next connection, for small messages without delay; invalid if there is none.
Socket accept_from(const Socket& listener);

}  // namespace millrace::cli
