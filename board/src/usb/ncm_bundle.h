// SPDX-License-Identifier: Apache-2.0
// NCM transfer blocks for the device as Linux's cdc_ncm builds them (NCM 1.0 chapter 3, 16 bits).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "millrace/link/cdc_network.h"
#include "usb/usb_descriptors.h"

namespace millrace::board {

// What NCM 1.0 table 6-3 does not allow.
void check_ntb_parameters(const link::NtbParameters& parameters, UsbFindings* findings);

// How blocks for the device are made: its parameters, as far as they make sense.
struct NcmLayout {
  uint32_t block_bytes = 0;  // at most
  uint32_t full_from = 0;    // a longer block is filled up to block_bytes with zeros
  uint32_t packet = 512;     // of the endpoint: a block that is a multiple of it gets a byte more
  uint32_t modulus = 4, remainder = 0;  // of a datagram's place
  uint32_t ndp_modulus = 4;
  unsigned datagrams = 0;  // at most
};
NcmLayout make_ncm_layout(const link::NtbParameters& parameters, uint32_t wanted_bytes,
                          uint32_t packet);

// A block that is being filled.
class NcmBundle {
 public:
  void configure(const NcmLayout& layout);  // empty then, wSequence begins with 0
  bool is_empty() const { return count_ == 0; }
  bool is_full() const { return count_ == layout_.datagrams; }
  unsigned count() const { return count_; }
  // False: there is no room. An empty bundle has none for a frame that never fits.
  bool add(std::span<const uint8_t> frame);
  // The block, complete. REQUIRES: !is_empty(), which it is afterwards.
  std::vector<uint8_t> finish();

 private:
  void begin();
  size_t ndp_bytes() const;

  NcmLayout layout_;
  std::vector<uint8_t> block_;
  size_t ndp_ = 0;
  unsigned count_ = 0;
  uint16_t sequence_ = 0;
};

}  // namespace millrace::board
