// SPDX-License-Identifier: Apache-2.0
#include "link_probe.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "millrace/link/link_frame.h"
#include "testing/memory_transport.h"

namespace millrace::host {
namespace {

using testing::MemoryTransport;

constexpr int64_t kWaitNs = 50'000'000;

std::vector<uint8_t> notice(bool from_host) {
  std::vector<uint8_t> frame(link::LinkNotice::kBytes + link::kLinkOverhead);
  link::FrameHeader header;
  header.type = link::FrameType::notice;
  header.from_host = from_host;
  header.payload = static_cast<uint32_t>(
      link::encode(link::LinkNotice(), frame.data() + link::kLinkHeaderBytes));
  frame.resize(link::finish_frame(header, 0, frame.data()));
  return frame;
}

TEST(LinkProbe, FrameOfADeviceIsAnAnswerAlsoBehindNoise) {
  MemoryTransport port;
  port.push(std::vector<uint8_t>{'o', 'k', '\r', '\n'});
  port.push(notice(false));
  EXPECT_TRUE(speaks_link_protocol(port, kWaitNs));
}

TEST(LinkProbe, EchoNoiseAndSilenceAreNone) {
  MemoryTransport echo;
  echo.push(notice(true));
  EXPECT_FALSE(speaks_link_protocol(echo, kWaitNs));
  MemoryTransport noise;
  noise.push(std::vector<uint8_t>(5000, 0xd5));
  EXPECT_FALSE(speaks_link_protocol(noise, kWaitNs));
  MemoryTransport silent;
  EXPECT_FALSE(speaks_link_protocol(silent, kWaitNs));
  MemoryTransport gone;
  gone.close_port();
  EXPECT_FALSE(speaks_link_protocol(gone, kWaitNs));
}

}  // namespace
}  // namespace millrace::host
