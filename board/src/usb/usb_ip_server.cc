// SPDX-License-Identifier: Apache-2.0
// Big-endian throughout. What does not fit into the limits is refused with an error of the URB, not
// by making the client wait: a CMD_UNLINK that would make room may stand behind it in the stream.
//
// The client's requests go to the device as they are, as usbip-host does it, but for what concerns
// the host's own state: SET_CONFIGURATION and SET_INTERFACE open pipes, CLEAR_FEATURE resets a
// toggle, and SET_ADDRESS, which vhci_hcd answers itself, is refused.
#include "usb/usb_ip_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace millrace::board {
namespace {

constexpr uint16_t kVersion = 0x0111;
constexpr uint16_t kReqDevlist = 0x8005, kRepDevlist = 0x0005;
constexpr uint16_t kReqImport = 0x8003, kRepImport = 0x0003;
constexpr uint32_t kCmdSubmit = 1, kCmdUnlink = 2, kRetSubmit = 3, kRetUnlink = 4;
constexpr size_t kOperationBytes = 8, kBusIdBytes = 32, kUsbipHeaderBytes = 48;
constexpr std::string_view kBusId = "1-1";
constexpr std::string_view kPath = "/sys/devices/platform/millrace/usb1/1-1";
constexpr uint32_t kExportedBus = 1;
constexpr uint32_t kNotIsochronous = 0xFFFFFFFF;
constexpr uint32_t kShortNotOk = 0x01, kZeroPacket = 0x40;  // transfer_flags

// Linux errno values.
constexpr int32_t kEnoent = -2, kEnomem = -12, kEnodev = -19, kEinval = -22, kEpipe = -32,
                  kEproto = -71, kEoverflow = -75, kEmsgsize = -90, kEconnreset = -104,
                  kEshutdown = -108, kEremoteio = -121;

int32_t usbip_errno(UrbStatus status) {
  switch (status) {
    case UrbStatus::short_transfer:
      return kEremoteio;
    case UrbStatus::stall:
      return kEpipe;
    case UrbStatus::no_answer:
      return kEproto;
    case UrbStatus::overflow:
      return kEoverflow;
    case UrbStatus::unlinked:
      return kEconnreset;
    case UrbStatus::disconnected:
      return kEshutdown;
    case UrbStatus::no_pipe:
      return kEnoent;
    default:
      return 0;
  }
}

void put_big_endian(std::vector<uint8_t>* out, uint32_t value, unsigned size) {
  for (unsigned i = size; i-- > 0;) out->push_back(static_cast<uint8_t>(value >> 8 * i));
}

void put_text(std::vector<uint8_t>* out, std::string_view text, size_t size) {
  out->insert(out->end(), text.begin(), text.end());
  out->resize(out->size() + size - text.size());
}

}  // namespace

UsbIpServer::UsbIpServer(UsbHost& host, const UsbEnumerator& enumerator)
    : host_(host), enumerator_(enumerator) {}

UsbIpServer::~UsbIpServer() {
  for (const auto& slot : slots_) host_.forget(slot->urb);
}

std::span<const uint8_t> UsbIpServer::output() const {
  return std::span<const uint8_t>(output_).subspan(output_at_);
}

void UsbIpServer::consume(size_t size) {
  output_at_ += std::min(size, output_.size() - output_at_);
  if (output_at_ == output_.size()) {
    output_.clear();
    output_at_ = 0;
  } else if (output_at_ >= kMaxOutput) {
    output_.erase(output_.begin(), output_.begin() + static_cast<std::ptrdiff_t>(output_at_));
    output_at_ = 0;
  }
}

uint32_t UsbIpServer::word(size_t at) const {
  return uint32_t{header_[at]} << 24 | uint32_t{header_[at + 1]} << 16 |
         uint32_t{header_[at + 2]} << 8 | header_[at + 3];
}

void UsbIpServer::expect(State state, size_t size) {
  state_ = state;
  header_size_ = size;
  header_fill_ = 0;
}

void UsbIpServer::fail(std::string problem) {
  disconnect();
  problem_ = std::move(problem);
}

bool UsbIpServer::import_without_request() {
  if (!enumerator_.is_ready() || is_imported_ || !problem_.empty()) return false;
  is_imported_ = true;
  ++counts_.imports;
  expect(State::header, kUsbipHeaderBytes);
  return true;
}

