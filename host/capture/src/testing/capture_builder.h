// SPDX-License-Identifier: Apache-2.0
// Captures with known answers, written byte by byte for tests.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace millrace::capture {

using Bytes = std::vector<uint8_t>;

// Appends numbers in one byte order.
class ByteWriter {
 public:
  explicit ByteWriter(bool is_big = false) : is_big_(is_big) {}
  ByteWriter& u8(uint64_t value) { return put(value, 1); }
  ByteWriter& u16(uint64_t value) { return put(value, 2); }
  ByteWriter& u32(uint64_t value) { return put(value, 4); }
  ByteWriter& u64(uint64_t value) { return put(value, 8); }
  ByteWriter& raw(const Bytes& bytes);
  ByteWriter& zeros(size_t count);
  ByteWriter& pad4();
  Bytes bytes;

 private:
  ByteWriter& put(uint64_t value, unsigned size);
  bool is_big_;
};

// What is written into a file of either format.
struct TestRecord {
  int64_t time_ns = 0;
  Bytes data;
  uint32_t original = 0;  // 0: as long as data
};

Bytes pcap_file(uint16_t link_type, const std::vector<TestRecord>& records, bool is_big = false,
                bool is_nano = false);
// Blocks of pcapng.
Bytes section_block(bool is_big = false);
// `options` as they stand in the file; resolution 6 needs none.
Bytes interface_block(uint16_t link_type, const Bytes& options = {}, bool is_big = false);
Bytes packet_block(uint32_t interface, uint64_t units, const Bytes& data, bool is_big = false,
                   const Bytes& options = {});
Bytes block(uint32_t type, const Bytes& body, bool is_big = false);
Bytes option(uint16_t code, const Bytes& value, bool is_big = false);
Bytes joined(std::initializer_list<Bytes> parts);
// Microseconds, one interface.
Bytes pcapng_file(uint16_t link_type, const std::vector<TestRecord>& records, bool is_big = false);

struct TestUrb {
  uint64_t id = 0;
  char type = 'S';  // S, C, E
  uint8_t transfer = 3;
  uint8_t endpoint = 0;
  uint8_t device = 5;
  uint16_t bus = 1;
  int64_t time_us = 0;
  int32_t status = 0;
  uint32_t length = 0;
  Bytes data;
  Bytes setup;        // 8 bytes: flag_setup 0
  Bytes descriptors;  // isochronous, 16 bytes each
};
TestRecord usbmon(const TestUrb& urb, bool is_long = true, bool is_big = false);

// A submission and its completion: OUT data goes with the first, IN data with the second.
void add_transfer(std::vector<TestRecord>* records, uint64_t id, uint8_t endpoint,
                  int64_t submit_us, int64_t end_us, const Bytes& data, uint32_t asked = 0,
                  bool is_long = true, bool is_big = false);

Bytes ping_frame(bool is_reply, uint16_t id, uint16_t sequence, size_t payload = 56);
Bytes udp_frame(bool is_reply, uint16_t host_port, uint16_t device_port, const Bytes& payload);
Bytes ntb(uint16_t sequence, const std::vector<Bytes>& frames);

// Packets of the bus, with their CRCs.
Bytes token_packet(uint8_t pid, uint8_t address, uint8_t endpoint);
Bytes data_packet(uint8_t pid, const Bytes& payload);

}  // namespace millrace::capture
