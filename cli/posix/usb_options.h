// SPDX-License-Identifier: Apache-2.0
// What a command line says of the USB at a virtual board: the host it is plugged into, and what
// happens to the cable.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "millrace/board/usb_serial.h"
#include "millrace/host/result.h"

namespace millrace::cli {

enum class UsbAction : uint8_t { plug, unplug, suspend, resume, reset };

struct UsbEvent {
  uint64_t ns = 0;  // of the board's time
  UsbAction action = UsbAction::plug;
};

// `1.5s=unplug,2s=plug`: simulated seconds, at most 10^6 with nine places, in ascending order, at
// most 1,000 of them.
host::Result<std::vector<UsbEvent>> parse_usb_events(const std::string& text);
void perform(UsbAction action, board::UsbSerialPort& usb);

// The name of a built-in profile, or a file with lines `name = value`. Errors: usage.
host::Status choose_usb_host(const std::string& text, board::UsbHostOptions* options);

struct UsbOptions {
  enum class Place : uint8_t { none, host, pty } place = Place::none;
  std::string link;  // pty: a symbolic link to keep, or empty
  board::UsbHostOptions host;
  std::string capture;  // a file, or empty
  std::vector<UsbEvent> events;
};

// --usb, --host, --pcap, --usb-at. `options` must outlive CommandLine::run().
void add_usb_options(Command& command, UsbOptions* options);

}  // namespace millrace::cli
