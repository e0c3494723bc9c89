// SPDX-License-Identifier: Apache-2.0
// The board's USB device for a real Linux: `usbip attach` connects here.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/posix/local_socket.h"
#include "cli/posix/usb_options.h"
#include "millrace/board/usb_ip.h"
#include "millrace/host/result.h"

namespace millrace::cli {

// One client at a time; a second one is turned away, and one that does not import the device within
// 5 s is dropped. The device is pulled out and plugged in again when its client goes.
class UsbIpListener {
 public:
  // `usb`, plugged in, outlives this.
  UsbIpListener(board::UsbIpPort& usb, Pace pace) : usb_(usb), pace_(pace) {}

  host::Status listen(unsigned port);
  unsigned port() const { return port_of(listener_); }
  // Between two pieces of the run: moves bytes both ways, then waits until the next piece is due,
  // at most 50 ms. `board_ns` is the board's time; with `is_asleep` it stands, and what is not
  // there will not come.
  void exchange(uint64_t board_ns, bool is_asleep);
  // Why the last client was dropped, once: a sentence, or empty.
  std::string take_problem();

 private:
  using Clock = std::chrono::steady_clock;

  void accept();
  void receive();
  void hand_over();
  void send();
  void drop();
  bool waits_for_device() const;
  bool is_free() const;
  std::chrono::nanoseconds until_due(Clock::time_point now);

  board::UsbIpPort& usb_;
  const Pace pace_;
  Socket listener_;
  Socket client_;
  std::vector<uint8_t> input_;  // of the client, not taken yet
  std::string problem_;
  uint64_t board_ns_ = 0;
  bool is_asleep_ = false;
  uint64_t moved_ns_ = 0;     // board's time when bytes moved last
  uint64_t accepted_ns_ = 0;  // and when the client came
  Clock::time_point accepted_;
  // The board's time `paced_ns_` was due then.
  uint64_t paced_ns_ = 0;
  Clock::time_point paced_;
};

}  // namespace millrace::cli
