// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>

#include "millrace/capture/byte_source.h"

namespace millrace::capture {
namespace {

class FifoTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "millrace_fifo_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = folder_ + "/fifo";
    ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  }
  void TearDown() override {
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }

  std::string folder_, path_;
};

TEST_F(FifoTest, WithoutAWriterIsLeftWhenItIsTold) {
  int asked = 0;
  const auto source = open_capture(path_, [&] { return ++asked < 2; });
  ASSERT_TRUE(source);
  std::array<uint8_t, 16> bytes{};
  const auto got = (*source)->read(bytes.data(), bytes.size());
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, host::ErrorCode::interrupted);
  EXPECT_EQ(asked, 2);
}

TEST_F(FifoTest, WaitsForAWriterAndItsEnd) {
  // The writer comes while the reader waits.
  int writer = -1;
  const auto source = open_capture(path_, [&] {
    if (writer < 0) {
      writer = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
      EXPECT_EQ(write(writer, "abc", 3), 3);
    }
    return true;
  });
  ASSERT_TRUE(source);
  std::array<uint8_t, 16> bytes{};
  auto got = (*source)->read(bytes.data(), bytes.size());
  ASSERT_TRUE(got);
  EXPECT_EQ(*got, 3u);
  close(writer);
  got = (*source)->read(bytes.data(), bytes.size());
  ASSERT_TRUE(got);
  EXPECT_EQ(*got, 0u);
}

}  // namespace
}  // namespace millrace::capture
