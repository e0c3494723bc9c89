// SPDX-License-Identifier: Apache-2.0
// Through real sockets, in one thread: what the kernel has delivered, exchange() finds at once.
#include "cli/posix/usbip_listener.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace millrace::cli {
namespace {

class FakeUsbIpPort final : public board::UsbIpPort {
 public:
  void plug_in() override {}
  void unplug() override {}
  bool is_ready() const override { return ready; }
  std::string problem() const override { return trouble; }
  size_t receive(std::span<const uint8_t> bytes) override {
    const size_t size = std::min(bytes.size(), room);
    received.append(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    room -= size;
    return size;
  }
  std::span<const uint8_t> output() const override {
    return {reinterpret_cast<const uint8_t*>(out.data()), out.size()};
  }
  void consume(size_t size) override { out.erase(0, size); }
  std::string client_problem() const override { return client_trouble; }
  bool is_imported() const override { return imported; }
  void disconnect() override {
    ++disconnects;
    imported = false;
    client_trouble.clear();
    out.clear();
  }
  board::UsbIpPortCounts counts() const override { return {}; }

  bool ready = true;
  bool imported = false;
  std::string trouble, client_trouble;
  std::string received, out;
  size_t room = SIZE_MAX;
  int disconnects = 0;
};

class UsbipClient {
 public:
  explicit UsbipClient(unsigned port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
  }
  void close() { socket_.reset(); }
  void send(const std::string& bytes) {
    EXPECT_EQ(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // The next `size` bytes; fewer when the other side hangs up.
  std::string take(size_t size) {
    std::string bytes(size, '\0');
    const ssize_t got = ::recv(socket_.get(), bytes.data(), size, MSG_WAITALL);
    bytes.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
    return bytes;
  }
  bool is_hung_up() { return take(1).empty(); }

 private:
  Socket socket_;
};

class UsbIpListenerTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(listener.listen(0)); }
  void exchange(int times = 3) {
    while (times-- > 0) listener.exchange(board_ns, is_asleep);
  }

  FakeUsbIpPort usb;
  UsbIpListener listener{usb, Pace::free};
  uint64_t board_ns = 0;
  bool is_asleep = false;
};

TEST_F(UsbIpListenerTest, CarriesBytesBothWays) {
  UsbipClient client(listener.port());
  client.send("question");
  exchange();
  EXPECT_EQ(usb.received, "question");
  usb.out = "answer";
  exchange();
  EXPECT_EQ(client.take(6), "answer");
  EXPECT_EQ(usb.disconnects, 0);
}

TEST_F(UsbIpListenerTest, AsksNothingOfADeviceThatIsNotThereYet) {
  usb.ready = false;
  UsbipClient client(listener.port());
  client.send("import");
  exchange();
  EXPECT_EQ(usb.received, "");
  usb.ready = true;
  exchange();
  EXPECT_EQ(usb.received, "import");
}

TEST_F(UsbIpListenerTest, AsksAllTheSameWhenThereWillBeNone) {
  usb.ready = false;
  {
    UsbipClient client(listener.port());
    client.send("import");
    exchange();
    usb.trouble = "it does not answer";
    exchange();
    EXPECT_EQ(usb.received, "import");
  }
  exchange();
  usb.trouble.clear();
  usb.received.clear();
  UsbipClient client(listener.port());
  client.send("import");
  exchange();
  EXPECT_EQ(usb.received, "");
  board_ns = 5'000'000'000;
  exchange();
  EXPECT_EQ(usb.received, "import");
}

TEST_F(UsbIpListenerTest, AsksABoardThatSleepsForEver) {
  usb.ready = false;
  UsbipClient client(listener.port());
  client.send("import");
  exchange();
  EXPECT_EQ(usb.received, "");
  is_asleep = true;
  exchange();
  EXPECT_EQ(usb.received, "import");
}

TEST_F(UsbIpListenerTest, KeepsWhatThePortDoesNotTake) {
  usb.room = 3;
  UsbipClient client(listener.port());
  client.send("abcdef");
  exchange();
  EXPECT_EQ(usb.received, "abc");
  usb.room = 3;
  exchange();
  EXPECT_EQ(usb.received, "abcdef");
}

TEST_F(UsbIpListenerTest, ASecondClientIsTurnedAway) {
  UsbipClient first(listener.port());
  first.send("1");
  exchange();
  UsbipClient second(listener.port());
  exchange();
  EXPECT_TRUE(second.is_hung_up());
  first.send("2");
  exchange();
  EXPECT_EQ(usb.received, "12");
}

TEST_F(UsbIpListenerTest, AClientThatGoesMakesRoomForTheNext) {
  UsbipClient first(listener.port());
  first.send("1");
  exchange();
  first.close();
  exchange();
  EXPECT_EQ(usb.disconnects, 1);
  UsbipClient second(listener.port());
  second.send("2");
  exchange();
  EXPECT_EQ(usb.received, "12");
}

TEST_F(UsbIpListenerTest, TheNextClientMayComeBeforeTheLastOneIsMissed) {
  UsbipClient first(listener.port());
  first.send("1");
  exchange();
  first.send("lost");
  first.close();
  UsbipClient second(listener.port());
  second.send("2");
  exchange();
  EXPECT_EQ(usb.received, "12");
  EXPECT_EQ(usb.disconnects, 1);
}

TEST_F(UsbIpListenerTest, WhoBreaksTheProtocolIsDroppedWithASentence) {
  UsbipClient client(listener.port());
  client.send("x");
  usb.client_trouble = "USB/IP client sent nonsense";
  exchange();
  EXPECT_TRUE(client.is_hung_up());
  EXPECT_EQ(usb.disconnects, 1);
  EXPECT_EQ(listener.take_problem(), "USB/IP client sent nonsense");
  EXPECT_EQ(listener.take_problem(), "");
}

TEST_F(UsbIpListenerTest, HangsUpWhenTheDeviceGoes) {
  UsbipClient client(listener.port());
  client.send("x");
  exchange();
  usb.imported = true;
  exchange();
  EXPECT_EQ(usb.disconnects, 0);
  usb.ready = false;
  exchange();
  EXPECT_TRUE(client.is_hung_up());
  EXPECT_EQ(usb.disconnects, 1);
}

TEST_F(UsbIpListenerTest, ABusyPortIsNamedWithTheRemedy) {
  UsbIpListener other(usb, Pace::free);
  const host::Status status = other.listen(listener.port());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, host::ErrorCode::busy);
  EXPECT_EQ(status.error().message,
            "listen on 127.0.0.1:" + std::to_string(listener.port()) +
                " for USB/IP: another program has the port (name another one, or 0 for any that "
                "is free)");
}

}  // namespace
}  // namespace millrace::cli
