// SPDX-License-Identifier: Apache-2.0
// NCM switches the data interface on and off first, since some devices reset it only so, and since
// NCM 1.0 7.2 lets a device take its settings only while it is off; all the same Linux sends the
// block size after it is on, and so do we: a device that refuses it there would work with no Linux.
// Requests whose answer changes nothing may fail. test/guest/net_guest.py compares all of them with
// those of a real kernel.
#include "usb/cdc_net_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/bytes.h"
#include "usb/usb_descriptor_walk.h"
#include "usb/usb_setup_codes.h"

namespace millrace::board {
namespace {

constexpr uint8_t kSetInterface = 11;
constexpr uint8_t kGetMaxDatagramSize = 0x87, kSetMaxDatagramSize = 0x88, kSetCrcMode = 0x8A;
constexpr uint8_t kCanMaxDatagramSize = 8, kCanCrcMode = 16;  // bmNetworkCapabilities, table 5-2
// IPv6 is always on, and wants all multicast.
constexpr uint16_t kPacketFilter =
    link::kPacketFilterDirected | link::kPacketFilterBroadcast | link::kPacketFilterAllMulticast;
constexpr uint64_t kAlternateSettleNs = 10'000'000;  // of Linux, for firmware that needs it
constexpr uint32_t kMaxFrame = 8192;                 // of Linux
constexpr uint32_t kMinFrame = 60;                   // of Ethernet, without its CRC

std::vector<uint8_t> little_endian(uint32_t value, unsigned size) {
  std::vector<uint8_t> bytes(size);
  store_le(bytes.data(), size, value);
  return bytes;
}

std::string_view reason(UrbStatus status) {
  switch (status) {
    case UrbStatus::stall:
      return "the device refuses it (STALL)";
    case UrbStatus::unlinked:
      return "not finished within 5 s (the device answers NAK)";
    case UrbStatus::overflow:
      return "more bytes came than were asked for";
    default:
      return "no answer, three times";
  }
}

}  // namespace

CdcNetSetup::CdcNetSetup(UsbHost& host, UsbRequests& requests)
    : host_(host),
      requests_(requests),
      settled_([](void* context) { static_cast<CdcNetSetup*>(context)->switch_on(); }, this) {}

CdcNetSetup::~CdcNetSetup() { host_.stop_timer(settled_); }

void CdcNetSetup::start(const CdcNetFunction& function, const UsbDeviceInfo& device, Done done) {
  function_ = function;
  device_ = &device;
  done_ = std::move(done);
  findings_.clear();
  mac_ = MacAddress{};
  ntb_ = link::NtbParameters();
  ntb_in_ = 0;
  const bool is_ecm = function_.kind == EthernetKind::ecm;
  const bool is_odd = function.max_segment < (is_ecm ? kMinFrame : kEthernetFrameBytes);
  max_frame_ = is_odd ? kEthernetFrameBytes : std::min<uint32_t>(function.max_segment, kMaxFrame);
  if (is_ecm) return switch_on();
  requests_.out(kToInterface, kSetInterface, function_.alternate, function_.data, {}, nullptr);
  set_interface(0, [this] { get_parameters(); });
}

void CdcNetSetup::cancel() {
  host_.stop_timer(settled_);
  done_ = nullptr;
}

void CdcNetSetup::finish(const std::string& problem) {
  if (done_) std::exchange(done_, nullptr)(problem);
}

void CdcNetSetup::write(uint8_t request, uint16_t value, std::vector<uint8_t> bytes) {
  requests_.out(kClassToInterface, request, value, function_.control, std::move(bytes), nullptr);
}

void CdcNetSetup::set_interface(uint8_t alternate, std::function<void()> then) {
  requests_.out(
      kToInterface, kSetInterface, alternate, function_.data, {},
      [this, alternate, then = std::move(then)](UrbStatus status, auto) {
        if (status == UrbStatus::ok) return then();
        finish(fmt::format("SET_INTERFACE({}, {}): {}", function_.data, alternate, reason(status)));
      });
}

void CdcNetSetup::get_parameters() {
  requests_.in(kClassFromInterface, link::kGetNtbParameters, 0, function_.control,
               link::NtbParameters::kBytes,
               [this](UrbStatus status, auto bytes) { got_parameters(status, bytes); });
}

void CdcNetSetup::got_parameters(UrbStatus status, std::span<const uint8_t> bytes) {
  if (status != UrbStatus::ok) {
    return finish(fmt::format("GET_NTB_PARAMETERS: {}", reason(status)));
  }
  if (!link::decode(bytes.data(), bytes.size(), &ntb_)) {
    return finish(fmt::format("GET_NTB_PARAMETERS: {} bytes came, {} are needed", bytes.size(),
                              link::NtbParameters::kBytes));
  }
  check_ntb_parameters(ntb_, &findings_);
  set_modes();
  host_.start_timer(settled_, kAlternateSettleNs);
}

void CdcNetSetup::set_modes() {
  if ((function_.ncm_capabilities & kCanCrcMode) != 0) write(kSetCrcMode, 0, {});
  if ((ntb_.formats & link::kNtbFormat32) != 0) write(link::kSetNtbFormat, 0, {});
}

void CdcNetSetup::switch_on() {
  set_interface(function_.alternate, [this] {
    open_endpoints();
    get_mac();
  });
}

void CdcNetSetup::open_endpoints() {
  for (const UsbInterfaceInfo& i : device_->configuration.interfaces) {
    if (i.number != function_.data) continue;
    for (const UsbEndpointInfo& e : i.endpoints) host_.close_pipe(e.address);
  }
  for (const UsbEndpointInfo& e : {function_.in, function_.out}) {
    if (!host_.open_pipe({e.address, e.transfer, e.max_packet, e.interval})) {
      findings_.push_back(fmt::format("endpoint 0x{:02x}: cannot be used", e.address));
    }
  }
}

void CdcNetSetup::get_mac() {
  constexpr uint16_t kString = usb_descriptor::kString << 8;
  requests_.in(0x80, kGetDescriptor, kString | function_.mac_string, device_->language, 255,
               [this](UrbStatus status, auto bytes) { got_mac(status, bytes); });
}

void CdcNetSetup::got_mac(UrbStatus status, std::span<const uint8_t> bytes) {
  if (status != UrbStatus::ok) {
    return finish(fmt::format("GET_DESCRIPTOR(string {}, the MAC address): {}",
                              function_.mac_string, reason(status)));
  }
  check_string_descriptor(function_.mac_string, bytes, &findings_);
  const std::string text = parse_string_descriptor(bytes);
  const std::optional<MacAddress> mac = parse_mac_string(text);
  if (!mac) {
    return finish(
        fmt::format("string {} is no MAC address (it must be 12 hexadecimal digits, of an "
                    "address that is no group's and not 0)",
                    function_.mac_string));
  }
  mac_ = *mac;
  if (std::any_of(text.begin(), text.end(), [](char c) { return c >= 'a'; })) {
    findings_.push_back(fmt::format(
        "string {}: the MAC address has lower-case digits, must be upper-case",  // ECM 1.2 5.4
        function_.mac_string));
  }
  if (function_.kind == EthernetKind::ecm) return set_filter();
  set_sizes();
}

void CdcNetSetup::set_sizes() {
  const uint32_t wanted = host_.profile().ncm_in_bytes;
  ntb_in_ = std::max(link::kMinNtbInputSize, std::min(wanted, ntb_.in_max_bytes));
  if (ntb_in_ != ntb_.in_max_bytes) {
    requests_.out(kClassToInterface, link::kSetNtbInputSize, 0, function_.control,
                  little_endian(ntb_in_, 4), [this](UrbStatus status, auto) {
                    if (status != UrbStatus::ok && ntb_.in_max_bytes >= link::kMinNtbInputSize) {
                      ntb_in_ = std::min<uint32_t>(ntb_.in_max_bytes, UINT16_MAX);
                    }
                  });
  }
  if ((function_.ncm_capabilities & kCanMaxDatagramSize) == 0) return set_filter();
  requests_.in(kClassFromInterface, kGetMaxDatagramSize, 0, function_.control, 2,
               [this](UrbStatus status, auto bytes) { set_max_frame(status, bytes); });
}

void CdcNetSetup::set_max_frame(UrbStatus status, std::span<const uint8_t> bytes) {
  if (status == UrbStatus::ok && bytes.size() == 2 && load_le(bytes.data(), 2) != max_frame_) {
    write(kSetMaxDatagramSize, 0, little_endian(max_frame_, 2));
  }
  set_filter();
}

// The last one: when it is through, so are those before.
void CdcNetSetup::set_filter() {
  requests_.out(kClassToInterface, link::kSetEthernetPacketFilter, kPacketFilter, function_.control,
                {}, [this](UrbStatus, auto) { finish({}); });
}

}  // namespace millrace::board
