// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <span>
#include <thread>

#include "linux/usbmon_port.h"
#include "millrace/capture/capture_analysis.h"
#include "millrace/link/bytes.h"
#include "testing/capture_builder.h"

namespace millrace::capture {
namespace {

// Gives the visits as the kernel would, with one that finds nothing before each; then the bus is
// gone, or goes on without traffic.
class FakePort final : public UsbmonPort {
 public:
  struct Visit {
    std::vector<Bytes> events;
    int64_t room_since_us = 0;
    uint64_t dropped = 0;
  };
  explicit FakePort(std::vector<Visit> visits, bool ends = true)
      : visits_(std::move(visits)), ends_(ends) {}

  Got fetch(UsbmonBatch* batch) override {
    *batch = UsbmonBatch();
    if (next_ == visits_.size()) return ends_ ? Got::end : Got::nothing;
    if ((is_idle_ = !is_idle_)) return Got::nothing;
    const Visit& visit = visits_[next_++];
    for (const Bytes& event : visit.events) batch->events.emplace_back(event);
    batch->room_since_us = visit.room_since_us;
    batch->dropped = visit.dropped;
    return visit.events.empty() ? Got::nothing : Got::events;
  }

 private:
  std::vector<Visit> visits_;
  size_t next_ = 0;
  bool is_idle_ = false, ends_;
};

// Eight events, at 0, 5, 10, 60, 100, 105, 110 and 190 us after the start: turnarounds of 50, 80
// us.
std::vector<Bytes> two_pings() {
  std::vector<TestRecord> records;
  add_transfer(&records, 1, 0x02, 0, 10, ping_frame(false, 1, 1));
  add_transfer(&records, 2, 0x82, 5, 60, ping_frame(true, 1, 1), 2048);
  add_transfer(&records, 1, 0x02, 100, 110, ping_frame(false, 1, 2));
  add_transfer(&records, 2, 0x82, 105, 190, ping_frame(true, 1, 2), 2048);
  std::stable_sort(records.begin(), records.end(),
                   [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  std::vector<Bytes> events;
  for (const TestRecord& record : records) events.push_back(record.data);
  return events;
}

int64_t time_us(const Bytes& event) {
  return static_cast<int64_t>(link::load_le64(event.data() + 16) * 1'000'000 +
                              link::load_le32(event.data() + 24));
}

std::unique_ptr<CaptureAnalysis> analysis_of(std::vector<FakePort::Visit> visits) {
  const auto source = make_usbmon_source(std::make_unique<FakePort>(std::move(visits)), {});
  auto live = analyse(source.get(), "live", {});
  EXPECT_TRUE(live);
  return live ? std::move(*live) : std::make_unique<CaptureAnalysis>();
}

TEST(UsbmonSource, EventsComeOutAsACapture) {
  Bytes copied;
  LiveOptions options;
  options.copy = [&](const uint8_t* bytes, size_t size) {
    copied.insert(copied.end(), bytes, bytes + size);
  };
  std::vector<FakePort::Visit> visits;
  for (const Bytes& event : two_pings()) visits.push_back({{event}, 0, 0});
  const auto source = make_usbmon_source(std::make_unique<FakePort>(visits), options);
  const auto live = analyse(source.get(), "live", {});
  ASSERT_TRUE(live);
  const DeviceAnalysis* device = nullptr;
  ASSERT_NE((*live)->headline(&device), nullptr);
  EXPECT_EQ((*live)->headline(&device)->median_of_first_ns(), 65'000);
  MemorySource file(copied);
  const auto again = analyse(&file, "copy", {});
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)->file.records, 8u);
  EXPECT_EQ((*again)->headline(&device)->median_of_first_ns(), 65'000);
}

TEST(UsbmonSource, DroppedEventsShutOutWhatIsOpen) {
  const std::vector<Bytes> events = two_pings();
  const std::span all(events);
  std::vector<FakePort::Visit> visits(2);
  visits[0].events.assign(all.begin(), all.begin() + 7);
  // The ring was full until 112 us after the start, between the second ping and its answer.
  visits[1] = {{all.begin() + 7, all.end()}, time_us(events[6]) + 2, 4};
  const auto live = analysis_of(visits);
  EXPECT_EQ(live->file.dropped, 4u);
  const DeviceAnalysis* device = nullptr;
  ASSERT_NE(live->headline(&device), nullptr);
  EXPECT_EQ(live->headline(&device)->times.count(), 1u);
  EXPECT_EQ(live->headline(&device)->shut_out, 1u);
}

// What was in the full ring was recorded before the gap, though the drops are known by then.
TEST(UsbmonSource, GapStandsBehindWhatFilledTheRing) {
  const std::vector<Bytes> events = two_pings();
  const std::span all(events);
  // Both pings are before the gap; a last event, a submission, is behind it.
  std::vector<FakePort::Visit> visits(2);
  visits[0] = {{all.begin(), all.end()}, time_us(events[7]) + 1, 4};
  Bytes later = events[0];
  link::store_le32(later.data() + 24, link::load_le32(events[7].data() + 24) + 10);
  visits[1] = {{later}, time_us(later) - 1, 0};
  const auto live = analysis_of(visits);
  EXPECT_EQ(live->file.dropped, 4u);
  const DeviceAnalysis* device = nullptr;
  ASSERT_NE(live->headline(&device), nullptr);
  EXPECT_EQ(live->headline(&device)->times.count(), 2u);
}

TEST(UsbmonSource, TellsOfAGapWithNothingBehindIt) {
  std::vector<FakePort::Visit> visits(2);
  visits[0] = {two_pings(), 0, 0};
  visits[1] = {{}, 1, 7};
  const auto live = analysis_of(visits);
  EXPECT_EQ(live->file.records, 8u);
  EXPECT_EQ(live->file.dropped, 7u);
}

// A source that is told to end gives what there was, and what the kernel still had.
TEST(UsbmonSource, EndsWhenItIsTold) {
  LiveOptions options;
  bool goes_on = true;
  options.keep_going = [&] { return goes_on; };
  std::vector<FakePort::Visit> visits = {{two_pings(), 0, 0}};
  const auto source =
      make_usbmon_source(std::make_unique<FakePort>(std::move(visits), false), options);
  size_t bytes = 0;
  Bytes piece(65536);
  // Section, interface, 8 packets: 28 + 20 bytes, then of each packet 32 and its record padded.
  size_t expected = 48;
  for (const Bytes& event : two_pings()) expected += 32 + (event.size() + 3) / 4 * 4;
  while (bytes < expected) bytes += *source->read(piece.data(), piece.size());
  goes_on = false;
  EXPECT_EQ(*source->read(piece.data(), piece.size()), 0u);
  EXPECT_EQ(bytes, expected);
}

// Nobody reads: the thread stops taking at 64 MiB and does not stand in the way of the end.
TEST(UsbmonSource, KeepsNoMoreThanItsBound) {
  Bytes event = two_pings()[2];
  event.resize(64 + 200'000);
  link::store_le32(event.data() + 36, 200'000);
  const auto taken = std::make_shared<std::atomic<size_t>>(0);
  class Endless final : public UsbmonPort {
   public:
    Endless(Bytes event, std::shared_ptr<std::atomic<size_t>> taken)
        : event_(std::move(event)), taken_(std::move(taken)) {}
    Got fetch(UsbmonBatch* batch) override {
      *batch = UsbmonBatch();
      batch->events.emplace_back(event_);
      ++*taken_;
      return Got::events;
    }

   private:
    Bytes event_;
    std::shared_ptr<std::atomic<size_t>> taken_;
  };
  LiveOptions options;
  options.keep_going = [] { return false; };
  const auto source = make_usbmon_source(std::make_unique<Endless>(event, taken), options);
  constexpr size_t kMost = (size_t{64} << 20) / 200'000 + 1;
  while (taken->load() < kMost) std::this_thread::yield();
  Bytes piece(1 << 20);
  size_t bytes = 0;
  while (const size_t got = *source->read(piece.data(), piece.size())) bytes += got;
  EXPECT_GE(bytes, size_t{64} << 20);
  // One more when there is room again, one more at the end.
  EXPECT_LE(taken->load(), kMost + 2);
}

TEST(UsbmonName, IsABusAndNothingElse) {
  EXPECT_TRUE(is_usbmon_name("usbmon0"));
  EXPECT_TRUE(is_usbmon_name("usbmon12"));
  for (const char* name : {"usbmon", "usbmon1.pcap", "/dev/usbmon1", "usbmon12345", "xusbmon1"}) {
    EXPECT_FALSE(is_usbmon_name(name)) << name;
  }
}

}  // namespace
}  // namespace millrace::capture
