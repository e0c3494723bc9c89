// SPDX-License-Identifier: Apache-2.0
// The table stands behind the datagrams, whose number is not known before. In front it would need
// room for the largest number in every block, 264 bytes for an echo of 74.
#include <string.h>

#include "millrace/link/bytes.h"
#include "millrace/link/ntb16.h"

namespace millrace::link {
namespace {

NtbLimits limits_of(uint32_t max_bytes, uint16_t divisor, uint16_t remainder,
                    uint16_t ndp_alignment, uint16_t max_datagrams) {
  NtbLimits limits;
  limits.max_bytes = max_bytes;
  limits.divisor = divisor;
  limits.payload_remainder = remainder;
  limits.ndp_alignment = ndp_alignment;
  limits.max_datagrams = max_datagrams;
  return limits;
}

size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

}  // namespace

NtbLimits in_limits(const NtbParameters& p) {
  return limits_of(p.in_max_bytes, p.in_divisor, p.in_payload_remainder, p.in_ndp_alignment, 0);
}

NtbLimits out_limits(const NtbParameters& p) {
  return limits_of(p.out_max_bytes, p.out_divisor, p.out_payload_remainder, p.out_ndp_alignment,
                   p.out_max_datagrams);
}

void Ntb16Writer::begin(uint8_t* buffer, size_t capacity, const NtbLimits& limits) {
  buffer_ = buffer;
  capacity_ = smaller(smaller(capacity, limits.max_bytes), kMaxNtb16Bytes);
  end_ = kNth16Bytes;
  datagrams_ = 0;
  max_datagrams_ =
      limits.max_datagrams == 0 ? kMaxDatagrams : smaller(limits.max_datagrams, kMaxDatagrams);
  divisor_ = limits.divisor == 0 ? 1 : limits.divisor;
  // The Ethernet header is not payload: it is what follows that is aligned (NCM 1.0, 6.2.1).
  const size_t header = kEthernetHeaderBytes % divisor_;
  shift_ = (limits.payload_remainder % divisor_ + divisor_ - header) % divisor_;
  const size_t alignment = limits.ndp_alignment;
  ndp_alignment_ = alignment >= 4 && (alignment & (alignment - 1)) == 0 ? alignment : 4;
}

size_t Ntb16Writer::next_offset() const {
  const size_t over = end_ % divisor_;
  return end_ + (over <= shift_ ? shift_ - over : divisor_ - over + shift_);
}

size_t Ntb16Writer::table_offset(size_t end) const {
  return (end + ndp_alignment_ - 1) & ~(ndp_alignment_ - 1);
}

uint8_t* Ntb16Writer::reserve(size_t max_bytes) const {
  if (buffer_ == nullptr || datagrams_ == max_datagrams_) return nullptr;
  if (max_bytes > capacity_) return nullptr;
  const size_t offset = next_offset();
  const size_t table = kNdp16HeaderBytes + (datagrams_ + 2) * kNdp16EntryBytes;
  if (table_offset(offset + max_bytes) + table > capacity_) return nullptr;
  return buffer_ + offset;
}

void Ntb16Writer::commit(size_t bytes) {
  const size_t offset = next_offset();
  memset(buffer_ + end_, 0, offset - end_);  // nothing of an earlier block leaves in a gap
  offsets_[datagrams_] = static_cast<uint16_t>(offset);
  lengths_[datagrams_] = static_cast<uint16_t>(bytes);
  ++datagrams_;
  end_ = offset + bytes;
}

bool Ntb16Writer::append(const uint8_t* datagram, size_t bytes) {
  uint8_t* to = reserve(bytes);
  if (to == nullptr) return false;
  memcpy(to, datagram, bytes);
  commit(bytes);
  return true;
}

size_t Ntb16Writer::size() const {
  const size_t entries = datagrams_ == 0 ? 2 : datagrams_ + 1;  // wLength is not below 16
  const size_t size = table_offset(end_) + kNdp16HeaderBytes + entries * kNdp16EntryBytes;
  return buffer_ == nullptr || size > capacity_ ? 0 : size;
}

size_t Ntb16Writer::finish(uint16_t sequence) {
  const size_t total = size();
  if (total == 0) return 0;
  const size_t table = table_offset(end_);
  memset(buffer_ + end_, 0, table - end_);
  store_le32(buffer_, kNth16Signature);
  store_le16(buffer_ + 4, kNth16Bytes);
  store_le16(buffer_ + 6, sequence);
  store_le16(buffer_ + 8, static_cast<uint16_t>(total));
  store_le16(buffer_ + 10, static_cast<uint16_t>(table));
  uint8_t* p = buffer_ + table;
  store_le32(p, kNdp16Signature);
  store_le16(p + 4, static_cast<uint16_t>(total - table));
  store_le16(p + 6, 0);
  p += kNdp16HeaderBytes;
  for (size_t i = 0; i < datagrams_; ++i, p += kNdp16EntryBytes) {
    store_le16(p, offsets_[i]);
    store_le16(p + 2, lengths_[i]);
  }
  memset(p, 0, static_cast<size_t>(buffer_ + total - p));
  buffer_ = nullptr;
  return total;
}

}  // namespace millrace::link
