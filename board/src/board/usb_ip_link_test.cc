// SPDX-License-Identifier: Apache-2.0
#include "board/usb_ip_link.h"

#include <gtest/gtest.h>

#include <optional>

#include "usb/testing/usb_host_fixture.h"
#include "usb/testing/usb_ip_bytes.h"

namespace millrace::board {
namespace {

using testing::Bytes;
using testing::FakeUsbDevice;
using testing::get_be;

class UsbIpLinkTest : public testing::DeviceFixture {
 protected:
  static constexpr Cycles kMs = 600'000;

  UsbIpLinkTest() {
    link.emplace(
        host.queue, clocks, device, [this](UsbHostEnd* end) { connected = end; },
        testing::quick_profile(), UsbHostOptions());
  }
  void run(Cycles cycles) { run_to(host.queue.now() + cycles); }
  void plug_in() {
    link->plug_in();
    run(100 * kMs);
    ASSERT_TRUE(link->is_ready());
  }
  Bytes answer(const Bytes& bytes) {
    EXPECT_EQ(link->receive(bytes), bytes.size());
    run(kMs);
    const Bytes out(link->output().begin(), link->output().end());
    link->consume(out.size());
    return out;
  }
  void import() {
    plug_in();
    answer(testing::ip_import("1-1"));
    ASSERT_TRUE(link->is_imported());
  }

  FakeUsbDevice device;
  UsbHostEnd* connected = nullptr;
  std::optional<UsbIpLink> link;
};

TEST_F(UsbIpLinkTest, TheDeviceIsReadyWhilePluggedIn) {
  EXPECT_NE(connected, nullptr);
  EXPECT_FALSE(link->is_ready());
  plug_in();
  EXPECT_EQ(link->problem(), "");
  link->unplug();
  EXPECT_FALSE(link->is_ready());
  link.reset();
  EXPECT_EQ(connected, nullptr);
}

TEST_F(UsbIpLinkTest, CarriesATransfer) {
  import();
  testing::IpSubmit get_descriptor;
  get_descriptor.in = true;
  get_descriptor.length = 18;
  get_descriptor.setup = {0x80, 6, 0, 1, 0, 0, 18, 0};
  const Bytes reply = answer(get_descriptor.bytes());
  ASSERT_EQ(reply.size(), 48u + 18);
  EXPECT_EQ(link->counts().imports, 1u);
  EXPECT_EQ(link->counts().bytes_in, 18u);
}

TEST_F(UsbIpLinkTest, ADeviceThatDoesNotAnswerIsAProblem) {
  device.dead = true;
  link->plug_in();
  run(60'000 * kMs);
  EXPECT_FALSE(link->is_ready());
  EXPECT_NE(link->problem(), "");
}

TEST_F(UsbIpLinkTest, TheDeviceIsPluggedInAgainWhenItsClientGoes) {
  import();
  device.log.clear();
  link->disconnect();
  EXPECT_FALSE(link->is_ready());
  EXPECT_FALSE(link->is_imported());
  EXPECT_EQ(device.log, "detach ");
  run(UsbIpLink::kReplugNs * 6 / 10 - kMs);  // 600 cycles a microsecond
  EXPECT_EQ(device.log, "detach ");
  run(100 * kMs);
  EXPECT_TRUE(device.log.starts_with("detach attach reset ")) << device.log;
  EXPECT_TRUE(link->is_ready());
  answer(testing::ip_import("1-1"));
  EXPECT_TRUE(link->is_imported());
}

TEST_F(UsbIpLinkTest, AClientThatOnlyLooksLeavesTheDeviceAlone) {
  plug_in();
  EXPECT_EQ(get_be(answer(testing::ip_devlist()), 8), 1u);
  device.log.clear();
  link->disconnect();
  run(200 * kMs);
  EXPECT_TRUE(link->is_ready());
  EXPECT_EQ(device.log, "");
}

TEST_F(UsbIpLinkTest, ADeviceThatWasPulledOutStaysOut) {
  import();
  link->unplug();
  link->disconnect();
  run(500 * kMs);
  EXPECT_FALSE(link->is_ready());
  plug_in();
}

TEST_F(UsbIpLinkTest, PlugsInAgainAfterABrokenProtocol) {
  import();
  EXPECT_LT(link->receive(Bytes(48, 0xFF)), 49u);
  EXPECT_NE(link->client_problem(), "");
  link->disconnect();
  EXPECT_EQ(link->client_problem(), "");
  EXPECT_FALSE(link->is_ready());
  run(200 * kMs);
  EXPECT_TRUE(link->is_ready());
}

}  // namespace
}  // namespace millrace::board
