// SPDX-License-Identifier: Apache-2.0
// The device's side of a PTY, for tests.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "linux/file_descriptor.h"

namespace millrace::host {

class TestPty {
 public:
  TestPty() : master_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    EXPECT_TRUE(master_.valid());
    EXPECT_EQ(::grantpt(master_.get()), 0);
    EXPECT_EQ(::unlockpt(master_.get()), 0);
    std::array<char, 64> name{};
    EXPECT_EQ(::ptsname_r(master_.get(), name.data(), name.size()), 0);
    path_ = name.data();
  }
  const std::string& path() const { return path_; }
  int master() const { return master_.get(); }
  // The device is unplugged.
  void hang_up() { master_.reset(); }

  // Blocks until all of it is in the tty. False: hung up.
  bool send(const std::vector<uint8_t>& bytes) const {
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t put = ::write(master_.get(), bytes.data() + done, bytes.size() - done);
      if (put <= 0) return false;
      done += static_cast<size_t>(put);
    }
    return true;
  }
  // Blocks until `size` bytes have come.
  std::vector<uint8_t> receive(size_t size) const {
    std::vector<uint8_t> bytes(size);
    size_t done = 0;
    while (done < size) {
      const ssize_t got = ::read(master_.get(), bytes.data() + done, size - done);
      if (got <= 0) break;
      done += static_cast<size_t>(got);
    }
    bytes.resize(done);
    return bytes;
  }
  // What can be had without waiting.
  std::vector<uint8_t> receive_ready() const {
    std::vector<uint8_t> bytes;
    pollfd ready{master_.get(), POLLIN, 0};
    while (::poll(&ready, 1, 0) == 1 && (ready.revents & POLLIN) != 0) {
      const std::vector<uint8_t> one = receive(1);
      bytes.insert(bytes.end(), one.begin(), one.end());
    }
    return bytes;
  }

 private:
  FileDescriptor master_;
  std::string path_;
};

// A folder that goes with the test.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "millrace-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace millrace::host