void UsbIpServer::disconnect() {
  for (const auto& slot : slots_) {
    if (!slot->is_used) continue;
    slot->is_orphan = true;
    if (slot.get() != receiving_) host_.unlink(slot->urb);
  }
  if (receiving_ != nullptr) release(*receiving_);
  receiving_ = nullptr;
  payload_left_ = 0;
  output_.clear();
  output_at_ = 0;
  is_imported_ = false;
  problem_.clear();
  expect(State::operation, kOperationBytes);
}

size_t UsbIpServer::receive(std::span<const uint8_t> bytes) {
  size_t at = 0;
  while (problem_.empty()) {
    const std::span<const uint8_t> rest = bytes.subspan(at);
    if (state_ == State::payload) {
      const size_t size = std::min(rest.size(), payload_left_);
      if (receiving_ != nullptr) {
        std::copy_n(rest.begin(), size,
                    receiving_->bytes.begin() + static_cast<std::ptrdiff_t>(payload_at_));
      }
      payload_at_ += size;
      payload_left_ -= size;
      at += size;
      if (payload_left_ != 0) break;
      payload_complete();
      continue;
    }
    if (rest.empty() || output().size() > kMaxOutput) break;
    const size_t size = std::min(rest.size(), header_size_ - header_fill_);
    std::copy_n(rest.begin(), size, header_.begin() + static_cast<std::ptrdiff_t>(header_fill_));
    header_fill_ += size;
    at += size;
    if (header_fill_ == header_size_) header_complete();
  }
  return at;
}

void UsbIpServer::header_complete() {
  switch (state_) {
    case State::operation:
      return operation();
    case State::import:
      return import();
    default:
      return command();
  }
}

void UsbIpServer::put_operation(uint16_t code, uint32_t status) {
  put_big_endian(&output_, kVersion, 2);
  put_big_endian(&output_, code, 2);
  put_big_endian(&output_, status, 4);
}

void UsbIpServer::put_device() {
  const UsbDeviceInfo& info = enumerator_.device();
  put_text(&output_, kPath, 256);
  put_text(&output_, kBusId, kBusIdBytes);
  put_big_endian(&output_, kExportedBus, 4);
  put_big_endian(&output_, info.address, 4);
  put_big_endian(&output_, info.speed == UsbSpeed::high ? 3 : 2, 4);
  put_big_endian(&output_, info.device.vendor, 2);
  put_big_endian(&output_, info.device.product, 2);
  put_big_endian(&output_, info.device.version, 2);
  put_big_endian(&output_, info.device.device_class, 1);
  put_big_endian(&output_, info.device.subclass, 1);
  put_big_endian(&output_, info.device.protocol, 1);
  put_big_endian(&output_, info.configuration.value, 1);
  put_big_endian(&output_, info.device.configurations, 1);
  const auto& interfaces = info.configuration.interfaces;
  const auto count = std::count_if(interfaces.begin(), interfaces.end(),
                                   [](const auto& i) { return i.alternate == 0; });
  put_big_endian(&output_, static_cast<uint32_t>(std::min<std::ptrdiff_t>(count, 255)), 1);
}

void UsbIpServer::operation() {
  const uint32_t version = word(0) >> 16;
  const uint32_t code = word(0) & 0xFFFF;
  if (version != kVersion) {
    return fail(fmt::format("USB/IP client of version 0x{:04x}, 0x{:04x} is spoken here", version,
                            kVersion));
  }
  if (code == kReqImport) return expect(State::import, kBusIdBytes);
  if (code != kReqDevlist) {
    return fail(fmt::format("USB/IP client sent the unknown operation 0x{:04x}", code));
  }
  put_operation(kRepDevlist, 0);
  const bool is_ready = enumerator_.is_ready();
  put_big_endian(&output_, is_ready ? 1 : 0, 4);
  if (is_ready) {
    put_device();
    size_t count = 0;
    for (const UsbInterfaceInfo& interface : enumerator_.device().configuration.interfaces) {
      if (interface.alternate != 0 || ++count > 255) continue;
      put_big_endian(&output_, interface.interface_class, 1);
      put_big_endian(&output_, interface.subclass, 1);
      put_big_endian(&output_, interface.protocol, 1);
      put_big_endian(&output_, 0, 1);
    }
  }
  expect(State::operation, kOperationBytes);
}

