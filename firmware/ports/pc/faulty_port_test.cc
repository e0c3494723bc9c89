// SPDX-License-Identifier: Apache-2.0
#include "firmware/ports/pc/faulty_port.h"

#include <gtest/gtest.h>

#include <string>

#include "firmware/app/fake_port.h"

namespace millrace::firmware {
namespace {

struct Fixture {
  explicit Fixture(const std::string& query) : port(inner, parse_fault_plan(query).plan, hooks()) {
    EXPECT_EQ(parse_fault_plan(query).error, "");
  }
  FaultHooks hooks() {
    FaultHooks result;
    result.in_stream = [this] { return in_stream; };
    result.runs_started = [this] { return run; };
    result.drained = [this] { return drained; };
    result.cook = [this](ByteMangling) { cooked_at.push_back(inner.output.size()); };
    return result;
  }
  size_t write(const std::string& bytes) {
    return port.write(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  size_t stream(const std::string& bytes) {
    in_stream = true;
    const size_t taken = write(bytes);
    in_stream = false;
    return taken;
  }

  FakePort inner;
  bool in_stream = false;
  uint32_t run = 1;
  bool drained = true;
  std::vector<size_t> cooked_at;
  FaultyPort port;
};

TEST(FaultyPort, WithoutFaultsIsTransparent) {
  Fixture f("");
  f.inner.script = {3};
  EXPECT_EQ(f.stream("abcdef"), 3u);
  EXPECT_EQ(f.stream("def"), 3u);
  EXPECT_EQ(f.inner.output, "abcdef");
  f.inner.host_sends("xyz");
  uint8_t in[8];
  EXPECT_EQ(f.port.read(in, sizeof(in)), 3u);
}

TEST(FaultyPort, SplitHandsOnSmallPieces) {
  Fixture f("split=3");
  EXPECT_EQ(f.write("message"), 7u);
  EXPECT_EQ(f.stream("stream"), 6u);
  EXPECT_EQ(f.inner.output, "messagestream");
  EXPECT_EQ(f.inner.largest_write, 3u);
}

TEST(FaultyPort, TakesNothingMoreWhileAlteredBytesWait) {
  Fixture f("split=3");
  f.inner.accept = 0;
  EXPECT_EQ(f.stream("abcdef"), 6u);
  EXPECT_EQ(f.stream("ghi"), 0u);
  f.inner.accept = FakePort::kEverything;
  EXPECT_EQ(f.stream("ghi"), 3u);
  EXPECT_EQ(f.inner.output, "abcdefghi");
}

TEST(FaultyPort, MessagesAreNeitherCountedNorAltered) {
  Fixture f("drop=2@2");
  f.write("hello");
  f.stream("abcdef");
  f.write("report");
  EXPECT_EQ(f.inner.output, "helloabefreport");
}

TEST(FaultyPort, EveryRunStartsAtOffset0) {
  Fixture f("drop=2@2&stall=10@4");
  f.stream("abcd");
  EXPECT_EQ(f.stream("ef"), 0u);  // stalls
  f.inner.clock_us += 10'000;
  EXPECT_EQ(f.stream("ef"), 2u);
  f.run = 2;
  f.stream("ABCD");
  EXPECT_EQ(f.stream("EF"), 0u);
  EXPECT_EQ(f.inner.output, "abefAB");
}

TEST(FaultyPort, AStallStopsBothDirections) {
  Fixture f("stall=10@4+8");
  f.inner.host_sends("x");
  uint8_t in[8];
  EXPECT_EQ(f.stream("abcdefgh"), 4u);  // up to the place
  EXPECT_EQ(f.stream("efgh"), 0u);
  EXPECT_EQ(f.port.read(in, sizeof(in)), 0u);
  f.inner.clock_us += 9'999;
  EXPECT_EQ(f.stream("efgh"), 0u);
  f.inner.clock_us += 1;
  EXPECT_EQ(f.port.read(in, sizeof(in)), 1u);
  EXPECT_EQ(f.stream("efghijklm"), 8u);  // the next one is at 12
  EXPECT_EQ(f.stream("m"), 0u);
  EXPECT_EQ(f.inner.output, "abcdefghijkl");
}

TEST(FaultyPort, RateIsKeptAndNotSavedUp) {
  Fixture f("rate=1000000");
  f.inner.clock_us += 1'000'000;  // a second of silence
  const std::string piece(4096, 'x');
  size_t taken = 0;
  for (int ms = 0; ms < 1000; ++ms) {
    taken += f.stream(piece);
    f.inner.clock_us += 1'000;
  }
  // 1 MB in a second, 5 ms of it at once at the beginning.
  EXPECT_NEAR(static_cast<double>(f.inner.output.size()), 1'000'000, 6'000);
  EXPECT_LE(taken - f.inner.output.size(), 4096u);
}

TEST(FaultyPort, CooksTheTerminalWhenEverythingBeforeWasRead) {
  Fixture f("cooked");
  f.write("started");
  f.drained = false;
  EXPECT_EQ(f.stream("abc"), 0u);
  EXPECT_TRUE(f.cooked_at.empty());
  f.drained = true;
  EXPECT_EQ(f.stream("abc"), 3u);
  EXPECT_EQ(f.stream("def"), 3u);
  EXPECT_EQ(f.cooked_at, std::vector<size_t>{7});
}

TEST(FaultyPort, ALinkEventHappensOnceAtItsPlace) {
  Fixture f("unplug=5@4");
  EXPECT_EQ(f.stream("abcdef"), 4u);
  EXPECT_FALSE(f.port.take_link_event());
  EXPECT_EQ(f.stream("ef"), 0u);
  const auto event = f.port.take_link_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, LinkEventKind::unplug);
  EXPECT_EQ(event->after_ms, 5u);
  EXPECT_EQ(f.write("ef"), 0u);  // nothing passes
  f.port.restart();
  EXPECT_EQ(f.stream("abcdef"), 6u);
  EXPECT_FALSE(f.port.take_link_event());
}

}  // namespace
}  // namespace millrace::firmware
