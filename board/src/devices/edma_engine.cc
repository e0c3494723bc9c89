// SPDX-License-Identifier: Apache-2.0
// One channel at a time is served, a minor loop each. A service takes the time of its beats and
// then moves the bytes: what it reads is what stands there at the end. A long loop is cut into
// slices of at most kSliceBeats, so that no event takes long on the host whatever NBYTES says; and
// every service takes time, so that channels that start each other for ever let the core run on.
//
// MLOFF is not added after the last minor loop: SLAST and DLASTSGA are. (The manual leaves it open;
// the Teensy audio library's I2S inputs, with MLOFF -8 and SLAST -8, work on the chip.)
#include <algorithm>
#include <array>

#include "devices/edma.h"
#include "devices/edma_registers.h"

namespace millrace::board {

using namespace edma;  // NOLINT: register names

namespace {

constexpr uint32_t kSliceBeats = 256;

// Bytes of SSIZE or DSIZE; 0: reserved.
uint32_t size_bytes(uint32_t code) {
  constexpr std::array<uint32_t, 8> kBytes = {1, 2, 4, 8, 0, 32, 0, 0};
  return kBytes[code & 7];
}

int32_t signed16(uint32_t value) { return static_cast<int16_t>(value); }

// The next address; with a modulo only so many low bits change (ATTR.SMOD, DMOD).
uint32_t advance(uint32_t address, int32_t offset, uint32_t modulo) {
  const uint32_t next = address + static_cast<uint32_t>(offset);
  if (modulo == 0) return next;
  const uint32_t mask = (1u << modulo) - 1;
  return (address & ~mask) | (next & mask);
}

// The major loop's count: with ELINK only the low 9 bits.
uint32_t count_of(uint32_t citer) { return (citer & kElink) != 0 ? citer & 0x1FF : citer & 0x7FFF; }

}  // namespace

Edma::Loop Edma::minor_loop(unsigned channel) const {
  const uint32_t value = tcd(channel, kNbytes, 4);
  Loop loop{.bytes = value};
  if ((control_ & kEmlm) == 0) return loop;
  loop.source = (value >> 31) != 0;
  loop.destination = (value >> 30 & 1) != 0;
  loop.bytes = value & 0x3FFFFFFF;
  if (loop.source || loop.destination) {
    loop.offset = static_cast<int32_t>(value << 2) >> 12;  // 20 bits from bit 10
    loop.bytes = value & 0x3FF;
  }
  return loop;
}

int Edma::select() const {
  int best = -1;
  uint32_t best_rank = 0;
  for (unsigned i = 0; i < kChannels; ++i) {
    const bool started = (tcds_[i * kTcdBytes + kCsr] & kStart) != 0;
    if (!started && (requests_ & enabled_ & 1u << i) == 0) continue;
    // Round robin goes down from the channel served last.
    const bool high = i >= 16;
    const uint32_t turn = (last_ - i - 1) % kChannels;
    const uint32_t group_priority = (control_ & (high ? kGrp1pri : kGrp0pri)) != 0 ? 1 : 0;
    const uint32_t group =
        (control_ & kErga) != 0 ? (high == (last_ >= 16) ? 0 : 1) : group_priority;
    const uint32_t within = (control_ & kErca) != 0 ? kChannels - turn : priority_[i] & 0xFu;
    const uint32_t rank = group << 8 | within;
    if (best < 0 || rank > best_rank) {
      best = static_cast<int>(i);
      best_rank = rank;
    }
  }
  return best;
}

uint32_t Edma::check(unsigned channel) const {
  uint32_t bits = 0;
  if ((control_ & kErga) == 0 && ((control_ & kGrp1pri) != 0) == ((control_ & kGrp0pri) != 0)) {
    bits |= kGpe;
  }
  if ((control_ & kErca) == 0) {
    uint32_t seen = 0;
    for (unsigned i = channel & 16; i < (channel & 16) + 16; ++i) seen |= 1u << (priority_[i] & 15);
    if (seen != 0xFFFF) bits |= kCpe;
  }
  const uint32_t attributes = tcd(channel, kAttr, 2);
  const uint32_t source = size_bytes(attributes >> 8), destination = size_bytes(attributes);
  const uint32_t bytes = minor_loop(channel).bytes;
  if (source == 0 || tcd(channel, kSaddr, 4) % source != 0) bits |= kSae;
  if (source == 0 || tcd(channel, kSoff, 2) % source != 0) bits |= kSoe;
  if (destination == 0 || tcd(channel, kDaddr, 4) % destination != 0) bits |= kDae;
  if (destination == 0 || tcd(channel, kDoff, 2) % destination != 0) bits |= kDoe;
  const uint32_t citer = tcd(channel, kCiter, 2), biter = tcd(channel, kBiter, 2);
  if (source == 0 || destination == 0 || bytes == 0 || bytes % source != 0 ||
      bytes % destination != 0 || count_of(citer) == 0 || ((citer ^ biter) & kElink) != 0) {
    bits |= kNce;
  }
  return bits;
}

void Edma::schedule_slice(Cycles from, uint32_t extra) {
  const uint32_t attributes = tcd(static_cast<unsigned>(active_), kAttr, 2);
  const uint32_t source = size_bytes(attributes >> 8), destination = size_bytes(attributes);
  const uint32_t chunk = std::max(source, destination);
  uint64_t cycles = extra;
  if (pending_error_ == 0) {
    const uint64_t chunks = std::min<uint64_t>(left_ / chunk, kSliceBeats);
    cycles += chunks * (uint64_t{chunk / source} * timing_.read +
                        uint64_t{chunk / destination} * timing_.write);
  }
  end_ = from + std::max<uint64_t>(cycles, 1);
}

void Edma::arbitrate(Cycles now) {
  if (active_ >= 0 || moving_ || (control_ & kHalt) != 0) return;
  const int channel = select();
  if (channel < 0) return;
  const unsigned n = static_cast<unsigned>(channel);
  active_ = channel;
  uint8_t& status = tcds_[n * kTcdBytes + kCsr];
  status = static_cast<uint8_t>((status & ~(kStart | kDone)) | kActive);
  source_ = tcd(n, kSaddr, 4);
  destination_ = tcd(n, kDaddr, 4);
  left_ = minor_loop(n).bytes;
  pending_error_ = check(n);
  schedule_slice(now, timing_.service);
}

void Edma::settle(Cycles now) {
  while (!moving_ && active_ >= 0 && end_ <= now) {
    const Cycles when = end_;
    moving_ = true;
    run_slice();
    moving_ = false;
    if (active_ >= 0) {
      schedule_slice(when, 0);
    } else {
      end_ = kNever;
      arbitrate(when);
    }
  }
}

// Up to 32 bytes by the larger of the two sizes. False: a bus error, recorded.
bool Edma::move_chunk() {
  const unsigned n = static_cast<unsigned>(active_);
  const uint32_t attributes = tcd(n, kAttr, 2);
  const uint32_t read_size = size_bytes(attributes >> 8), write_size = size_bytes(attributes);
  const uint32_t chunk = std::max(read_size, write_size);
  std::array<uint8_t, 32> bytes{};
  for (uint32_t at = 0; at < chunk; at += read_size) {
    if (!host_.dma_read(source_, &bytes[at], read_size)) {
      fail(n, kSbe);
      return false;
    }
    source_ = advance(source_, signed16(tcd(n, kSoff, 2)), attributes >> 11);
  }
  for (uint32_t at = 0; at < chunk; at += write_size) {
    if (!host_.dma_write(destination_, &bytes[at], write_size)) {
      fail(n, kDbe);
      return false;
    }
    destination_ = advance(destination_, signed16(tcd(n, kDoff, 2)), attributes >> 3 & 0x1F);
  }
  left_ -= chunk;
  return true;
}

void Edma::run_slice() {
  if (pending_error_ != 0) return fail(static_cast<unsigned>(active_), pending_error_);
  for (uint32_t beat = 0; beat < kSliceBeats && left_ != 0; ++beat) {
    // A transfer may rewrite this TCD: what is no TCD any more ends here.
    const uint32_t attributes = tcd(static_cast<unsigned>(active_), kAttr, 2);
    const uint32_t source = size_bytes(attributes >> 8), destination = size_bytes(attributes);
    if (source == 0 || destination == 0 || std::max(source, destination) > left_) {
      return fail(static_cast<unsigned>(active_), kNce);
    }
    if (!move_chunk()) return;
  }
  if (left_ == 0) end_minor_loop();
}

void Edma::end_minor_loop() {
  const unsigned n = static_cast<unsigned>(active_);
  active_ = -1;
  last_ = static_cast<uint8_t>(n);
  tcds_[n * kTcdBytes + kCsr] &= static_cast<uint8_t>(~kActive);
  const uint32_t citer = tcd(n, kCiter, 2);
  const uint32_t left = count_of(citer) - 1;
  const uint32_t field = (citer & kElink) != 0 ? 0x1FF : 0x7FFF;
  set_tcd(n, kCiter, 2, (citer & ~field) | (left & field));
  if (left == 0) {
    end_major_loop();
  } else {
    const Loop loop = minor_loop(n);
    if (loop.source) source_ += static_cast<uint32_t>(loop.offset);
    if (loop.destination) destination_ += static_cast<uint32_t>(loop.offset);
    set_tcd(n, kSaddr, 4, source_);
    set_tcd(n, kDaddr, 4, destination_);
    if ((citer & kElink) != 0) tcds_[(citer >> 9 & 0x1F) * kTcdBytes + kCsr] |= kStart;
    const uint32_t half = count_of(tcd(n, kBiter, 2)) / 2;
    if ((tcd(n, kCsr, 2) & kInthalf) != 0 && left == half) interrupts_ |= 1u << n;
  }
  if (served_) served_(n);
}

void Edma::end_major_loop() {
  const unsigned n = last_;
  const uint32_t status = tcd(n, kCsr, 2);
  set_tcd(n, kSaddr, 4, source_ + tcd(n, kSlast, 4));
  set_tcd(n, kCiter, 2, tcd(n, kBiter, 2));
  tcds_[n * kTcdBytes + kCsr] |= kDone;
  if ((status & kIntmajor) != 0) interrupts_ |= 1u << n;
  if ((status & kDreq) != 0) enabled_ &= ~(1u << n);
  const uint32_t link = tcd(n, kDlastsga, 4);
  if ((status & kEsg) == 0) {
    set_tcd(n, kDaddr, 4, destination_ + link);
  } else if (link % kTcdBytes != 0) {
    fail(n, kSge);
  } else {
    std::array<uint8_t, kTcdBytes> next{};
    if (host_.dma_read(link, next.data(), kTcdBytes)) {
      next[kCsr] &= static_cast<uint8_t>(~kActive);
      std::copy(next.begin(), next.end(), tcds_.begin() + ptrdiff_t{n} * kTcdBytes);
    } else {
      fail(n, kSbe);
    }
  }
  if ((status & kMajorelink) != 0) tcds_[(status >> 8 & 0x1F) * kTcdBytes + kCsr] |= kStart;
}

// The service of `channel` ends here; its addresses stay as they were before it.
void Edma::fail(unsigned channel, uint32_t bits) {
  errors_ |= 1u << channel;
  error_status_ = channel << 8 | bits;
  if ((control_ & kHoe) != 0) control_ |= kHalt;
  tcds_[channel * kTcdBytes + kCsr] &= static_cast<uint8_t>(~kActive);
  pending_error_ = 0;
  last_ = static_cast<uint8_t>(channel);
  active_ = -1;
}

}  // namespace millrace::board
