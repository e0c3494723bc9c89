// SPDX-License-Identifier: Apache-2.0
// Real sockets over the loopback interface. Nothing here is about how fast it is.
#include "millrace/udp/socket_port.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "millrace/udp/echo_server.h"
#include "millrace/udp/step.h"

namespace millrace::udp {
namespace {

using ::testing::HasSubstr;

// An echo server as long as it lives.
class Server {
 public:
  Server() : server_(std::move(*open_echo_server("127.0.0.1", 0))) {
    thread_ = std::thread([this] { EXPECT_TRUE(server_->run([this] { return !stop_; })); });
  }
  ~Server() { stop(); }
  void stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  SocketOptions options(uint32_t bytes) const {
    SocketOptions options;
    options.target = "127.0.0.1:" + std::to_string(server_->port());
    options.bytes = bytes;
    options.probe_ms = 20'000;  // of a machine that does much else
    return options;
  }
  const EchoCounts& counts() const { return server_->counts(); }

 private:
  std::unique_ptr<EchoServer> server_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

StepPlan patient(uint32_t bytes) {
  StepPlan plan;
  plan.bytes = bytes;
  plan.duration_ns = 200'000'000;
  plan.late_ns = plan.settle_ns = 20'000'000'000;
  return plan;
}

TEST(SocketPort, EchoesOfEverySizeComeBackVerified) {
  Server server;
  for (const uint32_t bytes : {32u, 1472u, 9000u, 65'507u}) {
    auto port = open_socket_port(server.options(bytes));
    ASSERT_TRUE(port) << port.error().message;
    EXPECT_EQ((*port)->info().interface, "lo");
    StepPlan plan = patient(bytes);
    plan.rate_per_s = 500;
    Session session{11, 0, [] { return true; }};
    const StepResult r = run_step(**port, plan, session);
    EXPECT_EQ(r.planned, 100u);
    EXPECT_EQ(r.sent + r.refused, 100u);
    EXPECT_EQ(r.answered, r.sent) << bytes;
    EXPECT_EQ(r.altered + r.duplicate, 0u);
    EXPECT_EQ(r.rtt.count(), r.answered);
  }
}

TEST(SocketPort, ClosedLoopKeepsItsRequestsUnderWay) {
  Server server;
  auto port = open_socket_port(server.options(32));
  ASSERT_TRUE(port);
  StepPlan plan = patient(32);
  plan.in_flight = 32;
  Session session{11, 0, [] { return true; }};
  const StepResult r = run_step(**port, plan, session);
  EXPECT_GE(r.answered, 32u);
  EXPECT_EQ(r.answered, r.sent);
  server.stop();
  EXPECT_EQ(server.counts().received, server.counts().replied);
  EXPECT_EQ(server.counts().received, r.sent + 1);  // the probe
}

TEST(SocketPort, ReceiveBufferIsReported) {
  Server server;
  SocketOptions options = server.options(32);
  options.receive_buffer = 65'536;
  auto port = open_socket_port(options);
  ASSERT_TRUE(port);
  EXPECT_EQ((*port)->info().receive_buffer_asked, 65'536u);
  EXPECT_EQ((*port)->info().receive_buffer_granted, 65'536u);
  EXPECT_TRUE((*port)->info().has_kernel_stamps);
}

TEST(SocketPort, RepliesThatNobodyReadAreTheHostsLoss) {
  Server server;
  SocketOptions options = server.options(1000);
  options.receive_buffer = 4096;
  auto port = open_socket_port(options);
  ASSERT_TRUE(port);
  EXPECT_EQ((*port)->host_drops().socket_overflow, 0u);
  const std::vector<uint8_t> bytes(1000);
  const std::span<const uint8_t> one(bytes);
  uint64_t sent = 0;
  while (sent < 200) sent += (*port)->send({&one, 1});
  while (server.counts().replied < sent + 1) std::this_thread::yield();
  uint64_t received = 0, got = 0;
  while ((got = (*port)->receive(0, [](const Arrival&) {})) != 0) received += got;
  EXPECT_GT(received, 0u);
  EXPECT_LT(received, sent);
  EXPECT_EQ((*port)->host_drops().socket_overflow, sent - received);
}

TEST(SocketPort, APortWhereNobodyListensIsRefused) {
  SocketOptions options;
  {
    Server server;
    options = server.options(32);
  }
  const auto port = open_socket_port(options);
  ASSERT_FALSE(port);
  EXPECT_EQ(port.error().code, host::ErrorCode::not_found);
  EXPECT_THAT(port.error().message, HasSubstr("refused, nothing echoes there"));
}

TEST(SocketPort, AServerThatGoesAwayEndsTheStep) {
  Server server;
  auto port = open_socket_port(server.options(32));
  ASSERT_TRUE(port);
  server.stop();  // the socket stays: nothing comes back any more
  StepPlan plan = patient(32);
  plan.rate_per_s = 500;
  plan.settle_ns = 0;
  Session session{11, 0, [] { return true; }};
  const StepResult r = run_step(**port, plan, session);
  EXPECT_EQ(r.answered, 0u);
  EXPECT_EQ(r.lost(), r.sent);
}

TEST(EchoServer, SaysWhyItCannotListen) {
  const auto first = open_echo_server("127.0.0.1", 0);
  ASSERT_TRUE(first);
  const auto second = open_echo_server("127.0.0.1", (*first)->port());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, host::ErrorCode::busy);
  EXPECT_THAT(open_echo_server("not.an.address", 0).error().message, HasSubstr("is no address"));
  EXPECT_EQ(open_echo_server("192.0.2.77", 0).error().code, host::ErrorCode::usage);
}

TEST(TargetName, HostAndPort) {
  const auto expect = [](const char* text, const char* host, uint16_t port) {
    const auto name = parse_target(text, 7);
    ASSERT_TRUE(name) << text;
    EXPECT_EQ(name->host, host);
    EXPECT_EQ(name->port, port);
  };
  expect("192.168.7.1", "192.168.7.1", 7);
  expect("192.168.7.1:4242", "192.168.7.1", 4242);
  expect("millrace.local:1", "millrace.local", 1);
  expect("fe80::1%usb0", "fe80::1%usb0", 7);
  expect("[fe80::1%usb0]:4242", "fe80::1%usb0", 4242);
  expect("[::1]", "::1", 7);
  for (const char* bad : {"", ":7", "1.2.3.4:", "1.2.3.4:0", "1.2.3.4:65536", "1.2.3.4:7x", "[::1",
                          "[::1]7", "[::1]:", "[]:7"}) {
    EXPECT_FALSE(parse_target(bad, 7)) << bad;
  }
}

}  // namespace
}  // namespace millrace::udp
