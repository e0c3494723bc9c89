// SPDX-License-Identifier: Apache-2.0
// The endpoints of the USB device controller: queue heads and transfer descriptors in memory, the
// registers ENDPT*, and what an endpoint answers to a token (IMXRT1060RM 42.5.5, 42.5.6).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/device.h"
#include "core/event_queue.h"
#include "core/snapshot.h"
#include "core/timing.h"
#include "usb/usb_bus.h"

namespace millrace::board {

class UsbEndpoints {
 public:
  // The controller around the endpoints.
  class Owner {
   public:
    // Sets bits of USBSTS; `status` 0: ENDPTNAK changed.
    virtual void raise(uint32_t status, Cycles now) = 0;
    // The endpoint may answer otherwise than before.
    virtual void endpoint_changed(unsigned endpoint, bool in, Cycles now) = 0;

   protected:
    ~Owner() = default;
  };

  // All outlive this.
  UsbEndpoints(DeviceHost& host, const Timing& timing, Owner& owner);

  // Registers as read.
  uint32_t prime() const { return prime_; }
  uint32_t flush() const { return flush_; }
  uint32_t stat() const { return stat_; }
  uint32_t complete() const { return complete_; }
  uint32_t setup_stat() const { return setup_stat_; }
  uint32_t nak() const { return nak_; }
  uint32_t control(unsigned endpoint) const { return control_[endpoint]; }
  // USBCMD.ATDTW and SUTW, in place.
  uint32_t tripwires() const { return tripwires_; }

  // Registers as written; `bits` are those written as 1.
  void write_prime(uint32_t bits, Cycles now);
  void write_flush(uint32_t bits, Cycles now);
  void clear_complete(uint32_t bits) { complete_ &= ~bits; }
  void clear_setup_stat(uint32_t bits) { setup_stat_ &= ~bits; }
  void clear_nak(uint32_t bits) { nak_ &= ~bits; }
  void write_control(unsigned endpoint, uint32_t value, Cycles now);
  void write_tripwires(uint32_t command);
  void set_list(uint32_t address) { list_ = address; }  // ENDPTLISTADDR
  void set_mode(uint32_t usbmode) { mode_ = usbmode; }  // SLOM, SDIS
  void set_high_speed(bool high_speed) { high_speed_ = high_speed; }

  // The bus; REQUIRES: endpoint < kUsbEndpoints. Meaning as in UsbDeviceEnd.
  Handshake setup(unsigned endpoint, std::span<const uint8_t, 8> bytes, Cycles now);
  Handshake out(unsigned endpoint, bool data1, std::span<const uint8_t> bytes, Cycles now);
  Handshake ping(unsigned endpoint, Cycles now);
  void in(unsigned endpoint, InPacket* packet, Cycles now);
  // Returns whether this was the acknowledgement of a packet that was sent.
  bool in_done(unsigned endpoint, bool acked, Cycles now);
  Cycles ready_at(unsigned endpoint, bool in, Cycles now) const;
  void start_of_frame(Cycles now);
  void bus_reset();  // everything is de-primed

  void reset();
  void snapshot(Snapshot& s);

 private:
  enum class State : uint8_t {
    idle,
    priming,   // the queue head is being read
    fetching,  // the next transfer descriptor of the list is being read
    ready,
    closing,  // the last descriptor is done; one that is added now goes unnoticed
  };

  // One direction of an endpoint: index 2 * endpoint, + 1 for IN.
  struct Queue {
    State state = State::idle;
    bool toggle = false;          // of the next packet
    bool in_flight = false;       // sent, not acknowledged yet
    bool prime_again = false;     // ENDPTPRIME was written while closing
    bool cancelled = false;       // a SETUP arrived while priming
    bool zero_length_end = true;  // dQH.ZLT is 0
    bool in_frame = false;        // isochronous: its (micro)frame has begun
    uint8_t packets_left = 0;     // isochronous: of this (micro)frame
    uint8_t mult = 0;
    uint16_t flight_bytes = 0;
    uint16_t max_packet = 0;
    Cycles due = 0;         // of priming, fetching, closing
    Cycles data_ready = 0;  // stream disable: when the transmit buffer is full again
    uint32_t descriptor = 0;
    uint32_t token = 0;
    std::array<uint32_t, 5> pages{};
    uint32_t offset = 0;     // bytes moved
    uint32_t remaining = 0;  // bytes to move
  };

  static uint32_t bit(unsigned index) { return 1u << (index / 2 + (index % 2 != 0 ? 16 : 0)); }
  uint32_t head(unsigned index) const { return list_ + index * 64; }
  uint32_t half_control(unsigned index) const;
  bool isochronous(unsigned index) const;

  static void on_event(void* context, Cycles when);
  void schedule();
  void wait(unsigned index, State state, Cycles due);
  void finish_prime(unsigned index, Cycles now);
  void load(unsigned index, uint32_t descriptor, Cycles now);
  void take(unsigned index, std::span<const uint32_t, 7> words, Cycles now);
  void stop(unsigned index);
  void close(unsigned index, Cycles now);
  void bus_error(unsigned index, Cycles now);

  bool move_data(const Queue& queue, uint8_t* in, const uint8_t* out, uint32_t size);
  void retire(unsigned index, uint32_t status, bool short_packet, Cycles now);
  void fail(unsigned index, uint32_t status, Cycles now);
  void sent(unsigned index, Cycles now);
  Handshake say_nak(unsigned index, Cycles now);
  Handshake receive(unsigned index, std::span<const uint8_t> bytes, Cycles now);
  void isochronous_in(unsigned index, InPacket* packet, Cycles now);
  Handshake isochronous_out(unsigned index, std::span<const uint8_t> bytes, Cycles now);
  void flush_now(unsigned index, Cycles now);

  DeviceHost& host_;
  const Timing& timing_;
  Owner& owner_;
  Event event_;
  std::array<Queue, 2 * kUsbEndpoints> queues_;
  std::array<uint32_t, kUsbEndpoints> control_;
  uint32_t prime_ = 0;
  uint32_t flush_ = 0;
  uint32_t stat_ = 0;
  uint32_t complete_ = 0;
  uint32_t setup_stat_ = 0;
  uint32_t nak_ = 0;
  uint32_t tripwires_ = 0;
  uint32_t list_ = 0;
  uint32_t mode_ = 0;
  bool high_speed_ = false;
  bool any_isochronous_ = false;
};

}  // namespace millrace::board
