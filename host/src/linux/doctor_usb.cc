// SPDX-License-Identifier: Apache-2.0
// What lies between the port and the device: the bus, hubs, power, driver.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "linux/doctor.h"

namespace millrace::host {
namespace {

// `1-2.3` -> 1: dots count the hubs between root hub and device.
long hubs_before(const std::string& usb_name) {
  return std::count(usb_name.begin(), usb_name.end(), '.');
}

// wMaxPacketSize of the bulk IN endpoint of the device's data interface; 0 when /sys does not tell.
// A composite device may have several: the one after our control interface is ours.
long bulk_in_packet_size(const DoctorContext& context) {
  const SysTree& tree = context.tree;
  const long control = tree.number(context.place.interface + "/bInterfaceNumber", 16).value_or(-1);
  const std::string prefix = base_name(context.place.usb) + ":";
  long size = 0;
  for (const std::string& name : tree.entries(context.place.usb)) {
    if (name.rfind(prefix, 0) != 0) continue;
    const std::string interface = context.place.usb + "/" + name;
    if (tree.line(interface + "/bInterfaceClass") != "0a") continue;
    const long number = tree.number(interface + "/bInterfaceNumber", 16).value_or(-1);
    if (size != 0 && number != control + 1) continue;
    for (const std::string& endpoint : tree.entries(interface)) {
      if (endpoint.rfind("ep_", 0) != 0) continue;
      const std::string folder = fmt::format("{}/{}", interface, endpoint);
      if (tree.line(folder + "/type") == "Bulk" && tree.line(folder + "/direction") == "in") {
        size = tree.number(folder + "/wMaxPacketSize", 16).value_or(0) & 0x7ff;
      }
    }
  }
  return size;
}

void check_latency_timer(const DoctorContext& context, Findings& findings) {
  // The attribute of ftdi_sio: how long the chip holds a short answer back, ms.
  const std::optional<long> timer = context.tree.number(context.place.device + "/latency_timer");
  if (!timer) return;
  if (*timer <= 1) {
    findings.push_back({"latency_timer", Severity::ok,
                        fmt::format("the chip holds short answers back for {} ms", *timer), ""});
    return;
  }
  findings.push_back(
      {"latency_timer", Severity::warning,
       fmt::format(
           "the chip holds short answers back for {} ms: at most 1000/{} = {} round trips/s",
           *timer, *timer, 1000 / *timer),
       fmt::format("`echo 1 | sudo tee {}/latency_timer`; `setserial {} low_latency` does the same",
                   context.place.device, context.port.path)});
}

}  // namespace

void check_usbip(const DoctorContext& context, Findings& findings) {
  if (context.place.usb.find("/vhci_hcd") == std::string::npos) {
    findings.push_back({"usbip", Severity::ok, "on a real USB controller", ""});
    return;
  }
  findings.push_back({"usbip", Severity::problem,
                      "virtual USB (usbip): figures are those of the network or virtual machine in "
                      "between, not of the link",
                      "measure on the machine that the board is plugged into"});
}

void check_speed(const DoctorContext& context, Findings& findings) {
  const double speed = context.port.usb_speed_mbit;
  if (speed >= 480) {
    findings.push_back(
        {"speed", Severity::ok,
         fmt::format("{:g} Mbit/s negotiated{}", speed,
                     speed == 480 ? " (high speed): bulk carries at most 53.248 MB/s" : ""),
         ""});
  } else if (speed == 12) {
    findings.push_back({"speed", Severity::warning,
                        "12 Mbit/s negotiated (full speed): bulk carries at most 1.216 MB/s",
                        "if the board can do high speed: another cable, no hub, another port"});
  } else if (speed > 0) {
    findings.push_back(
        {"speed", Severity::problem,
         fmt::format("{:g} Mbit/s negotiated (low speed has no bulk transfers)", speed),
         "another cable or port"});
  } else {
    findings.push_back({"speed", Severity::note, "the negotiated speed is not known", ""});
  }
}

void check_hub(const DoctorContext& context, Findings& findings) {
  const long hubs = hubs_before(base_name(context.place.usb));
  if (hubs == 0) {
    findings.push_back({"hub", Severity::ok, "on a port of the controller itself", ""});
    return;
  }
  const std::string hub = parent_of(context.place.usb);
  const long speed = context.tree.number(hub + "/speed").value_or(0);
  const std::string product = context.tree.line(hub + "/product");
  const std::string text =
      fmt::format("behind {} hub{} (the last: {}, {} Mbit/s), whose other devices share the link",
                  hubs, hubs == 1 ? "" : "s", product.empty() ? "unnamed" : product, speed);
  const bool slow = speed > 0 && speed < 480;
  findings.push_back(
      {"hub", slow ? Severity::problem : Severity::note,
       slow ? text + "; this hub runs at full speed and holds the board there" : text,
       "compare with the board on a port of the computer itself"});
}

void check_autosuspend(const DoctorContext& context, Findings& findings) {
  const SysTree& tree = context.tree;
  const std::string control_file = context.place.usb + "/power/control";
  const std::string control = tree.line(control_file);
  if (control.empty()) {
    findings.push_back({"autosuspend", Severity::note, "/sys does not tell", ""});
    return;
  }
  const long delay = tree.number(context.place.usb + "/power/autosuspend_delay_ms").value_or(2000);
  if (control != "auto" || delay < 0) {
    findings.push_back({"autosuspend", Severity::ok, "off for this device", ""});
    return;
  }
  // bmAttributes of the configuration, bit 5 (USB 2.0, table 9-10).
  const bool wakes = (tree.number(context.place.usb + "/bmAttributes", 16).value_or(0) & 0x20) != 0;
  // usbserial keeps the device awake while the port is open; cdc_acm does not, but then asks for
  // remote wake-up, and usbcore suspends only a device that announces it.
  if (context.port.driver != "cdc_acm" || !wakes) {
    findings.push_back(
        {"autosuspend", Severity::ok, "on, but the device stays awake while the port is open", ""});
    return;
  }
  findings.push_back(
      {"autosuspend", Severity::problem,
       fmt::format(
           "on: the device is suspended after {} ms of silence even while the port is open; "
           "it announces remote wake-up{}, and if its firmware does not use that, its data "
           "waits until the host sends something",
           delay,
           tree.line(context.place.usb + "/power/wakeup") == "disabled"
               ? " (power/wakeup is disabled)"
               : ""),
       fmt::format("`echo on | sudo tee {}`, and tell TLP or powertop to leave it alone",
                   control_file)});
}

void check_driver(const DoctorContext& context, Findings& findings) {
  const std::string& driver = context.port.driver;
  if (driver == "cdc_acm") {
    const long packet = bulk_in_packet_size(context);
    findings.push_back(
        {"driver", Severity::ok,
         packet == 0
             ? "cdc_acm: 16 read URBs of two packets each"
             : fmt::format("cdc_acm: 16 read URBs of {} bytes (2 x wMaxPacketSize {}), {} KB "
                           "in flight",
                           2 * packet, packet, 32 * packet / 1024),
         ""});
    return;
  }
  constexpr std::array kBridges = {"ftdi_sio", "cp210x", "ch341", "ch341-uart", "pl2303"};
  if (std::find(kBridges.begin(), kBridges.end(), driver) == kBridges.end()) {
    findings.push_back({"driver", Severity::note,
                        driver.empty() ? "no driver is named in /sys" : "driver " + driver, ""});
    return;
  }
  findings.push_back(
      {"driver", Severity::note,
       driver + ": a bridge chip; the UART's baud rate behind it is the limit, not USB", ""});
  check_latency_timer(context, findings);
}

}  // namespace millrace::host
