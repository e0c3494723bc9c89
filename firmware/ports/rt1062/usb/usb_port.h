// SPDX-License-Identifier: Apache-2.0
// The port contract (firmware/port/port.h) over a serial function and its two byte streams.
#pragma once

#include <cstddef>
#include <cstdint>

#include "firmware/port/port.h"
#include "firmware/ports/rt1062/usb/bulk_in.h"
#include "firmware/ports/rt1062/usb/bulk_out.h"
#include "firmware/ports/rt1062/usb/cdc_acm.h"
#include "firmware/ports/rt1062/usb/usb_device.h"

namespace millrace::rt1062 {

struct UsbPortOptions {
  uint32_t (*now_us)() = nullptr;   // free running, wraps at 2^32
  uint32_t (*entropy)() = nullptr;  // differs from call to call and from boot to boot
  // Whether another function has something to do, which keeps idle() from sleeping; nullptr: none
  // has. Called with interrupts locked out.
  bool (*other_work)() = nullptr;
  uint32_t boot_counter = 0;
  uint32_t tx_buffer_bytes = 0;
  uint32_t rx_buffer_bytes = 0;
};

class UsbPort final : public firmware::Port {
 public:
  // What was written leaves at the latest so long after the last write(), if anything of this
  // object is called then; flush() is for those who know earlier.
  static constexpr uint32_t kFlushAfterUs = 100;

  // All outlive this.
  UsbPort(UsbHardware& hardware, const UsbDevice& device, const CdcAcm& serial, BulkIn& in,
          BulkOut& out, const UsbPortOptions& options);

  // Keeps step with the host; call in the loop that calls the rest. True if what was queued in
  // either direction is lost, because the device was reset, configured anew or detached, or what
  // was to be sent, because the host has closed the port (DTR dropped). Until then the other calls
  // move no bytes of a new session.
  bool take_link_lost();
  bool connected() const { return device_.session().open; }

  size_t write(const uint8_t* data, size_t size) override;
  size_t read(uint8_t* data, size_t size) override;
  void flush() override;
  uint32_t now_us() override { return options_.now_us(); }
  uint32_t entropy() override { return options_.entropy(); }
  // Sleeps until an interrupt, of which the system tick is one: at most a millisecond. Returns at
  // once if `max_us` is less than that, or if bytes wait for their time to leave.
  void idle(uint32_t max_us) override;
  firmware::PortInfo info() override;

 private:
  void flush_late();

  UsbHardware& hardware_;
  const UsbDevice& device_;
  const CdcAcm& serial_;
  BulkIn& in_;
  BulkOut& out_;
  UsbPortOptions options_;
  uint32_t session_number_ = 0;
  bool was_open_ = false;
  uint32_t dtr_drops_ = 0;
  bool wants_room_ = false;  // the last write() took less than it was offered
  uint32_t last_write_us_ = 0;
};

}  // namespace millrace::rt1062
