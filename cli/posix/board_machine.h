// SPDX-License-Identifier: Apache-2.0
// Firmware on the virtual board behind a virtual USB host, as the names `board:IMAGE?KEY=VALUE&...`
// of ports and targets make it. Time passes only in run().
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cli/posix/output_stream.h"
#include "millrace/board/board.h"
#include "millrace/host/clock.h"
#include "millrace/host/result.h"

namespace millrace::cli {

// Files to write what happens to; null: none.
struct BusCaptures {
  std::unique_ptr<OutputStream> urbs, packets;
  std::unique_ptr<OutputStream> trace;  // of execution, from power-on (spec/trace.md)
};

// The board with its host, plugged in.
class BoardMachine final : public host::Clock {
 public:
  BoardMachine(std::string name, BusCaptures captures);
  ~BoardMachine() override;
  BoardMachine(const BoardMachine&) = delete;
  BoardMachine& operator=(const BoardMachine&) = delete;

  host::Status start(const board::Image& image, const board::BoardOptions& options,
                     board::UsbHostOptions usb);
  // The first failure of a capture; both are closed, and the board is gone.
  host::Status finish();

  // Runs to `deadline_ns` at most, or until something about USB changed or stop() was called.
  // False: the board stopped for good.
  bool run(int64_t deadline_ns);
  void stop() { board_->request_stop(); }  // from within run()

  int64_t now_ns() override { return static_cast<int64_t>(board_->ns()); }
  void sleep_until(int64_t deadline_ns) override;
  bool is_virtual() const override { return true; }

  const std::string& name() const { return name_; }
  board::UsbSerialPort& usb() { return *usb_; }
  bool is_dead() const { return !trouble_.empty(); }
  host::Error gone() const;
  // While the firmware is in a fault handler: that, and the cause, in one clause; else "".
  std::string fault();
  // What the firmware does when it has no `what` ("USB serial port"): one clause.
  std::string diagnosis(const std::string& what);

 private:
  const std::string name_;
  BusCaptures captures_;
  std::unique_ptr<board::TraceWriter> trace_;
  std::unique_ptr<board::Board> board_;
  board::UsbSerialPort* usb_ = nullptr;
  std::string trouble_;
};

// `rest`: IMAGE[?KEY=VALUE&...] with keys host (a built-in profile or a file), pcap, pcap_packets,
// and trace (files to write), pcap_sof, icache, dcache (on, off), psram, seed, timing (a file),
// model, adc and any parameter of the host profile. Errors: usage, and what board::Board::create()
// says.
host::Result<std::shared_ptr<BoardMachine>> make_board_machine(const std::string& rest);

// Whether `rest` is right but for its image, which need not be there yet. Errors: usage, and of
// files that are read.
host::Status check_board_machine(const std::string& rest);

}  // namespace millrace::cli
