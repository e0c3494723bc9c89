// SPDX-License-Identifier: Apache-2.0
// The host session against a device in memory and in virtual time that stops to answer, and a clock
// that runs on while this program does not.
#include "millrace/host/link_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "millrace/link/link_peer.h"
#include "testing/fake_device.h"

namespace millrace::host {
namespace {

using link::LinkPeer;

constexpr int64_t kMillisecond = 1'000'000;
constexpr size_t kRing = 65536;
constexpr size_t kSlots = 64;

// One stream each way. Deaf, it neither hears nor says anything.
class Device {
 public:
  explicit Device(testing::VirtualClock& clock)
      : clock_(clock),
        out_({out_ring_.data(), kRing, out_slots_.data(), kSlots}, {}),
        in_({in_ring_.data(), kRing, in_slots_.data(), kSlots}, 0) {
    link::LinkOptions options;
    options.senders = &sender_;
    options.sender_count = 1;
    options.receivers = &receiver_;
    options.receiver_count = 1;
    options.random = [](void* self) { return ++static_cast<Device*>(self)->random_; };
    options.random_context = this;
    peer_ = std::make_unique<LinkPeer>(options, scan_.data(), scan_.size());
  }

  void hear(std::span<const uint8_t> bytes) {
    if (is_deaf) return;
    while (!bytes.empty()) {
      size_t room = 0;
      uint8_t* to = peer_->space(&room);
      const size_t size = std::min(room, bytes.size());
      std::copy_n(bytes.begin(), size, to);
      peer_->received(size, now_us());
      bytes = bytes.subspan(size);
    }
  }
  size_t say(std::span<uint8_t> into) {
    if (is_deaf) return 0;
    peer_->poll(now_us());
    const link::OutputBytes out = peer_->output(now_us());
    const size_t size = std::min(out.size, into.size());
    std::copy_n(out.data, size, into.begin());
    peer_->sent(size, now_us());
    return size;
  }
  bool write(std::span<const uint8_t> bytes) {
    return out_.write(bytes.data(), bytes.size(), now_us()) == bytes.size();
  }

  bool is_deaf = false;

 private:
  uint64_t now_us() { return static_cast<uint64_t>(clock_.now_ns() / 1000); }

  testing::VirtualClock& clock_;
  uint32_t random_ = 0;
  std::vector<uint8_t> scan_ = std::vector<uint8_t>(2 * kRing),
                       out_ring_ = std::vector<uint8_t>(kRing),
                       in_ring_ = std::vector<uint8_t>(kRing);
  std::vector<link::SenderSlot> out_slots_ = std::vector<link::SenderSlot>(kSlots);
  std::vector<link::ReceiverSlot> in_slots_ = std::vector<link::ReceiverSlot>(kSlots);
  link::StreamSender out_;
  link::StreamReceiver in_;
  link::StreamSender* sender_ = &out_;
  link::StreamReceiver* receiver_ = &in_;
  std::unique_ptr<LinkPeer> peer_;
};

class Port final : public Transport {
 public:
  Port(Device& device, testing::VirtualClock& clock, int64_t& stop_ns)
      : device_(device), clock_(clock), stop_ns_(stop_ns) {}

  IoResult read(std::span<uint8_t> into, int64_t deadline_ns) override {
    if (const size_t size = device_.say(into); size != 0) return {IoKind::done, size, {}};
    clock_.sleep_until(std::max(deadline_ns, clock_.now_ns() + kMillisecond) + stop_ns_);
    stop_ns_ = 0;
    return {};
  }
  IoResult write(std::span<const uint8_t> from, int64_t) override {
    device_.hear(from);
    return {IoKind::done, from.size(), {}};
  }
  Clock& clock() override { return clock_; }
  const PortIdentity& identity() const override { return identity_; }
  Result<ModemLines> modem_lines() override { return ModemLines{}; }
  Status set_modem_lines(std::optional<bool>, std::optional<bool>) override { return {}; }
  std::string settings() const override { return "in memory"; }