void UsbIpServer::import() {
  std::array<uint8_t, kBusIdBytes> wanted{};
  std::copy(kBusId.begin(), kBusId.end(), wanted.begin());
  const bool is_known = std::equal(wanted.begin(), wanted.end(), header_.begin());
  if (!is_known || !enumerator_.is_ready()) {
    put_operation(kRepImport, 1);
    return expect(State::operation, kOperationBytes);
  }
  put_operation(kRepImport, 0);
  put_device();
  is_imported_ = true;
  ++counts_.imports;
  expect(State::header, kUsbipHeaderBytes);
}

void UsbIpServer::command() {
  expect(State::header, kUsbipHeaderBytes);
  switch (word(0)) {
    case kCmdSubmit:
      return submit();
    case kCmdUnlink:
      return unlink();
    default:
      return fail(fmt::format("USB/IP client sent the unknown command 0x{:08x}", word(0)));
  }
}

UsbIpServer::Slot* UsbIpServer::free_slot() {
  for (const auto& slot : slots_) {
    if (!slot->is_used) return slot.get();
  }
  if (slots_.size() == kMaxUrbs) return nullptr;
  slots_.push_back(std::make_unique<Slot>());
  Slot& slot = *slots_.back();
  slot.owner = this;
  slot.urb.done = &UsbIpServer::urb_done;
  slot.urb.context = &slot;
  return &slot;
}

void UsbIpServer::submit() {
  ++counts_.submitted;
  const uint32_t sequence = word(4), direction = word(12), endpoint = word(16);
  const uint32_t flags = word(20), length = word(24), isochronous = word(32);
  if (direction > 1 || endpoint > 15) {
    return fail(
        fmt::format("USB/IP client submits to endpoint {}, direction {}", endpoint, direction));
  }
  if (isochronous != 0 && isochronous != kNotIsochronous) {
    return fail("USB/IP client submits an isochronous transfer, which the host does not have");
  }
  not_isochronous_ = isochronous;
  const bool in = direction == 1;
  const uint32_t payload = in ? 0 : length;
  int32_t refused = 0;
  if (!enumerator_.is_ready()) refused = kEshutdown;
  if (word(8) != (kExportedBus << 16 | enumerator_.device().address)) refused = kEnodev;
  if (length > kMaxTransfer) refused = kEmsgsize;
  const bool is_control = endpoint == 0;
  const uint32_t w_length = header_[46] + 256u * header_[47];
  const bool setup_in = (header_[40] & 0x80) != 0;
  if (is_control && (w_length != length || (length != 0 && setup_in != in))) refused = kEinval;
  if (is_control && header_[40] == 0 && header_[41] == 5) refused = kEpipe;  // SET_ADDRESS
  Slot* slot = nullptr;
  if (refused == 0) {
    const bool fits = in_flight_bytes_ + length <= kMaxInFlight;
    slot = fits ? free_slot() : nullptr;
    if (slot == nullptr) refused = kEnomem;
  }
  if (slot == nullptr) {
    ++counts_.refused;
    reply_submit(sequence, refused, {}, 0);
  } else {
    slot->is_used = true;
    slot->is_orphan = false;
    slot->sequence = sequence;
    slot->unlink_sequence.reset();
    slot->bytes.assign(length, 0);
    in_flight_bytes_ += length;
    ++in_flight_urbs_;
    slot->urb.endpoint = static_cast<uint8_t>(is_control ? 0 : endpoint | (in ? 0x80u : 0u));
    std::copy_n(header_.begin() + 40, 8, slot->urb.setup.begin());
    slot->urb.short_is_error = in && (flags & kShortNotOk) != 0;
    slot->urb.ends_with_short = !in && (flags & kZeroPacket) != 0;
  }
  receiving_ = slot;
  payload_left_ = payload;
  payload_at_ = 0;
  state_ = State::payload;  // of 0 bytes too
}

void UsbIpServer::payload_complete() {
  Slot* const slot = std::exchange(receiving_, nullptr);
  expect(State::header, kUsbipHeaderBytes);
  if (slot != nullptr) start(*slot);
}

void UsbIpServer::start(Slot& slot) {
  slot.urb.buffer = slot.bytes;
  host_.submit(slot.urb);
}

// RET_UNLINK comes when the fate of the URB is known: with -ECONNRESET instead of its RET_SUBMIT,
// or behind that with 0. One that is not known has been answered already.
void UsbIpServer::unlink() {
  ++counts_.unlinked;
  const uint32_t sequence = word(4), victim = word(20);
  for (const auto& slot : slots_) {
    if (!slot->is_used || slot->is_orphan || slot->sequence != victim) continue;
    if (slot->unlink_sequence) {
      return fail("USB/IP client unlinks a transfer for the second time");
    }
    slot->unlink_sequence = sequence;
    host_.unlink(slot->urb);
    return;
  }
  reply_unlink(sequence, 0);
}

