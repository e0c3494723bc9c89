// SPDX-License-Identifier: Apache-2.0
// The device against spec/vectors.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "firmware/app/device_fixture.h"

namespace millrace::firmware {
namespace {

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

// The words of every line that starts with `name`, without it.
std::vector<std::vector<std::string>> vectors(const char* file, const std::string& name) {
  std::vector<std::vector<std::string>> result;
  std::ifstream in(std::string(MILLRACE_SOURCE_DIR "/spec/vectors/") + file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream stream(line);
    std::string word;
    stream >> word;
    if (word != name) continue;
    result.emplace_back();
    while (stream >> word) result.back().push_back(word);
  }
  EXPECT_FALSE(result.empty()) << file << " " << name;
  return result;
}

TEST(DeviceVectors, Frames) {
  for (const auto& words : vectors("classic_stream.txt", "frames")) {
    StreamDeviceOptions options;
    options.classic_seed = static_cast<uint32_t>(std::stoul(words[0]));
    const uint32_t size = static_cast<uint32_t>(std::stoul(words[1]));
    const uint32_t count = static_cast<uint32_t>(words.size() - 2);
    DeviceFixture f(options);
    f.send(handshake_bytes(size, count, 0));
    const std::string got = f.received();
    ASSERT_EQ(got.size(), size_t{size} * count);
    for (uint32_t i = 0; i < count; ++i) {
      const std::string expected = from_hex(words[i + 2]);
      EXPECT_EQ(got.substr(size_t{i} * size, expected.size()), expected) << size << " " << i;
    }
  }
}

TEST(DeviceVectors, HandshakesAndProbe) {
  for (const auto& words : vectors("classic_stream.txt", "handshake")) {
    DeviceFixture f;
    f.port.accept = 1;
    f.port.host_sends(from_hex(words[3]));
    f.device.poll();
    const bool asks = words[1] != "0" && std::stoul(words[0]) <= CommandParser::kMaxFrameBytes;
    EXPECT_EQ(f.device.run_active(), asks) << words[3];
  }
  DeviceFixture f;
  f.send(from_hex(vectors("classic_stream.txt", "probe")[0][0]));
  EXPECT_TRUE(take<link::Hello>(&f.port.output, link::MessageType::hello));
}

TEST(DeviceVectors, RunAndStarted) {
  DeviceFixture f;
  f.port.next_entropy = 0x12345678;  // session_id=305419896
  ASSERT_EQ(f.open_session(), 0x12345678u);
  f.port.host_sends(from_hex(vectors("stream.txt", "RUN")[0][0]));
  f.device.poll();
  EXPECT_EQ(f.received(), from_hex(vectors("stream.txt", "STARTED")[0][0]));
}

}  // namespace
}  // namespace millrace::firmware
