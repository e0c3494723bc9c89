// SPDX-License-Identifier: Apache-2.0
// The layout is the driver's, not just any that the specification allows, and not the tightest: the
// pointer table comes first, with room for as many datagrams as may come, so that a block can be
// filled without knowing how many will. A short block goes as it is; one that misses less than
// three packets is filled up, since a device with DMA would rather have the whole than end a
// transfer early. link/ntb16.h, which tests read these blocks with, writes the table last.
#include "usb/ncm_bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "core/bytes.h"
#include "millrace/link/ntb16.h"

namespace millrace::board {
namespace {

constexpr unsigned kMostDatagrams = 40;  // of Linux
constexpr uint32_t kMinModulus = 4;
constexpr uint32_t kMinFull = 512;

template <typename... T>
void report(UsbFindings* findings, fmt::format_string<T...> format, T&&... values) {
  if (findings->size() < kMaxFindings) {
    findings->push_back("NTB parameters: " + fmt::format(format, std::forward<T>(values)...));
  }
}

void check_alignment(const char* name, uint32_t value, UsbFindings* findings) {
  if (value < kMinModulus || !std::has_single_bit(value)) {
    report(findings, "{} is {}, must be a power of two and at least {}", name, value, kMinModulus);
  }
}

size_t aligned(size_t at, uint32_t modulus) { return (at + modulus - 1) / modulus * modulus; }

}  // namespace

void check_ntb_parameters(const link::NtbParameters& p, UsbFindings* findings) {
  if ((p.formats & link::kNtbFormat16) == 0) {
    report(findings, "bmNtbFormatsSupported is 0x{:x}, bit 0 (16 bits) must be 1", p.formats);
  }
  for (const auto& [name, size] : {std::pair("dwNtbInMaxSize", p.in_max_bytes),
                                   std::pair("dwNtbOutMaxSize", p.out_max_bytes)}) {
    if (size < link::kMinNtbInputSize)
      report(findings, "{} is {}, must be at least {}", name, size, link::kMinNtbInputSize);
  }
  check_alignment("wNdpInAlignment", p.in_ndp_alignment, findings);
  check_alignment("wNdpOutAlignment", p.out_ndp_alignment, findings);
  if (p.in_divisor == 0 || p.out_divisor == 0) {
    report(findings, "wNdpInDivisor is {} and wNdpOutDivisor {}, none must be 0", p.in_divisor,
           p.out_divisor);
  }
  if (p.in_divisor != 0 && p.in_payload_remainder >= p.in_divisor) {
    report(findings, "wNdpInPayloadRemainder is {}, must be less than wNdpInDivisor, {}",
           p.in_payload_remainder, p.in_divisor);
  }
  if (p.out_divisor != 0 && p.out_payload_remainder >= p.out_divisor) {
    report(findings, "wNdpOutPayloadRemainder is {}, must be less than wNdpOutDivisor, {}",
           p.out_payload_remainder, p.out_divisor);
  }
}

NcmLayout make_ncm_layout(const link::NtbParameters& p, uint32_t wanted_bytes, uint32_t packet) {
  NcmLayout layout;
  layout.packet = packet;
  layout.block_bytes =
      p.out_max_bytes == 0 ? wanted_bytes : std::min(wanted_bytes, p.out_max_bytes);
  // Room for the byte that ends a block of whole packets, unless the device takes no longer one.
  if (layout.block_bytes != p.out_max_bytes && layout.block_bytes % packet == 0)
    ++layout.block_bytes;
  const uint32_t three_packets = std::min(3 * packet, layout.block_bytes);
  layout.full_from = std::clamp(layout.block_bytes - three_packets,
                                std::min(kMinFull, layout.block_bytes), layout.block_bytes);
  const auto sensible = [&layout](uint32_t value) {
    return value >= kMinModulus && std::has_single_bit(value) && value < layout.block_bytes;
  };
  if (sensible(p.out_ndp_alignment)) layout.ndp_modulus = p.out_ndp_alignment;
  if (sensible(p.out_divisor)) layout.modulus = p.out_divisor;
  // It is the payload behind the Ethernet header that the device wants there.
  const uint32_t remainder = p.out_payload_remainder < layout.modulus ? p.out_payload_remainder : 0;
  layout.remainder =
      (remainder - static_cast<uint32_t>(link::kEthernetHeaderBytes)) & (layout.modulus - 1);
  layout.datagrams = p.out_max_datagrams == 0
                         ? kMostDatagrams
                         : std::min<unsigned>(p.out_max_datagrams, kMostDatagrams);
  return layout;
}

void NcmBundle::configure(const NcmLayout& layout) {
  layout_ = layout;
  sequence_ = 0;
  begin();
}

size_t NcmBundle::ndp_bytes() const {
  return link::kNdp16HeaderBytes + (layout_.datagrams + 1) * link::kNdp16EntryBytes;
}

void NcmBundle::begin() {
  ndp_ = aligned(link::kNth16Bytes, layout_.ndp_modulus);
  block_.assign(ndp_ + ndp_bytes(), 0);
  count_ = 0;
}

bool NcmBundle::add(std::span<const uint8_t> frame) {
  const size_t at = aligned(block_.size(), layout_.modulus) + layout_.remainder;
  if (is_full() || at + frame.size() > layout_.block_bytes) return false;
  block_.resize(at);
  block_.insert(block_.end(), frame.begin(), frame.end());
  uint8_t* const pointer =
      &block_[ndp_ + link::kNdp16HeaderBytes + count_ * link::kNdp16EntryBytes];
  store_le(pointer, 2, static_cast<uint32_t>(at));
  store_le(pointer + 2, 2, static_cast<uint32_t>(frame.size()));
  ++count_;
  return true;
}

std::vector<uint8_t> NcmBundle::finish() {
  if (block_.size() > layout_.full_from) {
    block_.resize(layout_.block_bytes);
  } else if (block_.size() < layout_.block_bytes && block_.size() % layout_.packet == 0) {
    block_.push_back(0);
  }
  store_le(&block_[0], 4, link::kNth16Signature);
  store_le(&block_[4], 2, link::kNth16Bytes);
  store_le(&block_[6], 2, sequence_++);
  store_le(&block_[8], 2, static_cast<uint32_t>(block_.size()));
  store_le(&block_[10], 2, static_cast<uint32_t>(ndp_));
  store_le(&block_[ndp_], 4, link::kNdp16Signature);
  store_le(&block_[ndp_ + 4], 2,
           static_cast<uint32_t>(link::kNdp16HeaderBytes + (count_ + 1) * link::kNdp16EntryBytes));
  std::vector<uint8_t> block = std::move(block_);
  begin();
  return block;
}

}  // namespace millrace::board
