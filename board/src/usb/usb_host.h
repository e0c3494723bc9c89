// SPDX-License-Identifier: Apache-2.0
// The host at the other end of the cable: port, frames, and a scheduler that cuts URBs into
// transactions (USB 2.0 chapters 5, 8, 9). One device, no hub.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/event_queue.h"
#include "devices/clocks.h"
#include "usb/usb_bus.h"
#include "usb/usb_profile.h"
#include "usb/usb_urb.h"

namespace millrace::board {

enum class UsbPortState : uint8_t {
  unplugged,
  waiting,  // VBUS is on, no pull-up seen
  debouncing,
  resetting,
  recovering,  // frames run, the device is left in peace
  enabled,
  suspended,
  resuming,
};

// Sums since the host was made.
struct UsbHostCounts {
  uint64_t frames = 0;                       // SOF sent: microframes at high speed
  uint64_t urbs = 0;                         // completed
  uint64_t packets_in = 0, packets_out = 0;  // with data or empty, acknowledged
  uint64_t bytes_in = 0, bytes_out = 0;
  uint64_t naks = 0;          // received
  uint64_t naks_skipped = 0;  // polls not made because the answer was known: as if received
  uint64_t nyets = 0, pings = 0, stalls = 0, timeouts = 0;
  uint64_t toggle_repeats = 0;  // IN packets dropped because their toggle repeats
  uint64_t resets = 0;
};

// An endpoint as the host uses it.
struct UsbPipe {
  uint8_t endpoint = 0;  // bEndpointAddress
  UsbTransfer transfer = UsbTransfer::bulk;
  uint16_t max_packet = 0;
  uint8_t interval = 0;  // bInterval; interrupt only
};

class UsbHostListener {
 public:
  virtual void port_enabled(UsbSpeed speed) = 0;  // after reset and recovery; address 0
  virtual void port_disabled() = 0;               // all URBs are on their way back

 protected:
  ~UsbHostListener() = default;
};

// Runs a function once, some bus time later, whatever happens to the core's clock.
class UsbHostTimer {
 public:
  using Handler = void (*)(void* context);
  UsbHostTimer(Handler handler, void* context) : handler_(handler), context_(context) {}
  UsbHostTimer(const UsbHostTimer&) = delete;
  UsbHostTimer& operator=(const UsbHostTimer&) = delete;
  bool running() const { return running_; }

 private:
  friend class UsbHost;
  Handler handler_;
  void* context_;
  uint64_t due_ = 0;
  bool running_ = false;
};

class UsbHost final : public UsbHostEnd, private ClockUser {
 public:
  // All outlive this. Nothing is plugged in.
  UsbHost(EventQueue& events, Clocks& clocks, UsbDeviceEnd& device, const UsbHostProfile& profile);
  ~UsbHost();
  UsbHost(const UsbHost&) = delete;
  UsbHost& operator=(const UsbHost&) = delete;

  const UsbHostProfile& profile() const { return profile_; }
  void set_listener(UsbHostListener* listener) { listener_ = listener; }
  void set_monitor(UsbMonitor* monitor) { monitor_ = monitor; }
  // Speed of the port; `full` for a USB 1.1 hub between. For the next reset.
  void set_offered_speed(UsbSpeed speed) { offered_ = speed; }

  void plug_in();
  void unplug();
  // REQUIRES: enabled or suspended. The listener is told of disabled, later of enabled.
  void reset_port();
  void suspend();  // REQUIRES: enabled. Frames stop; 3 ms later the device knows (7.1.7.6).
  void resume();   // or the device wakes the bus
  UsbPortState port_state() const { return state_; }
  UsbSpeed speed() const { return speed_; }

  // Address in every token; after a reset it is 0, with no pipe but the control pipe of 64 bytes (8
  // until set_control_max_packet()).
  void set_address(uint8_t address) { address_ = address; }
  uint8_t address() const { return address_; }
  void set_control_max_packet(uint16_t size) { pipes_[0].config.max_packet = size; }
  // False if the endpoint is 0, isochronous, open already, or the packet size is 0 or above 1024.
  bool open_pipe(const UsbPipe& pipe);
  void close_pipes();                 // all but control; their URBs come back unlinked
  void close_pipe(uint8_t endpoint);  // the same for one
  bool is_open(uint8_t endpoint) const;
  const UsbPipe& pipe(uint8_t endpoint) const { return pipes_[index_of(endpoint)].config; }
  // The host's side only: DATA0 next, and queued URBs go on.
  void clear_halt(uint8_t endpoint);

  // `done` is never called from within these. URBs of an endpoint complete in order.
  void submit(Urb& urb);
  // False if the URB is not pending, or is completing already.
  bool unlink(Urb& urb);
  // Takes it back at once, without `done`, if it is pending: for owners that go.
  void forget(Urb& urb);

  // Bus time since the host was made: 60 ticks a microsecond, independent of the core's clock.
  uint64_t ns() const { return ns_of(ticks_.count(events_.now())); }
  void start_timer(UsbHostTimer& timer, uint64_t delay_ns);
  void stop_timer(UsbHostTimer& timer);  // also before the timer goes

  const UsbHostCounts& counts() const { return counts_; }

  void connection_changed(Cycles now) override;
  void endpoint_changed(unsigned endpoint, bool in, Cycles now) override;
  void remote_wakeup(Cycles now) override;

 private:
  using Tick = uint64_t;
  enum class Stage : uint8_t { setup, data, status };

