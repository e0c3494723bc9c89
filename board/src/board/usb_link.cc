// SPDX-License-Identifier: Apache-2.0
#include "board/usb_link.h"

#include <fmt/core.h>

#include "millrace/board/usb_host_check.h"

namespace millrace::board {

std::vector<std::string_view> usb_profiles() { return builtin_usb_profiles(); }

std::string make_host_profile(const UsbHostOptions& options, UsbHostProfile* profile) {
  const std::string_view builtin = builtin_usb_profile(options.profile_name);
  if (builtin.empty()) {
    std::string names;
    for (const std::string_view name : builtin_usb_profiles()) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
    }
    return fmt::format("there is no USB host profile {} (there are: {})", options.profile_name,
                       names);
  }
  std::string problem = apply_usb_profile(builtin, profile);
  for (const UsbHostOptions::ProfileText& text : options.profile_texts) {
    if (problem.empty()) problem = apply_usb_profile(text.text, profile, text.name);
  }
  return problem;
}

std::string usb_host_problem(const UsbHostOptions& options) {
  UsbHostProfile profile;
  return make_host_profile(options, &profile);
}

UsbCaptures make_usb_captures(const UsbHostOptions& options) {
  UsbCaptures captures;
  if (options.capture) {
    captures.add(std::make_unique<UsbCapture>(UsbCaptureOptions{}, options.capture));
  }
  if (options.packet_capture) {
    const UsbCaptureOptions packets{.urbs = false, .packets = true, .frames = options.capture_sof};
    captures.add(std::make_unique<UsbCapture>(packets, options.packet_capture));
  }
  return captures;
}

UsbLink::UsbLink(EventQueue& events, Clocks& clocks, UsbOtg& device, const UsbHostProfile& profile,
                 const UsbHostOptions& options)
    : device_(device),
      captures_(make_usb_captures(options)),
      host_(events, clocks, device, profile),
      acm_(host_),
      net_(host_, acm_.enumerator()) {
  host_.set_monitor(captures_.monitor());
  device_.set_host(&host_);
}

UsbLink::~UsbLink() { device_.set_host(nullptr); }

bool UsbLink::plug_in() {
  if (host_.port_state() != UsbPortState::unplugged) return false;
  host_.plug_in();
  return true;
}

bool UsbLink::unplug() {
  if (host_.port_state() == UsbPortState::unplugged) return false;
  host_.unplug();
  return true;
}

bool UsbLink::suspend_bus() {
  if (host_.port_state() != UsbPortState::enabled) return false;
  host_.suspend();
  return true;
}

bool UsbLink::resume_bus() {
  if (host_.port_state() != UsbPortState::suspended) return false;
  host_.resume();
  return true;
}

bool UsbLink::reset_bus() {
  const UsbPortState state = host_.port_state();
  if (state != UsbPortState::enabled && state != UsbPortState::suspended) return false;
  host_.reset_port();
  return true;
}

UsbSerialInfo UsbLink::info() const {
  const UsbDeviceInfo& device = acm_.device();
  UsbSerialInfo info;
  info.vendor_id = device.device.vendor;
  info.product_id = device.device.product;
  info.manufacturer = device.manufacturer;
  info.product = device.product;
  info.serial = device.serial;
  info.high_speed = device.speed == UsbSpeed::high;
  info.findings = device.findings;
  return info;
}

void UsbLink::set_lines(bool dtr, bool rts) {
  acm_.set_dtr(dtr);
  acm_.set_rts(rts);
}

UsbLinkCounts UsbLink::counts() const {
  const UsbHostCounts& c = host_.counts();
  UsbLinkCounts out;
  out.microframes = c.frames;
  out.packets_in = c.packets_in;
  out.packets_out = c.packets_out;
  out.bytes_in = c.bytes_in;
  out.bytes_out = c.bytes_out;
  out.naks = c.naks + c.naks_skipped;
  out.nyets = c.nyets;
  out.stalls = c.stalls;
  out.timeouts = c.timeouts;
  out.resets = c.resets;
  return out;
}

}  // namespace millrace::board
