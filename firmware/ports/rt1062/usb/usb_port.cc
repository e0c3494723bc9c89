// SPDX-License-Identifier: Apache-2.0
// One thread of its own, interrupts only for endpoint 0 and to end a sleep: data move in the calls
// of the application, which makes 4 KB at a time and asks again. What is under way is always enough
// for the time between two calls (bulk_in.cc), so there is no need to do it in an interrupt, where
// it would have to be protected from everything.
#include "firmware/ports/rt1062/usb/usb_port.h"

namespace millrace::rt1062 {
namespace {
constexpr uint32_t kTickUs = 1000;  // SysTick, ticks.h
}

UsbPort::UsbPort(UsbHardware& hardware, const UsbDevice& device, const CdcAcm& serial, BulkIn& in,
                 BulkOut& out, const UsbPortOptions& options)
    : hardware_(hardware),
      device_(device),
      serial_(serial),
      in_(in),
      out_(out),
      options_(options) {}

bool UsbPort::take_link_lost() {
  bool lost = false;
  if (device_.session().number != session_number_) {
    // One session for all that is read and done here.
    const uint32_t state = hardware_.lock();
    lost = was_open_;
    session_number_ = device_.session().number;
    was_open_ = device_.session().open;
    const uint32_t packet = CdcAcm::bulk_packet(device_.high_speed());
    in_.restart(packet);
    out_.restart(packet);
    wants_room_ = false;
    hardware_.unlock(state);
  }
  if (serial_.dtr_drops() != dtr_drops_) {
    dtr_drops_ = serial_.dtr_drops();
    in_.discard();
    lost = true;
  }
  return lost;
}

size_t UsbPort::write(const uint8_t* data, size_t size) {
  const size_t taken = in_.write(data, size);
  wants_room_ = taken < size;
  if (taken > 0) last_write_us_ = options_.now_us();
  return taken;
}

size_t UsbPort::read(uint8_t* data, size_t size) { return out_.read(data, size); }

void UsbPort::flush() { in_.end_transfer(); }

void UsbPort::flush_late() {
  // A full ring leaves by itself, and a short packet in the middle of it would cost bandwidth.
  if (wants_room_ || in_.waiting() == 0) return;
  if (options_.now_us() - last_write_us_ >= kFlushAfterUs) in_.end_transfer();
}

void UsbPort::idle(uint32_t max_us) {
  in_.service();
  flush_late();
  if (max_us < kTickUs || (in_.waiting() > 0 && !wants_room_)) return;
  in_.revive();
  out_.revive();
  // With interrupts locked out, one that comes after this look still ends the sleep.
  const uint32_t state = hardware_.lock();
  const bool changed = device_.session().number != session_number_ ||
                       serial_.dtr_drops() != dtr_drops_ || out_.readable() ||
                       (wants_room_ && in_.has_completed()) ||
                       (options_.other_work != nullptr && options_.other_work());
  if (!changed) hardware_.sleep();
  hardware_.unlock(state);
}

firmware::PortInfo UsbPort::info() {
  firmware::PortInfo info;
  info.board = "Teensy 4.1";
  info.usb_speed_mbit = device_.high_speed() ? 480 : 12;
  info.tx_buffer_bytes = options_.tx_buffer_bytes;
  info.rx_buffer_bytes = options_.rx_buffer_bytes;
  info.boot_counter = options_.boot_counter;
  return info;
}

}  // namespace millrace::rt1062
