// SPDX-License-Identifier: Apache-2.0
#include "cli/output_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace millrace::cli {
namespace {

namespace fs = std::filesystem;

class OutputFile : public ::testing::Test {
 protected:
  OutputFile() {
    std::string pattern = testing::TempDir() + "millrace-output-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~OutputFile() override { fs::remove_all(folder_); }

  static std::string content(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

TEST_F(OutputFile, ReplacesTheOldFileAndLeavesNothingElse) {
  const fs::path path = folder_ / "a.json";
  ASSERT_TRUE(write_output(path, "old"));
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(write_output(path, "new"));
  EXPECT_EQ(content(path), "new");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFile, ASymbolicLinkStaysOne) {
  ASSERT_TRUE(write_output(folder_ / "real", "old"));
  fs::create_symlink("real", folder_ / "link");
  ASSERT_TRUE(write_output(folder_ / "link", "new"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(content(folder_ / "real"), "new");
}

TEST_F(OutputFile, AMissingFolderIsNamed) {
  const std::string path = folder_ / "none" / "a.json";
  const host::Status written = write_output(path, "x");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, host::ErrorCode::not_found);
  EXPECT_NE(written.error().message.find(path), std::string::npos);
  EXPECT_FALSE(check_output(path));
}

TEST_F(OutputFile, AFolderIsRefused) {
  EXPECT_EQ(write_output(folder_, "x").error().code, host::ErrorCode::usage);
  EXPECT_EQ(check_output(folder_).error().code, host::ErrorCode::usage);
}

// NAME_MAX is 255.
TEST_F(OutputFile, ANameThatIsTooLongIsSaidSo) {
  const std::string path = folder_ / std::string(256, 'x');
  for (const host::Status& status : {check_output(path), write_output(path, "x")}) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, host::ErrorCode::usage);
    EXPECT_NE(status.error().message.find("too long (give a shorter one)"), std::string::npos);
  }
}

TEST_F(OutputFile, ADeviceIsWrittenToAndStays) {
  EXPECT_TRUE(check_output("/dev/full"));
  EXPECT_EQ(write_output("/dev/full", "x").error().code, host::ErrorCode::no_space);
  EXPECT_TRUE(write_output("/dev/null", "x"));
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace millrace::cli
