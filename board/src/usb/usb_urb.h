// SPDX-License-Identifier: Apache-2.0
// A transfer on the virtual bus, as Linux has it: a USB request block names an endpoint and a
// buffer, the host cuts it into transactions. And who may watch.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "usb/usb_bus.h"

namespace millrace::board {

// bmAttributes of an endpoint descriptor (USB 2.0 table 9-13).
enum class UsbTransfer : uint8_t { control = 0, isochronous = 1, bulk = 2, interrupt = 3 };

enum class UrbStatus : uint8_t {
  pending,
  ok,
  short_transfer,  // IN ended early and Urb::short_is_error was set
  stall,           // the endpoint is halted: UsbHost::clear_halt(), or a refused request
  no_answer,       // three attempts without a handshake
  overflow,        // the device sent more than asked for, or than its packet size
  unlinked,
  disconnected,
  no_pipe,  // the endpoint is not open
};

// Belongs to who submits it; neither it nor the buffer may move or go until `done` was called.
struct Urb {
  using Done = void (*)(void* context, Urb& urb);

  uint8_t endpoint = 0;            // bEndpointAddress, bit 7 for IN; 0 for control
  std::array<uint8_t, 8> setup{};  // control: wLength is the size of `buffer`
  std::span<uint8_t> buffer;       // filled, or sent
  bool short_is_error = false;     // IN
  bool ends_with_short = false;    // OUT: a zero-length packet follows a full last one
  Done done = nullptr;             // may submit again
  void* context = nullptr;

  UrbStatus status = UrbStatus::ok;  // `pending` from submit() until `done`
  uint32_t actual = 0;               // bytes moved
  uint64_t number = 0;               // counts submissions at this host
  UsbTransfer transfer = UsbTransfer::control;
  uint8_t address = 0;  // of the device

  // UsbHost's.
  Urb* next = nullptr;
  uint64_t due = 0;
  UrbStatus result = UrbStatus::ok;
  bool is_unlinking = false;
  bool is_completing = false;
};

struct UsbTransaction {
  enum class Kind : uint8_t { start_of_frame, setup, out, in, ping };
  Kind kind = Kind::in;
  UsbSpeed speed = UsbSpeed::high;
  uint64_t start_ns = 0;
  uint8_t address = 0;
  uint8_t endpoint = 0;
  bool data1 = false;
  // IN: the device's answer; with `ack` data came. Others: the handshake.
  Handshake handshake = Handshake::ack;
  bool host_acked = false;  // IN with data
  uint32_t frame = 0;       // start_of_frame: 11 bits
  std::span<const uint8_t> data;
};

// Told of everything in order of time; may not call the host.
class UsbMonitor {
 public:
  virtual void submitted(const Urb& urb, uint64_t ns) = 0;
  virtual void completed(const Urb& urb, uint64_t ns) = 0;
  virtual void transaction(const UsbTransaction& transaction) = 0;

 protected:
  ~UsbMonitor() = default;
};

}  // namespace millrace::board
