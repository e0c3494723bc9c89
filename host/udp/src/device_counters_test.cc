// SPDX-License-Identifier: Apache-2.0
#include "millrace/udp/device_counters.h"

#include <gtest/gtest.h>

#include "millrace/udp/step.h"
#include "testing/fake_echo.h"

namespace millrace::udp {
namespace {

using link::EchoCounter;
using link::EchoCounters;
using testing::FakeEcho;
using testing::FakeEchoPort;

TEST(DeviceCounters, AreReadFromADeviceThatHasThem) {
  FakeEcho fake;
  fake.has_counters = true;
  FakeEchoPort port(fake);
  StepPlan plan;
  plan.rate_per_s = 1000;
  plan.duration_ns = 100'000'000;
  Session session{7, 0, [] { return true; }};
  run_step(port, plan, session);
  const auto counters = read_counters(port, 1'000'000);
  ASSERT_TRUE(counters);
  EXPECT_EQ((*counters)[EchoCounter::echo_requests], 100u);
}

TEST(DeviceCounters, AServerWithoutThemHasNone) {
  FakeEchoPort port({});
  EXPECT_FALSE(read_counters(port, 1'000'000));
}

// Answers with what it is given, with the tag of the request.
class Answering final : public DatagramPort, private host::Clock {
 public:
  explicit Answering(std::vector<uint8_t> answer) : answer_(std::move(answer)) {}
  host::Clock& clock() override { return *this; }
  size_t send(std::span<const std::span<const uint8_t>>) override { return 0; }
  size_t receive(int64_t, const std::function<void(const Arrival&)>&) override { return 0; }
  std::optional<host::Error> trouble() override { return std::nullopt; }
  HostDrops host_drops() override { return {}; }
  PingCount ping(uint32_t) override { return {}; }
  std::vector<uint8_t> ask(uint16_t, std::span<const uint8_t> request, int64_t) override {
    for (size_t i = 0; i < 4 && 8 + i < answer_.size(); ++i) answer_[8 + i] = request[8 + i];
    return answer_;
  }
  const PortInfo& info() const override { return info_; }

 private:
  int64_t now_ns() override { return 0; }
  void sleep_until(int64_t) override {}
  bool is_virtual() const override { return true; }
  std::vector<uint8_t> answer_;
  PortInfo info_;
};

TEST(DeviceCounters, AnythingElseThatAnswersIsNoDevice) {
  EchoCounters counters;
  counters[EchoCounter::frames_sent] = 3;
  std::vector<uint8_t> good(link::kEchoCountersReplyBytes);
  link::encode_counters_reply(0, counters, good.data());
  Answering device(good);
  ASSERT_TRUE(read_counters(device, 1));
  for (size_t size = 0; size < good.size(); ++size) {
    Answering cut({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)});
    EXPECT_FALSE(read_counters(cut, 1)) << size;
  }
  // An echo server on that port sends the request back.
  uint8_t request[link::kEchoCountersRequestBytes];
  link::encode_counters_request(0, request);
  Answering echo({std::begin(request), std::end(request)});
  EXPECT_FALSE(read_counters(echo, 1));
}

TEST(DeviceCounters, DifferencesWrapAndValuesStay) {
  EchoCounters before, after;
  before[EchoCounter::echo_requests] = 0xFFFFFFFE;
  after[EchoCounter::echo_requests] = 3;
  before[EchoCounter::rx_buffers_low] = 7;
  after[EchoCounter::rx_buffers_low] = 5;
  const EchoCounters d = difference(after, before);
  EXPECT_EQ(d[EchoCounter::echo_requests], 5u);
  EXPECT_EQ(d[EchoCounter::rx_buffers_low], 5u);
}

}  // namespace
}  // namespace millrace::udp
