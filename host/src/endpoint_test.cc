// SPDX-License-Identifier: Apache-2.0
// Names and replugs on a machine that exists only here, in virtual time.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "port_system.h"

namespace millrace::host {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kSecond = 1'000'000'000;

class VirtualClock final : public Clock {
 public:
  int64_t now_ns() override { return now_; }
  void sleep_until(int64_t deadline_ns) override {
    ++sleeps;
    now_ = std::max(now_, deadline_ns);
    if (on_sleep) on_sleep(now_);
  }
  bool is_virtual() const override { return true; }

  int sleeps = 0;
  std::function<void(int64_t)> on_sleep;

 private:
  int64_t now_ = 0;
};

class FakeTransport final : public Transport {
 public:
  FakeTransport(Clock& clock, PortIdentity identity)
      : clock_(clock), identity_(std::move(identity)) {}
  IoResult read(std::span<uint8_t>, int64_t) override { return {}; }
  IoResult write(std::span<const uint8_t>, int64_t) override { return {}; }
  Clock& clock() override { return clock_; }
  const PortIdentity& identity() const override { return identity_; }
  Result<ModemLines> modem_lines() override { return ModemLines{}; }
  Status set_modem_lines(std::optional<bool>, std::optional<bool>) override { return {}; }
  std::string settings() const override { return ""; }

 private:
  Clock& clock_;
  PortIdentity identity_;
};

class FakeSystem final : public PortSystem {
 public:
  bool slash_makes_a_path = false;  // as on Linux
  bool is_port_name(const std::string& name) override {
    return slash_makes_a_path ? name.find('/') != std::string::npos : name[0] == '/';
  }
  Result<std::string> resolve(const std::string& name) override {
    const auto link = links.find(name);
    const std::string path = link == links.end() ? name : link->second;
    for (const PortIdentity& port : ports) {
      if (port.path == path) return path;
    }
    return Error{ErrorCode::not_found, path + ": there is no such port"};
  }
  Result<std::vector<PortIdentity>> list() override { return ports; }
  Result<std::unique_ptr<Transport>> open(const std::string& path, const OpenOptions&) override {
    ++opens;
    if (!failures.empty()) {
      const ErrorCode code = failures.front();
      failures.erase(failures.begin());
      return Error{code, "open " + path + ": refused"};
    }
    for (const PortIdentity& port : ports) {
      if (port.path == path) {
        return std::unique_ptr<Transport>(std::make_unique<FakeTransport>(clock_, port));
      }
    }
    return Error{ErrorCode::not_found, path};
  }
  VirtualClock& clock() override { return clock_; }
  bool may_return(const std::string& name) override { return name != forgotten; }

  std::string forgotten;  // a name that may_return() refuses
  std::vector<PortIdentity> ports;
  std::map<std::string, std::string> links;
  std::vector<ErrorCode> failures;  // of the next opens
  int opens = 0;

 private:
  VirtualClock clock_;
};

PortIdentity usb_port(const std::string& path, const std::string& serial,
                      const std::string& usb_path = "1-2:1.0") {
  PortIdentity port;
  port.path = path;
  port.serial_number = serial;
  port.usb_path = usb_path;
  port.vid = 0x16c0;
  port.pid = 0x0483;
  port.is_usb = true;
  return port;
}

class EndpointTest : public ::testing::Test {
 protected:
  std::unique_ptr<Endpoint> make(const std::string& name) {
    Result<std::unique_ptr<Endpoint>> endpoint = make_endpoint_on(system, name, {});
    EXPECT_TRUE(endpoint.ok()) << (endpoint.ok() ? "" : endpoint.error().message);
    return endpoint.ok() ? std::move(*endpoint) : nullptr;
  }
  // The path of the port that `result` opened, or its error.
  static std::string path_of(const Result<std::unique_ptr<Transport>>& result) {
    return result.ok() ? (*result)->identity().path : "error: " + result.error().message;
  }
  Error make_error(const std::string& name, const std::vector<EndpointScheme>& schemes = {}) {
    const Result<std::unique_ptr<Endpoint>> endpoint = make_endpoint_on(system, name, schemes);
    EXPECT_FALSE(endpoint.ok()) << name;
    return endpoint.ok() ? Error{} : endpoint.error();
  }

