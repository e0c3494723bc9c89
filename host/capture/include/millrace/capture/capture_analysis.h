// SPDX-License-Identifier: Apache-2.0
// A capture of USB traffic, analysed: who spoke, how, and how long a request took to be answered.
//
// What a capture of URBs (usbmon, USBPcap) cannot know, whatever is done with it: packets that were
// refused with NAK, microframes, and the time at which data was on the bus. Its ends are those at
// which the host's driver was told, so a turnaround is an upper bound that holds an interrupt.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/capture/byte_source.h"
#include "millrace/capture/capture_reader.h"
#include "millrace/capture/device_info.h"
#include "millrace/capture/endpoint_statistics.h"
#include "millrace/capture/totals.h"
#include "millrace/capture/turnaround.h"
#include "millrace/host/result.h"

namespace millrace::capture {

struct AnalysisOptions {
  std::optional<DeviceKey> device;  // others are counted and no more
  std::optional<uint16_t> bus;
  std::optional<uint8_t> out_endpoint, in_endpoint;  // pairs of these alone
  int64_t timeout_ns = 1'000'000'000;                // a reply that comes later is none
  std::function<void(const Pair&)> on_pair;          // each, as it is found
  std::function<bool()> keep_going;                  // asked before each read; null: to the end
};

struct DeviceAnalysis {
  DeviceKey key = 0;
  DeviceInfo info;
  uint64_t events = 0;  // submissions, ends, packets
  uint64_t bytes = 0;   // both directions, without control transfers
  uint64_t control_transfers = 0, control_stalls = 0;
  uint64_t losses = 0;  // times that something was known to be missing in the capture
  // By endpoint_index(); null: no traffic.
  std::array<std::unique_ptr<EndpointStatistics>, 32> endpoints;
  std::vector<std::unique_ptr<Turnaround>> turnarounds;  // most telling first
};

struct CaptureAnalysis {
  CaptureFormat format = CaptureFormat::pcap;
  CaptureCounters file;
  std::map<uint16_t, uint64_t> link_types;  // records of each; at most 64
  uint64_t undecoded = 0;                   // records of a known link type that cannot be
  uint64_t foreign_records = 0;             // of link types that are not USB
  uint64_t times_backwards = 0;             // records before their predecessor by more than 1 ms
  UrbTotals urbs;
  PacketTotals packets;
  uint64_t devices_ignored = 0;  // events of devices beyond 256, endpoints beyond 256 in all
  int64_t first_ns = 0, last_ns = 0;
  std::vector<std::unique_ptr<DeviceAnalysis>> devices;  // by turnarounds, then traffic
  std::optional<host::Error>
      error;  // reading failed or was interrupted; the rest holds until there

  bool has_urbs() const { return urbs.submissions + urbs.completions != 0; }
  bool has_packets() const { return packets.packets != 0; }
  double seconds() const { return static_cast<double>(last_ns - first_ns) / 1e9; }
  // Certain losses, of the file's own counters and of its contents.
  uint64_t losses() const {
    return file.dropped + urbs.submissions_missing + urbs.completions_missing;
  }
  // Of the first device with a turnaround; null: none.
  const Turnaround* headline(const DeviceAnalysis** device) const;
};

// Reads `source` to its end. Errors: usage (no capture at all), and what the source says before the
// first record; later failures stand in the result. `name` is for sentences.
host::Result<std::unique_ptr<CaptureAnalysis>> analyse(ByteSource* source, const std::string& name,
                                                       const AnalysisOptions& options);

}  // namespace millrace::capture
