// SPDX-License-Identifier: Apache-2.0
// NCM Transfer Blocks with 16-bit offsets: one USB transfer that holds several Ethernet frames
// (datagrams). USB CDC Network Control Model 1.0, chapter 3. No CRCs; NTB32 is recognised and
// refused. Both classes work in the bytes that they are given.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/link/cdc_network.h"

namespace millrace::link {

inline constexpr uint32_t kNth16Signature = 0x484d434e;  // "NCMH"
inline constexpr uint32_t kNth32Signature = 0x686d636e;  // "ncmh"
inline constexpr uint32_t kNdp16Signature = 0x304d434e;  // "NCM0": datagrams without CRC
inline constexpr size_t kNth16Bytes = 12;
inline constexpr size_t kNdp16HeaderBytes = 8;
inline constexpr size_t kNdp16EntryBytes = 4;
inline constexpr size_t kMinNdp16Bytes = 16;  // one datagram and the terminator
inline constexpr size_t kMaxNtb16Bytes = 0xffff;

enum class [[nodiscard]] NtbStatus : uint8_t{
    datagram,       // next() has set its result
    end,            // the table of datagrams was well formed and is used up
    truncated,      // the block is longer than what arrived, or there is no room for its header
    bad_signature,  // not NTH16
    ntb32,          // NTH32, which is not negotiated
    bad_header,     // wHeaderLength is not 12, or the block is shorter than its header
    bad_ndp,       // a datagram pointer table is unaligned, outside, of a wrong signature or length
    ndp_loop,      // tables and datagrams take more bytes than there are: a loop, or they overlap
    bad_datagram,  // a datagram lies outside the block or is shorter than an Ethernet header
    unterminated,  // the last entry of a table is not zero
};

// The status in words for people, e.g. "datagram outside the block".
const char* describe(NtbStatus status);

struct NtbDatagram {
  size_t offset = 0;  // into the bytes of the reader
  size_t length = 0;  // at least kEthernetHeaderBytes
};

// Goes through the datagrams of one NTB. Never reads outside [data, data + size), and ends after at
// most size / 14 datagrams whatever the bytes are.
class Ntb16Reader {
 public:
  // `data` must stay while the reader is used. Bytes behind wBlockLength are padding.
  Ntb16Reader(const uint8_t* data, size_t size);

  // The next datagram in the order of the tables. After any other result every call returns that
  // result again. Datagrams that were returned before an error are good.
  NtbStatus next(NtbDatagram* out);

  // wSequence, and the bytes of the block: wBlockLength, or, where that is 0, all that arrived.
  // Both are 0 if the header is damaged.
  uint16_t sequence() const { return sequence_; }
  size_t block_bytes() const { return block_bytes_; }

 private:
  NtbStatus read_header(size_t size);
  NtbStatus open_table(size_t index);
  NtbStatus advance(NtbDatagram* out);

  const uint8_t* data_;
  NtbStatus status_ = NtbStatus::truncated;
  uint16_t sequence_ = 0;
  size_t block_bytes_ = 0;
  size_t spent_bytes_ = 0;  // of header, tables and datagrams so far
  size_t entry_ = 0;        // offset of the entry that is next
  size_t table_end_ = 0;
  size_t next_table_ = 0;  // 0: none
};

// Tells how many NTBs got lost between two that arrived, from wSequence (NCM 1.0, 3.2.1).
class NtbSequence {
 public:
  // 0 for the first and for the successor of the last one; else how many are missing. A repeated or
  // earlier number looks like 65,535 missing or a few less.
  uint16_t missing_before(uint16_t sequence) {
    const uint16_t missing = known_ ? static_cast<uint16_t>(sequence - expected_) : uint16_t{0};
    expected_ = static_cast<uint16_t>(sequence + 1);
    known_ = true;
    return missing;
  }
  // After a reset of the data interface: its alternate setting 0.
  void reset() { known_ = false; }

 private:
  bool known_ = false;
  uint16_t expected_ = 0;
};

// What the receiver of NTBs asks of their sender.
struct NtbLimits {
  size_t max_bytes = kMinNtbInputSize;  // above kMaxNtb16Bytes: kMaxNtb16Bytes
  size_t divisor = 4;  // (offset + 14) % divisor == payload_remainder; 0: any offset
  size_t payload_remainder = 0;
  size_t ndp_alignment = 4;  // of tables; what is no power of two from 4 on counts as 4
  size_t max_datagrams = 0;  // 0, or above Ntb16Writer::kMaxDatagrams: that
};
// "In" limits bind the device, "out" limits the host.
NtbLimits in_limits(const NtbParameters& parameters);
NtbLimits out_limits(const NtbParameters& parameters);

// Builds one NTB with one table, which comes last, so that a block is no longer than it must be.
class Ntb16Writer {
 public:
  static constexpr size_t kMaxDatagrams = 64;

  // Starts a block in `buffer`, which must stay until finish(). What was begun before is forgotten.
  // Blocks stay within `capacity` and limits.max_bytes, whichever is less.
  void begin(uint8_t* buffer, size_t capacity, const NtbLimits& limits);

  // Where a datagram of up to `max_bytes` may be written in place; nullptr if the block has no room
  // for it and its table entry. Nothing is taken until commit().
  uint8_t* reserve(size_t max_bytes) const;
  // Takes what was written where the last reserve() said. REQUIRES: bytes no more than it asked
  // for.
  void commit(size_t bytes);
  // reserve(), copy, commit(). False: no room.
  bool append(const uint8_t* datagram, size_t bytes);

  size_t datagrams() const { return datagrams_; }
  // What finish() would return now.
  size_t size() const;
  // Writes header and table; returns the bytes of the block, 0 if begin() had no room for any
  // datagram. The writer then waits for begin(). A block without datagrams is valid but pointless.
  size_t finish(uint16_t sequence);

 private:
  size_t next_offset() const;
  size_t table_offset(size_t end) const;

  uint8_t* buffer_ = nullptr;
  size_t capacity_ = 0;
  size_t end_ = 0;  // of the last datagram
  size_t datagrams_ = 0;
  size_t max_datagrams_ = 0;
  size_t divisor_ = 1;
  size_t shift_ = 0;  // offset % divisor_ of a datagram
  size_t ndp_alignment_ = 4;
  uint16_t offsets_[kMaxDatagrams] = {};
  uint16_t lengths_[kMaxDatagrams] = {};
};

}  // namespace millrace::link