  FakeSystem system;
};

TEST_F(EndpointTest, PathOpensThatPort) {
  system.ports = {usb_port("/dev/ttyACM0", "1"), usb_port("/dev/ttyACM1", "2")};
  const auto endpoint = make("/dev/ttyACM1");
  EXPECT_EQ(endpoint->name(), "/dev/ttyACM1");
  EXPECT_EQ(path_of(endpoint->open({})), "/dev/ttyACM1");
}

TEST_F(EndpointTest, SymlinkIsResolvedAtEveryOpen) {
  system.ports = {usb_port("/dev/ttyACM0", "1"), usb_port("/dev/ttyACM1", "2")};
  system.links["/dev/board"] = "/dev/ttyACM0";
  const auto endpoint = make("/dev/board");
  EXPECT_EQ(path_of(endpoint->open({})), "/dev/ttyACM0");
  system.links["/dev/board"] = "/dev/ttyACM1";
  EXPECT_EQ(path_of(endpoint->open({})), "/dev/ttyACM1");
}

TEST_F(EndpointTest, AbsentPathNamesWhatIsThere) {
  system.ports = {usb_port("/dev/ttyACM0", "7654320")};
  const Result<std::unique_ptr<Transport>> port = make("/dev/ttyACM9")->open({});
  ASSERT_FALSE(port.ok());
  EXPECT_EQ(port.error().code, ErrorCode::not_found);
  EXPECT_THAT(port.error().message, HasSubstr("/dev/ttyACM9"));
  EXPECT_THAT(port.error().message, HasSubstr("there are: /dev/ttyACM0 (16c0:0483, 7654320)"));
}

TEST_F(EndpointTest, AbsentPathOnAnEmptyMachineSaysSo) {
  const Result<std::unique_ptr<Transport>> port = make("/dev/ttyACM9")->open({});
  ASSERT_FALSE(port.ok());
  EXPECT_THAT(port.error().message, HasSubstr("no serial port on this machine"));
}

TEST_F(EndpointTest, UsbIdFindsItsBoard) {
  PortIdentity other = usb_port("/dev/ttyACM0", "1");
  other.pid = 0x0484;
  system.ports = {other, usb_port("/dev/ttyACM1", "2")};
  EXPECT_EQ(path_of(make("usb:16c0:0483")->open({})), "/dev/ttyACM1");
  EXPECT_EQ(path_of(make("usb:16C0:483")->open({})), "/dev/ttyACM1");
}

TEST_F(EndpointTest, UsbIdOfTwoBoardsListsThem) {
  system.ports = {usb_port("/dev/ttyACM0", "1"), usb_port("/dev/ttyACM1", "2")};
  const Result<std::unique_ptr<Transport>> port = make("usb:16c0:0483")->open({});
  ASSERT_FALSE(port.ok());
  EXPECT_EQ(port.error().code, ErrorCode::usage);
  EXPECT_THAT(port.error().message, HasSubstr("/dev/ttyACM0 (16c0:0483, 1)"));
  EXPECT_THAT(port.error().message, HasSubstr("/dev/ttyACM1 (16c0:0483, 2)"));
  EXPECT_THAT(port.error().message, HasSubstr("serial:NUMBER"));
}

TEST_F(EndpointTest, UsbIdOfNoBoardNamesWhatIsThere) {
  system.ports = {usb_port("/dev/ttyACM0", "1")};
  const Result<std::unique_ptr<Transport>> port = make("usb:0403:6001")->open({});
  ASSERT_FALSE(port.ok());
  EXPECT_EQ(port.error().code, ErrorCode::not_found);
  EXPECT_THAT(port.error().message, HasSubstr("no port with USB id 0403:6001"));
  EXPECT_THAT(port.error().message, HasSubstr("/dev/ttyACM0"));
}

TEST_F(EndpointTest, SerialNumberFindsItsBoard) {
  system.ports = {usb_port("/dev/ttyACM0", "1"), usb_port("/dev/ttyACM1", "22")};
  EXPECT_EQ(path_of(make("serial:22")->open({})), "/dev/ttyACM1");
  const Result<std::unique_ptr<Transport>> port = make("serial:2")->open({});
  ASSERT_FALSE(port.ok());
  EXPECT_EQ(port.error().code, ErrorCode::not_found);
  EXPECT_THAT(port.error().message, HasSubstr("no port with serial number 2"));
}

TEST_F(EndpointTest, SerialNumberMayHoldColons) {
  system.ports = {usb_port("/dev/ttyACM0", "E6:60:58")};
  EXPECT_EQ(path_of(make("serial:E6:60:58")->open({})), "/dev/ttyACM0");
}

TEST_F(EndpointTest, SerialNumberMayHoldSlashes) {
  system.slash_makes_a_path = true;
  system.ports = {usb_port("/dev/ttyACM0", "a/b")};
  EXPECT_EQ(path_of(make("serial:a/b")->open({})), "/dev/ttyACM0");
  const Result<std::unique_ptr<Transport>> port = make("serial:a/c")->open({});
  ASSERT_FALSE(port.ok());
  EXPECT_EQ(port.error().code, ErrorCode::not_found);
  EXPECT_THAT(port.error().message, HasSubstr("no port with serial number a/c"));
  EXPECT_EQ(make_error("usb:16c0/0483").code, ErrorCode::usage);
}

TEST_F(EndpointTest, BadNamesAreUsageErrors) {
  for (const char* name : {"", "usb:", "usb:16c0", "usb:16c0:", "usb::0483", "usb:16c00:0483",
                           "usb:16c0:048g", "usb:16c0:0483:1", "serial:", "ftp:x", "usb:-1:0483"}) {
    EXPECT_EQ(make_error(name).code, ErrorCode::usage) << name;
  }
}

TEST_F(EndpointTest, SchemeGetsWhatStandsBehindItsColon) {
  std::string seen;
  const std::vector<EndpointScheme> schemes = {
      {"pc", [&seen](const std::string& rest) -> Result<std::unique_ptr<Endpoint>> {
         seen = rest;
         return Error{ErrorCode::unsupported, "a test"};
       }}};
  EXPECT_EQ(make_error("pc:?drop=512@1e6", schemes).code, ErrorCode::unsupported);
  EXPECT_EQ(seen, "?drop=512@1e6");
  const Error error = make_error("board:image.elf", schemes);
  EXPECT_EQ(error.code, ErrorCode::usage);
  EXPECT_THAT(error.message, HasSubstr("pc:"));
}

TEST_F(EndpointTest, ReopenFollowsTheSerialNumberToAnotherPath) {
  system.ports = {usb_port("/dev/ttyACM0", "7654320")};
  const auto endpoint = make("/dev/ttyACM0");
  ASSERT_TRUE(endpoint->open({}).ok());
  system.ports.clear();
  system.clock().on_sleep = [this](int64_t now) {
    // Another board takes the old path first.
    if (now >= kSecond / 2) system.ports = {usb_port("/dev/ttyACM0", "999", "1-9:1.0")};
    if (now >= kSecond) system.ports.push_back(usb_port("/dev/ttyACM1", "7654320"));
  };
  EXPECT_EQ(path_of(endpoint->reopen({}, 10 * kSecond)), "/dev/ttyACM1");
  EXPECT_LT(system.clock().now_ns(), 11 * kSecond / 10) << "polls every 50 ms";
  EXPECT_EQ(system.clock().sleeps, 20) << "1 s in steps of 50 ms";
}

TEST_F(EndpointTest, ReopenTakesTheSamePortOfABoardWithTwo) {
  system.ports = {usb_port("/dev/ttyACM0", "1", "1-2:1.0"),
                  usb_port("/dev/ttyACM1", "1", "1-2:1.2")};
  const auto endpoint = make("/dev/ttyACM1");
  ASSERT_TRUE(endpoint->open({}).ok());
  system.ports = {usb_port("/dev/ttyACM3", "1", "1-4:1.0"),
                  usb_port("/dev/ttyACM4", "1", "1-4:1.2")};
  EXPECT_EQ(path_of(endpoint->reopen({}, kSecond)), "/dev/ttyACM4");
}

TEST_F(EndpointTest, ReopenOfABoardWithoutSerialNumberGoesByItsPlace) {
  system.ports = {usb_port("/dev/ttyACM0", "", "1-2:1.0")};
  const auto endpoint = make("/dev/ttyACM0");
  ASSERT_TRUE(endpoint->open({}).ok());
  system.ports = {usb_port("/dev/ttyACM0", "", "1-7:1.0"), usb_port("/dev/ttyACM1", "", "1-2:1.0")};
  EXPECT_EQ(path_of(endpoint->reopen({}, kSecond)), "/dev/ttyACM1");
}

TEST_F(EndpointTest, ReopenByUsbIdIsNotConfusedByASecondBoard) {
  system.ports = {usb_port("/dev/ttyACM0", "1")};
  const auto endpoint = make("usb:16c0:0483");
  ASSERT_TRUE(endpoint->open({}).ok());
  system.ports = {usb_port("/dev/ttyACM0", "2"), usb_port("/dev/ttyACM1", "1")};
  EXPECT_EQ(path_of(endpoint->reopen({}, kSecond)), "/dev/ttyACM1");
}

TEST_F(EndpointTest, ReopenOfAPortThatIsNoUsbDeviceFollowsItsName) {
  PortIdentity first;
  first.path = "/dev/pts/1";
  PortIdentity second;
  second.path = "/dev/pts/2";
  system.ports = {first, second};
  system.links["/dev/link"] = "/dev/pts/1";
  const auto endpoint = make("/dev/link");
  ASSERT_TRUE(endpoint->open({}).ok());
  system.links["/dev/link"] = "/dev/pts/2";
  EXPECT_EQ(path_of(endpoint->reopen({}, kSecond)), "/dev/pts/2");
}

TEST_F(EndpointTest, ReopenLeavesANameAloneThatGoesToSomethingElse) {
  PortIdentity pty;
  pty.path = "/dev/pts/5";
  system.ports = {pty};
  system.forgotten = "/dev/pts/5";
  const auto endpoint = make("/dev/pts/5");
  ASSERT_TRUE(endpoint->open({}).ok());
  const int opens = system.opens;
  const auto again = endpoint->reopen({}, int64_t{1} << 40);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::gone);
  EXPECT_EQ(system.opens, opens);
}

