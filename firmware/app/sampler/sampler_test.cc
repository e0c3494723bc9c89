// SPDX-License-Identifier: Apache-2.0
#include "firmware/app/sampler/sampler.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "firmware/app/sampler/fake_sampler_port.h"
#include "millrace/link/bytes.h"

namespace millrace::firmware {
namespace {

using link::SamplerCommand;
using link::SamplerState;
using link::SamplerStatusCode;

class SamplerTest : public testing::Test {
 protected:
  SamplerTest() : sampler(port, memory, buffer.data(), static_cast<uint32_t>(buffer.size())) {}

  void start(uint8_t mode = link::kSamplerPc, uint32_t interval_ns = 100'000,
             uint16_t jitter = 250) {
    ASSERT_EQ(sampler.start(mode, interval_ns, jitter, 1), SamplerStatusCode::ok);
  }
  // The timer runs out, and again while interrupts are locked out; returns the first distance.
  uint32_t expire(unsigned times = 1) {
    const uint32_t distance = port.current;
    for (unsigned i = 0; i < times; ++i) {
      port.now += port.current * kCyclesPerTick;
      port.current = port.load;
    }
    frame[kFramePc] += 2;
    port.load = take_sample(&memory, frame.data(), port.now);
    return distance;
  }
  std::vector<uint8_t> ask(const link::SamplerRequest& request, size_t room = 240) {
    uint8_t wire[link::kSamplerRequestBytes];
    const size_t size = link::encode_sampler_request(request, wire);
    std::vector<uint8_t> reply(room);
    reply.resize(sampler.answer(wire, size, reply.data(), room));
    return reply;
  }
  link::SamplerWords read(uint32_t first, uint16_t count, std::vector<uint8_t>* bytes) {
    link::SamplerRequest request;
    request.command = SamplerCommand::read;
    request.first_word = first;
    request.words = count;
    *bytes = ask(request);
    link::SamplerReply reply;
    link::SamplerWords words;
    EXPECT_TRUE(link::decode_sampler_reply(bytes->data(), bytes->size(), &reply));
    EXPECT_TRUE(link::decode_sampler_words(reply, &words));
    return words;
  }

