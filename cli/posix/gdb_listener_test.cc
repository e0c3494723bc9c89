// SPDX-License-Identifier: Apache-2.0
// Through real sockets: the listener in a thread of its own, the debugger's side here.
#include "cli/posix/gdb_listener.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <future>
#include <optional>
#include <string>
#include <thread>

#include "gdb/packet.h"
#include "gdb/testing/fake_gdb_board.h"

namespace millrace::cli {
namespace {

using board::StopReason;
using board::gdb::framed;
using board::testing::FakeGdbBoard;

class Client {
 public:
  explicit Client(unsigned port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  ~Client() { close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  // What the other side does not take any more, packet() tells.
  void send(const std::string& bytes) {
    static_cast<void>(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }
  // The next packet's payload; nothing when the other side hangs up.
  std::optional<std::string> packet() {
    for (;;) {
      char byte = 0;
      if (::recv(fd_, &byte, 1, 0) != 1) return std::nullopt;
      if (decoder_.put(static_cast<uint8_t>(byte)) == board::gdb::PacketEvent::packet) {
        return decoder_.payload();
      }
    }
  }
  std::optional<std::string> ask(const std::string& payload) {
    send(framed(payload));
    return packet();
  }

 private:
  int fd_;
  board::gdb::PacketDecoder decoder_;
};

class GdbListener : public ::testing::Test {
 protected:
  // From here on the board belongs to the listener's thread. Gives the port.
  unsigned listen() {
    std::promise<unsigned> promise;
    options_.interrupted = &interrupted_;
    options_.on_listening = [&promise](unsigned number) { promise.set_value(number); };
    thread_ = std::thread([this] {
      const host::Result<GdbOutcome> result = serve_gdb(board, options_);
      if (result) outcome_ = *result;
    });
    return promise.get_future().get();
  }
  void TearDown() override {
    interrupted_ = true;
    if (thread_.joinable()) thread_.join();
  }
  // Waits for serve_gdb() to return.
  GdbOutcome outcome() {
    thread_.join();
    EXPECT_TRUE(outcome_);
    return outcome_.value_or(GdbOutcome());
  }

  FakeGdbBoard board;

 private:
  std::atomic<bool> interrupted_{false};
  GdbOptions options_;
  std::optional<GdbOutcome> outcome_;
  std::thread thread_;
};

TEST_F(GdbListener, AnswersAndIsKilled) {
  Client client(listen());
  EXPECT_EQ(client.ask("?"), "T05thread:1;");
  EXPECT_EQ(client.ask("pf"), "00000060");
  client.send(framed("k"));
  EXPECT_EQ(outcome().end, GdbEnd::killed);
  EXPECT_EQ(client.packet(), std::nullopt);
}

TEST_F(GdbListener, CtrlCStopsARunningBoard) {
  Client client(listen());
  client.send(framed("c"));
  client.send("\x03");
  EXPECT_EQ(client.packet(), "T02thread:1;");
  EXPECT_EQ(client.ask("qC"), "QC1");
}

TEST_F(GdbListener, ASecondDebuggerIsTurnedAway) {
  const unsigned port = listen();
  Client first(port);
  EXPECT_EQ(first.ask("qC"), "QC1");
  Client second(port);
  EXPECT_EQ(second.packet(), std::nullopt);
  EXPECT_EQ(first.ask("qC"), "QC1");
}

TEST_F(GdbListener, ADebuggerThatVanishesMakesRoomForTheNext) {
  const unsigned port = listen();
  {
    Client client(port);
    EXPECT_EQ(client.ask("Z0,60000010,2"), "OK");
    client.send(framed("c").substr(0, 2));
  }
  for (;;) {  // until the listener has noticed
    Client client(port);
    if (client.ask("?") == "T05thread:1;") break;
  }
}

TEST_F(GdbListener, TheBoardRunsOnWhenDetachedUntilTheNextOneComes) {
  const unsigned port = listen();
  {
    Client client(port);
    EXPECT_EQ(client.ask("D"), "OK");
    EXPECT_EQ(client.packet(), std::nullopt);
  }
  Client client(port);
  const std::optional<std::string> pc = client.ask("pf");
  ASSERT_TRUE(pc);
  EXPECT_EQ(client.ask("pf"), pc);  // it stands
}

TEST_F(GdbListener, AnExitIsTheOutcomeOnceTheDebuggerHasGone) {
  board.stop_at(1000, StopReason::exited).exit_code = 7;
  Client client(listen());
  EXPECT_EQ(client.ask("c"), "W07");
  EXPECT_EQ(client.ask("p1"), "00000000");
  client.close();
  const GdbOutcome end = outcome();
  EXPECT_EQ(end.end, GdbEnd::stopped);
  EXPECT_EQ(end.stop.reason, StopReason::exited);
  EXPECT_EQ(end.stop.exit_code, 7);
}

TEST_F(GdbListener, ALockupOfADetachedBoardIsTheOutcome) {
  board.stop_at(1000, StopReason::locked_up).detail = "why";
  Client client(listen());
  EXPECT_EQ(client.ask("D"), "OK");
  const GdbOutcome end = outcome();
  EXPECT_EQ(end.end, GdbEnd::stopped);
  EXPECT_EQ(end.stop.detail, "why");
}

TEST_F(GdbListener, ABusyPortIsNamedWithTheRemedy) {
  const unsigned port = listen();
  FakeGdbBoard other;
  GdbOptions options;
  options.port = port;
  const host::Result<GdbOutcome> result = serve_gdb(other, options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, host::ErrorCode::busy);
  EXPECT_EQ(result.error().message,
            "listen on 127.0.0.1:" + std::to_string(port) +
                " for gdb: another program has the port (name another one, or 0 for any that is "
                "free)");
  options.port = 65536;
  EXPECT_EQ(serve_gdb(other, options).error().code, host::ErrorCode::usage);
}

}  // namespace
}  // namespace millrace::cli
