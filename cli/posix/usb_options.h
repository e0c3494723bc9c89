// SPDX-License-Identifier: Apache-2.0
// What a command line says of the USB at a virtual board: the host it is plugged into, and what
// happens to the cable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line.h"
#include "millrace/board/usb_serial.h"
#include "millrace/host/result.h"

namespace millrace::cli {

// How the board's time goes while a USB/IP client may come.
enum class Pace : uint8_t {
  free,  // as fast as it can while bytes move, so that the client decides; else as the wall clock
  wall,  // never ahead of the wall clock
};

enum class UsbAction : uint8_t { plug, unplug, suspend, resume, reset };

struct UsbEvent {
  uint64_t ns = 0;  // of the board's time
  UsbAction action = UsbAction::plug;
};

// `1.5s=unplug,2s=plug`: simulated seconds, at most 10^6 with nine places, in ascending order, at
// most 1,000 of them.
host::Result<std::vector<UsbEvent>> parse_usb_events(const std::string& text);
// False: the port was in no state for it, and nothing happened.
bool perform(UsbAction action, board::UsbSerialPort& usb);
std::string_view name_of(UsbAction action);

struct UsbOptions;
// What --usb says: none, host, pty[=LINK], tap[=NAME], usbip[=PORT]. Errors: usage.
host::Status parse_usb_place(const std::string& text, UsbOptions* options);

// The name of a built-in profile, or a file with lines `name = value`. Errors: usage.
host::Status choose_usb_host(const std::string& text, board::UsbHostOptions* options);

struct UsbOptions {
  enum class Place : uint8_t { none, host, pty, tap, usbip } place = Place::none;
  std::string link;        // pty: a symbolic link to keep, or empty
  std::string interface;   // tap: its name, or empty: the kernel's choice
  unsigned port = 0;       // usbip: 0: any that is free
  Pace pace = Pace::free;  // usbip
  board::UsbHostOptions host;
  std::string capture, packet_capture;  // files, or empty
  std::vector<UsbEvent> events;
};

// --usb, --host, --pace, --pcap, --pcap-packets, --pcap-sof, --usb-at. `options` must outlive
// CommandLine::run().
void add_usb_options(Command& command, UsbOptions* options);

}  // namespace millrace::cli
