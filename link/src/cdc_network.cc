// SPDX-License-Identifier: Apache-2.0
#include "millrace/link/cdc_network.h"

#include "millrace/link/bytes.h"

namespace millrace::link {

bool decode(const uint8_t* p, size_t size, NtbParameters* out) {
  if (size < NtbParameters::kBytes || load_le16(p) < NtbParameters::kBytes) return false;
  out->formats = load_le16(p + 2);
  out->in_max_bytes = load_le32(p + 4);
  out->in_divisor = load_le16(p + 8);
  out->in_payload_remainder = load_le16(p + 10);
  out->in_ndp_alignment = load_le16(p + 12);
  out->out_max_bytes = load_le32(p + 16);
  out->out_divisor = load_le16(p + 20);
  out->out_payload_remainder = load_le16(p + 22);
  out->out_ndp_alignment = load_le16(p + 24);
  out->out_max_datagrams = load_le16(p + 26);
  return true;
}

void encode(const NtbParameters& in, uint8_t (&p)[NtbParameters::kBytes]) {
  store_le16(p, NtbParameters::kBytes);
  store_le16(p + 2, in.formats);
  store_le32(p + 4, in.in_max_bytes);
  store_le16(p + 8, in.in_divisor);
  store_le16(p + 10, in.in_payload_remainder);
  store_le16(p + 12, in.in_ndp_alignment);
  store_le16(p + 14, 0);
  store_le32(p + 16, in.out_max_bytes);
  store_le16(p + 20, in.out_divisor);
  store_le16(p + 22, in.out_payload_remainder);
  store_le16(p + 24, in.out_ndp_alignment);
  store_le16(p + 26, in.out_max_datagrams);
}

}  // namespace millrace::link
