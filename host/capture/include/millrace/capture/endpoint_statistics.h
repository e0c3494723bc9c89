// SPDX-License-Identifier: Apache-2.0
// The anatomy of an endpoint's traffic.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "millrace/capture/device_info.h"
#include "millrace/capture/time_statistics.h"
#include "millrace/capture/transfer.h"
#include "millrace/host/histogram.h"
#include "millrace/link/ntb16.h"

namespace millrace::capture {

// Of transfers that hold Ethernet frames.
struct FrameStatistics {
  uint64_t frames = 0;
  host::Histogram frame_bytes;
  host::Histogram frames_per_transfer;
  // NCM.
  uint64_t damaged = 0;  // transfers whose framing is broken
  link::NtbStatus first_damage = link::NtbStatus::end;
  uint64_t blocks_missing = 0;  // by their sequence numbers
  uint64_t largest_block_bytes = 0;
  link::NtbSequence sequence;
};

// Bytes of an NTB16 with one table that holds `datagrams` of `bytes` each, aligned as Linux does
// it: what follows the Ethernet header lies at a multiple of 4.
uint64_t ntb_bytes_for(uint64_t datagrams, uint64_t bytes);

struct EndpointStatistics {
  EndpointStatistics(uint8_t address, TransferType kind) : endpoint(address), type(kind) {}

  uint8_t endpoint;
  TransferType type;
  uint64_t transfers = 0;        // that ended well
  uint64_t bytes = 0;            // of them
  uint64_t short_transfers = 0;  // less than asked for
  uint64_t full_transfers = 0;   // exactly what was asked for
  uint64_t zero_length = 0;
  uint64_t cut = 0;        // of which the capture has not all data
  uint64_t abandoned = 0;  // their end is missing
  uint64_t refused = 0;
  std::map<int32_t, uint64_t> errors;  // by errno; at most 16 kinds
  uint64_t other_errors = 0;
  host::Histogram actual_bytes, asked_bytes;
  host::Histogram queue_depth;  // at each submission, with it
  uint64_t bytes_in_flight = 0, max_bytes_in_flight = 0;
  uint32_t queued = 0;              // now
  host::Histogram between_ends_ns;  // of consecutive transfers
  host::Histogram transfer_ns;      // submission to end
  // From the end of the last queued transfer to the next submission: the host asked for nothing.
  host::Histogram unqueued_ns;
  uint64_t unqueued_total_ns = 0;
  int64_t first_ns = 0, last_ns = 0;  // ends
  int64_t emptied_ns = 0;
  bool was_emptied = false;
  TimeSeries bandwidth;  // bytes
  // Of packets.
  uint64_t naks = 0, packets = 0;
  host::Histogram packets_per_microframe;  // of microframes with at least one
  uint64_t microframe = 0;
  uint32_t packets_in_microframe = 0;
  std::unique_ptr<FrameStatistics> frames;

  void submitted(int64_t time_ns, uint32_t asked, bool asked_known);
  void completed(const Transfer& transfer);
  void was_abandoned(Abandoned why, int64_t time_ns, uint32_t asked);
  void data_packet(uint64_t index);
  void finish();

 private:
  void left(int64_t time_ns, uint32_t asked);
};

}  // namespace millrace::capture
