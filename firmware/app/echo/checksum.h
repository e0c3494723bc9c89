// SPDX-License-Identifier: Apache-2.0
// The checksum of IPv4, ICMP and UDP (RFC 1071), as millrace/link/internet.h has it, for a device
// that spends a good part of its time on it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::firmware {

// The sum of the words of `data`, an odd byte counting as the first of its word, added to `sum`;
// between 0 and FFFFh. Words are taken in the byte order of the processor, in which the result must
// be stored: the sum of swapped words is the swapped sum.
uint32_t checksum_add(uint32_t sum, const uint8_t* data, size_t size);

// The sum of the UDP pseudo header (RFC 768): `addresses` are source and destination, as they stand
// in the IP header.
uint32_t udp_pseudo_sum(const uint8_t* addresses, size_t udp_bytes);

// Stores the complement of `sum` at `p`.
void store_checksum(uint8_t* p, uint32_t sum);

}  // namespace millrace::firmware
