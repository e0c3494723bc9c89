// SPDX-License-Identifier: Apache-2.0
#include "cli/posix/usb_run.h"

#include <nlohmann/json.hpp>

#include "cli/print.h"
#include "cli/values.h"

namespace millrace::cli {

using board::UsbLinkCounts;
using board::UsbSerialInfo;
using host::Error;
using host::ErrorCode;
using host::Status;

Status UsbRun::start(const UsbOptions& options, board::Board& board, std::FILE* report) {
  if (options.host.capture_sof && options.packet_capture.empty()) {
    return Error{ErrorCode::usage, "--pcap-sof needs --pcap-packets FILE"};
  }
  if (options.place == UsbOptions::Place::none) {
    if (options.capture.empty() && options.packet_capture.empty() && options.events.empty()) {
      return Status();
    }
    return Error{
        ErrorCode::usage,
        "--pcap, --pcap-packets and --usb-at need a USB host (add --usb host, --usb pty or "
        "--usb tap)"};
  }
  if (options.place == UsbOptions::Place::usbip && !options.events.empty()) {
    return Error{ErrorCode::usage,
                 "--usb-at does not go with --usb usbip: the client attaches and detaches"};
  }
  board::UsbHostOptions host = options.host;
  if (Status opened = open_captures(options, &host); !opened) return opened;
  if (options.place == UsbOptions::Place::usbip) return serve(options, host, board, report);
  std::string problem;
  usb_ = board.connect_usb(host, &problem);
  if (usb_ == nullptr) return Error{ErrorCode::usage, "--host: " + problem};
  events_ = options.events;
  report_ = report;
  usb_->plug_in();
  if (options.place == UsbOptions::Place::tap) {
    tap_ = std::make_unique<UsbTap>(usb_->ethernet(), report);
    return tap_->open(options.interface);
  }
  if (options.place != UsbOptions::Place::pty) return Status();
  pty_ = std::make_unique<UsbPty>(*usb_, options.link, report);
  return pty_->check();
}

Status UsbRun::open_captures(const UsbOptions& options, board::UsbHostOptions* host) {
  if (!options.capture.empty()) {
    Status opened = capture_.open("--pcap", options.capture);
    if (!opened) return opened;
    host->capture = [this](std::span<const uint8_t> bytes) { capture_.write(bytes); };
  }
  if (options.packet_capture.empty()) return Status();
  host->packet_capture = [this](std::span<const uint8_t> bytes) { packet_capture_.write(bytes); };
  return packet_capture_.open("--pcap-packets", options.packet_capture);
}

Status UsbRun::serve(const UsbOptions& options, const board::UsbHostOptions& host,
                     board::Board& board, std::FILE* report) {
  std::string problem;
  exported_ = board.export_usb(host, &problem);
  if (exported_ == nullptr) return Error{ErrorCode::usage, "--host: " + problem};
  exported_->plug_in();
  listener_ = std::make_unique<UsbIpListener>(*exported_, options.pace);
  report_ = report;
  Status listening = listener_->listen(options.port);
  if (!listening) return listening;
  write_now(report, fmt::format("millrace: USB device: usbip --tcp-port {} attach -r 127.0.0.1 "
                                "-b 1-1\n",
                                listener_->port()));
  return Status();
}

uint64_t UsbRun::next_event_ns() const {
  return next_ < events_.size() ? events_[next_].ns : UINT64_MAX;
}

bool UsbRun::exchange(uint64_t ns, bool is_asleep) {
  if (listener_ != nullptr) {
    listener_->exchange(ns, is_asleep);
    const std::string problem = listener_->take_problem();
    if (!problem.empty()) write_text(report_, fmt::format("millrace: {}\n", problem));
  }
  if (usb_ == nullptr) return false;
  bool is_event = false;
  while (next_ < events_.size() && (ns >= events_[next_].ns || (is_asleep && !is_event))) {
    const UsbEvent event = events_[next_++];
    is_event = true;
    if (perform(event.action, *usb_)) continue;
    write_text(report_,
               fmt::format("millrace: --usb-at: {} at {} had no effect (the port was in no "
                           "state for it)\n",
                           name_of(event.action), duration(static_cast<double>(event.ns))));
  }
  if (pty_ != nullptr) pty_->exchange(ns);
  if (tap_ != nullptr) tap_->exchange();
  return is_event;
}

std::string UsbRun::trouble() const {
  if (tap_ != nullptr && tap_->is_deleted()) {
    return fmt::format("--usb tap: interface {} was deleted by another program",
                       printable(tap_->name()));
  }
  std::string what, why;
  if (pty_ != nullptr && !pty_->was_there()) {
    what = "pty: there was no serial port";
    why = usb_->problem();
  } else if (tap_ != nullptr && !tap_->was_there()) {
    what = "tap: there was no network interface";
    why = usb_->ethernet().problem();
  }
  if (what.empty()) return {};
  if (why.empty()) why = "the firmware has no USB device, or did not get so far";
  return fmt::format("--usb {}: {}", what, printable(why));
}

std::string UsbRun::summary() const {
  if (exported_ != nullptr) {
    const board::UsbIpPortCounts counts = exported_->counts();
    return fmt::format("USB/IP: {}, {}; {} B in, {} B out\n", plural(counts.imports, "import"),
                       plural(counts.transfers, "transfer"), grouped(counts.bytes_in),
                       grouped(counts.bytes_out));
  }
  if (usb_ == nullptr) return {};
  const UsbLinkCounts counts = usb_->counts();
  const bool has_network = usb_->ethernet().is_configured();
  std::string text = "USB: ";
  if (has_network && !usb_->is_ready()) {
    text += printable(usb_->ethernet().info().description);
  } else if (usb_->is_ready()) {
    const UsbSerialInfo info = usb_->info();
    text +=
        fmt::format("serial port {:04x}:{:04x} \"{}\", {} speed", info.vendor_id, info.product_id,
                    printable(info.product), info.high_speed ? "high" : "full");
  } else {
    text += usb_->problem().empty() ? "no serial port" : printable(usb_->problem());
  }
  text += fmt::format("; {} B in, {} B out, {}\n", grouped(counts.bytes_in),
                      grouped(counts.bytes_out), plural(counts.resets, "reset"));
  text += network_summary();
  // Also of a device that is no serial port, or whose enumeration failed half-way.
  for (const std::string& finding : usb_->info().findings) {
    text += fmt::format("USB: {}\n", printable(finding));
  }
  return text;
}

std::string UsbRun::network_summary() const {
  const board::EthernetPort& port = usb_->ethernet();
  const board::EthernetCounts& counts = port.counts();
  std::string text;
  if (port.is_configured() || counts.frames_in != 0 || counts.frames_out != 0) {
    const board::EthernetInfo& info = port.info();
    text = fmt::format("USB: network {}, MAC address {}, {}connected; {} in, {} out\n",
                       board::to_string(info.kind), board::to_string(info.mac),
                       port.has_carrier() ? "" : "not ", plural(counts.frames_in, "frame"),
                       plural(counts.frames_out, "frame"));
    if (counts.bad_in + counts.sequence_gaps + counts.errors + counts.dropped_out != 0) {
      text += fmt::format(
          "USB: network: {} bad transfers, {} gaps in the sequence, {} errors, {} frames for the "
          "device dropped\n",
          counts.bad_in, counts.sequence_gaps, counts.errors, counts.dropped_out);
    }
  }
  if (port.is_offered() && !port.is_configured()) {
    text += fmt::format("USB: network: {}\n", printable(port.problem()));
  }
  if (tap_ != nullptr) {
    const TapCounts& tap = tap_->counts();
    text += fmt::format(
        "USB: interface {}: {} to the kernel ({} dropped), {} to the device ({} "
        "dropped)\n",
        tap_->name(), plural(tap.to_kernel, "frame"), tap.dropped_to_kernel,
        plural(tap.to_device, "frame"), tap.dropped_to_device);
  }
  for (const std::string& finding : port.findings()) {
    text += fmt::format("USB: {}\n", printable(finding));
  }
  return text;
}

Json UsbRun::network_json() const {
  const board::EthernetPort& port = usb_->ethernet();
  const board::EthernetInfo& info = port.info();
  const board::EthernetCounts& counts = port.counts();
  Json json = {{"kind", info.kind == board::EthernetKind::ecm ? "ecm" : "ncm"},
               {"mac", board::to_string(info.mac)},
               {"connected", port.has_carrier()},
               {"urb_bytes", info.urb_bytes},
               {"urbs", info.urbs},
               {"frames_in", counts.frames_in},
               {"frames_out", counts.frames_out},
               {"in_bytes", counts.bytes_in},
               {"out_bytes", counts.bytes_out},
               {"transfers_in", counts.transfers_in},
               {"transfers_out", counts.transfers_out},
               {"dropped_out", counts.dropped_out},
               {"bad_in", counts.bad_in},
               {"sequence_gaps", counts.sequence_gaps},
               {"errors", counts.errors},
               {"findings", port.findings()}};
  if (tap_ != nullptr) json["tap"] = tap_->to_json();
  return json;
}

Json UsbRun::to_json() const {
  const UsbLinkCounts counts = usb_->counts();
  Json json;
  json["serial_port"] = usb_->is_ready();
  json["problem"] = usb_->problem();
  if (const UsbSerialInfo info = usb_->info(); info.vendor_id != 0) {
    json["vid"] = info.vendor_id;
    json["pid"] = info.product_id;
    json["manufacturer"] = info.manufacturer;
    json["product"] = info.product;
    json["serial_number"] = info.serial;
    json["speed_mbit"] = info.high_speed ? 480 : 12;
    json["findings"] = info.findings;
  }
  json["packets_in"] = counts.packets_in;
  json["packets_out"] = counts.packets_out;
  json["in_bytes"] = counts.bytes_in;
  json["out_bytes"] = counts.bytes_out;
  json["naks"] = counts.naks;
  json["nyets"] = counts.nyets;
  json["stalls"] = counts.stalls;
  json["timeouts"] = counts.timeouts;
  json["resets"] = counts.resets;
  if (usb_->ethernet().is_configured()) json["network"] = network_json();
  return json;
}

Status UsbRun::finish() {
  pty_.reset();
  tap_.reset();
  usb_ = nullptr;
  listener_.reset();
  exported_ = nullptr;
  Status urbs = capture_.close();
  Status packets = packet_capture_.close();
  return urbs ? packets : urbs;
}

}  // namespace millrace::cli
