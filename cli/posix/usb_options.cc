// SPDX-License-Identifier: Apache-2.0
#include "cli/posix/usb_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "cli/posix/text_file.h"
#include "cli/posix/usb_tap.h"
#include "cli/print.h"
#include "cli/values.h"

namespace millrace::cli {

using board::UsbSerialPort;
using host::Error;
using host::ErrorCode;
using host::Result;
using host::Status;

namespace {

constexpr size_t kMostEvents = 1000;
constexpr uint64_t kMostSeconds = 1'000'000;
constexpr size_t kPlaces = 9;

struct NamedAction {
  std::string_view name;
  UsbAction action;
  bool (UsbSerialPort::*perform)();
};
constexpr NamedAction kActions[] = {
    {"plug", UsbAction::plug, &UsbSerialPort::plug_in},
    {"unplug", UsbAction::unplug, &UsbSerialPort::unplug},
    {"suspend", UsbAction::suspend, &UsbSerialPort::suspend_bus},
    {"resume", UsbAction::resume, &UsbSerialPort::resume_bus},
    {"reset", UsbAction::reset, &UsbSerialPort::reset_bus},
};

// Decimal digits only, and exact: a double would round what is to repeat to the nanosecond.
bool parse_seconds(std::string_view text, uint64_t* ns) {
  if (!text.empty() && text.back() == 's') text.remove_suffix(1);
  const size_t point = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, point);
  const std::string_view places = text.substr(std::min(point + 1, text.size()));
  if (whole.empty() || whole.size() > 7 || places.size() > kPlaces ||
      (point != text.size() && places.empty())) {
    return false;
  }
  uint64_t value = 0;
  for (const std::string_view part : {whole, places}) {
    for (const char c : part) {
      if (c < '0' || c > '9') return false;
      value = value * 10 + static_cast<uint64_t>(c - '0');
    }
  }
  for (size_t i = places.size(); i < kPlaces; ++i) value *= 10;
  *ns = value;
  return value <= kMostSeconds * 1'000'000'000;
}

}  // namespace

Status parse_usb_place(const std::string& text, UsbOptions* options) {
  const std::string kind = text.substr(0, text.find('='));
  const bool has_link = kind.size() < text.size();
  if (kind == "pty") {
    options->place = UsbOptions::Place::pty;
    options->link = has_link ? text.substr(kind.size() + 1) : "";
    if (!has_link || !options->link.empty()) return Status();
  }
  if (kind == "tap") {
    options->place = UsbOptions::Place::tap;
    options->interface = has_link ? text.substr(kind.size() + 1) : "";
    return has_link ? check_interface_name(options->interface) : Status();
  }
  if (kind == "usbip") {
    options->place = UsbOptions::Place::usbip;
    uint64_t port = 0;
    Status status = has_link
                        ? number_into(&port, Scale::count, 0, 65535)(text.substr(kind.size() + 1))
                        : Status();
    options->port = static_cast<unsigned>(port);
    return status;
  }
  if (text == "none" || text == "host") {
    options->place = text == "host" ? UsbOptions::Place::host : UsbOptions::Place::none;
    return Status();
  }
  return Error{
      ErrorCode::usage,
      "give none, host, pty, pty=LINK as in pty=/tmp/teensy, tap, tap=NAME, usbip, or usbip=PORT"};
}

Result<std::vector<UsbEvent>> parse_usb_events(const std::string& text) {
  std::vector<UsbEvent> events;
  for (std::string_view rest = text;;) {
    const size_t end = rest.find(',');
    const std::string_view item = rest.substr(0, end);
    const size_t equals = item.find('=');
    const std::string_view name = item.substr(std::min(equals, item.size() - 1) + 1);
    const auto* const found = std::find_if(std::begin(kActions), std::end(kActions),
                                           [&](const NamedAction& a) { return a.name == name; });
    UsbEvent event;
    if (item.empty() || equals == std::string_view::npos || found == std::end(kActions) ||
        !parse_seconds(item.substr(0, equals), &event.ns)) {
      return Error{ErrorCode::usage,
                   "give SECONDS=EVENT,... with plug, unplug, suspend, resume or reset, such as "
                   "1.5s=unplug,2s=plug"};
    }
    event.action = found->action;
    if (!events.empty() && event.ns < events.back().ns) {
      return Error{ErrorCode::usage, fmt::format("\"{}\" is earlier than what stands before it "
                                                 "(sort the events by time)",
                                                 printable(std::string(item)))};
    }
    if (events.size() == kMostEvents) {
      return Error{ErrorCode::usage, fmt::format("more than {} events", kMostEvents)};
    }
    events.push_back(event);
    if (end == std::string_view::npos) return events;
    rest = rest.substr(end + 1);
  }
}

