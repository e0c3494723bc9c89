// SPDX-License-Identifier: Apache-2.0
// The USB of `board run`: a virtual host, what happens to the cable, its serial port as a PTY or
// its network interface as a TAP; or the device itself, exported over USB/IP.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/json.h"
#include "cli/posix/output_stream.h"
#include "cli/posix/usb_options.h"
#include "cli/posix/usb_pty.h"
#include "cli/posix/usb_tap.h"
#include "cli/posix/usbip_listener.h"
#include "millrace/board/board.h"
#include "millrace/host/result.h"

namespace millrace::cli {

// REQUIRES: a board that is destroyed before this, since the end of the capture comes from it.
class UsbRun {
 public:
  // Plugs the board in, unless the options say that there is no USB.
  host::Status start(const UsbOptions& options, board::Board& board, std::FILE* report);
  bool is_there() const { return usb_ != nullptr; }
  // A program may come at any time: the board runs by the wall clock, and does not end by itself.
  bool is_live() const { return pty_ != nullptr || tap_ != nullptr || listener_ != nullptr; }
  // exchange() keeps the pace itself.
  bool is_paced() const { return listener_ != nullptr; }
  bool failed() const {
    return capture_.failed() || packet_capture_.failed() || (tap_ != nullptr && tap_->is_deleted());
  }

  // The board is to run no further than this, in nanoseconds of its time.
  uint64_t next_event_ns() const;
  // Between two pieces of the run: what happens to the cable by now, and bytes. With `is_asleep`,
  // for a board whose time stands, the next event comes at once. True: there was an event.
  bool exchange(uint64_t ns, bool is_asleep);
  // Why what --usb asked for was never there, or is there no longer; empty: it is all right.
  std::string trouble() const;
  // What became of it, for the report: a line, or empty.
  std::string summary() const;
  Json to_json() const;  // REQUIRES: is_there()
  // At the end, after the board is gone.
  host::Status finish();

 private:
  std::string network_summary() const;
  Json network_json() const;
  host::Status open_captures(const UsbOptions& options, board::UsbHostOptions* host);
  host::Status serve(const UsbOptions& options, const board::UsbHostOptions& host,
                     board::Board& board, std::FILE* report);

  OutputStream capture_, packet_capture_;
  board::UsbSerialPort* usb_ = nullptr;
  std::unique_ptr<UsbPty> pty_;
  std::unique_ptr<UsbTap> tap_;
  board::UsbIpPort* exported_ = nullptr;
  std::unique_ptr<UsbIpListener> listener_;
  std::FILE* report_ = nullptr;
  std::vector<UsbEvent> events_;
  size_t next_ = 0;
};

}  // namespace millrace::cli