  struct Pipe {
    UsbPipe config;
    bool is_open = false;
    bool is_halted = false;
    bool toggle = false;
    bool ping = false;   // PING before the next OUT
    uint8_t errors = 0;  // without an answer, in a row
    Stage stage = Stage::setup;
    Urb* first = nullptr;
    Urb* last = nullptr;
    Tick ready = 0;          // no transaction before
    bool is_asleep = false;  // after a NAK, until the device tells
    Tick next_poll = 0;      // asleep: when it would have been asked first
    Tick poll_period = 1;    // asleep: and how long from there to the next
    bool is_due = false;     // interrupt: in this (micro)frame
    uint32_t period = 1;     // interrupt: in (micro)frames
  };

  struct Flight {
    bool active = false;
    UsbTransaction::Kind kind = UsbTransaction::Kind::in;
    unsigned pipe = 0;
    bool data1 = false;
    uint32_t size = 0;
    Cycles ready = kNever;  // IN with NAK: when the answer may be another
    Tick start = 0;
    Tick end = 0;
  };

  static unsigned index_of(uint8_t endpoint) { return (endpoint & 15u) * 2 + (endpoint >> 7); }
  static Tick ticks_of(uint64_t ns) { return (ns * 3 + 49) / 50; }
  static uint64_t ns_of(Tick tick) { return tick * 50 / 3; }

  // usb_host.cc: URBs, completions, timers, events.
  void before_clock_change(Cycles) override {}
  void after_clock_change(Cycles now) override;
  static void on_bus(void* context, Cycles when);
  static void on_driver(void* context, Cycles when);
  void run_bus(Cycles now);
  void run_driver();
  void schedule_bus();
  void schedule_driver();
  void complete(Pipe& pipe, UrbStatus status, Tick tick);
  void return_urb(Urb& urb, UrbStatus status, Tick tick);
  void return_all(UrbStatus status);
  void close(Pipe& pipe, Tick tick);
  void forget_pipes();
  uint64_t random();

  // usb_host_port.cc
  void enter(UsbPortState state, Tick delay_ticks);
  void port_timer(Cycles now);
  void begin_reset(Cycles now);
  void lose_port(Cycles now);

  // usb_host_frame.cc: microframes and which transaction is next.
  bool high() const { return speed_ == UsbSpeed::high; }
  bool frames_run() const {
    return state_ == UsbPortState::recovering || state_ == UsbPortState::enabled;
  }
  Tick packet_ticks(uint32_t bytes, bool with_data) const;
  Tick longest(const Pipe& pipe) const;
  Tick poll_ticks(const Pipe& pipe) const;
  Tick earliest(const Pipe& pipe, Tick tick) const;
  void start_frame(Tick tick, Cycles now);
  void start_transaction(Tick tick, Cycles now);
  Tick next_transaction(Tick tick) const;
  void wake(Pipe& pipe, Tick tick);
  void stop_sleeping(Pipe& pipe, Tick tick);

  // usb_host_transaction.cc: what a transaction does.
  UsbTransaction::Kind next_kind(const Pipe& pipe) const;
  bool moves_in(const Pipe& pipe) const;
  std::span<const uint8_t> out_data(const Pipe& pipe) const;
  void begin(unsigned index, Tick tick, Cycles now);
  void finish(Cycles now);
  void abandon(Cycles now);
  void finish_setup(Pipe& pipe, Handshake handshake);
  void finish_in(Pipe& pipe, Cycles now);
  void spend(const Pipe& pipe, uint32_t size);
  void take_in(Pipe& pipe);
  void finish_out(Pipe& pipe, Handshake handshake, Cycles now);
  void finish_ping(Pipe& pipe, Handshake handshake, Cycles now);
  void data_done(Pipe& pipe, bool is_short);
  void refused(Pipe& pipe, Handshake handshake, Cycles now);
  void nak(Pipe& pipe, Cycles now);
  void tell(Handshake handshake, bool host_acked, std::span<const uint8_t> data);

  EventQueue& events_;
  Clocks& clocks_;
  UsbDeviceEnd& device_;
  const UsbHostProfile profile_;
  UsbHostListener* listener_ = nullptr;
  UsbMonitor* monitor_ = nullptr;
  UsbHostCounts counts_;
  Event bus_event_;
  Event driver_event_;
  Ticks ticks_;
  Tick bus_due_ = 0;  // of the events, exactly
  Tick driver_due_ = 0;
  bool in_bus_ = false;  // running: schedules itself at the end

  UsbPortState state_ = UsbPortState::unplugged;
  Tick port_due_ = UINT64_MAX;
  bool is_told_ = false;  // the listener knows of an enabled port
  bool device_asleep_ = false;
  UsbSpeed offered_ = UsbSpeed::high;
  UsbSpeed speed_ = UsbSpeed::full;
  uint8_t address_ = 0;

  uint32_t frame_ = 0;  // counts microframes
  Tick next_frame_ = 0;
  Tick bus_free_ = 0;
  uint32_t credit_milli_ = 0;  // bulk packets left in this microframe
  std::array<Pipe, 32> pipes_;
  std::vector<uint8_t> order_;  // open pipes: periodic ones and others alike
  size_t turn_ = 0;             // of the round robin
  Flight flight_;
  InPacket packet_;

  Urb* returning_ = nullptr;  // in order of `due`
  Urb* returning_last_ = nullptr;
  Tick last_due_ = 0;
  std::vector<UsbHostTimer*> timers_;
  uint64_t random_;
  uint64_t urbs_submitted_ = 0;
};

}  // namespace millrace::board
