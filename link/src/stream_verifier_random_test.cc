// SPDX-License-Identifier: Apache-2.0
// Edits a stream at random places by a script whose consequences are known, and expects the
// verifier to tell exactly that script: every field of every fault, and every total. Edits whose
// bytes are equal to the stream's by chance would have two right answers; the script draws others.
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <random>

#include "millrace/link/stream_verifier.h"
#include "test_stream.h"

namespace millrace::link {
namespace {

struct Told {
  FaultKind kind;
  uint64_t stream_offset;
  uint64_t wire_offset;
  uint64_t length;
  uint64_t received_length = 0;
  uint64_t source_offset = 0;
  uint32_t flipped_bits = 0;
  bool is_text = false;
  Bytes received;
};

class Script {
 public:
  Script(uint32_t seed, uint32_t frame_size, size_t size)
      : random_(seed), frame_size_(frame_size), frames_(static_cast<uint32_t>(size / frame_size)) {
    shape_ = StreamShape{draw(1000000), frame_size, frames_};
    // Another 16 KB behind the end of the run.
    stream_ = make_stream(shape_.seed, frame_size, frames_ + 16384 / frame_size + 1);
    end_ = size_t{frame_size} * frames_;
  }

  const StreamShape& shape() const { return shape_; }
  const Bytes& arrived() const { return arrived_; }
  const std::vector<Told>& told() const { return told_; }
  const std::vector<Bytes>& messages() const { return messages_; }
  const VerifierTotals& totals() const { return totals_; }
  uint32_t draw(uint32_t below) { return static_cast<uint32_t>(random_() % below); }

  // Takes the stream over unchanged for `size` bytes.
  void keep(size_t size) {
    size = std::min(size, end_ - at_);
    append(&arrived_, slice(stream_, at_, at_ + size));
    at_ += size;
    totals_.verified_bytes += size;
  }

  void edit() {
    switch (draw(10)) {
      case 0:
        return lose(1 + draw(8));
      case 1:
        return lose(size_t{512} * (1 + draw(12)));
      case 2:
        return lose(draw(2) ? 1 + draw(500) : 1 + draw(20000));
      case 3:
        return insert(1 + draw(draw(2) ? 12 : 300), draw(2) == 0);
      case 4:
        return repeat(4 + draw(draw(2) ? 60 : 5000));
      case 5:
        return flip(1 + draw(draw(2) ? 3 : 80));
      case 6:
        return replace(1 + draw(draw(2) ? 3 : 300));
      case 7:
        return stale(12 + draw(draw(2) ? 100 : 2000));
      case 8:
        return stale_lines(draw(2) ? 1 + draw(4) : 1 + draw(100));
      default:
        return exchange(8 + draw(200), 8 + draw(200));
    }
  }

  void message_here() {
    Bytes payload(draw(kMaxPayload + 1));
    for (uint8_t& b : payload) b = static_cast<uint8_t>(random_());
    const Bytes whole = message(static_cast<MessageType>(1 + draw(8)), payload);
    append(&arrived_, whole);
    messages_.push_back(payload);
    totals_.message_bytes += whole.size();
    if (at_ > 0) wire_extra_ += whole.size();
    if (arrived_.size() - whole.size() == lost_here_) {
      // Nobody can tell on which side of the lost bytes it stood; it counts as before them.
      told_.back().wire_offset += whole.size();
      lost_here_ = arrived_.size();
    }
  }

  void lose(size_t size) {
    if (at_ + size + 5000 > end_ || stream_[at_] == stream_[at_ + size]) return;
    tell({FaultKind::lost, at_, 0, size, 0, 0, 0, false,
          sample(at_ + size, std::min(size_t{64}, size))});
    if (size == 1) ++totals_.single_lost[stream_[at_]];
    totals_.lost_bytes += size;
    hole_begin_ = at_;
    at_ += size;
    hole_end_ = at_;
    lost_here_ = arrived_.size();
  }

  void insert(size_t size, bool is_text) {
    if (at_ + 100 > end_) return;
    Bytes foreign(size);
    for (uint8_t& b : foreign) b = static_cast<uint8_t>(is_text ? 0x20 + draw(0x5f) : draw(256));
    if (!is_text) foreign[0] = 0x80;
    if (foreign[0] == stream_[at_]) return;
    tell({FaultKind::inserted, at_, 0, size, size, 0, 0, is_text, first(foreign)});
    totals_.inserted_bytes += size;
    append(&arrived_, foreign);
  }