  FakeSamplerPort port;
  SamplerMemory memory;
  std::vector<uint32_t> buffer = std::vector<uint32_t>(100);
  std::array<uint32_t, 8> frame{0, 0, 0, 0, 0, 0x600000f1, 0x60000100, 0x21000081};
  Sampler sampler;
};

TEST_F(SamplerTest, RecordsPcs) {
  start();
  for (int i = 0; i < 3; ++i) expire();
  std::vector<uint8_t> bytes;
  const link::SamplerWords words = read(1, 10, &bytes);
  ASSERT_EQ(words.words, 2u);
  EXPECT_EQ(words.run_number, 1u);
  EXPECT_EQ(link::load_le32(words.data), 0x60000104u);
  EXPECT_EQ(link::load_le32(words.data + 4), 0x60000106u);
  EXPECT_EQ(read(3, 10, &bytes).words, 0u);
  EXPECT_EQ(read(UINT32_MAX, 10, &bytes).words, 0u);
}

TEST_F(SamplerTest, RecordsCallersAndExceptions) {
  start(link::kSamplerCallers);
  expire();
  // xPSR 0x21000081: exception 0x81, that is interrupt 113.
  EXPECT_EQ(memory.stored_words, 3u);
  EXPECT_EQ(buffer[0], 0x60000102u);
  EXPECT_EQ(buffer[1], 0x600000f1u);
  EXPECT_EQ(buffer[2], 0x81u);
}

TEST_F(SamplerTest, CountsWhatFindsTheBufferFull) {
  start(link::kSamplerCallers);
  for (int i = 0; i < 40; ++i) expire();  // 33 records of 3 words in 100
  sampler.stop();
  const link::SamplerStatus status = sampler.status();
  EXPECT_EQ(status.stored_words, 99u);
  EXPECT_EQ(status.lost, 7u);
  EXPECT_EQ(status.state, SamplerState::stopped);
  start();
  for (int i = 0; i < 101; ++i) expire();
  EXPECT_EQ(sampler.status().stored_words, 100u);
  EXPECT_EQ(sampler.status().lost, 1u);
}

// 600,000 distances of mean 2,400 ticks +- 25 %: 1,800 to 3,000, 1,201 values. In 16 equal parts
// (of 1,216, so the last is short: 1,201 - 15 * 76 = 61) the chi-square of 15 degrees of freedom is
// above 56.49 with probability 1e-6.
TEST_F(SamplerTest, DistancesAreUniform) {
  constexpr int kCount = 600'000, kParts = 16;
  start();
  uint32_t part[kParts] = {};
  uint64_t sum = 0;
  expire();
  expire();  // the first two are the mean
  for (int i = 0; i < kCount; ++i) {
    memory.stored_words = 0;
    const uint32_t ticks = expire();
    ASSERT_GE(ticks, 1800u);
    ASSERT_LE(ticks, 3000u);
    ++part[(ticks - 1800) / 76];
    sum += ticks;
  }
  double chi_square = 0;
  for (int i = 0; i < kParts; ++i) {
    const double expected = kCount * (i < 15 ? 76.0 : 61.0) / 1201;
    chi_square += (part[i] - expected) * (part[i] - expected) / expected;
  }
  EXPECT_LT(chi_square, 56.49);
  // The standard deviation of one is 1201 / sqrt(12) = 347, of the mean 0.45: five of them.
  EXPECT_NEAR(static_cast<double>(sum) / kCount, 2400, 2.3);
}

TEST_F(SamplerTest, TimeIsTheSumOfTheDistances) {
  start();
  uint64_t ticks = 0;
  for (int i = 0; i < 50; ++i) ticks += expire();
  EXPECT_EQ(sampler.status().run_cycles, ticks * kCyclesPerTick);
  EXPECT_EQ(sampler.status().overruns, 0u);
}

TEST_F(SamplerTest, LockedInterruptsAreOverruns) {
  start(link::kSamplerPc, 100'000, 0);
  expire();
  expire(5);  // one sample where five were due
  expire();
  const link::SamplerStatus status = sampler.status();
  EXPECT_EQ(status.overruns, 4u);
  EXPECT_EQ(status.stored_words, 3u);
  EXPECT_EQ(status.run_cycles, 7u * 2400 * kCyclesPerTick);
}

TEST_F(SamplerTest, ASampleThatIsLateIsNoOverrun) {
  start(link::kSamplerPc, 100'000, 0);
  expire();
  port.now += 2300 * kCyclesPerTick;  // held up for nearly a period
  expire();
  EXPECT_EQ(sampler.status().overruns, 0u);
}

TEST_F(SamplerTest, StatusSaysWhatWasAskedFor) {
  link::SamplerRequest request;
  request.command = SamplerCommand::start;
  request.tag = 9;
  request.interval_ns = 50'000;
  request.jitter_permille = 100;
  request.seed = 5;
  std::vector<uint8_t> bytes = ask(request);
  EXPECT_TRUE(port.running);
  port.event_count += 3;
  request.command = SamplerCommand::stop;
  bytes = ask(request);
  EXPECT_FALSE(port.running);
  port.event_count += 3;  // behind the run
  request.command = SamplerCommand::info;
  bytes = ask(request);
  link::SamplerReply reply;
  link::SamplerStatus status;
  ASSERT_TRUE(link::decode_sampler_reply(bytes.data(), bytes.size(), &reply));
  ASSERT_TRUE(link::decode_sampler_status(reply, &status));
  EXPECT_EQ(reply.tag, 9u);
  EXPECT_EQ(status.state, SamplerState::stopped);
  EXPECT_EQ(status.interval_cycles, 30'000u);  // 50 us at 600 MHz
  EXPECT_EQ(status.jitter_permille, 100u);
  EXPECT_EQ(status.capacity_words, 100u);
  EXPECT_EQ(status.events, 3u);
  EXPECT_EQ(status.run_number, 1u);
  ASSERT_EQ(status.identity_bytes, 3u);
  EXPECT_EQ(status.identity[2], 9u);
}

TEST_F(SamplerTest, RefusalChangesNothing) {
  start();
  expire();
  link::SamplerRequest request;
  request.command = SamplerCommand::start;
  const auto result = [&] { return static_cast<SamplerStatusCode>(ask(request)[7]); };
  for (const uint32_t interval : {0u, 1'999u, 1'000'000'001u, UINT32_MAX}) {
    request.interval_ns = interval;
    EXPECT_EQ(result(), SamplerStatusCode::interval) << interval;
  }
  request.interval_ns = 100'000;
  request.jitter_permille = 501;
  EXPECT_EQ(result(), SamplerStatusCode::jitter);
  request.jitter_permille = 0;
  request.mode = 2;
  EXPECT_EQ(result(), SamplerStatusCode::mode);
  EXPECT_EQ(ask(request).size(), link::kSamplerHeaderBytes);
  request.command = static_cast<SamplerCommand>(200);
  EXPECT_EQ(result(), SamplerStatusCode::unknown_command);
  EXPECT_TRUE(port.running);
  EXPECT_EQ(memory.stored_words, 1u);
  EXPECT_EQ(sampler.status().run_number, 1u);
}

TEST_F(SamplerTest, ReadFitsTheRoom) {
  start();
  for (int i = 0; i < 100; ++i) expire();
  std::vector<uint8_t> bytes;
  EXPECT_EQ(read(0, UINT16_MAX, &bytes).words, 55u);  // (240 - 20) / 4
  EXPECT_EQ(read(0, 7, &bytes).words, 7u);
  EXPECT_EQ(read(90, 55, &bytes).words, 10u);
}

TEST_F(SamplerTest, WhatIsNoRequestHasNoReply) {
  uint8_t reply[link::kSamplerStatusBytes];
  const uint8_t junk[] = {0xf3, 0x4d, 0x52, 0x53, 2, 1, 0, 0, 1, 2, 3, 4};  // another version
  for (size_t size = 0; size <= sizeof(junk); ++size) {
    EXPECT_EQ(sampler.answer(junk, size, reply, sizeof(reply)), 0u);
  }
}

}  // namespace
}  // namespace millrace::firmware
