// SPDX-License-Identifier: Apache-2.0
// The UDP echo device as a program: which functions the USB device has is chosen where it is
// instantiated, so that an image holds only what it uses.
#pragma once

#include "firmware/app/echo/echo_stack.h"
#include "firmware/app/stream_device.h"
#include "firmware/ports/rt1062/console.h"
#include "firmware/ports/rt1062/sampler/sampler_chip.h"
#include "firmware/ports/rt1062/ticks.h"
#include "firmware/ports/rt1062/usb/usb_board.h"
#include "firmware/ports/rt1062/usb/usb_ecm.h"
#include "firmware/ports/rt1062/usb/usb_ncm.h"
#include "firmware/ports/rt1062/usb/usb_serial.h"

namespace millrace::rt1062 {

// A network function with its stack.
template <typename Link>
class EchoEnd {
 public:
  EchoEnd(Link& link, const firmware::NetworkConfig& config, firmware::EchoStack::Load load)
      : link_(link), stack_(link, config, load) {}

  bool poll() { return stack_.poll(); }
  void set_sampler(firmware::Sampler* sampler) { stack_.set_sampler(sampler); }
  uint32_t echo_replies() const { return stack_.echo_replies(); }
  bool has_work() const { return link_.has_work(); }
  void revive() { link_.revive(); }
  void print_new(const char* name) {
    if (link_ups_ == link_.counters().link_ups) return;
    link_ups_ = link_.counters().link_ups;
    print(name);
    print(": link up\n");
  }

 private:
  Link& link_;
  firmware::EchoStack stack_;
  uint32_t link_ups_ = 0;
};

// The first network function is 192.168.7.1, a second one 192.168.8.1; each gives its host the
// address .2.
inline firmware::NetworkConfig echo_config(const BoardFuses& fuses, unsigned function) {
  firmware::NetworkConfig config;
  const NetworkAddresses addresses = network_addresses(fuses.mac0, fuses.mac1, function);
  for (unsigned i = 0; i < firmware::kMacBytes; ++i) config.mac[i] = addresses.device[i];
  config.address = firmware::ipv4(192, 168, 7 + function, 1);
  config.host_address = firmware::ipv4(192, 168, 7 + function, 2);
  return config;
}

struct EchoFunctions {
  bool ncm = false;
  bool ecm = false;
  bool serial = false;
  bool sampler = true;
};

// Runs until power goes.
template <const EchoFunctions& kFunctions>
class EchoProgram {
 public:
  explicit EchoProgram(firmware::EchoStack::Load load) : fuses_(read_board_fuses()) {
    static UsbIdentity identity =
        echo_identity(fuses_.mac0, kFunctions.ncm, kFunctions.ecm, kFunctions.serial);
    write_mac_text(network_addresses(fuses_.mac0, fuses_.mac1, 0).host, identity.mac_addresses[0]);
    if constexpr (kFunctions.ncm && kFunctions.ecm) {
      write_mac_text(network_addresses(fuses_.mac0, fuses_.mac1, 1).host,
                     identity.mac_addresses[1]);
    }
    const UsbBoard board = make_usb_board(identity);
    chip_ = &board.chip;
    firmware::Sampler* sampler = nullptr;
    if constexpr (kFunctions.sampler) sampler = &make_sampler(echo_replies);
    unsigned function = 0;
    if constexpr (kFunctions.ncm) {
      static EchoEnd<NcmLink> end(add_usb_ncm(board, kFirstMacString),
                                  echo_config(fuses_, function), load);
      ncm_ = &end;
      ++function;
    }
    if constexpr (kFunctions.ecm) {
      const uint8_t mac_string = static_cast<uint8_t>(kFirstMacString + function);
      static EchoEnd<EcmLink> end(add_usb_ecm(board, mac_string), echo_config(fuses_, function),
                                  load);
      ecm_ = &end;
    }
    if constexpr (kFunctions.serial) {
      static UsbSerial serial = add_usb_serial(board, has_work);
      firmware::StreamDeviceOptions options;
      options.sampler = sampler;
      static firmware::StreamDevice device(serial.port, options);
      serial_ = &serial;
      stream_ = &device;
    }
    if constexpr (kFunctions.ncm) ncm_->set_sampler(sampler);
    if constexpr (kFunctions.ecm) ecm_->set_sampler(sampler);
    start_usb_board(board);
  }

  [[noreturn]] void run() {
    while (true) {
      const bool busy = poll();
      if (!busy) {
        print_new();
        revive();
      }
      if constexpr (kFunctions.serial) {
        if (serial_->port.take_link_lost()) stream_->link_lost();
        stream_->poll();  // sleeps if nobody has anything to do
      } else if (!busy) {
        sleep();
      }
    }
  }

 private:
  static bool poll() {
    bool busy = false;
    if constexpr (kFunctions.ncm) busy |= ncm_->poll();
    if constexpr (kFunctions.ecm) busy |= ecm_->poll();
    return busy;
  }

  // With interrupts locked out.
  static bool has_work() {
    bool work = false;
    if constexpr (kFunctions.ncm) work |= ncm_->has_work();
    if constexpr (kFunctions.ecm) work |= ecm_->has_work();
    return work;
  }

  static uint32_t echo_replies() {
    uint32_t replies = 0;
    if constexpr (kFunctions.ncm) replies += ncm_->echo_replies();
    if constexpr (kFunctions.ecm) replies += ecm_->echo_replies();
    return replies;
  }

  static void print_new() {
    if constexpr (kFunctions.ncm) ncm_->print_new("ncm");
    if constexpr (kFunctions.ecm) ecm_->print_new("ecm");
  }

  // At most once a millisecond: it costs register accesses.
  static void revive() {
    static uint32_t last_ms;
    if (milliseconds() == last_ms) return;
    last_ms = milliseconds();
    if constexpr (kFunctions.ncm) ncm_->revive();
    if constexpr (kFunctions.ecm) ecm_->revive();
  }

  // Until an interrupt; with them locked out, one that comes after the look still ends the sleep.
  void sleep() {
    const uint32_t state = chip_->lock();
    if (!has_work()) chip_->sleep();
    chip_->unlock(state);
  }

  static inline EchoEnd<NcmLink>* ncm_ = nullptr;
  static inline EchoEnd<EcmLink>* ecm_ = nullptr;
  BoardFuses fuses_;
  UsbChip* chip_ = nullptr;
  UsbSerial* serial_ = nullptr;
  firmware::StreamDevice* stream_ = nullptr;
};

template <const EchoFunctions& kFunctions>
[[noreturn]] void run_echo(firmware::EchoStack::Load load = nullptr) {
  print("Millrace UDP echo on i.MX RT1062\n");
  EchoProgram<kFunctions> program(load);
  program.run();
}

}  // namespace millrace::rt1062
