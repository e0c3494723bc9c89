// SPDX-License-Identifier: Apache-2.0
// Tables of datagrams may stand anywhere and in any order, so a chain of them can point back to
// itself, and many tables can name the same bytes. Rather than remember which tables were seen, or
// set a limit on their number, the reader adds up the bytes of all tables and datagrams: in a block
// that means what it says they do not overlap, so the sum stays within the block. A loop, or a
// block that unfolds to more than itself, exceeds it and ends the reading.
#include "millrace/link/bytes.h"
#include "millrace/link/ntb16.h"

namespace millrace::link {

const char* describe(NtbStatus status) {
  switch (status) {
    case NtbStatus::datagram:
      return "datagram";
    case NtbStatus::end:
      return "end of the block";
    case NtbStatus::truncated:
      return "block longer than the transfer";
    case NtbStatus::bad_signature:
      return "no NTB signature";
    case NtbStatus::ntb32:
      return "32-bit NTB, 16-bit negotiated";
    case NtbStatus::bad_header:
      return "wrong length in the NTB header";
    case NtbStatus::bad_ndp:
      return "bad datagram pointer table";
    case NtbStatus::ndp_loop:
      return "datagram pointer tables loop or overlap";
    case NtbStatus::bad_datagram:
      return "datagram outside the block or too short";
    case NtbStatus::unterminated:
      return "datagram pointer table without a terminator";
  }
  return "unknown";
}

Ntb16Reader::Ntb16Reader(const uint8_t* data, size_t size) : data_(data) {
  status_ = read_header(size);
}

NtbStatus Ntb16Reader::read_header(size_t size) {
  if (size >= 4 && load_le32(data_) == kNth32Signature) return NtbStatus::ntb32;
  if (size >= 4 && load_le32(data_) != kNth16Signature) return NtbStatus::bad_signature;
  if (size < kNth16Bytes) return NtbStatus::truncated;
  if (load_le16(data_ + 4) != kNth16Bytes) return NtbStatus::bad_header;
  // A length of 0 means: up to the short packet (NCM 1.0, 3.2.1).
  const size_t block = load_le16(data_ + 8) == 0 ? size : load_le16(data_ + 8);
  if (block < kNth16Bytes) return NtbStatus::bad_header;
  if (block > size) return NtbStatus::truncated;
  sequence_ = load_le16(data_ + 6);
  block_bytes_ = block;
  spent_bytes_ = kNth16Bytes;
  return open_table(load_le16(data_ + 10));
}

NtbStatus Ntb16Reader::open_table(size_t index) {
  if (index < kNth16Bytes || index % 4 != 0) return NtbStatus::bad_ndp;
  if (index + kMinNdp16Bytes > block_bytes_) return NtbStatus::bad_ndp;
  const uint8_t* table = data_ + index;
  const size_t length = load_le16(table + 4);
  if (load_le32(table) != kNdp16Signature) return NtbStatus::bad_ndp;
  if (length < kMinNdp16Bytes || length % 4 != 0) return NtbStatus::bad_ndp;
  if (index + length > block_bytes_) return NtbStatus::bad_ndp;
  spent_bytes_ += length;
  if (spent_bytes_ > block_bytes_) return NtbStatus::ndp_loop;
  next_table_ = load_le16(table + 6);
  entry_ = index + kNdp16HeaderBytes;
  table_end_ = index + length;
  return NtbStatus::datagram;
}

NtbStatus Ntb16Reader::advance(NtbDatagram* out) {
  while (true) {
    if (entry_ == table_end_) return NtbStatus::unterminated;
    const size_t offset = load_le16(data_ + entry_);
    const size_t length = load_le16(data_ + entry_ + 2);
    entry_ += kNdp16EntryBytes;
    if (offset != 0 && length != 0) {
      if (offset < kNth16Bytes || length < kEthernetHeaderBytes) return NtbStatus::bad_datagram;
      if (offset + length > block_bytes_) return NtbStatus::bad_datagram;
      spent_bytes_ += length;
      if (spent_bytes_ > block_bytes_) return NtbStatus::ndp_loop;
      out->offset = offset;
      out->length = length;
      return NtbStatus::datagram;
    }
    if (next_table_ == 0) return NtbStatus::end;
    const NtbStatus opened = open_table(next_table_);
    if (opened != NtbStatus::datagram) return opened;
  }
}

NtbStatus Ntb16Reader::next(NtbDatagram* out) {
  if (status_ == NtbStatus::datagram) status_ = advance(out);
  return status_;
}

}  // namespace millrace::link
