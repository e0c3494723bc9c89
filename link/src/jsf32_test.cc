// SPDX-License-Identifier: Apache-2.0
#include "millrace/link/jsf32.h"

#include <gtest/gtest.h>

#include "test_vector_file.h"

namespace millrace::link {
namespace {

TEST(Jsf32, YieldsTheVectors) {
  Jsf32 generator(0);
  uint64_t seed = ~uint64_t{0};
  uint64_t next = 0;
  size_t lines = 0;
  for (const std::vector<std::string>& words : read_vectors("jsf32.txt")) {
    ASSERT_EQ(words.size(), 3u);
    if (std::stoull(words[0]) != seed) {
      seed = std::stoull(words[0]);
      generator = Jsf32(static_cast<uint32_t>(seed));
      next = 0;
    }
    uint32_t value = 0;
    for (const uint64_t index = std::stoull(words[1]); next <= index; ++next) {
      value = generator.next();
    }
    EXPECT_EQ(value, std::stoul(words[2])) << "seed " << words[0] << " index " << words[1];
    EXPECT_EQ(generator.current(), value);
    ++lines;
  }
  EXPECT_EQ(lines, 34u);
}

TEST(Jsf32, StepsBackOverEveryOutput) {
  Jsf32 generator(42);
  std::vector<uint32_t> outputs;
  for (int i = 0; i < 1000; ++i) outputs.push_back(generator.next());
  for (int i = 999; i > 0; --i) {
    ASSERT_EQ(generator.current(), outputs[static_cast<size_t>(i)]);
    generator.step_back();
  }
  for (int i = 1; i < 1000; ++i) {
    ASSERT_EQ(generator.next(), outputs[static_cast<size_t>(i)]);
  }
}

}  // namespace
}  // namespace millrace::link
