// SPDX-License-Identifier: Apache-2.0
// The transfers of one endpoint in one direction: a ring of dTDs that the controller works through.
#pragma once

#include <cstdint>

#include "firmware/ports/rt1062/usb/usb_hardware.h"

namespace millrace::rt1062 {

struct UsbCompletion {
  uint32_t slot = 0;    // place in the ring, as stage() returned it
  uint32_t asked = 0;   // bytes, of stage()
  uint32_t bytes = 0;   // moved
  bool failed = false;  // an error of the bus or of memory; `bytes` counts all the same
};

// Used by one thread; the interrupt handler does not touch it. When the session has changed the
// controller has forgotten everything: no call has an effect until restart().
class UsbQueue {
 public:
  // `ring`: `count` descriptors, a power of two from 2 on, in memory that no cache covers. All
  // outlive this.
  UsbQueue(UsbHardware& hardware, const UsbSession& session, UsbQueueHead& head, uint8_t address,
           UsbTransferDescriptor* ring, uint32_t count);

  // Empty, in the session as it is now. REQUIRES: the controller has nothing of this endpoint.
  void restart();
  // The host has configured the device, and restart() was called since.
  bool usable() const { return session_.open && session_.number == session_number_; }

  // Descriptors not yet retired, and those that stage() may still take.
  uint32_t in_flight() const { return staged_ - retired_; }
  uint32_t room() const { return count_ - in_flight(); }

  // What the next stage() will return.
  uint32_t next_slot() const { return staged_ & (count_ - 1); }
  // Fills in the next descriptor of the ring, for `bytes` from `page[0]` on (bus addresses; the
  // others are of pages). Returns its slot. REQUIRES: room() > 0, bytes <= kMaxTransferBytes.
  uint32_t stage(const uint32_t (&page)[5], uint32_t bytes, bool interrupt);
  // Hands over what was staged. False: the session is over.
  bool commit();
  // Takes the oldest descriptor if the controller is done with it.
  bool retire(UsbCompletion* out);
  // True if retire() would return true.
  bool has_completed() const {
    return committed_ != retired_ && (at(retired_).token & DTD_ACTIVE) == 0;
  }
  // Takes everything back from the controller; what was in flight may have been moved in part.
  void cancel();
  // Primes again if there is work and the controller does not know of it. Costs two register reads;
  // for when nothing has happened for long. True if it had to.
  bool revive();

 private:
  UsbTransferDescriptor& at(uint32_t n) const { return ring_[n & (count_ - 1)]; }
  void prime_first_active(uint32_t n, uint32_t end);
  void prime(uint32_t n);
  bool controller_has_it();

  UsbHardware& hardware_;
  const UsbSession& session_;
  UsbQueueHead& head_;
  uint32_t bit_;
  UsbTransferDescriptor* ring_;
  uint32_t count_;
  uint32_t session_number_ = 0;
  // Free running; retired_, committed_, staged_ in this order, at most count_ apart.
  uint32_t staged_ = 0;
  uint32_t committed_ = 0;
  uint32_t retired_ = 0;
  bool linked_ = false;  // there is a last descriptor to append to
};

}  // namespace millrace::rt1062