  void repeat(size_t size) {
    if (at_ < size || at_ + 100 > end_ || stream_[at_ - size] == stream_[at_]) return;
    if (touches_fresh_hole(at_ - size, size)) return;
    tell({FaultKind::duplicated, at_, 0, size, 0, at_ - size, 0, false, {}});
    totals_.duplicated_bytes += size;
    append(&arrived_, slice(stream_, at_ - size, at_));
  }

  void flip(size_t size) {
    if (at_ + size + 100 > end_) return;
    Bytes damaged = slice(stream_, at_, at_ + size);
    uint32_t bits = 0;
    for (uint8_t& b : damaged) {
      const unsigned mask = (1u << draw(8)) | (1u << draw(8));
      bits += static_cast<uint32_t>(std::popcount(mask));
      b = static_cast<uint8_t>(b ^ mask);
    }
    damage(FaultKind::flipped, damaged, bits);
  }

  void replace(size_t size) {
    if (at_ + size + 100 > end_) return;
    Bytes damaged = slice(stream_, at_, at_ + size);
    uint32_t bits = 0;
    for (uint8_t& b : damaged) {
      unsigned mask = 0;
      while (std::popcount(mask) < 3) mask = draw(256);
      bits += static_cast<uint32_t>(std::popcount(mask));
      b = static_cast<uint8_t>(b ^ mask);
    }
    damage(FaultKind::replaced, damaged, bits);
  }

  void stale(size_t size) {
    if (at_ + 100 > end_) return;
    const size_t source = draw(static_cast<uint32_t>(std::min(stream_.size(), end_) - size));
    const size_t behind = source + size;
    // A piece that runs into its place is a repetition; one from near ahead is taken for a loss.
    if (source <= at_ + 600 && behind >= at_) return;
    if (stream_[source] == stream_[at_] || stream_[behind] == stream_[at_]) return;
    if (touches_fresh_hole(source, size)) return;
    tell({FaultKind::stale, at_, 0, size, 0, source, 0, false, {}});
    totals_.duplicated_bytes += size;
    append(&arrived_, slice(stream_, source, behind));
  }

  // Whole lines, aligned on the wire, hold older bytes.
  void stale_lines(size_t lines) {
    const size_t size = 32 * lines;
    const size_t align = (32 - (at_ + wire_extra_) % 32) % 32;
    if (at_ + align + size + 100 > end_) return;
    const size_t from = at_ + align;
    if (from < size + 100) return;
    const size_t source = draw(static_cast<uint32_t>(from - size));
    if (source + size > from || touches_fresh_hole(source, size)) return;
    // Not the same byte on both sides anywhere at the edges, but for a few by chance.
    size_t lead = 0;
    while (stream_[from + lead] == stream_[source + lead]) ++lead;
    size_t tail = 0;
    while (stream_[from + size - 1 - tail] == stream_[source + size - 1 - tail]) ++tail;
    if (lead + tail > 4) return;
    keep(align);
    const size_t differing = size - lead - tail;
    tell({FaultKind::stale_lines, at_, 0, size, differing, source, 0, false, sample(source, 64)});
    told_.back().received.resize(std::min(size_t{64}, size));
    totals_.altered_bytes += differing;
    totals_.verified_bytes += lead + tail;
    append(&arrived_, slice(stream_, source, source + size));
    at_ += size;
  }

  // `size` bytes are missing and `foreign_size` foreign ones stand there.
  void exchange(size_t size, size_t foreign_size) {
    if (size == foreign_size || at_ + size + 100 > end_) return;
    Bytes foreign(foreign_size);
    for (uint8_t& b : foreign) b = static_cast<uint8_t>(draw(256));
    foreign[1] = 0;
    if (foreign[0] == stream_[at_] || foreign.back() == stream_[at_ + size - 1]) return;
    tell({FaultKind::mixed, at_, 0, size, foreign_size, 0, 0, false, first(foreign)});
    totals_.lost_bytes += size;
    totals_.inserted_bytes += foreign_size;
    append(&arrived_, foreign);
    at_ += size;
  }

  bool at_end() const { return at_ == end_; }
  size_t at() const { return at_; }
  size_t left() const { return end_ - at_; }
  const Bytes& stream() const { return stream_; }

