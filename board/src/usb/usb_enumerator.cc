// SPDX-License-Identifier: Apache-2.0
// The order is Linux's "old scheme": 8 bytes of the device descriptor at address 0, SET_ADDRESS,
// everything else at the new address. What goes wrong before the device is configured is tried
// again after another reset, three times in all, as hubs do.
#include "usb/usb_enumerator.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/bytes.h"
#include "usb/usb_descriptor_walk.h"
#include "usb/usb_setup_codes.h"

namespace millrace::board {
namespace {

constexpr uint8_t kSetAddress = 5, kSetConfiguration = 9;
constexpr uint64_t kTimeoutNs = 5'000'000'000;  // 9.2.6.1
constexpr uint64_t kSettleNs = 10'000'000;      // Linux; 9.2.6.3 wants 2 ms
constexpr unsigned kAttempts = 3;

std::string_view problem_of(UrbStatus status) {
  switch (status) {
    case UrbStatus::stall:
      return "the device refuses it (STALL)";
    case UrbStatus::no_answer:
      return "no answer, three times";
    case UrbStatus::overflow:
      return "more bytes came than were asked for";
    default:
      return "not finished within 5 s (the device answers NAK)";
  }
}

}  // namespace

UsbEnumerator::UsbEnumerator(UsbHost& host, Listener& listener)
    : host_(host),
      listeners_{&listener},
      timeout_(&UsbEnumerator::on_timeout, this),
      settled_(&UsbEnumerator::on_settled, this) {
  urb_.done = &UsbEnumerator::on_done;
  urb_.context = this;
  host.set_listener(this);
}

UsbEnumerator::~UsbEnumerator() {
  host_.set_listener(nullptr);
  host_.stop_timer(timeout_);
  host_.stop_timer(settled_);
  host_.forget(urb_);
}

void UsbEnumerator::port_enabled(UsbSpeed speed) {
  info_ = UsbDeviceInfo();
  info_.speed = speed;
  if (urb_.status == UrbStatus::pending) {
    is_waiting_ = true;
    return;
  }
  request(Step::device_head);
}

void UsbEnumerator::port_disabled() {
  host_.stop_timer(timeout_);
  host_.stop_timer(settled_);
  step_ = Step::idle;
  is_stale_ = urb_.status == UrbStatus::pending;
  is_waiting_ = false;
  is_timed_out_ = false;
  if (!is_retrying_) attempts_ = 0;
  if (!std::exchange(is_ready_, false)) return;
  for (Listener* listener : listeners_) listener->device_gone();
}

void UsbEnumerator::on_done(void* context, Urb&) { static_cast<UsbEnumerator*>(context)->done(); }

void UsbEnumerator::on_timeout(void* context) {
  auto* self = static_cast<UsbEnumerator*>(context);
  self->is_timed_out_ = true;
  self->host_.unlink(self->urb_);
}

void UsbEnumerator::on_settled(void* context) {
  static_cast<UsbEnumerator*>(context)->request(Step::device);
}

void UsbEnumerator::send(uint8_t type, uint8_t request, uint16_t value, uint16_t index,
                         uint16_t length) {
  buffer_.assign(length, 0);
  urb_.setup[0] = type;
  urb_.setup[1] = request;
  store_le(&urb_.setup[2], 2, value);
  store_le(&urb_.setup[4], 2, index);
  store_le(&urb_.setup[6], 2, length);
  urb_.buffer = buffer_;
  host_.submit(urb_);
  host_.start_timer(timeout_, kTimeoutNs);
}

void UsbEnumerator::get_descriptor(uint8_t type, uint8_t index, uint16_t language,
                                   uint16_t length) {
  send(0x80, kGetDescriptor, static_cast<uint16_t>(type << 8 | index), language, length);
}

void UsbEnumerator::request(Step step) {
  step_ = step;
  switch (step) {
    case Step::idle:
      return;
    case Step::device_head:
      return get_descriptor(usb_descriptor::kDevice, 0, 0, 8);
    case Step::set_address:
      info_.address = next_address_;
      next_address_ = static_cast<uint8_t>(next_address_ % 127 + 1);
      return send(0, kSetAddress, info_.address, 0, 0);
    case Step::device:
      return get_descriptor(usb_descriptor::kDevice, 0, 0, 18);
    case Step::qualifier:
      return get_descriptor(usb_descriptor::kDeviceQualifier, 0, 0, 10);
    case Step::configuration_head:
      return get_descriptor(usb_descriptor::kConfiguration, 0, 0, 9);
    case Step::configuration:
      return get_descriptor(usb_descriptor::kConfiguration, 0, 0,
                            static_cast<uint16_t>(load_le(&info_.configuration_bytes[2], 2)));
    case Step::languages:
      return get_descriptor(usb_descriptor::kString, 0, 0, 255);
    case Step::manufacturer:
      return get_descriptor(usb_descriptor::kString, info_.device.manufacturer_string,
                            info_.language, 255);
    case Step::product:
      return get_descriptor(usb_descriptor::kString, info_.device.product_string, info_.language,
                            255);
    case Step::serial:
      return get_descriptor(usb_descriptor::kString, info_.device.serial_string, info_.language,
                            255);
    case Step::set_configuration:
      return send(0, kSetConfiguration, info_.configuration.value, 0, 0);
  }
}

bool UsbEnumerator::is_optional() const {
  return step_ == Step::qualifier || (step_ >= Step::languages && step_ <= Step::serial);
}

std::string_view UsbEnumerator::step_name() const {
  switch (step_) {
    case Step::device_head:
    case Step::device:
      return "GET_DESCRIPTOR(device)";
    case Step::set_address:
      return "SET_ADDRESS";
    case Step::qualifier:
      return "GET_DESCRIPTOR(device qualifier)";
    case Step::configuration_head:
    case Step::configuration:
      return "GET_DESCRIPTOR(configuration)";
    case Step::set_configuration:
      return "SET_CONFIGURATION";
    default:
      return "GET_DESCRIPTOR(string)";
  }
}

// The URB is back.
void UsbEnumerator::done() {
  host_.stop_timer(timeout_);
  if (std::exchange(is_stale_, false)) {
    if (std::exchange(is_waiting_, false)) request(Step::device_head);
    return;
  }
  const bool is_timed_out = std::exchange(is_timed_out_, false);
  if (urb_.status == UrbStatus::disconnected || step_ == Step::idle) return;
  if (urb_.status != UrbStatus::ok) {
    if (!is_optional() || is_timed_out || urb_.status == UrbStatus::no_answer) {
      return fail(fmt::format("{}: {}", step_name(), problem_of(urb_.status)));
    }
    // A full-speed device need not have a qualifier (9.6.2).
    if (step_ != Step::qualifier || info_.speed == UsbSpeed::high) {
      info_.findings.push_back(fmt::format("{}: {}", step_name(), problem_of(urb_.status)));
    }
    buffer_.clear();
  }
  buffer_.resize(std::min<size_t>(buffer_.size(), urb_.actual));
  go_on(step_);
}

void UsbEnumerator::go_on(Step after) {
  UsbDeviceInfo& i = info_;
  switch (after) {
    case Step::device_head:
      if (buffer_.size() < 8) return fail("GET_DESCRIPTOR(device): fewer than 8 bytes came");
      set_control_packet(buffer_[7]);
      return request(Step::set_address);
    case Step::set_address:
      host_.set_address(i.address);
      step_ = Step::idle;
      return host_.start_timer(settled_, kSettleNs);
    case Step::device:
      i.device_bytes = buffer_;
      check_device_descriptor(buffer_, i.speed, &i.findings);
      if (!parse_device_descriptor(buffer_, &i.device)) return fail(i.findings.back());
      if (i.device.usb_version < 0x0200) return request(Step::configuration_head);
      return request(Step::qualifier);
    case Step::qualifier:
      i.qualifier_bytes = buffer_;
      if (!buffer_.empty()) check_device_qualifier(buffer_, i.device_bytes, &i.findings);
      return request(Step::configuration_head);
    case Step::configuration_head:
      i.configuration_bytes = buffer_;
      if (buffer_.size() < 9 || load_le(&buffer_[2], 2) < 9) {
        return fail("GET_DESCRIPTOR(configuration): no configuration descriptor of 9 bytes came");
      }
      return request(Step::configuration);
    case Step::configuration:
      i.configuration_bytes = buffer_;
      check_configuration(buffer_, i.device, i.speed, &i.findings);
      i.configuration = parse_configuration(buffer_);
      if (i.configuration.value == 0) {
        return fail("GET_DESCRIPTOR(configuration): there is no configuration to choose");
      }
      if (i.device.manufacturer_string == 0 && i.device.product_string == 0 &&
          i.device.serial_string == 0) {
        return request(Step::set_configuration);
      }
      return request(Step::languages);
    case Step::languages:
      if (!buffer_.empty()) check_string_descriptor(0, buffer_, &i.findings);
      if (buffer_.size() < 4) return request(Step::set_configuration);
      i.language = static_cast<uint16_t>(load_le(&buffer_[2], 2));
      if (i.device.manufacturer_string != 0) return request(Step::manufacturer);
      return go_on(Step::manufacturer);
    case Step::manufacturer:
      got_string(i.device.manufacturer_string, &i.manufacturer);
      if (i.device.product_string != 0) return request(Step::product);
      return go_on(Step::product);
    case Step::product:
      got_string(i.device.product_string, &i.product);
      if (i.device.serial_string != 0) return request(Step::serial);
      return go_on(Step::serial);
    case Step::serial:
      got_string(i.device.serial_string, &i.serial);
      return request(Step::set_configuration);
    case Step::set_configuration:
      return finish();
    case Step::idle:
      return;
  }
}

void UsbEnumerator::got_string(unsigned index, std::string* text) {
  if (index == 0 || buffer_.empty()) return;
  check_string_descriptor(index, buffer_, &info_.findings);
  *text = parse_string_descriptor(buffer_);
}

// What the standard does not allow is a finding later; the host has to use something.
void UsbEnumerator::set_control_packet(uint8_t size) {
  const bool is_allowed = size == 8 || size == 16 || size == 32 || size == 64;
  host_.set_control_max_packet(is_allowed ? size : 64);
}

void UsbEnumerator::fail(const std::string& problem) {
  step_ = Step::idle;
  if (++attempts_ < kAttempts) {
    is_retrying_ = true;
    host_.reset_port();
    is_retrying_ = false;
    return;
  }
  for (Listener* listener : listeners_) listener->device_failed(problem);
}

void UsbEnumerator::finish() {
  step_ = Step::idle;
  attempts_ = 0;
  is_ready_ = true;
  open_pipes(host_, info_.configuration, &info_.findings);
  for (Listener* listener : listeners_) {
    if (is_ready_) listener->device_ready(info_);  // one of them may have unplugged it
  }
}

void open_pipes(UsbHost& host, const UsbConfigurationInfo& configuration, UsbFindings* findings) {
  for (const UsbInterfaceInfo& interface : configuration.interfaces) {
    if (interface.alternate != 0) continue;
    for (const UsbEndpointInfo& e : interface.endpoints) {
      if (e.transfer == UsbTransfer::isochronous) continue;
      if (!host.open_pipe({e.address, e.transfer, e.max_packet, e.interval}) &&
          findings->size() < kMaxFindings) {
        findings->push_back(fmt::format("endpoint 0x{:02x}: cannot be used", e.address));
      }
    }
  }
}

}  // namespace millrace::board
