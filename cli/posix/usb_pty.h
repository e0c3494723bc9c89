// SPDX-License-Identifier: Apache-2.0
// The serial port of the virtual USB host as a PTY, for any program of this machine.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "millrace/board/usb_serial.h"
#include "millrace/host/result.h"

namespace millrace::cli {

// There is a PTY while there is a serial port: programs that have it open see a hangup when the
// device goes, and after a replug it has another path. The link, if any, follows.
class UsbPty {
 public:
  // `usb` and `report` outlive this; paths and what goes wrong are printed to `report`.
  UsbPty(board::UsbSerialPort& usb, std::string link, std::FILE* report)
      : usb_(usb), link_(std::move(link)), report_(report) {}
  ~UsbPty();
  UsbPty(const UsbPty&) = delete;
  UsbPty& operator=(const UsbPty&) = delete;

  // The link can be made. Errors: usage.
  host::Status check() const;
  // Between two pieces of the run: notices plug and unplug, open and close, and moves bytes both
  // ways. `ns` is the board's time.
  void exchange(uint64_t ns);
  // There has been a serial port, if only for a while.
  bool was_there() const { return was_there_; }

 private:
  void appear();
  void vanish();
  bool was_closed();
  void take_input();
  void give_output();
  void close_port(uint64_t ns);

  board::UsbSerialPort& usb_;
  const std::string link_;
  std::FILE* const report_;
  int master_ = -1;
  int watch_ = -1;  // inotify at the slave; -1: there is none
  unsigned users_ = 0;
  bool was_released_ = false;  // the last of them closed it, and maybe another one opened it since
  std::string path_;           // of the slave
  bool is_broken_ = false, was_there_ = false;
  bool is_open_ = false;    // a program has it, or has closed it and its last bytes are under way
  uint64_t closed_ns_ = 0;  // when that was; 0: it has it
  uint64_t quiet_until_ns_ = 0;
  std::string to_board_, to_program_;
  std::string problem_;  // that was printed last
};

}  // namespace millrace::cli