 private:
  // Bytes from a hole that follow a few bytes from behind it could as well be the stream going on
  // after these few bytes came too early.
  bool touches_fresh_hole(size_t from, size_t size) const {
    return from < hole_end_ && from + size > hole_begin_ && at_ < hole_end_ + 4096;
  }

  Bytes sample(size_t from, size_t size) const { return slice(stream_, from, from + size); }
  static Bytes first(const Bytes& bytes) {
    return slice(bytes, 0, std::min(bytes.size(), size_t{64}));
  }

  void damage(FaultKind kind, const Bytes& damaged, uint32_t bits) {
    const bool text =
        damaged.size() >= 3 && std::all_of(damaged.begin(), damaged.end(), [](uint8_t b) {
          return (b >= 0x20 && b < 0x7f) || b == '\r' || b == '\n' || b == '\t';
        });
    tell({kind, at_, 0, damaged.size(), damaged.size(), 0, bits, text, first(damaged)});
    if (damaged.size() == 1) {
      ++totals_.single_altered[stream_[at_]];
      totals_.altered_to[stream_[at_]] = damaged[0];
    }
    totals_.altered_bytes += damaged.size();
    totals_.flipped_bits += bits;
    append(&arrived_, damaged);
    at_ += damaged.size();
  }

  void tell(Told told) {
    told.wire_offset = told.stream_offset + wire_extra_;
    ++totals_.faults;
    ++totals_.faults_of_kind[static_cast<size_t>(told.kind)];
    told_.push_back(std::move(told));
  }

