// SPDX-License-Identifier: Apache-2.0
// Appending to a list that the controller may be finishing at this very moment is the hazard of
// this controller (IMXRT1060RM 42.5.6.6.3): the new descriptor is linked behind the last one; if
// the endpoint is priming it will be found; otherwise ENDPTSTAT says whether the endpoint is still
// on the list, and USBCMD.ATDTW says whether that answer can be trusted. The same path is taken
// whether or not the list looks empty from here, because a list that has just run out looks empty
// in memory before the controller has let go of it.
//
// Descriptors are staged in numbers and handed over in one go: a received packet would otherwise
// cost five register accesses of some 30 cycles each.
#include "firmware/ports/rt1062/usb/usb_queue.h"

namespace millrace::rt1062 {
namespace {

// Bounds of the waits for the controller. It answers within a few bus cycles; a loop that counts to
// its end leaves a transfer to revive().
constexpr uint32_t kSpins = 1000;
constexpr uint32_t kFlushes = 16;  // a flush waits for a packet that is under way, 42.5.6.6.5

constexpr uint32_t kErrors = DTD_HALTED | DTD_BUFFER_ERROR | DTD_TRANSACTION_ERROR;

}  // namespace

UsbQueue::UsbQueue(UsbHardware& hardware, const UsbSession& session, UsbQueueHead& head,
                   uint8_t address, UsbTransferDescriptor* ring, uint32_t count)
    : hardware_(hardware),
      session_(session),
      head_(head),
      bit_(endpoint_bit(address)),
      ring_(ring),
      count_(count) {}

void UsbQueue::restart() {
  session_number_ = session_.number;
  staged_ = committed_ = retired_ = 0;
  linked_ = false;
}

uint32_t UsbQueue::stage(const uint32_t (&page)[5], uint32_t bytes, bool interrupt) {
  UsbTransferDescriptor& descriptor = at(staged_);
  descriptor.next = DTD_TERMINATE;
  for (uint32_t i = 0; i < 5; ++i) descriptor.page[i] = page[i];
  descriptor.bytes = bytes;
  descriptor.token = bytes << DTD_TOTAL_SHIFT | (interrupt ? DTD_IOC : 0) | DTD_ACTIVE;
  // Behind a descriptor that the controller does not know yet; the first is linked by commit().
  if (staged_ != committed_) at(staged_ - 1).next = hardware_.bus_address(&descriptor);
  return staged_++ & (count_ - 1);
}

bool UsbQueue::commit() {
  const uint32_t state = hardware_.lock();
  const bool alive = usable();
  if (alive && staged_ != committed_) {
    if (linked_) at(committed_ - 1).next = hardware_.bus_address(&at(committed_));
    if (!linked_ || !controller_has_it()) prime_first_active(committed_, staged_);
    committed_ = staged_;
    linked_ = true;
  }
  hardware_.unlock(state);
  return alive;
}

// The endpoint will come to what was linked behind its last descriptor.
bool UsbQueue::controller_has_it() {
  if ((hardware_.read(UsbRegister::endptprime) & bit_) != 0) return true;
  uint32_t primed = 0;
  for (uint32_t spins = 0; spins < kSpins; ++spins) {
    hardware_.write(UsbRegister::usbcmd, USBCMD_RS | USBCMD_ATDTW);
    primed = hardware_.read(UsbRegister::endptstat) & bit_;
    if ((hardware_.read(UsbRegister::usbcmd) & USBCMD_ATDTW) != 0) break;
  }
  hardware_.write(UsbRegister::usbcmd, USBCMD_RS);
  return primed != 0;
}

// The controller may have found, sent and let go of what was linked before it was asked. It does
// not look for a descriptor that is active behind one that is not.
void UsbQueue::prime_first_active(uint32_t n, uint32_t end) {
  while (n != end && (at(n).token & DTD_ACTIVE) == 0) ++n;
  if (n != end) prime(n);
}

// 42.5.6.6.3, "Link list is empty".
void UsbQueue::prime(uint32_t n) {
  head_.next = hardware_.bus_address(&at(n));
  head_.token = 0;
  hardware_.write(UsbRegister::endptprime, bit_);
}

bool UsbQueue::retire(UsbCompletion* out) {
  if (!has_completed()) return false;
  const UsbTransferDescriptor& descriptor = at(retired_);
  const uint32_t token = descriptor.token;
  out->slot = retired_ & (count_ - 1);
  out->asked = descriptor.bytes;
  out->bytes = descriptor.bytes - (token >> DTD_TOTAL_SHIFT & DTD_TOTAL_MASK);
  out->failed = (token & kErrors) != 0;
  ++retired_;
  if (out->failed && committed_ != retired_) {
    // The error has halted the queue; what is behind it still counts.
    const uint32_t state = hardware_.lock();
    if (usable()) prime_first_active(retired_, committed_);
    hardware_.unlock(state);
  }
  return true;
}

void UsbQueue::cancel() {
  const uint32_t state = hardware_.lock();
  for (uint32_t i = 0; i < kFlushes; ++i) {
    hardware_.write(UsbRegister::endptflush, bit_);
    for (uint32_t spins = 0; spins < kSpins; ++spins) {
      if ((hardware_.read(UsbRegister::endptflush) & bit_) == 0) break;
    }
    if ((hardware_.read(UsbRegister::endptstat) & bit_) == 0) break;
  }
  staged_ = committed_ = retired_ = 0;
  linked_ = false;
  hardware_.unlock(state);
}

bool UsbQueue::revive() {
  const uint32_t state = hardware_.lock();
  bool lost = false;
  if (usable() && committed_ != retired_ &&
      ((hardware_.read(UsbRegister::endptprime) | hardware_.read(UsbRegister::endptstat)) & bit_) ==
          0) {
    // Looked at last: what completed meanwhile is not lost.
    lost = (at(retired_).token & DTD_ACTIVE) != 0;
    if (lost) prime(retired_);
  }
  hardware_.unlock(state);
  return lost;
}

}  // namespace millrace::rt1062
