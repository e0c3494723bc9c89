// SPDX-License-Identifier: Apache-2.0
// What the verifier says about a place where the received bytes are not the expected stream.
#pragma once

#include <cstdint>

namespace millrace::link {

enum class FaultKind : uint8_t {
  none = 0,
  lost = 1,          // `length` bytes of the stream are missing; it goes on behind them
  duplicated = 2,    // `length` bytes came again; source_offset: where they first stood
  stale = 3,         // `length` bytes of our own stream from elsewhere (an earlier run):
                     // source_offset; then the stream goes on where it was
  inserted = 4,      // `length` bytes that are not of the stream; nothing of it is missing
  flipped = 5,       // `length` bytes altered in place, `flipped_bits` bits differ, a few per byte
  replaced = 6,      // `length` bytes altered in place beyond recognition
  stale_lines = 7,   // `length` bytes, whole aligned 32-byte lines, equal older data at
                     // source_offset: cache maintenance is missing on the device
  mixed = 8,         // `length` stream bytes missing and `received_length` foreign bytes instead
  missing_tail = 9,  // the stream ended `length` bytes early
};

// The largest unit of USB serial of which a loss is a whole multiple, or on which it starts.
enum class Granule : uint16_t {
  none = 0,
  packet = 512,   // bulk packet, high speed
  urb = 1024,     // read URB of Linux cdc-acm, high speed
  buffer = 2048,  // transmit buffer of the Teensyduino core
};

struct Fault {
  FaultKind kind = FaultKind::none;
  uint64_t stream_offset = 0;  // of the first expected byte that is affected
  uint64_t wire_offset = 0;  // the same counted with the control messages before it: what packets,
                             // URBs and buffers are aligned to
  uint32_t frame = 0;        // frame and word of stream_offset, both from 0
  uint32_t word = 0;
  uint64_t length = 0;                    // bytes; see FaultKind
  uint64_t received_length = 0;           // foreign or altered bytes received in this place
  uint64_t source_offset = 0;             // duplicated, stale, stale_lines
  uint32_t flipped_bits = 0;              // flipped, replaced: bits that differ
  Granule size_granule = Granule::none;   // lost, duplicated: largest that divides `length`
  Granule start_granule = Granule::none;  // largest that divides wire_offset
  // All foreign bytes are printable ASCII, CR, LF or TAB: inserted, mixed; and flipped or replaced
  // runs of at least 3 bytes, since single damaged bytes are text by chance.
  bool is_text = false;
  // Bytes valid in received[]: the foreign or altered bytes; for lost ones what stands there
  // instead. In expected[], for lost and altered bytes, as many bytes that should have stood there.
  uint8_t sample_size = 0;
  uint8_t received[64] = {};
  uint8_t expected[64] = {};
};

}  // namespace millrace::link
