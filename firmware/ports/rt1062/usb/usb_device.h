// SPDX-License-Identifier: Apache-2.0
// A USB device: endpoint 0 with the standard requests (USB 2.0 chapter 9), and functions that have
// the interfaces and the other endpoints. Runs in the interrupt handler; queues (usb_queue.h) are
// for whoever moves data.
#pragma once

#include <cstddef>
#include <cstdint>

#include "firmware/ports/rt1062/usb/usb_descriptors.h"
#include "firmware/ports/rt1062/usb/usb_hardware.h"

namespace millrace::rt1062 {

// USB 2.0 table 9-2.
struct UsbSetup {
  uint8_t request_type = 0;
  uint8_t request = 0;
  uint16_t value = 0;
  uint16_t index = 0;
  uint16_t length = 0;
};

// How a function answers a SETUP.
struct UsbReply {
  enum class Kind : uint8_t {
    stall,    // not understood
    accept,   // done; no data
    send,     // `size` bytes at `data`, which are copied
    receive,  // on_data() is to have the data stage
  };
  Kind kind = Kind::stall;
  const uint8_t* data = nullptr;
  uint16_t size = 0;
};

class UsbDevice;

// All calls come from the interrupt handler, or before it is on.
class UsbFunction {
 public:
  virtual uint8_t interface_count() const = 0;
  // Its descriptors, from the association or first interface on.
  virtual void describe(UsbDescriptorWriter& out, uint8_t first_interface, bool high_speed) = 0;
  // The host has configured the device: opens its endpoints. They are closed without a call.
  virtual void configured(UsbDevice& device, uint8_t first_interface, bool high_speed) = 0;
  // No longer: reset, detached, or configuration 0.
  virtual void closed() = 0;
  // A class or vendor request to interface `first_interface` + `interface`. `receive` fits requests
  // that bring data, `send` those that ask for some, `accept` those without.
  virtual UsbReply on_request(const UsbSetup& setup, uint8_t interface) = 0;
  // The data of a request that on_request() wanted; false: the status stage is a STALL.
  virtual bool on_data(const UsbSetup& setup, uint8_t interface, const uint8_t* data,
                       size_t size) = 0;
  // SET_INTERFACE: opens and closes what the alternate setting has and has not. False: there is no
  // such setting.
  virtual bool select(UsbDevice&, uint8_t /*interface*/, uint8_t setting, bool /*high_speed*/) {
    return setting == 0;
  }
  // GET_INTERFACE.
  virtual uint8_t setting(uint8_t /*interface*/) const { return 0; }

 protected:
  ~UsbFunction() = default;
};

struct UsbEvents {
  uint32_t resets = 0;
  uint32_t configurations = 0;
  uint32_t suspends = 0;
  uint32_t detaches = 0;
  uint32_t stalls = 0;  // requests refused
  uint32_t errors = 0;  // USBSTS.UEI
};

class UsbDevice {
 public:
  static constexpr unsigned kMaxFunctions = 4;
  static constexpr uint16_t kMaxControlData = 64;

  // `memory` is cleared by start(). All outlive this.
  UsbDevice(UsbHardware& hardware, UsbControlMemory& memory, const UsbIdentity& identity);

  // Before start(); functions get interface numbers in this order. False: too many.
  bool add(UsbFunction& function);
  // On the bus. The interrupt handler must call on_interrupt() from now on.
  void start();
  void on_interrupt();

  // Whether data can flow. May be read at any time.
  const UsbSession& session() const { return session_; }
  // Of the bus, as of the last configuration.
  bool high_speed() const { return high_speed_; }
  const volatile UsbEvents& events() const { return events_; }
  UsbQueueHead& head(uint8_t address) { return memory_.heads[endpoint_index(address)]; }

  // For UsbFunction::configured() and select(). REQUIRES: endpoint number 1..7, not control.
  void open_endpoint(uint8_t address, EndpointType type, uint16_t max_packet, uint8_t interface);
  // What was queued is forgotten. No effect on one that is not open.
  void close_endpoint(uint8_t address);

 private:
  struct Endpoint {
    bool open = false;
    uint8_t interface = 0;
  };
  struct Function {
    UsbFunction* function = nullptr;
    uint8_t first_interface = 0;
  };

  void on_reset();
  void on_suspend();
  void end_session();
  void close_endpoints();
  void flush(uint32_t bits);

  // usb_control.cc: endpoint 0
  void on_setup();
  void on_control_data();
  UsbReply answer(const UsbSetup& setup);
  UsbReply answer_device(const UsbSetup& setup);
  UsbReply answer_interface(const UsbSetup& setup);
  UsbReply answer_endpoint(const UsbSetup& setup);
  UsbReply answer_function(const UsbSetup& setup);
  UsbReply answer_descriptor(const UsbSetup& setup);
  UsbReply send_byte(uint8_t value);
  UsbReply send_word(uint16_t value);
  UsbReply send_buffer(size_t size);
  bool set_configuration(uint16_t value);
  void reset_toggle(uint8_t address, bool clear_stall);
  Function* function_of(uint8_t interface);
  bool endpoint_exists(uint8_t address) const;
  bool carry_out(const UsbSetup& setup, const UsbReply& reply);
  void stall_control();
  void send_control(uint32_t bytes, bool zero_length_end);
  void send_status();
  void receive_status();
  void fill(UsbTransferDescriptor* descriptor, uint32_t bytes, bool interrupt, uint32_t next);
  void prime_control(uint8_t address, UsbTransferDescriptor* descriptor);

  UsbHardware& hardware_;
  UsbControlMemory& memory_;
  const UsbIdentity& identity_;
  UsbSession session_;
  volatile UsbEvents events_;
  bool high_speed_ = false;
  uint8_t configuration_ = 0;
  Function functions_[kMaxFunctions];
  unsigned function_count_ = 0;
  uint8_t interface_count_ = 0;
  Endpoint endpoints_[2 * kUsbEndpoints];
  bool receiving_ = false;  // the data stage of setup_
  UsbSetup setup_;
};

}  // namespace millrace::rt1062
