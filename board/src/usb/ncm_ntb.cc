// SPDX-License-Identifier: Apache-2.0
// The layout is the driver's, not just any that the specification allows: the pointer table comes
// first, with room for as many datagrams as may come, so that a block can be filled without knowing
// how many will. A short block goes as it is; one that misses less than three packets is filled up,
// since a device with DMA would rather have the whole than end a transfer early. Reading forgives
// what the driver forgives: wBlockLength may differ from what came, a table ends with the first
// datagram that is not within the block, and fifty tables may follow one another.
#include "usb/ncm_ntb.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "memory/bytes.h"
#include "millrace/board/ethernet_port.h"

namespace millrace::board {
namespace {

constexpr uint32_t kHeaderSignature = 0x484D434E;   // "NCMH"
constexpr uint32_t kPointerSignature = 0x304D434E;  // "NCM0": datagrams without CRC
constexpr size_t kHeaderBytes = 12, kPointerHeadBytes = 8, kPointerBytes = 4;
constexpr size_t kMinPointerBytes = 16;
constexpr uint32_t kMinBlock = 2048;     // NCM 1.0 table 6-3
constexpr unsigned kMostDatagrams = 40;  // of Linux
constexpr uint32_t kMinModulus = 4;
constexpr uint32_t kMinFull = 512;
constexpr unsigned kMostTables = 50;

template <typename... T>
void find(UsbFindings* findings, fmt::format_string<T...> format, T&&... values) {
  if (findings->size() < kMaxFindings) {
    findings->push_back("NTB parameters: " + fmt::format(format, std::forward<T>(values)...));
  }
}

void check_alignment(const char* name, uint32_t value, UsbFindings* findings) {
  if (value < kMinModulus || !std::has_single_bit(value)) {
    find(findings, "{} is {}, must be a power of two and at least {}", name, value, kMinModulus);
  }
}

size_t aligned(size_t at, uint32_t modulus) { return (at + modulus - 1) / modulus * modulus; }

}  // namespace

std::optional<NtbParameters> parse_ntb_parameters(std::span<const uint8_t> bytes,
                                                  UsbFindings* findings) {
  if (bytes.size() < NtbParameters::kBytes) return std::nullopt;
  const auto word = [&bytes](size_t at) { return static_cast<uint16_t>(load_le(&bytes[at], 2)); };
  NtbParameters p;
  if (word(0) != NtbParameters::kBytes) {
    find(findings, "wLength is {}, must be {}", word(0), NtbParameters::kBytes);
  }
  p.formats = word(2);
  p.in_max = load_le(&bytes[4], 4);
  p.in_divisor = word(8);
  p.in_remainder = word(10);
  p.in_alignment = word(12);
  p.out_max = load_le(&bytes[16], 4);
  p.out_divisor = word(20);
  p.out_remainder = word(22);
  p.out_alignment = word(24);
  p.out_datagrams = word(26);
  if ((p.formats & 1) == 0) {
    find(findings, "bmNtbFormatsSupported is 0x{:x}, bit 0 (16 bits) must be 1", p.formats);
  }
  for (const auto& [name, size] :
       {std::pair("dwNtbInMaxSize", p.in_max), std::pair("dwNtbOutMaxSize", p.out_max)}) {
    if (size < kMinBlock) find(findings, "{} is {}, must be at least {}", name, size, kMinBlock);
  }
  check_alignment("wNdpInAlignment", p.in_alignment, findings);
  check_alignment("wNdpOutAlignment", p.out_alignment, findings);
  if (p.in_divisor == 0 || p.out_divisor == 0) {
    find(findings, "wNdpInDivisor is {} and wNdpOutDivisor {}, none must be 0", p.in_divisor,
         p.out_divisor);
  }
  if (p.in_divisor != 0 && p.in_remainder >= p.in_divisor) {
    find(findings, "wNdpInPayloadRemainder is {}, must be less than wNdpInDivisor, {}",
         p.in_remainder, p.in_divisor);
  }
  if (p.out_divisor != 0 && p.out_remainder >= p.out_divisor) {
    find(findings, "wNdpOutPayloadRemainder is {}, must be less than wNdpOutDivisor, {}",
         p.out_remainder, p.out_divisor);
  }
  return p;
}

NcmLayout make_ncm_layout(const NtbParameters& p, uint32_t wanted_bytes, uint32_t packet) {
  NcmLayout layout;
  layout.packet = packet;
  layout.block_bytes = p.out_max == 0 ? wanted_bytes : std::min(wanted_bytes, p.out_max);
  // Room for the byte that ends a block of whole packets, unless the device takes no longer one.
  if (layout.block_bytes != p.out_max && layout.block_bytes % packet == 0) ++layout.block_bytes;
  const uint32_t three_packets = std::min(3 * packet, layout.block_bytes);
  layout.full_from = std::clamp(layout.block_bytes - three_packets,
                                std::min(kMinFull, layout.block_bytes), layout.block_bytes);
  const auto sensible = [&layout](uint32_t value) {
    return value >= kMinModulus && std::has_single_bit(value) && value < layout.block_bytes;
  };
  if (sensible(p.out_alignment)) layout.ndp_modulus = p.out_alignment;
  if (sensible(p.out_divisor)) layout.modulus = p.out_divisor;
  // It is the payload behind the Ethernet header that the device wants there.
  const uint32_t remainder = p.out_remainder < layout.modulus ? p.out_remainder : 0;
  layout.remainder = (remainder - kEthernetHeaderBytes) & (layout.modulus - 1);
  layout.datagrams =
      p.out_datagrams == 0 ? kMostDatagrams : std::min<unsigned>(p.out_datagrams, kMostDatagrams);
  return layout;
}

void NcmBundle::configure(const NcmLayout& layout) {
  layout_ = layout;
  sequence_ = 0;
  begin();
}

size_t NcmBundle::ndp_bytes() const {
  return kPointerHeadBytes + (layout_.datagrams + 1) * kPointerBytes;
}

void NcmBundle::begin() {
  ndp_ = aligned(kHeaderBytes, layout_.ndp_modulus);
  block_.assign(ndp_ + ndp_bytes(), 0);
  count_ = 0;
}

bool NcmBundle::add(std::span<const uint8_t> frame) {
  const size_t at = aligned(block_.size(), layout_.modulus) + layout_.remainder;
  if (is_full() || at + frame.size() > layout_.block_bytes) return false;
  block_.resize(at);
  block_.insert(block_.end(), frame.begin(), frame.end());
  uint8_t* const pointer = &block_[ndp_ + kPointerHeadBytes + count_ * kPointerBytes];
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
  store_le(&block_[0], 4, kHeaderSignature);
  store_le(&block_[4], 2, kHeaderBytes);
  store_le(&block_[6], 2, sequence_++);
  store_le(&block_[8], 2, static_cast<uint32_t>(block_.size()));
  store_le(&block_[10], 2, static_cast<uint32_t>(ndp_));
  store_le(&block_[ndp_], 4, kPointerSignature);
  store_le(&block_[ndp_ + 4], 2,
           static_cast<uint32_t>(kPointerHeadBytes + (count_ + 1) * kPointerBytes));
  std::vector<uint8_t> block = std::move(block_);
  begin();
  return block;
}

bool NcmReader::read(std::span<const uint8_t> block, const Frame& frame) {
  if (block.size() < kHeaderBytes + kPointerHeadBytes) return false;
  if (load_le(&block[0], 4) != kHeaderSignature || load_le(&block[8], 2) > max_bytes_) return false;
  const auto sequence = static_cast<uint16_t>(load_le(&block[6], 2));
  if (has_sequence_ && sequence != static_cast<uint16_t>(sequence_ + 1)) ++gaps_;
  has_sequence_ = true;
  sequence_ = sequence;
  bool is_good = true;
  size_t at = load_le(&block[10], 2);
  for (unsigned tables = 0; tables <= kMostTables; ++tables) {
    if (at + kPointerHeadBytes > block.size()) return false;
    is_good = read_ndp(block, at, frame) && is_good;
    at = load_le(&block[at + 6], 2);
    if (at == 0) return is_good;
  }
  return false;
}

bool NcmReader::read_ndp(std::span<const uint8_t> block, size_t at, const Frame& frame) const {
  const size_t length = load_le(&block[at + 4], 2);
  if (load_le(&block[at], 4) != kPointerSignature) return false;
  if (length < kMinPointerBytes || at + length > block.size()) return false;
  const size_t count = (length - kPointerHeadBytes) / kPointerBytes - 1;
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* const pointer = &block[at + kPointerHeadBytes + i * kPointerBytes];
    const size_t offset = load_le(pointer, 2), size = load_le(pointer + 2, 2);
    if (offset == 0 || size == 0) return true;  // the end, or none at all
    if (offset + size > block.size() || size < kEthernetHeaderBytes) return false;
    frame(block.subspan(offset, size));
  }
  return true;
}

}  // namespace millrace::board
