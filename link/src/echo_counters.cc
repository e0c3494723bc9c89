// SPDX-License-Identifier: Apache-2.0
#include "millrace/link/echo_counters.h"

#include <string.h>

#include "millrace/link/bytes.h"

namespace millrace::link {
namespace {

constexpr uint8_t kRequest = 1, kReply = 2;

constexpr const char* kNames[kEchoCounters] = {"frames_received",
                                               "frames_sent",
                                               "arp_requests",
                                               "icmp_requests",
                                               "icmp_replies",
                                               "echo_requests",
                                               "echo_replies",
                                               "counter_requests",
                                               "dhcp_requests",
                                               "dhcp_replies",
                                               "mdns_queries",
                                               "mdns_replies",
                                               "unreachable_sent",
                                               "dropped_short",
                                               "dropped_other_station",
                                               "dropped_ethertype",
                                               "dropped_ip_header",
                                               "dropped_ip_checksum",
                                               "dropped_fragment",
                                               "dropped_other_address",
                                               "dropped_protocol",
                                               "dropped_udp_length",
                                               "dropped_udp_checksum",
                                               "dropped_icmp",
                                               "dropped_source",
                                               "dropped_closed_port",
                                               "dropped_no_room",
                                               "rx_transfers",
                                               "rx_bad_transfers",
                                               "rx_failed_transfers",
                                               "rx_missing_transfers",
                                               "rx_frames_max",
                                               "rx_buffers",
                                               "rx_buffers_low",
                                               "tx_transfers",
                                               "tx_failed_transfers",
                                               "tx_frames_max",
                                               "tx_buffers",
                                               "tx_buffers_low",
                                               "tx_waits",
                                               "link_ups",
                                               "load_runs",
                                               "load_result"};

void write_header(uint8_t* out, uint8_t kind, size_t count, uint32_t tag) {
  memcpy(out, kEchoCountersMagic, sizeof(kEchoCountersMagic));
  out[4] = kEchoCountersVersion;
  out[5] = kind;
  store_le16(out + 6, static_cast<uint16_t>(count));
  store_le32(out + 8, tag);
}

bool has_header(const uint8_t* data, size_t size, uint8_t kind) {
  return size >= kEchoCountersHeaderBytes &&
         memcmp(data, kEchoCountersMagic, sizeof(kEchoCountersMagic)) == 0 &&
         data[4] == kEchoCountersVersion && data[5] == kind;
}

}  // namespace

const char* name_of(EchoCounter counter) {
  const size_t index = static_cast<size_t>(counter);
  return index < kEchoCounters ? kNames[index] : "unknown";
}

void encode_counters_request(uint32_t tag, uint8_t (&out)[kEchoCountersRequestBytes]) {
  write_header(out, kRequest, 0, tag);
}

bool decode_counters_request(const uint8_t* data, size_t size, uint32_t* tag) {
  if (!has_header(data, size, kRequest)) return false;
  *tag = load_le32(data + 8);
  return true;
}

void encode_counters_reply(uint32_t tag, const EchoCounters& counters, uint8_t* out) {
  write_header(out, kReply, kEchoCounters, tag);
  for (size_t i = 0; i < kEchoCounters; ++i) {
    store_le32(out + kEchoCountersHeaderBytes + 4 * i, counters.values[i]);
  }
}

bool decode_counters_reply(const uint8_t* data, size_t size, uint32_t* tag, EchoCounters* counters,
                           size_t* known) {
  if (!has_header(data, size, kReply)) return false;
  const size_t count = load_le16(data + 6);
  if (size < kEchoCountersHeaderBytes + 4 * count) return false;
  *tag = load_le32(data + 8);
  *counters = EchoCounters();
  *known = count < kEchoCounters ? count : kEchoCounters;
  for (size_t i = 0; i < *known; ++i) {
    counters->values[i] = load_le32(data + kEchoCountersHeaderBytes + 4 * i);
  }
  return true;
}

}  // namespace millrace::link
