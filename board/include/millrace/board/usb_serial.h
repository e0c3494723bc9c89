// SPDX-License-Identifier: Apache-2.0
// The USB host of the virtual board with its serial port: what a PC makes of a CDC-ACM device that
// is plugged in; and, for a device that has one, its network interface. Everything happens in the
// board's time; see board/src/usb/ for the model.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/board/ethernet_port.h"

namespace millrace::board {

struct UsbHostOptions {
  // Lines `name = value` on top of a built-in profile (usb_profiles()), as docs/board.md lists
  // them; of several texts a later one counts. `name`: for sentences, its file.
  struct ProfileText {
    std::string name, text;
  };
  std::string profile_name = "xhci-desktop";
  std::vector<ProfileText> profile_texts;
  // Receive pcapng captures: of URBs as Linux's usbmon has them, of packets as a bus analyser
  // does. Empty: none.
  std::function<void(std::span<const uint8_t>)> capture, packet_capture;
  bool capture_sof = false;  // starts of frame too, among the packets: 8,000 a second
};

std::vector<std::string_view> usb_profiles();

struct UsbSerialInfo {
  uint16_t vendor_id = 0, product_id = 0;
  std::string manufacturer, product, serial;
  bool high_speed = true;
  std::vector<std::string> findings;  // what is wrong with the descriptors, one sentence each
};

struct UsbLinkCounts {
  uint64_t microframes = 0;  // or frames, at full speed
  uint64_t packets_in = 0, packets_out = 0, bytes_in = 0, bytes_out = 0;
  uint64_t naks = 0;  // those that the host was spared included
  uint64_t nyets = 0, stalls = 0, timeouts = 0, resets = 0;
};

class UsbSerialPort {
 public:
  virtual ~UsbSerialPort() = default;
  // Called after anything that may change what the functions below return.
  virtual void set_changed(std::function<void()> changed) = 0;
  // What happens to the cable and the port. False: nothing, since the port is in no state for it
  // (suspend needs an enabled one, resume a suspended one, reset either).
  virtual bool plug_in() = 0;
  virtual bool unplug() = 0;
  virtual bool suspend_bus() = 0;
  virtual bool resume_bus() = 0;
  virtual bool reset_bus() = 0;
  // A CDC-ACM function is configured; if not, why, or empty while it is under way.
  virtual bool is_ready() const = 0;
  virtual std::string problem() const = 0;
  // Of the device that was enumerated last, whether it is a serial port or not; as far as that
  // came.
  virtual UsbSerialInfo info() const = 0;

  // As open() and close() of a tty.
  virtual void open() = 0;
  virtual void close() = 0;
  virtual void set_lines(bool dtr, bool rts) = 0;
  // What is there, at most out.size(); 0 too while the profile has the reader busy.
  virtual size_t read(std::span<uint8_t> out) = 0;
  // How many bytes were taken.
  virtual size_t write(std::span<const uint8_t> bytes) = 0;
  virtual UsbLinkCounts counts() const = 0;

  // What is there of a network function. A device may have both, or one of them.
  virtual EthernetPort& ethernet() = 0;
};

}  // namespace millrace::board