void UsbIpServer::urb_done(void* context, Urb&) {
  Slot& slot = *static_cast<Slot*>(context);
  slot.owner->finish(slot);
}

void UsbIpServer::finish(Slot& slot) {
  if (slot.is_orphan) return release(slot);
  const Urb& urb = slot.urb;
  const uint8_t direction = urb.endpoint == 0 ? urb.setup[0] : urb.endpoint;
  const bool in = (direction & 0x80) != 0;
  (in ? counts_.bytes_in : counts_.bytes_out) += urb.actual;
  if (urb.endpoint == 0 && urb.status == UrbStatus::ok) after_control(urb);
  if (urb.status == UrbStatus::unlinked && slot.unlink_sequence) {
    reply_unlink(*slot.unlink_sequence, kEconnreset);
  } else {
    const std::span<const uint8_t> data(slot.bytes);
    reply_submit(slot.sequence, usbip_errno(urb.status),
                 in ? data.first(urb.actual) : std::span<const uint8_t>(), urb.actual);
    if (slot.unlink_sequence) reply_unlink(*slot.unlink_sequence, 0);
  }
  release(slot);
  if (output_ready_) output_ready_();
}

void UsbIpServer::release(Slot& slot) {
  slot.is_used = false;
  --in_flight_urbs_;
  in_flight_bytes_ -= slot.bytes.size();
  slot.bytes.clear();
  // What a large transfer took is not kept: 256 of them would be 256 MB.
  if (slot.bytes.capacity() > 65536) slot.bytes.shrink_to_fit();
}

void UsbIpServer::after_control(const Urb& urb) {
  const auto& s = urb.setup;
  const UsbConfigurationInfo& configuration = enumerator_.device().configuration;
  if (s[0] == 0x00 && s[1] == 9) {  // SET_CONFIGURATION
    host_.close_pipes();
    UsbFindings findings;
    if (s[2] == configuration.value) open_pipes(host_, configuration, &findings);
  } else if (s[0] == 0x02 && s[1] == 1 && s[2] == 0) {  // CLEAR_FEATURE(ENDPOINT_HALT)
    if ((s[4] & 0x0F) != 0) host_.clear_halt(s[4]);
  } else if (s[0] == 0x01 && s[1] == 11) {  // SET_INTERFACE
    reopen(s[4], s[2]);
  }
}

void UsbIpServer::reopen(uint8_t interface, uint8_t alternate) {
  const auto& interfaces = enumerator_.device().configuration.interfaces;
  for (const UsbInterfaceInfo& i : interfaces) {
    if (i.number != interface) continue;
    for (const UsbEndpointInfo& e : i.endpoints) host_.close_pipe(e.address);
  }
  for (const UsbInterfaceInfo& i : interfaces) {
    if (i.number != interface || i.alternate != alternate) continue;
    for (const UsbEndpointInfo& e : i.endpoints) {
      host_.open_pipe({e.address, e.transfer, e.max_packet, e.interval});
    }
  }
}

void UsbIpServer::reply_submit(uint32_t sequence, int32_t status, std::span<const uint8_t> data,
                               uint32_t actual) {
  put_big_endian(&output_, kRetSubmit, 4);
  put_big_endian(&output_, sequence, 4);
  for (int i = 0; i < 3; ++i) put_big_endian(&output_, 0, 4);  // devid, direction, endpoint
  put_big_endian(&output_, static_cast<uint32_t>(status), 4);
  put_big_endian(&output_, actual, 4);
  put_big_endian(&output_, 0, 4);                 // start frame
  put_big_endian(&output_, not_isochronous_, 4);  // packets
  put_big_endian(&output_, 0, 4);                 // errors
  put_big_endian(&output_, 0, 4);
  put_big_endian(&output_, 0, 4);
  output_.insert(output_.end(), data.begin(), data.end());
}

void UsbIpServer::reply_unlink(uint32_t sequence, int32_t status) {
  put_big_endian(&output_, kRetUnlink, 4);
  put_big_endian(&output_, sequence, 4);
  for (int i = 0; i < 3; ++i) put_big_endian(&output_, 0, 4);
  put_big_endian(&output_, static_cast<uint32_t>(status), 4);
  for (int i = 0; i < 6; ++i) put_big_endian(&output_, 0, 4);
}

}  // namespace millrace::board
