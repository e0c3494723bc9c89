// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "linux/usbmon_port.h"
#include "millrace/capture/capture_analysis.h"
#include "testing/capture_builder.h"

namespace millrace::capture {
namespace {

// Gives records as the kernel would, with nothing in between now and then, and drops before some.
class FakePort final : public UsbmonPort {
 public:
  struct Event {
    Bytes record;
    uint64_t dropped_before = 0;
  };
  explicit FakePort(std::vector<Event> events) : events_(std::move(events)) {}

  Got get(uint8_t* header, uint8_t* data, size_t) override {
    if (next_ == events_.size()) return Got::end;
    if ((is_idle_ = !is_idle_)) return Got::nothing;
    const Event& event = events_[next_++];
    std::copy(event.record.begin(), event.record.begin() + 64, header);
    std::copy(event.record.begin() + 64, event.record.end(), data);
    dropped_ += event.dropped_before;
    return Got::event;
  }
  uint64_t dropped() override { return dropped_; }

 private:
  std::vector<Event> events_;
  size_t next_ = 0;
  bool is_idle_ = false;
  uint64_t dropped_ = 0;
};

std::vector<FakePort::Event> two_pings() {
  std::vector<TestRecord> records;
  add_transfer(&records, 1, 0x02, 0, 10, ping_frame(false, 1, 1));
  add_transfer(&records, 2, 0x82, 5, 60, ping_frame(true, 1, 1), 2048);
  add_transfer(&records, 1, 0x02, 100, 110, ping_frame(false, 1, 2));
  add_transfer(&records, 2, 0x82, 105, 190, ping_frame(true, 1, 2), 2048);
  std::stable_sort(records.begin(), records.end(),
                   [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  std::vector<FakePort::Event> events;
  for (const TestRecord& record : records) events.push_back({record.data, 0});
  return events;
}

TEST(UsbmonSource, EventsComeOutAsACapture) {
  Bytes copied;
  LiveOptions options;
  options.copy = [&](const uint8_t* bytes, size_t size) {
    copied.insert(copied.end(), bytes, bytes + size);
  };
  const auto source = make_usbmon_source(std::make_unique<FakePort>(two_pings()), options);
  const auto live = analyse(source.get(), "live", {});
  ASSERT_TRUE(live);
  const DeviceAnalysis* device = nullptr;
  ASSERT_NE((*live)->headline(&device), nullptr);
  // 50 and 80 us.
  EXPECT_EQ((*live)->headline(&device)->median_of_first_ns(), 65'000);
  MemorySource file(copied);
  const auto again = analyse(&file, "copy", {});
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)->file.records, 8u);
  EXPECT_EQ((*again)->headline(&device)->median_of_first_ns(), 65'000);
}

TEST(UsbmonSource, DroppedEventsShutOutWhatIsOpen) {
  std::vector<FakePort::Event> events = two_pings();
  events[6].dropped_before = 4;  // between the second ping and its answer
  const auto source = make_usbmon_source(std::make_unique<FakePort>(events), {});
  const auto live = analyse(source.get(), "live", {});
  ASSERT_TRUE(live);
  EXPECT_EQ((*live)->file.dropped, 4u);
  const DeviceAnalysis* device = nullptr;
  EXPECT_EQ((*live)->headline(&device)->times.count(), 1u);
}

TEST(UsbmonSource, EndsWhenItIsTold) {
  LiveOptions options;
  int asked = 0;
  options.keep_going = [&] { return ++asked < 5; };
  const auto source = make_usbmon_source(std::make_unique<FakePort>(two_pings()), options);
  const auto live = analyse(source.get(), "live", {});
  ASSERT_TRUE(live);
  EXPECT_EQ((*live)->file.records, 2u);  // every other question has no event
  EXPECT_FALSE((*live)->file.cut_short);
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
