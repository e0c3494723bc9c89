// SPDX-License-Identifier: Apache-2.0
#include "block_reader.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "testing/memory_transport.h"

namespace millrace::host {
namespace {

using testing::MemoryTransport;

constexpr int64_t kLong = int64_t{60} * 1000000000;

std::vector<uint8_t> pattern(size_t size) {
  std::mt19937 random(3);
  std::vector<uint8_t> out(size);
  for (uint8_t& byte : out) byte = static_cast<uint8_t>(random());
  return out;
}

// Takes blocks until the port is gone; checks that arrival times do not go back.
std::vector<uint8_t> take_all(BlockReader& reader, size_t* largest) {
  std::vector<uint8_t> got;
  int64_t last = 0;
  for (;;) {
    const Block block = reader.next(system_clock().now_ns() + kLong);
    if (block.kind != IoKind::done) {
      EXPECT_EQ(block.kind, IoKind::gone);
      return got;
    }
    EXPECT_GE(block.arrival_ns, last);
    last = block.arrival_ns;
    *largest = std::max(*largest, block.bytes.size());
    got.insert(got.end(), block.bytes.begin(), block.bytes.end());
  }
}

TEST(ThreadedReader, DeliversEveryByteInOrderAcrossManyTurnsOfTheRing) {
  MemoryTransport port;
  const std::vector<uint8_t> sent = pattern(300000);
  port.push(sent);
  port.close_port();
  ThreadedReaderOptions options;
  options.read_size = 100;  // 3,000 reads through a ring of 512 bytes
  options.ring_bytes = 512;
  const auto reader = make_threaded_reader(port, options);
  size_t largest = 0;
  EXPECT_EQ(take_all(*reader, &largest), sent);
  EXPECT_EQ(largest, 100u);
}

TEST(ThreadedReader, DeliversWhatIsPushedWhileItReads) {
  MemoryTransport port;
  const std::vector<uint8_t> sent = pattern(200000);
  std::thread writer([&] {
    for (size_t at = 0; at < sent.size(); at += 977) {
      port.push(std::span(sent).subspan(at, std::min<size_t>(977, sent.size() - at)));
    }
    port.close_port();
  });
  const auto reader = make_threaded_reader(port, ThreadedReaderOptions{});
  size_t largest = 0;
  EXPECT_EQ(take_all(*reader, &largest), sent);
  writer.join();
}

TEST(ThreadedReader, FullRingMakesReadingWaitAndLosesNothing) {
  MemoryTransport port;
  const std::vector<uint8_t> sent = pattern(5000);
  port.push(sent);
  ThreadedReaderOptions options;
  options.read_size = 100;
  options.ring_bytes = 400;
  const auto reader = make_threaded_reader(port, options);
  // The ring holds 4 reads: the rest stays in the port, however long nobody takes anything.
  const Block first = reader->next(system_clock().now_ns() + kLong);
  ASSERT_EQ(first.kind, IoKind::done);
  EXPECT_GE(port.waiting(), 5000u - 400u);
  std::vector<uint8_t> got(first.bytes.begin(), first.bytes.end());
  port.close_port();
  size_t largest = 0;
  const std::vector<uint8_t> rest = take_all(*reader, &largest);
  got.insert(got.end(), rest.begin(), rest.end());
  EXPECT_EQ(got, sent);
  reader->stop();
  EXPECT_GE(reader->cpu_ns(), 0);
}

TEST(ThreadedReader, PollsWithADeadlineInThePast) {
  MemoryTransport port;
  const auto reader = make_threaded_reader(port, ThreadedReaderOptions{});
  EXPECT_EQ(reader->next(0).kind, IoKind::nothing_yet);
  reader->stop();
}

TEST(ThreadedReader, GoneIsSaidAgainWithItsReason) {
  MemoryTransport port;
  port.close_port();
  const auto reader = make_threaded_reader(port, ThreadedReaderOptions{});
  for (int i = 0; i < 2; ++i) {
    const Block block = reader->next(system_clock().now_ns() + kLong);
    EXPECT_EQ(block.kind, IoKind::gone);
    EXPECT_EQ(block.error.message, "memory: closed");
  }
}

TEST(ThreadedReader, StopsWhileTheRingIsFull) {
  MemoryTransport port;
  port.push(pattern(5000));
  ThreadedReaderOptions options;
  options.read_size = 100;
  options.ring_bytes = 400;
  const auto reader = make_threaded_reader(port, options);
  ASSERT_EQ(reader->next(system_clock().now_ns() + kLong).kind, IoKind::done);
  reader->stop();  // returns
}

TEST(ThreadedReader, PausedItLeavesThePortAloneUntilResumed) {
  MemoryTransport port;
  const auto reader = make_threaded_reader(port, ThreadedReaderOptions{});
  reader->request_pause();
  // Does not wait for the deadline once it is paused.
  EXPECT_EQ(reader->next(system_clock().now_ns() + kLong).kind, IoKind::nothing_yet);
  EXPECT_TRUE(reader->is_paused());
  port.push(pattern(10));
  EXPECT_EQ(reader->next(system_clock().now_ns() + 20'000'000).kind, IoKind::nothing_yet);
  EXPECT_EQ(port.waiting(), 10u);
  reader->resume();
  EXPECT_EQ(reader->next(system_clock().now_ns() + kLong).bytes.size(), 10u);
  reader->request_pause();
  port.push(pattern(20));  // ends the read under way, if there is one
  Block block = reader->next(system_clock().now_ns() + kLong);
  const size_t taken = block.bytes.size();
  EXPECT_EQ(block.kind == IoKind::done ? taken : 0, 20u - port.waiting());
  if (block.kind == IoKind::done) block = reader->next(system_clock().now_ns() + kLong);
  EXPECT_EQ(block.kind, IoKind::nothing_yet);
  EXPECT_TRUE(reader->is_paused());
  EXPECT_TRUE(reader->is_drained());
  reader->stop();
}

TEST(LendingReader, ReadsOnWhileTheCallerIsBusy) {
  MemoryTransport port;
  const auto reader = make_lending_reader(port, 100);
  port.push(pattern(50));
  EXPECT_EQ(reader->next(0).bytes.size(), 50u);
  reader->lend();
  port.push(pattern(5000));
  const int64_t give_up_ns = system_clock().now_ns() + kLong;
  while (port.waiting() > 0 && system_clock().now_ns() < give_up_ns) std::this_thread::yield();
  EXPECT_EQ(port.waiting(), 0u);
  size_t got = 0;
  while (got < 5000) {
    const Block block = reader->next(system_clock().now_ns() + kLong);
    ASSERT_EQ(block.kind, IoKind::done);
    got += block.bytes.size();
  }
  EXPECT_EQ(got, 5000u);
  reader->stop();
}

TEST(LendingReader, KeepsTheOrderThroughManyHandOvers) {
  MemoryTransport port;
  const std::vector<uint8_t> sent = pattern(400000);
  std::thread writer([&] {
    for (size_t at = 0; at < sent.size(); at += 977) {
      port.push(std::span(sent).subspan(at, std::min<size_t>(977, sent.size() - at)));
      if (at % 5 == 0) std::this_thread::yield();
    }
    port.close_port();
  });
  const auto reader = make_lending_reader(port, 300);
  std::mt19937 random(11);
  std::vector<uint8_t> got;
  for (;;) {
    const Block block = reader->next(system_clock().now_ns() + (random() % 4 == 0 ? 0 : kLong));
    if (block.kind == IoKind::gone) break;
    if (random() % 3 == 0) reader->lend();
    got.insert(got.end(), block.bytes.begin(), block.bytes.end());
  }
  EXPECT_EQ(got, sent);
  writer.join();
}

TEST(LendingReader, GoneIsSaidAgainWhoeverReadIt) {
  for (const bool is_lent : {false, true}) {
    MemoryTransport port;
    port.close_port();
    const auto reader = make_lending_reader(port, 100);
    if (is_lent) reader->lend();
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(reader->next(system_clock().now_ns() + kLong).kind, IoKind::gone);
      reader->lend();
    }
  }
}

TEST(DirectReader, OneReadABlock) {
  MemoryTransport port;
  const std::vector<uint8_t> sent = pattern(250);
  port.push(sent);
  port.close_port();
  const auto reader = make_direct_reader(port, 100);
  std::vector<size_t> sizes;
  for (Block block = reader->next(0); block.kind == IoKind::done; block = reader->next(0)) {
    sizes.push_back(block.bytes.size());
  }
  EXPECT_EQ(sizes, (std::vector<size_t>{100, 100, 50}));
  EXPECT_EQ(reader->next(0).kind, IoKind::gone);
}

}  // namespace
}  // namespace millrace::host
