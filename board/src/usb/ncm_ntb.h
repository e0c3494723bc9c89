// SPDX-License-Identifier: Apache-2.0
// NCM transfer blocks as Linux's cdc_ncm builds and takes them (NCM 1.0 chapter 3, 16 bits).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "usb/usb_descriptors.h"

namespace millrace::board {

// Answer to GET_NTB_PARAMETERS (NCM 1.0 table 6-3).
struct NtbParameters {
  static constexpr size_t kBytes = 28;

  uint16_t formats = 0;  // bit 0: NTB16, bit 1: NTB32
  uint32_t in_max = 0;
  uint16_t in_divisor = 0, in_remainder = 0, in_alignment = 0;
  uint32_t out_max = 0;
  uint16_t out_divisor = 0, out_remainder = 0, out_alignment = 0;
  uint16_t out_datagrams = 0;  // 0: any number
};

// Nothing if it is cut short. What the specification does not allow is a finding.
std::optional<NtbParameters> parse_ntb_parameters(std::span<const uint8_t> bytes,
                                                  UsbFindings* findings);

// How blocks for the device are made: its parameters, as far as they make sense.
struct NcmLayout {
  uint32_t block_bytes = 0;  // at most
  uint32_t full_from = 0;    // a longer block is filled up to block_bytes with zeros
  uint32_t packet = 512;     // of the endpoint: a block that is a multiple of it gets a byte more
  uint32_t modulus = 4, remainder = 0;  // of a datagram's place
  uint32_t ndp_modulus = 4;
  unsigned datagrams = 0;  // at most
};
NcmLayout make_ncm_layout(const NtbParameters& parameters, uint32_t wanted_bytes, uint32_t packet);

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

// Takes blocks of the device apart. What is wrong with one ends it; frames before that count.
class NcmReader {
 public:
  using Frame = std::function<void(std::span<const uint8_t>)>;

  explicit NcmReader(uint32_t max_bytes = 0) : max_bytes_(max_bytes) {}
  // False: something was wrong with the block.
  bool read(std::span<const uint8_t> block, const Frame& frame);
  uint64_t sequence_gaps() const { return gaps_; }

 private:
  bool read_ndp(std::span<const uint8_t> block, size_t at, const Frame& frame) const;

  uint32_t max_bytes_;
  bool has_sequence_ = false;
  uint16_t sequence_ = 0;
  uint64_t gaps_ = 0;
};

}  // namespace millrace::board