 private:
  Device& device_;
  testing::VirtualClock& clock_;
  int64_t& stop_ns_;
  PortIdentity identity_;
};

class Memory final : public Endpoint {
 public:
  const std::string& name() const override { return name_; }
  Clock& clock() override { return clock_; }
  Result<std::unique_ptr<Transport>> open(const OpenOptions&) override {
    return std::unique_ptr<Transport>(std::make_unique<Port>(device, clock_, stop_ns));
  }
  Result<std::unique_ptr<Transport>> reopen(const OpenOptions& options, int64_t) override {
    return open(options);
  }

 private:
  std::string name_ = "memory";
  testing::VirtualClock clock_;

 public:
  Device device{clock_};
  int64_t stop_ns = 0;  // so long the next wait for bytes lasts beyond its deadline
};

constexpr uint8_t kBytes[] = {1, 2, 3, 4, 5};

// The 5 bytes, or what wait() said.
Status take_bytes(LinkSession& session, Device& device) {
  EXPECT_TRUE(device.write(kBytes));
  while (session.peek(0).kind == LinkItemKind::nothing) {
    const Status status = session.wait(session.clock().now_ns() + 10'000 * kMillisecond);
    if (!status) return status;
  }
  EXPECT_TRUE(std::ranges::equal(session.peek(0).data, kBytes));
  session.consume(0, sizeof(kBytes));
  return {};
}

Status wait_for(LinkSession& session, int64_t ms) {
  const int64_t until = session.clock().now_ns() + ms * kMillisecond;
  Status status;
  while (status && session.clock().now_ns() < until) status = session.wait(until);
  return status;
}

// 1.5 s of silence, then 3 s of HELLO without an answer.
TEST(LinkSession, ADeviceThatFallsSilentKeepsItsSession) {
  Memory memory;
  auto opened = LinkSession::open(memory, {});
  ASSERT_TRUE(opened) << opened.error().message;
  ASSERT_TRUE(take_bytes(**opened, memory.device));
  const LinkPlace place = (*opened)->place();
  memory.device.is_deaf = true;
  EXPECT_TRUE(wait_for(**opened, 4'300));
  const Status silent = wait_for(**opened, 700);
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().code, ErrorCode::gone) << silent.error().message;
  EXPECT_THAT(silent.error().message, ::testing::HasSubstr("is there and answers no more"));

  memory.device.is_deaf = false;
  LinkSettings again;
  again.resume = place;
  opened = LinkSession::open(memory, again);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ((*opened)->place().session, place.session);
  EXPECT_TRUE(take_bytes(**opened, memory.device));
}

// A minute in which this program does not run, at whatever moment: the device was not silent.
TEST(LinkSession, ATimeInWhichThisProgramWasStoppedIsNoSilence) {
  constexpr int64_t kMinuteNs = 60'000 * kMillisecond;
  for (const int64_t deaf_ms : {0, 100, 1'000, 1'700, 4'000}) {
    Memory memory;
    auto opened = LinkSession::open(memory, {});
    ASSERT_TRUE(opened) << opened.error().message;
    memory.device.is_deaf = true;
    EXPECT_TRUE(wait_for(**opened, deaf_ms));
    memory.stop_ns = kMinuteNs;
    EXPECT_TRUE((*opened)->wait((*opened)->clock().now_ns() + kMillisecond)) << deaf_ms;
    memory.device.is_deaf = false;
    const Status taken = take_bytes(**opened, memory.device);
    EXPECT_TRUE(taken) << deaf_ms << ": " << taken.error().message;
  }
}

TEST(LinkSession, StoppedWhileItConnectsItGoesOn) {
  Memory memory;
  memory.device.is_deaf = true;
  memory.stop_ns = 60'000 * kMillisecond;
  const auto silent = LinkSession::open(memory, {});
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().code, ErrorCode::timeout) << silent.error().message;
  // A minute, and the patience of 3 s (500 ms more for the question whether it measures).
  EXPECT_GE(memory.clock().now_ns(), 60'000 * kMillisecond + 3'000 * kMillisecond);
}

}  // namespace
}  // namespace millrace::host
