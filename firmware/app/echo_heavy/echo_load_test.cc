// SPDX-License-Identifier: Apache-2.0
#include "firmware/app/echo_heavy/echo_load.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace millrace::firmware {
namespace {

std::vector<uint8_t> example() {
  std::vector<uint8_t> payload(32);
  std::iota(payload.begin(), payload.end(), uint8_t{0});
  return payload;
}

TEST(EchoLoad, ComputesWhatItsMakerSays) {
  EXPECT_EQ(echo_load(example().data(), 32), echo_load_of_example());
}

TEST(EchoLoad, DependsOnPayloadAndSize) {
  std::vector<uint8_t> payload = example();
  EXPECT_NE(echo_load(payload.data(), 31), echo_load_of_example());
  payload[0] = 1;
  EXPECT_NE(echo_load(payload.data(), 32), echo_load_of_example());
}

}  // namespace
}  // namespace millrace::firmware
