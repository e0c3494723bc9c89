// SPDX-License-Identifier: Apache-2.0
#include "cli/posix/uart_ports.h"

#include <fcntl.h>
#include <pty.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cli/print.h"
#include "firmware/ports/pc/pty_link.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Result;
using host::Status;

namespace {

// What a PTY that nobody reads may hold back; behind it the oldest bytes are dropped.
constexpr size_t kMostWaiting = 1 << 20;
constexpr size_t kFlushAt = 4096;
constexpr size_t kReadBytes = 4096;

}  // namespace

Result<UartPlace> parse_uart_place(const std::string& text) {
  const Error wrong{ErrorCode::usage,
                    "give UART=PLACE with a UART of 1 to 8 and stdout, pty, pty:LINK or a file, "
                    "such as 6=stdout or 1=uart1.log"};
  if (text.size() < 3 || text[1] != '=' || text[0] < '1' || text[0] > '8') return wrong;
  UartPlace place;
  place.uart = static_cast<unsigned>(text[0] - '0');
  const std::string target = text.substr(2);
  if (target == "stdout" || target == "-") return place;
  if (target == "pty" || target == "PTY" || target.rfind("pty:", 0) == 0) {
    place.kind = UartPlace::Kind::pty;
    place.path = target.size() > 4 ? target.substr(4) : "";
    return place;
  }
  place.kind = UartPlace::Kind::file;
  place.path = target;
  return place;
}

UartPorts::~UartPorts() {
  for (Port& port : ports_) {
    if (port.descriptor >= 0) {
      // What somebody else has put there meanwhile stays.
      const std::string& link = port.place.path;
      if (!link.empty() && firmware::link_target(link) == port.terminal) unlink(link.c_str());
      close(port.descriptor);
    }
  }
}

Status UartPorts::open(const std::vector<UartPlace>& places, std::FILE* report,
                       std::FILE* console) {
  console_ = console;
  for (const UartPlace& place : places) {
    Port& port = ports_[place.uart - 1];
    if (port.open) {
      return Error{ErrorCode::usage,
                   fmt::format("--uart: LPUART{} is given twice (give each once)", place.uart)};
    }
    port.open = true;
    port.place = place;
    if (place.kind == UartPlace::Kind::file) {
      if (Status opened = port.file.open("--uart", place.path, OutputStream::Growth::in_sight);
          !opened)
        return opened;
    } else if (place.kind == UartPlace::Kind::pty) {
      int slave = -1;
      char name[128] = {};
      termios raw{};
      cfmakeraw(&raw);
      if (openpty(&port.descriptor, &slave, name, &raw, nullptr) != 0) {
        return Error{ErrorCode::io, fmt::format("--uart: open a PTY: {} (close some terminals)",
                                                std::strerror(errno))};
      }
      // The slave stays open: the master would read EIO while no program has it.
      fcntl(port.descriptor, F_SETFL, O_NONBLOCK);
      fcntl(port.descriptor, F_SETFD, FD_CLOEXEC);
      fcntl(slave, F_SETFD, FD_CLOEXEC);
      port.terminal = name;
      if (!place.path.empty()) {
        const std::string start = fmt::format("--uart: link {}: ", printable(place.path));
        const std::string problem = firmware::pty_link_problem(place.path, name);
        if (!problem.empty()) return Error{ErrorCode::usage, start + printable(problem)};
        unlink(place.path.c_str());
        if (symlink(name, place.path.c_str()) != 0) {
          return Error{ErrorCode::usage, start + std::strerror(errno) + " (choose another place)"};
        }
      }
      write_now(report, fmt::format("LPUART{} is at {}\n", place.uart, name));
    }
  }
  return Status();
}

void UartPorts::search(Port& port, uint8_t byte) {
  port.tail += static_cast<char>(byte);
  if (port.tail.size() > 2 * pattern_.size() + 256) {
    port.tail.erase(0, port.tail.size() - pattern_.size());
  }
  if (port.tail.size() >= pattern_.size() &&
      port.tail.compare(port.tail.size() - pattern_.size(), pattern_.size(), pattern_) == 0) {
    found_ = true;
  }
}

void UartPorts::take(unsigned uart, uint8_t byte) {
  Port& port = ports_[uart - 1];
  ++port.sent;
  if (!pattern_.empty()) search(port, byte);
  if (!port.open) return;
  port.waiting += static_cast<char>(byte);
  if (port.waiting.size() >= kFlushAt) flush(port);
}

void UartPorts::flush(Port& port) {
  if (port.waiting.empty()) return;
  if (port.place.kind == UartPlace::Kind::standard_output) {
    write_now(console_, port.waiting);
    console_line_is_open_ = port.waiting.back() != '\n';
    port.waiting.clear();
  } else if (port.place.kind == UartPlace::Kind::file) {
    port.file.write({reinterpret_cast<const uint8_t*>(port.waiting.data()), port.waiting.size()});
    port.file.flush();
    port.waiting.clear();
  } else {
    const ssize_t written = write(port.descriptor, port.waiting.data(), port.waiting.size());
    if (written > 0) port.waiting.erase(0, static_cast<size_t>(written));
    if (port.waiting.size() > kMostWaiting) {
      port.dropped += port.waiting.size() - kMostWaiting;
      port.waiting.erase(0, port.waiting.size() - kMostWaiting);
    }
  }
}

void UartPorts::exchange(const std::function<bool(unsigned, uint8_t)>& input) {
  for (Port& port : ports_) {
    if (!port.open) continue;
    flush(port);
    if (port.descriptor < 0) continue;
    if (port.to_board.empty()) {
      char bytes[kReadBytes];
      const ssize_t count = read(port.descriptor, bytes, sizeof bytes);
      if (count > 0) port.to_board.assign(bytes, static_cast<size_t>(count));
    }
    size_t taken = 0;
    while (taken < port.to_board.size() &&
           input(port.place.uart, static_cast<uint8_t>(port.to_board[taken]))) {
      ++taken;
    }
    port.to_board.erase(0, taken);
  }
}

Status UartPorts::finish() {
  Status first;
  for (Port& port : ports_) {
    if (port.open) flush(port);
    if (port.dropped != 0) {
      print(stderr, "millrace: LPUART{}: {} bytes were dropped, since nobody read its PTY\n",
            port.place.uart, port.dropped);
    }
    const Status closed = port.file.close();
    if (first) first = closed;
  }
  // What the program says next begins a line, where both appear on one terminal.
  if (console_line_is_open_ && isatty(fileno(console_)) == 1 && isatty(STDERR_FILENO) == 1) {
    write_now(console_, "\n");
  }
  return first;
}

bool UartPorts::has_pty() const {
  return std::any_of(ports_.begin(), ports_.end(),
                     [](const Port& port) { return port.descriptor >= 0; });
}

bool UartPorts::failed() const {
  return (console_ == stdout && stdout_error() != 0) ||
         std::any_of(ports_.begin(), ports_.end(),
                     [](const Port& port) { return port.file.failed(); });
}

void UartPorts::look_for(const std::string& pattern) { pattern_ = pattern; }

}  // namespace millrace::cli
