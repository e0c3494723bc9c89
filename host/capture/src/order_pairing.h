// SPDX-License-Identifier: Apache-2.0
// Pairing of an OUT and an IN endpoint that carry streams of bytes: by content where the device
// sends back what it got, by order otherwise. Both are tried at once; the end tells which it is.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "millrace/capture/turnaround.h"

namespace millrace::capture {

class OrderPairing {
 public:
  using Sink = std::function<void(const Pair&)>;

  OrderPairing(DeviceKey device, uint8_t out_endpoint, uint8_t in_endpoint, int64_t timeout_ns);
  void out(const Transfer& transfer, const Sink& sink);
  void in(const Transfer& transfer, const Sink& sink);
  // Something was lost: what is open is shut out.
  void shut_out();
  void finish();

  bool is_echo() const;
  const Turnaround& result() const { return is_echo() ? echo_ : order_; }

 private:
  static constexpr size_t kMaxEcho = size_t{64} << 10;  // bytes on their way back
  static constexpr size_t kMaxOpen = 4096;

  struct Open {
    int64_t submit_ns, end_ns;
    uint64_t end_byte;  // of the OUT stream
  };
  void give_up_echo();
  void out_echo(const Transfer& transfer);
  void in_echo(const Transfer& transfer, const Sink& sink);
  Pair pair_of(int64_t submit_ns, int64_t end_ns, int64_t reply_ns, PairedBy by) const;

  DeviceKey device_;
  int64_t timeout_ns_;
  Turnaround order_, echo_;

  // By order.
  bool is_open_ = false;
  uint32_t transfers_ = 0;  // of the open request
  int64_t submit_ns_ = 0, end_ns_ = 0;
  bool has_early_ = false;  // data came while nothing was open
  int64_t early_ns_ = 0;

  // Echo.
  std::vector<uint8_t> sent_;  // from echo_begin_ on
  size_t sent_at_ = 0;         // of sent_[]: what is not back yet
  uint64_t sent_end_ = 0, back_ = 0;
  std::deque<Open> open_;
  uint64_t echoed_bytes_ = 0, other_bytes_ = 0;
  bool echo_given_up_ = false;
};

}  // namespace millrace::capture