bool perform(UsbAction action, UsbSerialPort& usb) {
  for (const NamedAction& known : kActions) {
    if (known.action == action) return (usb.*known.perform)();
  }
  return false;
}

std::string_view name_of(UsbAction action) {
  for (const NamedAction& known : kActions) {
    if (known.action == action) return known.name;
  }
  return "";
}

Status choose_usb_host(const std::string& text, board::UsbHostOptions* options) {
  const std::vector<std::string_view> names = board::usb_profiles();
  if (std::find(names.begin(), names.end(), text) != names.end()) {
    options->profile_name = text;
    return Status();
  }
  const Result<std::string> profile = read_text_file(text, text);
  if (!profile) {
    return Error{ErrorCode::usage,
                 fmt::format("{} is neither a profile ({}) nor a file that can be read",
                             printable(text), fmt::join(names, ", "))};
  }
  // What the query of a port says counts, wherever it stands.
  options->profile_texts.insert(options->profile_texts.begin(), {printable(text), *profile});
  return Status();
}

void add_usb_options(Command& command, UsbOptions* options) {
  command.option("--usb", "none|host|pty[=LINK]|tap[=NAME]|usbip[=PORT]",
                 "host: plugged into a virtual host that opens no port; pty: the host's serial "
                 "port, for any program, in wall-clock time; LINK leads to it while it is there; "
                 "tap: its network interface, as one of this machine (needs CAP_NET_ADMIN); usbip: "
                 "for a real Linux, at 127.0.0.1 (none)",
                 ValueKind::text,
                 [options](const std::string& text) { return parse_usb_place(text, options); });
  command.option("--host", "PROFILE",
                 "Pace of the USB host: ideal, xhci-desktop, xhci-laptop, windows-serial, or a "
                 "file of lines `name = value` (xhci-desktop)",
                 ValueKind::text, [options](const std::string& text) {
                   return choose_usb_host(text, &options->host);
                 });
  command.option("--pace", "free|wall",
                 "Of --usb usbip: free, as fast as it can while bytes move, else as the wall "
                 "clock; wall, never ahead of that (free)",
                 ValueKind::text, [options](const std::string& text) {
                   if (text != "free" && text != "wall") {
                     return Status(Error{ErrorCode::usage, "give free or wall"});
                   }
                   options->pace = text == "free" ? Pace::free : Pace::wall;
                   return Status();
                 });
  command.text("--pcap", "FILE", "Write what the host's USB driver sees, as usbmon would (pcapng)",
               ValueKind::output, &options->capture);
  command.text("--pcap-packets", "FILE",
               "Write every packet on the bus, as a bus analyser would (pcapng)", ValueKind::output,
               &options->packet_capture);
  command.flag("--pcap-sof", "Starts of frame in --pcap-packets too: 8,000 a second",
               &options->host.capture_sof);
  command.option("--usb-at", "EVENTS",
                 "What happens to the cable, at simulated times: plug, unplug, suspend, resume, "
                 "reset, as in 1.5s=unplug,2s=plug (plugged in from the start)",
                 ValueKind::text, [options](const std::string& text) {
                   Result<std::vector<UsbEvent>> events = parse_usb_events(text);
                   if (!events) return Status(events.error());
                   options->events = std::move(*events);
                   return Status();
                 });
}

}  // namespace millrace::cli
