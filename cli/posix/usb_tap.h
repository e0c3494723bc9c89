// SPDX-License-Identifier: Apache-2.0
// The network interface of the virtual USB host as a TAP interface of this machine's kernel.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

#include "cli/json.h"
#include "millrace/board/ethernet_port.h"
#include "millrace/host/result.h"

namespace millrace::cli {

struct TapCounts {
  uint64_t to_kernel = 0, to_device = 0;  // frames
  // The kernel did not take it: the interface is down, or its queue full.
  uint64_t dropped_to_kernel = 0;
  // The device could not have it: not connected, or no interface.
  uint64_t dropped_to_device = 0;
};

// Created at once, without a carrier; while the device has a network function that is connected, so
// is the interface. It goes with the program, unless it was there before.
class UsbTap final : private board::EthernetClient {
 public:
  // `report` outlives this; this outlives `port`, or is never used behind its end.
  UsbTap(board::EthernetPort& port, std::FILE* report) : port_(port), report_(report) {}
  ~UsbTap();
  UsbTap(const UsbTap&) = delete;
  UsbTap& operator=(const UsbTap&) = delete;

  // Creates the interface, named by the kernel if `name` is empty; or takes one that is there and
  // that nobody holds. Says where it is on `report`.
  host::Status open(const std::string& name);
  const std::string& name() const { return name_; }
  // Between two pieces of the run: frames of the kernel, and what became of the device.
  void exchange();
  // The device has had a network interface, if only for a while.
  bool was_there() const { return was_there_; }
  // Somebody deleted the interface: no frame goes to or comes from the kernel any more.
  bool is_deleted() const { return is_deleted_; }
  const TapCounts& counts() const { return counts_; }
  Json to_json() const;

 private:
  void link_changed() override { is_changed_ = true; }
  void received(std::span<const uint8_t> frame, uint64_t ns) override;
  void woken(uint64_t) override {}

  host::Status bring_up();
  void follow_device();

  board::EthernetPort& port_;
  std::FILE* const report_;
  int fd_ = -1;
  std::string name_;
  bool is_changed_ = true;
  bool carrier_ = false, was_there_ = false, is_deleted_ = false;
  board::MacAddress mac_{};
  std::string problem_;  // that was printed last
  TapCounts counts_;
};

// A name that Linux takes for an interface. Errors: usage.
host::Status check_interface_name(const std::string& name);

}  // namespace millrace::cli
