// SPDX-License-Identifier: Apache-2.0
// Counters of an echo device, as spec/echo_counters.md has them: read over UDP, one datagram each
// way.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::link {

inline constexpr uint16_t kEchoPort = 7;           // RFC 862
inline constexpr uint16_t kEchoSamplePort = 4242;  // of Zephyr's echo_server sample
inline constexpr uint16_t kEchoCountersPort = 4243;

inline constexpr uint8_t kEchoCountersMagic[4] = {0xF2, 0x4D, 0x52, 0x45};
inline constexpr uint8_t kEchoCountersVersion = 1;
inline constexpr size_t kEchoCountersHeaderBytes = 12;

// In the order of the wire. All count up from 0 at start and wrap, but for those that the
// specification calls values. Later versions may append.
enum class EchoCounter : uint8_t {
  // Received, sent and answered.
  frames_received,
  frames_sent,
  arp_requests,
  icmp_requests,
  icmp_replies,
  echo_requests,
  echo_replies,
  counter_requests,
  dhcp_requests,
  dhcp_replies,
  mdns_queries,
  mdns_replies,
  unreachable_sent,
  // Dropped, and where.
  dropped_short,
  dropped_other_station,
  dropped_ethertype,
  dropped_ip_header,
  dropped_ip_checksum,
  dropped_fragment,
  dropped_other_address,
  dropped_protocol,
  dropped_udp_length,
  dropped_udp_checksum,
  dropped_icmp,
  dropped_source,
  dropped_closed_port,
  dropped_no_room,
  // Of the USB function.
  rx_transfers,
  rx_bad_transfers,
  rx_failed_transfers,
  rx_missing_transfers,
  rx_frames_max,
  rx_buffers,
  rx_buffers_low,
  tx_transfers,
  tx_failed_transfers,
  tx_frames_max,
  tx_buffers,
  tx_buffers_low,
  tx_waits,
  link_ups,
  // Of a synthetic application load.
  load_runs,
  load_result,
};
inline constexpr size_t kEchoCounters = static_cast<size_t>(EchoCounter::load_result) + 1;

// "echo_requests".
const char* name_of(EchoCounter counter);

struct EchoCounters {
  uint32_t values[kEchoCounters] = {};
  uint32_t& operator[](EchoCounter c) { return values[static_cast<size_t>(c)]; }
  uint32_t operator[](EchoCounter c) const { return values[static_cast<size_t>(c)]; }
};

inline constexpr size_t kEchoCountersRequestBytes = kEchoCountersHeaderBytes;
inline constexpr size_t kEchoCountersReplyBytes = kEchoCountersHeaderBytes + 4 * kEchoCounters;

// `tag` is the asker's; it comes back in the reply.
void encode_counters_request(uint32_t tag, uint8_t (&out)[kEchoCountersRequestBytes]);
// False: not a request of this version.
bool decode_counters_request(const uint8_t* data, size_t size, uint32_t* tag);
// `out` has room for kEchoCountersReplyBytes.
void encode_counters_reply(uint32_t tag, const EchoCounters& counters, uint8_t* out);
// Counters that an older device does not have are 0, those that a newer one has besides are left
// out. `known`: how many it sent. False, and nothing set: not a reply.
bool decode_counters_reply(const uint8_t* data, size_t size, uint32_t* tag, EchoCounters* counters,
                           size_t* known);

}  // namespace millrace::link
