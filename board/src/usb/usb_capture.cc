// SPDX-License-Identifier: Apache-2.0
// Blocks of pcapng (draft-ietf-opsawg-pcapng): section header, one interface description for each
// link type, enhanced packets. Little-endian; time in nanoseconds (if_tsresol 9). The usbmon header
// is that of Linux, Documentation/usb/usbmon.rst, 64 bytes.
#include "usb/usb_capture.h"

#include <algorithm>
#include <string_view>

#include "core/bytes.h"
#include "usb/usb_crc.h"

namespace millrace::board {
namespace {

constexpr uint32_t kSectionHeader = 0x0A0D0D0A, kByteOrder = 0x1A2B3C4D;
constexpr uint32_t kInterfaceDescription = 1, kEnhancedPacket = 6;
constexpr uint16_t kUsbLinuxMmapped = 220, kUsbFullSpeed = 294, kUsbHighSpeed = 295;
constexpr uint16_t kOptionName = 2, kOptionResolution = 9;

// Table 8-1, with the complement above.
constexpr uint8_t kOut = 0xE1, kIn = 0x69, kSof = 0xA5, kSetup = 0x2D, kPing = 0xB4;
constexpr uint8_t kData0 = 0xC3, kData1 = 0x4B;
constexpr uint8_t kAck = 0xD2, kNak = 0x5A, kStall = 0x1E, kNyet = 0x96;

constexpr uint16_t kBus = 1;

void put_little_endian(std::vector<uint8_t>* out, uint64_t value, unsigned size) {
  for (unsigned i = 0; i < size; ++i) out->push_back(static_cast<uint8_t>(value >> 8 * i));
}

// Linux errno of an URB's end.
int32_t errno_of(UrbStatus status) {
  switch (status) {
    case UrbStatus::pending:
      return -115;  // EINPROGRESS
    case UrbStatus::ok:
      return 0;
    case UrbStatus::short_transfer:
      return -121;  // EREMOTEIO
    case UrbStatus::stall:
      return -32;  // EPIPE
    case UrbStatus::no_answer:
      return -71;  // EPROTO
    case UrbStatus::overflow:
      return -75;  // EOVERFLOW
    case UrbStatus::unlinked:
      return -104;  // ECONNRESET
    case UrbStatus::disconnected:
      return -108;  // ESHUTDOWN
    case UrbStatus::no_pipe:
      return -2;  // ENOENT
  }
  return 0;
}

uint8_t usbmon_transfer(UsbTransfer transfer) {
  switch (transfer) {
    case UsbTransfer::isochronous:
      return 0;
    case UsbTransfer::interrupt:
      return 1;
    case UsbTransfer::control:
      return 2;
    default:
      return 3;
  }
}

bool is_in(const Urb& urb) {
  const uint8_t direction = urb.transfer == UsbTransfer::control ? urb.setup[0] : urb.endpoint;
  return (direction & 0x80) != 0;
}

uint8_t handshake_pid(Handshake handshake) {
  switch (handshake) {
    case Handshake::ack:
      return kAck;
    case Handshake::nak:
      return kNak;
    case Handshake::nyet:
      return kNyet;
    case Handshake::stall:
      return kStall;
    default:
      return 0;
  }
}

// From the begin of one packet to the begin of the next: SYNC, PID, `bytes`, EOP and turnaround
// (usb_host_frame.cc), in ns.
uint64_t packet_ns(UsbSpeed speed, size_t bytes) {
  return speed == UsbSpeed::high ? (4 + 1 + bytes + 12) * 50 / 3 : (1 + 1 + bytes + 1) * 2000 / 3;
}

}  // namespace

UsbCapture::UsbCapture(const UsbCaptureOptions& options, Sink sink)
    : options_(options), sink_(std::move(sink)) {
  head();
}

void UsbCapture::head() {
  block_.clear();
  put_little_endian(&block_, kSectionHeader, 4);
  put_little_endian(&block_, 28, 4);
  put_little_endian(&block_, kByteOrder, 4);
  put_little_endian(&block_, 1, 2);  // version 1.0
  put_little_endian(&block_, 0, 2);
  put_little_endian(&block_, UINT64_MAX, 8);  // length of the section: unknown
  put_little_endian(&block_, 28, 4);
  if (options_.urbs) {
    urb_interface_ = interfaces_;
    describe_interface(kUsbLinuxMmapped, "URBs");
  }
  if (options_.packets) {
    high_interface_ = interfaces_;
    describe_interface(kUsbHighSpeed, "packets at high speed");
    full_interface_ = interfaces_;
    describe_interface(kUsbFullSpeed, "packets at full speed");
  }
  sink_(block_);
}

void UsbCapture::describe_interface(uint16_t link_type, const char* name) {
  ++interfaces_;
  const std::string_view text(name);
  const size_t padded = (text.size() + 3) / 4 * 4;
  const size_t length = 20 + 4 + padded + 8 + 4;
  put_little_endian(&block_, kInterfaceDescription, 4);
  put_little_endian(&block_, length, 4);
  put_little_endian(&block_, link_type, 2);
  put_little_endian(&block_, 0, 2);
  put_little_endian(&block_, 0, 4);  // packets are not cut
  put_little_endian(&block_, kOptionName, 2);
  put_little_endian(&block_, text.size(), 2);
  block_.insert(block_.end(), text.begin(), text.end());
  block_.resize(block_.size() + padded - text.size());
  put_little_endian(&block_, kOptionResolution, 2);
  put_little_endian(&block_, 1, 2);
  put_little_endian(&block_, 9, 4);
  put_little_endian(&block_, 0, 4);  // end of options
  put_little_endian(&block_, length, 4);
}

void UsbCapture::begin_packet(uint32_t interface, uint64_t ns) {
  block_.clear();
  put_little_endian(&block_, kEnhancedPacket, 4);
  put_little_endian(&block_, 0, 4);  // length, later
  put_little_endian(&block_, interface, 4);
  put_little_endian(&block_, ns >> 32, 4);
  put_little_endian(&block_, ns, 4);
  put_little_endian(&block_, 0, 8);  // lengths, later
}

void UsbCapture::end_packet(size_t original) {
  const size_t captured = block_.size() - 28;
  store_le(&block_[20], 4, static_cast<uint32_t>(captured));
  store_le(&block_[24], 4, static_cast<uint32_t>(original));
  block_.resize((block_.size() + 3) / 4 * 4);
  const size_t length = block_.size() + 4;
  put_little_endian(&block_, length, 4);
  store_le(&block_[4], 4, static_cast<uint32_t>(length));
  sink_(block_);
}

void UsbCapture::submitted(const Urb& urb, uint64_t ns) { urb_event(urb, 'S', ns); }

void UsbCapture::completed(const Urb& urb, uint64_t ns) { urb_event(urb, 'C', ns); }

void UsbCapture::urb_event(const Urb& urb, char type, uint64_t ns) {
  if (!options_.urbs) return;
  const bool is_submission = type == 'S';
  const bool in = is_in(urb);
  const bool has_setup = is_submission && urb.transfer == UsbTransfer::control;
  const auto length = static_cast<uint32_t>(is_submission ? urb.buffer.size() : urb.actual);
  // Data goes with the submission of OUT and with the completion of IN.
  const bool has_data = is_submission != in;
  const uint32_t captured = has_data ? length : 0;
  begin_packet(urb_interface_, ns);
  put_little_endian(&block_, urb.number + 1, 8);
  put_little_endian(&block_, static_cast<uint8_t>(type), 1);
  put_little_endian(&block_, usbmon_transfer(urb.transfer), 1);
  put_little_endian(&block_, (urb.endpoint & 15u) | (in ? 0x80u : 0u), 1);
  put_little_endian(&block_, urb.address, 1);
  put_little_endian(&block_, kBus, 2);
  put_little_endian(&block_, has_setup ? 0 : '-', 1);
  put_little_endian(&block_, has_data ? 0 : in ? '<' : '>', 1);
  put_little_endian(&block_, ns / 1'000'000'000, 8);
  put_little_endian(&block_, ns % 1'000'000'000 / 1000, 4);
  const int32_t status = errno_of(is_submission ? UrbStatus::pending : urb.status);
  put_little_endian(&block_, static_cast<uint32_t>(status), 4);
  put_little_endian(&block_, length, 4);
  put_little_endian(&block_, captured, 4);
  if (has_setup) {
    block_.insert(block_.end(), urb.setup.begin(), urb.setup.end());
  } else {
    put_little_endian(&block_, 0, 8);
  }
  put_little_endian(&block_, 0, 4);  // interval
  put_little_endian(&block_, 0, 4);  // start_frame
  put_little_endian(
      &block_,
      (in ? 0x200u : 0u) | (urb.short_is_error ? 1u : 0u) | (urb.ends_with_short ? 0x40u : 0u),
      4);                            // URB_DIR_IN, URB_SHORT_NOT_OK, URB_ZERO_PACKET
  put_little_endian(&block_, 0, 4);  // isochronous descriptors
  block_.insert(block_.end(), urb.buffer.begin(), urb.buffer.begin() + captured);
  end_packet(64 + captured);
}

void UsbCapture::packet(const UsbTransaction& t, uint64_t ns, uint8_t pid,
                        std::span<const uint8_t> data, bool with_crc16) {
  begin_packet(t.speed == UsbSpeed::high ? high_interface_ : full_interface_, ns);
  block_.push_back(pid);
  block_.insert(block_.end(), data.begin(), data.end());
  if (with_crc16) put_little_endian(&block_, usb_crc16(data), 2);
  end_packet(block_.size() - 28);
}

void UsbCapture::token(const UsbTransaction& t, uint8_t pid, uint32_t eleven_bits) {
  uint8_t bytes[2];
  store_le(bytes, 2, usb_token_bits(eleven_bits));
  packet(t, t.start_ns, pid, bytes, false);
}

void UsbCapture::transaction(const UsbTransaction& t) {
  using Kind = UsbTransaction::Kind;
  if (!options_.packets) return;
  if (t.kind == Kind::start_of_frame) {
    if (options_.frames) token(t, kSof, t.frame);
    return;
  }
  const uint8_t pid = t.kind == Kind::in      ? kIn
                      : t.kind == Kind::ping  ? kPing
                      : t.kind == Kind::setup ? kSetup
                                              : kOut;
  token(t, pid, t.address | uint32_t{t.endpoint} << 7);
  uint64_t ns = t.start_ns + packet_ns(t.speed, 2);
  const bool has_data = t.kind == Kind::setup || t.kind == Kind::out ||
                        (t.kind == Kind::in && t.handshake == Handshake::ack);
  if (has_data) {
    packet(t, ns, t.data1 ? kData1 : kData0, t.data, true);
    ns += packet_ns(t.speed, t.data.size() + 2);
  }
  const bool from_host = t.kind == Kind::in && t.handshake == Handshake::ack;
  const uint8_t handshake = from_host ? (t.host_acked ? kAck : 0) : handshake_pid(t.handshake);
  if (handshake != 0) packet(t, ns, handshake, {}, false);
}

}  // namespace millrace::board
