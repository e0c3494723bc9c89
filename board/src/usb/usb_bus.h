// SPDX-License-Identifier: Apache-2.0
// The cable between a USB device controller and the host model, one transaction at a time (USB 2.0
// chapter 8). The host decides when; the device answers at once; the bus time of packets is the
// host model's business (usb_host.h). Everything happens in board time, from the event queue.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/event_queue.h"

namespace millrace::board {

inline constexpr unsigned kUsbEndpoints = 8;     // of the RT1062's controller
inline constexpr unsigned kUsbMaxPacket = 1024;  // isochronous; bulk has 512 at high speed

enum class UsbSpeed : uint8_t { full, high };

enum class Handshake : uint8_t {
  ack,
  nak,      // try again
  nyet,     // OUT at high speed: taken, but there is no room for the next
  stall,    // the endpoint is halted, or the request refused
  timeout,  // nobody answers: wrong address, not connected, endpoint not configured
};

// Answer to an IN token. With `ack` there is data: the host acknowledges by in_done().
struct InPacket {
  Handshake handshake = Handshake::timeout;
  uint16_t size = 0;
  bool data1 = false;  // toggle
  std::array<uint8_t, kUsbMaxPacket> bytes;
};

// The device's end of the cable, called by the host model.
class UsbDeviceEnd {
 public:
  virtual ~UsbDeviceEnd() = default;
  // The pull-up is on: USBCMD.RS in device mode.
  virtual bool connected() const = 0;
  // Reset is driven from begin to end (>= 3 ms). At the end both know the speed: what the host
  // offers, lowered to full if the device does not chirp (PORTSC1.PFSC).
  virtual void reset_begin(Cycles now) = 0;
  virtual UsbSpeed reset_end(UsbSpeed offered, Cycles now) = 0;
  virtual void suspend(Cycles now) = 0;  // 3 ms without SOF
  virtual void resume(Cycles now) = 0;
  virtual void detach(Cycles now) = 0;  // VBUS gone
  virtual void attach(Cycles now) = 0;  // VBUS there
  // A start of frame; `frindex` counts microframes (14 bits). At full speed every eighth is sent.
  virtual void start_of_frame(uint32_t frindex, Cycles now) = 0;

  virtual Handshake setup(uint8_t address, unsigned endpoint, std::span<const uint8_t, 8> bytes,
                          Cycles now) = 0;
  // ack, nyet: taken. A packet whose toggle repeats the last is acknowledged and dropped (8.6).
  virtual Handshake out(uint8_t address, unsigned endpoint, bool data1,
                        std::span<const uint8_t> bytes, Cycles now) = 0;
  virtual Handshake ping(uint8_t address, unsigned endpoint, Cycles now) = 0;
  // REQUIRES: after handshake ack, in_done() for it before any other transaction.
  virtual void in(uint8_t address, unsigned endpoint, InPacket* packet, Cycles now) = 0;
  // `acked` false: the packet was lost on the way; the device sends it again.
  virtual void in_done(unsigned endpoint, bool acked, Cycles now) = 0;
  // Earliest time at which a NAKed endpoint may answer otherwise without the core doing anything
  // (a dTD being fetched); kNever if only software can change it. The host may poll all the same.
  virtual Cycles ready_at(unsigned endpoint, bool in, Cycles now) const = 0;
};

// The host's end, called by the device controller.
class UsbHostEnd {
 public:
  virtual void connection_changed(Cycles now) = 0;  // of connected()
  // Something was primed, flushed or stalled: a NAKed endpoint may answer now. Lets the host skip
  // the polls between, which cost nothing but time.
  virtual void endpoint_changed(unsigned endpoint, bool in, Cycles now) = 0;
  virtual void remote_wakeup(Cycles now) = 0;

 protected:
  ~UsbHostEnd() = default;
};

}  // namespace millrace::board
