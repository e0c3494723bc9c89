// SPDX-License-Identifier: Apache-2.0
// The measuring device on a pseudo-terminal of this machine, in a thread of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "firmware/app/stream_device.h"
#include "firmware/ports/pc/fault_plan.h"

namespace millrace::firmware {

struct PtyDeviceOptions {
  // classic_only, classic_seed and classic_discard_after_ms are taken from `faults`.
  StreamDeviceOptions stream;
  FaultPlan faults;
  // Speaks spec/link_protocol.md (firmware/app/link_device.h) instead of the measuring protocols.
  // Of the faults, offsets then count all bytes that the device sends.
  bool link = false;
  // A symbolic link kept pointing to the present terminal, as /dev/serial/by-id does: absent while
  // the device is unplugged, removed at the end. Empty: none.
  std::string link_path;
};

class PtyDevice;

struct PtyDeviceResult {
  std::unique_ptr<PtyDevice> device;  // null on failure
  std::string error;                  // then one sentence
};

// All functions may be called from any thread.
class PtyDevice {
 public:
  // Runs from here on; its path() can be opened at once.
  static PtyDeviceResult create(const PtyDeviceOptions& options);
  ~PtyDevice();  // as stop()
  PtyDevice(const PtyDevice&) = delete;
  PtyDevice& operator=(const PtyDevice&) = delete;

  // Of the slave; empty while the device is unplugged, another one afterwards.
  std::string path() const;
  // The path for hosts that follow a device: link_path if there is one, else path().
  std::string stable_path() const;
  // Ends the thread and closes the terminal: a host sees a hangup. May be called twice.
  void stop();
  // As the device would report them now; after stop() as they were at the end.
  link::DeviceCounters counters();  // all 0 with `link`
  uint32_t boot_counter() const;

 private:
  struct State;
  explicit PtyDevice(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace millrace::firmware
