// SPDX-License-Identifier: Apache-2.0
// Where the virtual board's LPUART1..8 go: stdout, a file, or a PTY for any other program.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "cli/posix/output_stream.h"
#include "millrace/host/result.h"

namespace millrace::cli {

inline constexpr unsigned kUarts = 8;

struct UartPlace {
  unsigned uart = 0;  // 1..8
  enum class Kind { standard_output, file, pty } kind = Kind::standard_output;
  std::string path;  // file; pty: a symbolic link to keep, or empty
};

// `6=stdout`, `1=uart1.log`, `6=pty` (or PTY), `6=pty:/tmp/serial1`.
host::Result<UartPlace> parse_uart_place(const std::string& text);

class UartPorts {
 public:
  UartPorts() = default;
  ~UartPorts();
  UartPorts(const UartPorts&) = delete;
  UartPorts& operator=(const UartPorts&) = delete;

  // Opens files and PTYs; the PTYs' paths are printed to `report`.
  // `console` is what "stdout" means (stderr while a result goes to stdout).
  host::Status open(const std::vector<UartPlace>& places, std::FILE* report, std::FILE* console);
  // A byte of the board.
  void take(unsigned uart, uint8_t byte);
  // Writes what is held back, and gives what came in by PTYs to `input`, which returns false when
  // the board takes no more for now.
  void exchange(const std::function<bool(unsigned uart, uint8_t byte)>& input);
  // The end: everything that can be written is. An error if a file could not be.
  host::Status finish();
  bool has_pty() const;
  // A file or stdout takes no more bytes; finish() says why, or for stdout the end of the program.
  bool failed() const;

  // From now on the text of every UART is searched for `pattern`.
  void look_for(const std::string& pattern);
  bool found() const { return found_; }
  uint64_t sent(unsigned uart) const { return ports_[uart - 1].sent; }
  bool connected(unsigned uart) const { return ports_[uart - 1].open; }

 private:
  struct Port {
    bool open = false;
    UartPlace place;
    int descriptor = -1;   // PTY's master
    std::string terminal;  // PTY's path
    OutputStream file;
    std::string waiting;   // to be written
    std::string to_board;  // read from the PTY, not taken yet
    std::string tail;      // the end of its text, for look_for()
    uint64_t sent = 0;
    uint64_t dropped = 0;  // nobody read the PTY
  };
  void flush(Port& port);
  void search(Port& port, uint8_t byte);

  std::array<Port, kUarts> ports_;
  std::string pattern_;
  bool found_ = false;
  std::FILE* console_ = nullptr;
  bool console_line_is_open_ = false;
};

}  // namespace millrace::cli
