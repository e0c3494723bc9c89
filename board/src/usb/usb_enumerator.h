// SPDX-License-Identifier: Apache-2.0
// Enumeration as a PC does it (USB 2.0 9.1.2): from an enabled port to a configured device, with
// everything that is wrong with its descriptors as sentences.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "usb/usb_descriptors.h"
#include "usb/usb_host.h"

namespace millrace::board {

struct UsbDeviceInfo {
  UsbSpeed speed = UsbSpeed::high;
  uint8_t address = 0;
  std::vector<uint8_t> device_bytes, configuration_bytes;  // as they came
  std::vector<uint8_t> qualifier_bytes;                    // empty: refused
  UsbDeviceDescriptor device;
  UsbConfigurationInfo configuration;
  uint16_t language = 0x0409;                 // of strings, the device's first one
  std::string manufacturer, product, serial;  // UTF-8; empty: none
  UsbFindings findings;
};

class UsbEnumerator final : public UsbHostListener {
 public:
  class Listener {
   public:
    // Configured, the endpoints of all alternate settings 0 open.
    virtual void device_ready(const UsbDeviceInfo& device) = 0;
    virtual void device_gone() = 0;  // it was ready
    // After three attempts; one sentence.
    virtual void device_failed(const std::string& problem) = 0;

   protected:
    ~Listener() = default;
  };

  // Becomes the listener of `host`. Both outlive this.
  UsbEnumerator(UsbHost& host, Listener& listener);
  // Another driver of the same device, told after those before. Outlives this; before plug_in().
  void add_listener(Listener& listener) { listeners_.push_back(&listener); }
  ~UsbEnumerator();
  UsbEnumerator(const UsbEnumerator&) = delete;
  UsbEnumerator& operator=(const UsbEnumerator&) = delete;

  bool is_ready() const { return is_ready_; }
  const UsbDeviceInfo& device() const { return info_; }

  void port_enabled(UsbSpeed speed) override;
  void port_disabled() override;

 private:
  enum class Step : uint8_t {
    idle,
    device_head,  // 8 bytes, for the packet size of endpoint 0
    set_address,
    device,
    qualifier,
    configuration_head,
    configuration,
    languages,
    manufacturer,
    product,
    serial,
    set_configuration,
  };

  static void on_done(void* context, Urb& urb);
  static void on_timeout(void* context);
  static void on_settled(void* context);
  void request(Step step);
  void get_descriptor(uint8_t type, uint8_t index, uint16_t language, uint16_t length);
  void send(uint8_t type, uint8_t request, uint16_t value, uint16_t index, uint16_t length);
  void done();
  void go_on(Step after);
  void got_string(unsigned index, std::string* text);
  bool is_optional() const;
  std::string_view step_name() const;
  void fail(const std::string& problem);
  void set_control_packet(uint8_t size);
  void finish();

  UsbHost& host_;
  std::vector<Listener*> listeners_;
  UsbDeviceInfo info_;
  Urb urb_;
  std::vector<uint8_t> buffer_;
  UsbHostTimer timeout_;
  UsbHostTimer settled_;
  Step step_ = Step::idle;
  unsigned attempts_ = 0;
  uint8_t next_address_ = 1;
  bool is_ready_ = false;
  bool is_stale_ = false;     // the URB belongs to an earlier attempt
  bool is_waiting_ = false;   // to begin until it is back
  bool is_retrying_ = false;  // resets the port itself
  bool is_timed_out_ = false;
};

// Opens the bulk and interrupt endpoints of every interface's alternate setting 0.
void open_pipes(UsbHost& host, const UsbConfigurationInfo& configuration, UsbFindings* findings);

}  // namespace millrace::board
