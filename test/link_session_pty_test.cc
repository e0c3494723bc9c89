// SPDX-License-Identifier: Apache-2.0
// The host session, and its C interface, against the device on a PTY.
#include "millrace/host/link_session.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "firmware/ports/pc/pty_device.h"
#include "millrace/host/link_session_c.h"
#include "millrace/link/stream_cursor.h"

namespace millrace::host {
namespace {

std::unique_ptr<firmware::PtyDevice> make_device(const std::string& faults = "") {
  firmware::PtyDeviceOptions options;
  options.link = true;
  options.faults = firmware::parse_fault_plan(faults).plan;
  return firmware::PtyDevice::create(options).device;
}

std::vector<uint8_t> demo_stream(size_t size) {
  std::vector<uint8_t> out(size);
  link::StreamCursor cursor({42, 1u << 20, 1000});
  cursor.read(out.data(), size);
  return out;
}

TEST(LinkSessionC, ReadsWritesAndResumesOverADamagedLink) {
  const auto device = make_device("drop=100@20000+50000");
  char error[200];
  millrace_link* link = millrace_link_open(device->path().c_str(), nullptr, error, sizeof(error));
  ASSERT_NE(link, nullptr) << error;
  const char command[] = "source 1000000\n";
  ASSERT_EQ(millrace_link_write(link, 1, reinterpret_cast<const uint8_t*>(command),
                                sizeof(command) - 1, 1, 2000),
            static_cast<int64_t>(sizeof(command) - 1));
  std::vector<uint8_t> got;
  const uint8_t* data = nullptr;
  uint64_t size = 0, offset = 0;
  while (got.size() < 300'000) {
    ASSERT_EQ(millrace_link_read(link, 0, 10'000, &data, &size, &offset), MILLRACE_LINK_DATA)
        << millrace_link_error(link);
    ASSERT_EQ(offset, got.size());
    // In odd pieces, so that the end stands in the middle of a frame.
    const size_t piece = size < 777 ? static_cast<size_t>(size) : 777;
    got.insert(got.end(), data, data + piece);
    millrace_link_consume(link, 0, piece);
  }
  millrace_link_place place;
  millrace_link_get_place(link, &place);
  EXPECT_EQ(place.taken, got.size());
  millrace_link_close(link, 0);

  link = millrace_link_open(device->path().c_str(), &place, error, sizeof(error));
  ASSERT_NE(link, nullptr) << error;
  while (true) {
    const int kind = millrace_link_read(link, 0, 10'000, &data, &size, &offset);
    if (kind == MILLRACE_LINK_END) break;
    ASSERT_EQ(kind, MILLRACE_LINK_DATA) << millrace_link_error(link);
    ASSERT_EQ(offset, got.size());
    got.insert(got.end(), data, data + size);
    millrace_link_consume(link, 0, static_cast<size_t>(size));
  }
  EXPECT_EQ(got, demo_stream(1'000'000));
  millrace_link_close(link, 1);
}

TEST(LinkSessionC, SaysWhatIsWrongWithAPort) {
  char error[24];
  EXPECT_EQ(millrace_link_open("/dev/there_is_no_such", nullptr, error, sizeof(error)), nullptr);
  EXPECT_EQ(std::string(error), "/dev/there_is_no_such: ");  // cut to fit
}

TEST(LinkSession, TextStreamOvertakesAndKeepsMessages) {
  const auto device = make_device();
  const auto endpoint = make_endpoint(device->path(), {});
  ASSERT_TRUE(endpoint);
  auto session = LinkSession::open(**endpoint, {});
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_STREQ((*session)->device().device, "pc");
  EXPECT_EQ((*session)->device_buffer_bytes(0), 512u * 1024);
  const std::string line = "info\n";
  (*session)->write(1, {reinterpret_cast<const uint8_t*>(line.data()), line.size()});
  (*session)->end_of_message(1);
  LinkItem item;
  while (item.kind == LinkItemKind::nothing) {
    ASSERT_TRUE((*session)->wait((*session)->clock().now_ns() + 100'000'000));
    item = (*session)->peek(1);
  }
  EXPECT_EQ(std::string(item.data.begin(), item.data.end()), "ring bytes 524288\n");
  EXPECT_TRUE(item.end_of_message);
}

constexpr int64_t kHourNs = 3'600'000'000'000;

TEST(LinkSession, WaitReturnsWhenThereIsRoomForARefusedWriter) {
  const auto device = make_device();
  const auto endpoint = make_endpoint(device->path(), {});
  ASSERT_TRUE(endpoint);
  auto opened = LinkSession::open(**endpoint, {});
  ASSERT_TRUE(opened) << opened.error().message;
  LinkSession& session = **opened;
  // A sink says nothing more until its stream ends, so only room can end the waits below.
  const std::string line = "sink\n";
  session.write(1, {reinterpret_cast<const uint8_t*>(line.data()), line.size()});
  session.end_of_message(1);
  ASSERT_TRUE(session.wait(session.clock().now_ns() + kHourNs));
  const LinkItem answer = session.peek(1);
  ASSERT_EQ(answer.kind, LinkItemKind::data);
  session.consume(1, answer.data.size());

  const std::vector<uint8_t> block(2u << 20);  // more than the send buffer of 1 MiB
  ASSERT_LT(session.write(0, block), block.size());
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(session.wait(session.clock().now_ns() + kHourNs));
    EXPECT_EQ(session.peek(1).kind, LinkItemKind::nothing);
    const size_t taken = session.write(0, block);
    EXPECT_GT(taken, 0u);
    ASSERT_LT(taken, block.size());
  }
  // Told once, a writer that does not write again no longer ends a wait.
  ASSERT_TRUE(session.wait(session.clock().now_ns() + kHourNs));
  const int64_t deadline = session.clock().now_ns() + 20'000'000;
  ASSERT_TRUE(session.wait(deadline));
  EXPECT_GE(session.clock().now_ns(), deadline);
}

// The thread that reads a fast stream goes on reading in the silence behind it.
TEST(LinkSession, AnswersComeBehindAFastStream) {
  const auto device = make_device();
  const auto endpoint = make_endpoint(device->path(), {});
  ASSERT_TRUE(endpoint);
  auto opened = LinkSession::open(**endpoint, {});
  ASSERT_TRUE(opened) << opened.error().message;
  LinkSession& session = **opened;
  const auto say = [&](const std::string& line) {
    session.write(1, {reinterpret_cast<const uint8_t*>(line.data()), line.size()});
    session.end_of_message(1);
  };
  constexpr uint64_t kBytes = 10'000'000;
  link::StreamCursor expected({42, 1u << 20, 1000});
  say("source 10000000\n");
  uint64_t got = 0;
  for (bool ended = false; !ended;) {
    ASSERT_TRUE(session.wait(session.clock().now_ns() + kHourNs));
    session.consume(1, session.peek(1).data.size());
    for (LinkItem item = session.peek(0); item.kind != LinkItemKind::nothing;
         item = session.peek(0)) {
      ended = item.kind == LinkItemKind::end;
      ASSERT_EQ(expected.match(item.data.data(), item.data.size()), item.data.size());
      got += item.data.size();
      session.consume(0, item.data.size());
    }
  }
  EXPECT_EQ(got, kBytes);
  ASSERT_TRUE(session.wait(session.clock().now_ns() + 120'000'000));
  say("info\n");
  ASSERT_TRUE(session.wait(session.clock().now_ns() + kHourNs));
  const LinkItem answer = session.peek(1);
  EXPECT_EQ(std::string(answer.data.begin(), answer.data.end()), "ring bytes 524288\n");
}

TEST(LinkSession, ResumeOfAnUnknownSessionIsRefused) {
  const auto device = make_device();
  const auto endpoint = make_endpoint(device->path(), {});
  LinkSettings settings;
  settings.resume = LinkPlace();
  settings.resume->session = 12345;
  const auto session = LinkSession::open(**endpoint, settings);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, ErrorCode::gone);
}

}  // namespace
}  // namespace millrace::host
