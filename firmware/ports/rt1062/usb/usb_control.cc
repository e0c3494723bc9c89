// SPDX-License-Identifier: Apache-2.0
// Endpoint 0: from SETUP to the status stage (IMXRT1060RM 42.5.6.4; USB 2.0 8.5.3, 9.4).
//
// Data to the host and the status stage behind it are primed together, so a request costs one
// interrupt; only data from the host needs a second one, before its status stage is decided. The
// controller ends all of it by itself when a new SETUP comes.
#include <string.h>

#include "firmware/ports/rt1062/usb/usb_device.h"

namespace millrace::rt1062 {
namespace {

constexpr uint8_t kIn = 0x80, kTypeMask = 0x60, kStandard = 0x00, kRecipientMask = 0x1f;
constexpr uint8_t kToDevice = 0, kToInterface = 1, kToEndpoint = 2;
// USB 2.0 table 9-4.
constexpr uint8_t kGetStatus = 0, kClearFeature = 1, kSetFeature = 3, kSetAddress = 5;
constexpr uint8_t kGetDescriptor = 6, kGetConfiguration = 8, kSetConfiguration = 9;
constexpr uint8_t kGetInterface = 10, kSetInterface = 11;
constexpr uint16_t kEndpointHalt = 0;
constexpr uint16_t kSelfPowered = 1;  // status of the device, USB 2.0 figure 9-4
constexpr uint8_t kConfiguration = 1;
// What a Teensy says: self-powered, 100 mA.
constexpr uint8_t kAttributes = 0xc0, kMaxPower = 50;

constexpr uint32_t kSpins = 10'000;
constexpr unsigned kData = 0, kDataEnd = 1, kStatus = 2;  // in UsbControlMemory::control

constexpr UsbReply accept() { return {UsbReply::Kind::accept, nullptr, 0}; }

UsbSetup parse_setup(uint32_t low, uint32_t high) {
  UsbSetup setup;
  setup.request_type = static_cast<uint8_t>(low);
  setup.request = static_cast<uint8_t>(low >> 8);
  setup.value = static_cast<uint16_t>(low >> 16);
  setup.index = static_cast<uint16_t>(high);
  setup.length = static_cast<uint16_t>(high >> 16);
  return setup;
}

}  // namespace

// 42.5.6.4.2: the tripwire says whether another SETUP has come over the bytes while they were read.
void UsbDevice::on_setup() {
  hardware_.write(UsbRegister::endptsetupstat, 1u);
  uint32_t low = 0, high = 0;
  for (uint32_t spins = 0; spins < kSpins; ++spins) {
    hardware_.write(UsbRegister::usbcmd, USBCMD_RS | USBCMD_SUTW);
    low = head(0x00).setup[0];
    high = head(0x00).setup[1];
    if ((hardware_.read(UsbRegister::usbcmd) & USBCMD_SUTW) != 0) break;
  }
  hardware_.write(UsbRegister::usbcmd, USBCMD_RS);
  flush(endpoint_bit(0x00) | endpoint_bit(0x80));
  receiving_ = false;
  setup_ = parse_setup(low, high);
  if (carry_out(setup_, answer(setup_))) return;
  events_.stalls = events_.stalls + 1;
  stall_control();
}

// False: the reply does not fit the request.
bool UsbDevice::carry_out(const UsbSetup& setup, const UsbReply& reply) {
  using Kind = UsbReply::Kind;
  if (reply.kind == Kind::stall) return false;
  if (setup.length == 0) {
    if (reply.kind == Kind::receive) return false;
    send_status();
    return true;
  }
  if ((setup.request_type & kIn) == 0) {
    if (reply.kind != Kind::receive || setup.length > kMaxControlData) return false;
    receiving_ = true;
    fill(&memory_.control[kData], setup.length, true, DTD_TERMINATE);
    prime_control(0x00, &memory_.control[kData]);
    return true;
  }
  if (reply.kind != Kind::send || reply.size > sizeof(memory_.buffer)) return false;
  if (reply.size > 0 && reply.data != memory_.buffer)
    memcpy(memory_.buffer, reply.data, reply.size);
  const uint32_t bytes = reply.size < setup.length ? reply.size : setup.length;
  // Less than the host asked for, in full packets: only an empty one tells it that this is all.
  send_control(bytes, bytes < setup.length && bytes > 0 && bytes % kControlMaxPacket == 0);
  return true;
}

void UsbDevice::send_control(uint32_t bytes, bool zero_length_end) {
  uint32_t next = DTD_TERMINATE;
  if (zero_length_end) {
    fill(&memory_.control[kDataEnd], 0, false, DTD_TERMINATE);
    next = hardware_.bus_address(&memory_.control[kDataEnd]);
  }
  fill(&memory_.control[kData], bytes, false, next);
  prime_control(0x80, &memory_.control[kData]);
  receive_status();
}

void UsbDevice::send_status() {
  fill(&memory_.control[kStatus], 0, false, DTD_TERMINATE);
  prime_control(0x80, &memory_.control[kStatus]);
}

void UsbDevice::receive_status() {
  fill(&memory_.control[kStatus], 0, false, DTD_TERMINATE);
  prime_control(0x00, &memory_.control[kStatus]);
}

// All data of endpoint 0 go through the buffer, which lies in one page.
void UsbDevice::fill(UsbTransferDescriptor* descriptor, uint32_t bytes, bool interrupt,
                     uint32_t next) {
  const uint32_t buffer = hardware_.bus_address(memory_.buffer);
  for (uint32_t i = 0; i < 5; ++i) descriptor->page[i] = buffer;
  descriptor->next = next;
  descriptor->bytes = bytes;
  descriptor->token = bytes << DTD_TOTAL_SHIFT | (interrupt ? DTD_IOC : 0) | DTD_ACTIVE;
}

void UsbDevice::prime_control(uint8_t address, UsbTransferDescriptor* descriptor) {
  head(address).next = hardware_.bus_address(descriptor);
  head(address).token = 0;
  const uint32_t bit = endpoint_bit(address);
  hardware_.write(UsbRegister::endptprime, bit);
  // A prime is not taken while a SETUP waits.
  for (uint32_t spins = 0; spins < kSpins; ++spins) {
    if ((hardware_.read(UsbRegister::endptprime) & bit) == 0) return;
    if ((hardware_.read(UsbRegister::endptsetupstat) & 1u) != 0) return;
  }
}

// The data stage from the host is over.
void UsbDevice::on_control_data() {
  const uint32_t token = memory_.control[kData].token;
  if ((token & DTD_ACTIVE) != 0) return;
  receiving_ = false;
  const uint32_t left = token >> DTD_TOTAL_SHIFT & DTD_TOTAL_MASK;
  const uint32_t received = setup_.length - left;
  Function* function = function_of(static_cast<uint8_t>(setup_.index));
  const bool failed = (token & (DTD_HALTED | DTD_BUFFER_ERROR | DTD_TRANSACTION_ERROR)) != 0;
  if (function != nullptr && !failed &&
      function->function->on_data(setup_,
                                  static_cast<uint8_t>(setup_.index - function->first_interface),
                                  memory_.buffer, received)) {
    send_status();
    return;
  }
  events_.stalls = events_.stalls + 1;
  stall_control();
}

// The controller takes the stall away with the next SETUP.
void UsbDevice::stall_control() {
  constexpr uint32_t kBoth = ENDPTCTRL_STALL | ENDPTCTRL_STALL << ENDPTCTRL_TX_SHIFT;
  hardware_.write(endpoint_control(0), hardware_.read(endpoint_control(0)) | kBoth);
}

UsbReply UsbDevice::answer(const UsbSetup& setup) {
  const uint8_t recipient = setup.request_type & kRecipientMask;
  if ((setup.request_type & kTypeMask) != kStandard) {
    return recipient == kToInterface ? answer_function(setup) : UsbReply();
  }
  if (recipient == kToDevice) return answer_device(setup);
  if (recipient == kToInterface) return answer_interface(setup);
  if (recipient == kToEndpoint) return answer_endpoint(setup);
  return UsbReply();
}

UsbReply UsbDevice::answer_device(const UsbSetup& setup) {
  if ((setup.request_type & kIn) != 0) {
    switch (setup.request) {
      case kGetStatus:
        return send_word(kSelfPowered);
      case kGetDescriptor:
        return answer_descriptor(setup);
      case kGetConfiguration:
        return send_byte(configuration_);
      default:
        return UsbReply();
    }
  }
  switch (setup.request) {
    case kSetAddress:
      if (setup.value > 127 || setup.length != 0) return UsbReply();
      hardware_.write(
          UsbRegister::deviceaddr,
          static_cast<uint32_t>(setup.value) << DEVICEADDR_USBADR_SHIFT | DEVICEADDR_USBADRA);
      return accept();
    case kSetConfiguration:
      return setup.length == 0 && set_configuration(setup.value) ? accept() : UsbReply();
    default:  // no feature of the device can be set, no descriptor be changed
      return UsbReply();
  }
}

bool UsbDevice::set_configuration(uint16_t value) {
  if (value > kConfiguration) return false;
  end_session();
  if (value == 0) return true;
  configuration_ = kConfiguration;
  high_speed_ = (hardware_.read(UsbRegister::portsc1) & PORTSC1_HSP) != 0;
  for (unsigned i = 0; i < function_count_; ++i) {
    functions_[i].function->configured(*this, functions_[i].first_interface, high_speed_);
  }
  events_.configurations = events_.configurations + 1;
  session_.open = true;
  return true;
}

UsbReply UsbDevice::answer_interface(const UsbSetup& setup) {
  const uint8_t number = static_cast<uint8_t>(setup.index);
  Function* owner = function_of(number);
  if (configuration_ == 0 || owner == nullptr || setup.index > 0xff) return UsbReply();
  UsbFunction& function = *owner->function;
  const uint8_t interface = static_cast<uint8_t>(number - owner->first_interface);
  const bool in = (setup.request_type & kIn) != 0;
  if (in && setup.request == kGetStatus) return send_word(0);
  if (in && setup.request == kGetInterface) return send_byte(function.setting(interface));
  if (in || setup.request != kSetInterface || setup.value > 0xff || setup.length != 0) {
    return UsbReply();
  }
  if (!function.select(*this, interface, static_cast<uint8_t>(setup.value), high_speed_)) {
    return UsbReply();
  }
  for (uint32_t index = 2; index < 2 * kUsbEndpoints; ++index) {
    if (!endpoints_[index].open || endpoints_[index].interface != number) continue;
    const uint32_t address = index / 2 | (index % 2 != 0 ? kUsbDirectionIn : 0u);
    reset_toggle(static_cast<uint8_t>(address), true);
  }
  return accept();
}

UsbReply UsbDevice::answer_endpoint(const UsbSetup& setup) {
  const uint8_t address = static_cast<uint8_t>(setup.index);
  if (setup.index > 0xff || !endpoint_exists(address)) return UsbReply();
  const uint32_t number = endpoint_number(address);
  const UsbRegister control = endpoint_control(number);
  const uint32_t stall = ENDPTCTRL_STALL << (endpoint_is_in(address) ? ENDPTCTRL_TX_SHIFT : 0);
  if ((setup.request_type & kIn) != 0) {
    if (setup.request != kGetStatus) return UsbReply();
    return send_word((hardware_.read(control) & stall) != 0 ? 1 : 0);
  }
  if (setup.value != kEndpointHalt || setup.length != 0) return UsbReply();
  if (setup.request == kClearFeature) {
    if (number != 0) reset_toggle(address, true);
    return accept();
  }
  if (setup.request != kSetFeature || number == 0) return UsbReply();
  hardware_.write(control, hardware_.read(control) | stall);
  return accept();
}

UsbDevice::Function* UsbDevice::function_of(uint8_t interface) {
  for (unsigned i = 0; i < function_count_; ++i) {
    const unsigned first = functions_[i].first_interface;
    if (interface >= first && interface < first + functions_[i].function->interface_count()) {
      return &functions_[i];
    }
  }
  return nullptr;
}

UsbReply UsbDevice::answer_function(const UsbSetup& setup) {
  Function* function = function_of(static_cast<uint8_t>(setup.index));
  if (configuration_ == 0 || function == nullptr) return UsbReply();
  return function->function->on_request(
      setup, static_cast<uint8_t>(static_cast<uint8_t>(setup.index) - function->first_interface));
}

UsbReply UsbDevice::answer_descriptor(const UsbSetup& setup) {
  const uint8_t index = static_cast<uint8_t>(setup.value);
  UsbDescriptorWriter out(memory_.buffer, sizeof(memory_.buffer));
  const auto type = static_cast<DescriptorType>(setup.value >> 8);
  if (type == DescriptorType::string) {
    return send_buffer(write_string_descriptor(identity_, index, out));
  }
  if (index != 0) return UsbReply();
  if (type == DescriptorType::device) return send_buffer(write_device_descriptor(identity_, out));
  if (type == DescriptorType::device_qualifier) return send_buffer(write_device_qualifier(out));
  const bool other = type == DescriptorType::other_speed_configuration;
  if (type != DescriptorType::configuration && !other) return UsbReply();

  const bool bus_is_high = (hardware_.read(UsbRegister::portsc1) & PORTSC1_HSP) != 0;
  out.byte(9);
  out.type(type);
  out.word(0);
  out.byte(interface_count_);
  out.byte(kConfiguration);
  out.byte(0);
  out.byte(kAttributes);
  out.byte(kMaxPower);
  for (unsigned i = 0; i < function_count_; ++i) {
    functions_[i].function->describe(out, functions_[i].first_interface, bus_is_high != other);
  }
  out.set_word(2, out.size());
  return send_buffer(out.size());
}

UsbReply UsbDevice::send_byte(uint8_t value) {
  memory_.buffer[0] = value;
  return send_buffer(1);
}

UsbReply UsbDevice::send_word(uint16_t value) {
  memory_.buffer[0] = static_cast<uint8_t>(value);
  memory_.buffer[1] = static_cast<uint8_t>(value >> 8);
  return send_buffer(2);
}

// 0 bytes: there is nothing to send; more than fit: the functions are too many.
UsbReply UsbDevice::send_buffer(size_t size) {
  if (size == 0 || size > sizeof(memory_.buffer)) return UsbReply();
  return {UsbReply::Kind::send, memory_.buffer, static_cast<uint16_t>(size)};
}

}  // namespace millrace::rt1062
