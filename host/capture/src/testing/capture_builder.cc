// SPDX-License-Identifier: Apache-2.0
#include "testing/capture_builder.h"

#include "millrace/link/ntb16.h"

namespace millrace::capture {

ByteWriter& ByteWriter::put(uint64_t value, unsigned size) {
  for (unsigned i = 0; i < size; ++i) {
    bytes.push_back(static_cast<uint8_t>(value >> 8 * (is_big_ ? size - 1 - i : i)));
  }
  return *this;
}

ByteWriter& ByteWriter::raw(const Bytes& more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
  return *this;
}

ByteWriter& ByteWriter::zeros(size_t count) {
  bytes.resize(bytes.size() + count);
  return *this;
}

ByteWriter& ByteWriter::pad4() {
  bytes.resize((bytes.size() + 3) / 4 * 4);
  return *this;
}

Bytes pcap_file(uint16_t link_type, const std::vector<TestRecord>& records, bool is_big,
                bool is_nano) {
  ByteWriter w(is_big);
  w.u32(is_nano ? 0xa1b23c4d : 0xa1b2c3d4).u16(2).u16(4).u32(0).u32(0).u32(262144).u32(link_type);
  for (const TestRecord& record : records) {
    const auto ns = static_cast<uint64_t>(record.time_ns);
    w.u32(ns / 1'000'000'000).u32(ns % 1'000'000'000 / (is_nano ? 1 : 1000));
    w.u32(record.data.size()).u32(record.original != 0 ? record.original : record.data.size());
    w.raw(record.data);
  }
  return w.bytes;
}

Bytes block(uint32_t type, const Bytes& body, bool is_big) {
  ByteWriter w(is_big);
  const size_t length = 12 + (body.size() + 3) / 4 * 4;
  w.u32(type).u32(length).raw(body).pad4().u32(length);
  return w.bytes;
}

Bytes section_block(bool is_big) {
  return block(0x0a0d0d0a, ByteWriter(is_big).u32(0x1a2b3c4d).u16(1).u16(0).u64(UINT64_MAX).bytes,
               is_big);
}

Bytes interface_block(uint16_t link_type, const Bytes& options, bool is_big) {
  return block(1, ByteWriter(is_big).u16(link_type).u16(0).u32(0).raw(options).bytes, is_big);
}

Bytes packet_block(uint32_t interface, uint64_t units, const Bytes& data, bool is_big,
                   const Bytes& options) {
  ByteWriter w(is_big);
  w.u32(interface).u32(units >> 32).u32(units).u32(data.size()).u32(data.size());
  return block(6, w.raw(data).pad4().raw(options).bytes, is_big);
}

Bytes option(uint16_t code, const Bytes& value, bool is_big) {
  return ByteWriter(is_big).u16(code).u16(value.size()).raw(value).pad4().bytes;
}

Bytes joined(std::initializer_list<Bytes> parts) {
  ByteWriter w;
  for (const Bytes& part : parts) w.raw(part);
  return w.bytes;
}

Bytes pcapng_file(uint16_t link_type, const std::vector<TestRecord>& records, bool is_big) {
  ByteWriter w;
  w.raw(section_block(is_big)).raw(interface_block(link_type, {}, is_big));
  for (const TestRecord& record : records) {
    w.raw(packet_block(0, static_cast<uint64_t>(record.time_ns) / 1000, record.data, is_big));
  }
  return w.bytes;
}

TestRecord usbmon(const TestUrb& urb, bool is_long, bool is_big) {
  ByteWriter w(is_big);
  const auto us = static_cast<uint64_t>(urb.time_us);
  w.u64(urb.id).u8(static_cast<uint8_t>(urb.type)).u8(urb.transfer).u8(urb.endpoint);
  w.u8(urb.device).u16(urb.bus);
  const bool in = (urb.endpoint & 0x80) != 0;
  const bool has_data = (urb.type == 'S') != in && urb.type != 'E';
  w.u8(urb.setup.empty() ? '-' : 0).u8(has_data ? 0 : in ? '<' : '>');
  w.u64(us / 1'000'000).u32(us % 1'000'000).u32(static_cast<uint32_t>(urb.status));
  w.u32(urb.length).u32(urb.data.size() + urb.descriptors.size());
  if (urb.transfer == 0) {
    w.u32(0).u32(urb.descriptors.size() / 16);
  } else if (urb.setup.empty()) {
    w.zeros(8);
  } else {
    w.raw(urb.setup);
  }
  if (is_long) w.u32(0).u32(0).u32(0).u32(urb.descriptors.size() / 16);
  return {urb.time_us * 1000, w.raw(urb.descriptors).raw(urb.data).bytes, 0};
}

void add_transfer(std::vector<TestRecord>* records, uint64_t id, uint8_t endpoint,
                  int64_t submit_us, int64_t end_us, const Bytes& data, uint32_t asked,
                  bool is_long, bool is_big) {
  const bool in = (endpoint & 0x80) != 0;
  TestUrb urb;
  urb.id = id;
  urb.endpoint = endpoint;
  urb.time_us = submit_us;
  urb.status = -115;
  urb.length = asked != 0 ? asked : static_cast<uint32_t>(data.size());
  if (!in) urb.data = data;
  records->push_back(usbmon(urb, is_long, is_big));
  urb.type = 'C';
  urb.time_us = end_us;
  urb.status = 0;
  urb.length = static_cast<uint32_t>(data.size());
  urb.data = in ? data : Bytes();
  records->push_back(usbmon(urb, is_long, is_big));
}

namespace {

constexpr uint32_t kHostAddress = 0xc0a80702, kDeviceAddress = 0xc0a80701;  // 192.168.7.2, .1

Bytes ip_frame(bool is_reply, uint8_t protocol, const Bytes& payload) {
  ByteWriter w(true);
  w.raw({2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2}).u16(0x0800);
  w.u8(0x45).u8(0).u16(20 + payload.size()).u16(0).u16(0).u8(64).u8(protocol).u16(0);
  w.u32(is_reply ? kDeviceAddress : kHostAddress).u32(is_reply ? kHostAddress : kDeviceAddress);
  return w.raw(payload).bytes;
}

}  // namespace

Bytes ping_frame(bool is_reply, uint16_t id, uint16_t sequence, size_t payload) {
  ByteWriter w(true);
  w.u8(is_reply ? 0 : 8).u8(0).u16(0).u16(id).u16(sequence).zeros(payload);
  return ip_frame(is_reply, 1, w.bytes);
}

Bytes udp_frame(bool is_reply, uint16_t host_port, uint16_t device_port, const Bytes& payload) {
  ByteWriter w(true);
  w.u16(is_reply ? device_port : host_port).u16(is_reply ? host_port : device_port);
  w.u16(8 + payload.size()).u16(0).raw(payload);
  return ip_frame(is_reply, 17, w.bytes);
}

Bytes ntb(uint16_t sequence, const std::vector<Bytes>& frames) {
  Bytes out(16384);
  link::Ntb16Writer writer;
  writer.begin(out.data(), out.size(), {out.size(), 4, 0, 4, 0});
  for (const Bytes& frame : frames) (void)writer.append(frame.data(), frame.size());
  out.resize(writer.finish(sequence));
  return out;
}

// USB 2.0, 8.3.5: bit by bit, with the polynomials as the standard writes them, so that the tables
// of the code under test are not their own witness. Bits go in as they do on the wire.
namespace {

uint32_t crc(const Bytes& bytes, size_t bits, uint32_t polynomial, unsigned width) {
  const uint32_t top = 1u << (width - 1), mask = (top << 1) - 1;
  uint32_t state = mask;
  for (size_t i = 0; i < bits; ++i) {
    const uint32_t bit = bytes[i / 8] >> i % 8 & 1u;
    const bool feeds = ((state & top) != 0) != (bit != 0);
    state = state << 1 & mask;
    if (feeds) state ^= polynomial;
  }
  state = ~state & mask;
  uint32_t mirrored = 0;  // the first bit on the wire is the highest
  for (unsigned i = 0; i < width; ++i) mirrored |= (state >> i & 1u) << (width - 1 - i);
  return mirrored;
}

}  // namespace

Bytes token_packet(uint8_t pid, uint8_t address, uint8_t endpoint) {
  const uint32_t field = address | uint32_t{endpoint} << 7;
  const Bytes bits = ByteWriter().u16(field).bytes;
  return ByteWriter().u8(pid).u16(field | crc(bits, 11, 0x05, 5) << 11).bytes;
}

Bytes data_packet(uint8_t pid, const Bytes& payload) {
  const uint32_t check = crc(payload, payload.size() * 8, 0x8005, 16);
  return ByteWriter().u8(pid).raw(payload).u16(check).bytes;
}

}  // namespace millrace::capture