  std::mt19937 random_;
  uint32_t frame_size_;
  uint32_t frames_;
  StreamShape shape_;
  Bytes stream_;
  size_t end_ = 0;
  size_t at_ = 0;
  size_t hole_begin_ = 0;
  size_t hole_end_ = 0;
  size_t lost_here_ = SIZE_MAX;
  uint64_t wire_extra_ = 0;
  Bytes arrived_;
  std::vector<Told> told_;
  std::vector<Bytes> messages_;
  VerifierTotals totals_;
};

Granule granule_of(uint64_t value) {
  return value % 2048 == 0   ? Granule::buffer
         : value % 1024 == 0 ? Granule::urb
         : value % 512 == 0  ? Granule::packet
                             : Granule::none;
}

std::string describe(const std::vector<Told>& told, const std::vector<Fault>& faults) {
  std::string out;
  char line[200];
  for (size_t i = 0; i < std::max(told.size(), faults.size()); ++i) {
    if (i < told.size()) {
      std::snprintf(
          line, sizeof(line), "  script   %d at %llu length %llu received %llu from %llu\n",
          static_cast<int>(told[i].kind), static_cast<unsigned long long>(told[i].stream_offset),
          static_cast<unsigned long long>(told[i].length),
          static_cast<unsigned long long>(told[i].received_length),
          static_cast<unsigned long long>(told[i].source_offset));
      out += line;
    }
    if (i < faults.size()) {
      std::snprintf(line, sizeof(line),
                    "  verifier %d at %llu length %llu received %llu from %llu\n",
                    static_cast<int>(faults[i].kind),
                    static_cast<unsigned long long>(faults[i].stream_offset),
                    static_cast<unsigned long long>(faults[i].length),
                    static_cast<unsigned long long>(faults[i].received_length),
                    static_cast<unsigned long long>(faults[i].source_offset));
      out += line;
    }
  }
  return out;
}

void expect_told(Script& script, size_t piece) {
  Heard heard;
  VerifierLimits limits;
  limits.search_bytes = 1 << 20;
  StreamVerifier verifier(script.shape(), heard.sink(), limits);
  feed_pieces(&verifier, script.arrived(), piece);
  verifier.settle();
  EXPECT_TRUE(verifier.complete());
  verifier.finish();
  EXPECT_FALSE(verifier.in_fault());
  ASSERT_TRUE(heard.payloads == script.messages()) << describe(script.told(), heard.faults);
  ASSERT_EQ(heard.faults.size(), script.told().size()) << describe(script.told(), heard.faults);
  const uint32_t frame_size = script.shape().frame_size;
  for (size_t i = 0; i < heard.faults.size(); ++i) {
    const Fault& fault = heard.faults[i];
    const Told& told = script.told()[i];
    ASSERT_EQ(fault.kind, told.kind) << describe(script.told(), heard.faults);
    ASSERT_EQ(fault.stream_offset, told.stream_offset) << i << "\n"
                                                       << describe(script.told(), heard.faults);
    ASSERT_EQ(fault.length, told.length) << i << "\n" << describe(script.told(), heard.faults);
    ASSERT_EQ(fault.wire_offset, told.wire_offset) << i << describe(script.told(), heard.faults);
    ASSERT_EQ(fault.frame, told.stream_offset / frame_size);
    ASSERT_EQ(fault.word, told.stream_offset % frame_size / 4);
    ASSERT_EQ(fault.received_length, told.received_length);
    ASSERT_EQ(fault.source_offset, told.source_offset);
    ASSERT_EQ(fault.flipped_bits, told.flipped_bits);
    ASSERT_EQ(fault.is_text, told.is_text);
    ASSERT_EQ(fault.start_granule, granule_of(told.wire_offset));
    const bool whole = told.kind == FaultKind::lost || told.kind == FaultKind::duplicated;
    ASSERT_EQ(fault.size_granule, whole ? granule_of(told.length) : Granule::none);
    // A loss is settled when another fault follows; what was not received by then is not shown.
    const Bytes received(fault.received, fault.received + fault.sample_size);
    ASSERT_LE(received.size(), told.received.size());
    if (told.kind != FaultKind::lost) {
      ASSERT_EQ(received.size(), told.received.size());
    }
    ASSERT_EQ(received, slice(told.received, 0, received.size()));
  }
  const VerifierTotals& totals = verifier.totals();
  const VerifierTotals& expected = script.totals();
  ASSERT_EQ(totals.received_bytes, script.arrived().size());
  ASSERT_EQ(totals.verified_bytes, expected.verified_bytes);
  ASSERT_EQ(totals.message_bytes, expected.message_bytes);
  ASSERT_EQ(totals.lost_bytes, expected.lost_bytes);
  ASSERT_EQ(totals.duplicated_bytes, expected.duplicated_bytes);
  ASSERT_EQ(totals.inserted_bytes, expected.inserted_bytes);
  ASSERT_EQ(totals.altered_bytes, expected.altered_bytes);
  ASSERT_EQ(totals.flipped_bits, expected.flipped_bits);
  ASSERT_EQ(totals.faults, expected.faults);
  for (size_t i = 0; i < 10; ++i) ASSERT_EQ(totals.faults_of_kind[i], expected.faults_of_kind[i]);
  for (size_t i = 0; i < 256; ++i) {
    ASSERT_EQ(totals.single_lost[i], expected.single_lost[i]);
    ASSERT_EQ(totals.single_altered[i], expected.single_altered[i]);
    ASSERT_EQ(totals.altered_to[i], expected.altered_to[i]);
  }
}

constexpr uint32_t kFrameSizes[] = {1, 2, 3, 4, 5, 13, 64, 127, 128, 511, 512, 1021, 2048, 4096};
constexpr size_t kPieces[] = {1, 13, 64, 511, 512, 4095, 1 << 20};

void run_scripts(uint32_t first_seed, uint32_t count, bool with_messages) {
  for (uint32_t seed = first_seed; seed < first_seed + count; ++seed) {
    const uint32_t frame_size = kFrameSizes[seed % std::size(kFrameSizes)];
    Script script(seed, frame_size, 60000);
    if (with_messages && script.draw(2)) script.message_here();
    script.keep(script.draw(3000) + 1);
    while (!script.at_end()) {
      if (with_messages && script.draw(2)) script.message_here();
      if (script.draw(8) != 0) script.edit();
      if (with_messages && script.draw(4) == 0) script.message_here();
      script.keep(28 + script.draw(script.draw(2) ? 40 : 3000));
    }
    expect_told(script, kPieces[script.draw(std::size(kPieces))]);
    if (::testing::Test::HasFailure()) {
      FAIL() << "seed " << seed << " frame size " << frame_size;
    }
  }
}

TEST(StreamVerifierRandom, TellsEveryScriptOfFaults) { run_scripts(1, 250, false); }

TEST(StreamVerifierRandom, TellsEveryScriptOfFaultsAmongMessages) {
  run_scripts(100001, 250, true);
}

}  // namespace
}  // namespace millrace::link