TEST_F(EndpointTest, ReopenWaitsOutUdevAndModemProbes) {
  system.ports = {usb_port("/dev/ttyACM0", "1")};
  const auto endpoint = make("/dev/ttyACM0");
  ASSERT_TRUE(endpoint->open({}).ok());
  system.failures = {ErrorCode::permission, ErrorCode::busy, ErrorCode::io};
  EXPECT_EQ(path_of(endpoint->reopen({}, 10 * kSecond)), "/dev/ttyACM0");
  EXPECT_EQ(system.opens, 1 + 3 + 1);
}

TEST_F(EndpointTest, ReopenGivesUpAtItsDeadlineAndSaysWhy) {
  system.ports = {usb_port("/dev/ttyACM0", "7654320")};
  const auto endpoint = make("/dev/ttyACM0");
  ASSERT_TRUE(endpoint->open({}).ok());
  system.ports = {usb_port("/dev/ttyACM5", "999")};
  const Result<std::unique_ptr<Transport>> port = endpoint->reopen({}, 3 * kSecond);
  ASSERT_FALSE(port.ok());
  EXPECT_EQ(port.error().code, ErrorCode::gone);
  EXPECT_THAT(port.error().message, HasSubstr("serial number 7654320"));
  EXPECT_THAT(port.error().message, HasSubstr("/dev/ttyACM5"));
  EXPECT_EQ(system.clock().now_ns(), 3 * kSecond);
}

TEST_F(EndpointTest, ReopenWithADeadlineInThePastTriesOnce) {
  system.ports = {usb_port("/dev/ttyACM0", "1")};
  const auto endpoint = make("/dev/ttyACM0");
  ASSERT_TRUE(endpoint->open({}).ok());
  EXPECT_TRUE(endpoint->reopen({}, -1).ok());
  EXPECT_EQ(system.clock().sleeps, 0);
}

}  // namespace
}  // namespace millrace::host
