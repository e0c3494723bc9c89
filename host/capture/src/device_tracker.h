// SPDX-License-Identifier: Apache-2.0
// One device of a capture: what its transfers say, and which of them answer each other.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "millrace/capture/capture_analysis.h"
#include "order_pairing.h"
#include "request_table.h"

namespace millrace::capture {

// What all devices together may take.
struct Budget {
  size_t endpoints = 256;       // 120 KB each
  size_t pairings = 64;         // of streams
  size_t network_devices = 32;  // 3 MB each
};

class DeviceTracker {
 public:
  DeviceTracker(DeviceKey key, const AnalysisOptions* options, Budget* budget);

  // False: beyond the budget, nothing was taken.
  bool submitted(uint8_t endpoint, TransferType type, int64_t time_ns, uint32_t asked,
                 bool asked_known);
  // `described` becomes true if the transfer described endpoints.
  bool completed(const Transfer& transfer, bool* described);
  void abandoned(uint8_t endpoint, int64_t time_ns, uint32_t asked, Abandoned why);
  void nak(uint8_t endpoint);
  void data_packet(uint8_t endpoint, uint64_t index);
  // Something is missing in the capture here: what is open may have been answered or not.
  void lost();

  const DeviceInfo& info() const { return analysis_->info; }
  std::unique_ptr<DeviceAnalysis> finish();

 private:
  // A reply that came before the end of any request with its content was reported.
  struct Early {
    FrameKey key;
    uint8_t in_endpoint = 0;
    int64_t end_ns = 0;
  };

  EndpointStatistics* endpoint(uint8_t address, TransferType type);
  void frames(const Transfer& transfer, EndpointStatistics* statistics, Framing framing);
  void request(const Transfer& transfer, const FrameKey& key);
  void reply(const Transfer& transfer, const FrameKey& key);
  void streams(const Transfer& transfer);
  void keep(const Transfer& transfer);
  void find_partners(uint8_t added);
  bool is_wanted(uint8_t out_endpoint, uint8_t in_endpoint) const;
  Turnaround* content_result(uint8_t out_endpoint, uint8_t in_endpoint, PairedBy by);
  void record(Turnaround* to, const Pair& pair);
  void finish_content();

  const AnalysisOptions* options_;
  Budget* budget_;
  std::unique_ptr<DeviceAnalysis> analysis_;
  OrderPairing::Sink on_pair_;

  std::unique_ptr<RequestTable> requests_;
  std::vector<std::unique_ptr<Turnaround>> content_;
  std::array<Early, 16> early_;
  size_t early_count_ = 0;  // in all
  uint64_t requests_of_kind_[4] = {}, unrequested_of_kind_[4] = {};

  std::vector<std::unique_ptr<OrderPairing>> pairings_;
  std::array<std::vector<OrderPairing*>, 32> pairings_of_;  // by endpoint_index()
  std::array<bool, 32> has_data_{};
  // The first requests of an endpoint that no IN has answered yet.
  struct Kept {
    Transfer transfer;
    std::vector<uint8_t> data;
  };
  std::array<std::vector<Kept>, 32> kept_;
};

}  // namespace millrace::capture
