// SPDX-License-Identifier: Apache-2.0
// spec/stream.md on the device: sessions, IN runs, counters. OUT: out_device_test.cc.
#include "firmware/app/stream_device.h"

#include <gtest/gtest.h>

#include <string>

#include "firmware/app/device_fixture.h"
#include "firmware/app/sampler/fake_sampler_port.h"

namespace millrace::firmware {
namespace {

using link::DeviceCounters;
using link::MessageType;
using link::StartStatus;

link::RunRequest in_run(uint32_t frame_size, uint32_t frame_count, uint16_t window = 0) {
  link::RunRequest request;
  request.run_id = 77;
  request.frame_size = frame_size;
  request.frame_count = frame_count;
  request.window_frames = window;
  request.seed = 7;
  return request;
}

TEST(StreamDevice, AnswersTheProbeWithHello) {
  DeviceFixture f;
  f.send(probe_bytes());
  std::string bytes = f.received();
  EXPECT_EQ(f.port.flushes, std::vector<size_t>{bytes.size()});
  const auto hello = take<link::Hello>(&bytes, MessageType::hello);
  ASSERT_TRUE(hello);
  EXPECT_EQ(bytes, "");
  EXPECT_EQ(hello->version, 1);
  EXPECT_EQ(hello->capabilities, 1 | 2 | 4 | 8);
  EXPECT_EQ(hello->boot_counter, 7u);
  EXPECT_EQ(hello->usb_speed_mbit, 480u);
  EXPECT_EQ(hello->tx_buffer_bytes, 8192u);
  EXPECT_EQ(hello->rx_buffer_bytes, 4096u);
  EXPECT_STREQ(hello->firmware_name, "millrace-stream");
  EXPECT_STREQ(hello->firmware_version, "0.1.0");
  EXPECT_STREQ(hello->board, "fake");
  EXPECT_EQ(hello->max_frame_bytes, 16u << 20);
  EXPECT_GT(hello->max_window_frames, 0u);
}

TEST(StreamDevice, EveryHelloHasAnotherSession) {
  DeviceFixture f;
  const uint32_t first = f.open_session();
  f.port.next_entropy = 0x1000;  // a board with a poor source of randomness
  const uint32_t second = f.open_session();
  EXPECT_NE(first, 0u);
  EXPECT_NE(second, 0u);
  EXPECT_NE(first, second);
  f.port.next_entropy = 0;
  EXPECT_NE(f.open_session(), 0u);
}

TEST(StreamDevice, SamplerIsAskedOverControlMessages) {
  SamplerFixture sampler;
  const auto bytes = [&](link::SamplerCommand command) {
    const std::vector<uint8_t> request = sampler.request(command);
    return message_bytes(MessageType::sampler_request, {request.begin(), request.end()});
  };
  DeviceFixture without;
  without.send(bytes(link::SamplerCommand::start));
  EXPECT_EQ(without.received(), "");
  StreamDeviceOptions options;
  options.sampler = &sampler.sampler;
  DeviceFixture f(options);
  f.send(probe_bytes());
  const auto hello = take<link::Hello>(&f.port.output, MessageType::hello);
  ASSERT_TRUE(hello);
  EXPECT_NE(hello->capabilities & link::kHasSampler, 0);
  f.received();
  f.send(bytes(link::SamplerCommand::start));
  std::string output = f.received();
  const auto started = take_message(&output, MessageType::sampler_reply);
  ASSERT_TRUE(started);
  EXPECT_EQ(started->size(), link::kSamplerStatusBytes);
  EXPECT_TRUE(sampler.port.running);
  sampler.memory.stored_words = 600;
  f.send(bytes(link::SamplerCommand::read));
  output = f.received();
  const auto words = take_message(&output, MessageType::sampler_reply);
  ASSERT_TRUE(words);
  EXPECT_EQ(words->size(), link::kSamplerReadBytes + 4 * link::kSamplerMessageWords);
  f.send(message_bytes(MessageType::sampler_request, "nonsense"));
  EXPECT_EQ(f.received(), "");
}

TEST(StreamDevice, AnInRunIsStartedStreamReport) {
  for (const auto& [size, count] :
       {std::pair{128u, 100u}, {13u, 999u}, {5000u, 7u}, {4096u, 3u}, {1u, 1u}, {511u, 64u}}) {
    DeviceFixture f;
    ASSERT_TRUE(f.start(in_run(size, count)));
    std::string bytes = f.received();
    const std::string expected = stream_bytes({7, size, count});
    ASSERT_EQ(bytes.substr(0, expected.size()), expected);
    bytes.erase(0, expected.size());
    const auto report = take<DeviceCounters>(&bytes, MessageType::report);
    ASSERT_TRUE(report) << size;
    EXPECT_EQ(bytes, "");
    EXPECT_EQ(report->state, link::kRunComplete);
    EXPECT_EQ(report->run_id, 77u);
    EXPECT_EQ(report->boot_counter, 7u);
    EXPECT_EQ(report->frames_sent, count);
    EXPECT_EQ(report->in_offered_bytes, expected.size());
    EXPECT_EQ(report->in_accepted_bytes, expected.size());
    EXPECT_EQ(report->in_discarded_bytes, 0u);
    EXPECT_FALSE(f.device.run_active());
  }
}

// Offset 0 of the stream is the start of a packet and of a device buffer.
TEST(StreamDevice, FlushesBehindStartedAndNotInTheStream) {
  DeviceFixture f;
  const uint32_t session = f.open_session();
  f.received();
  f.port.flushes.clear();
  link::RunRequest request = in_run(128, 1000);
  request.session_id = session;
  f.send(run_bytes(request));
  const size_t started = link::Started::kBytes + link::kMessageOverhead;
  const size_t report = DeviceCounters::kBytes + link::kMessageOverhead;
  EXPECT_EQ(f.port.flushes, (std::vector<size_t>{started, started + 128'000 + report}));
}

TEST(StreamDevice, RefusesWhatItCannotDo) {
  struct Case {
    const char* name;
    StartStatus status;
    void (*change)(link::RunRequest*);
  };
  const Case cases[] = {
      {"session", StartStatus::wrong_session, [](link::RunRequest* r) { ++r->session_id; }},
      {"size 0", StartStatus::frame_size, [](link::RunRequest* r) { r->frame_size = 0; }},
      {"size", StartStatus::frame_size,
       [](link::RunRequest* r) { r->frame_size = (16u << 20) + 1; }},
      {"count 0", StartStatus::frame_count, [](link::RunRequest* r) { r->frame_count = 0; }},
      {"window", StartStatus::window,
       [](link::RunRequest* r) {
         r->direction = link::Direction::both;
         r->window_frames = 1;
       }},
      {"none", StartStatus::started, [](link::RunRequest*) {}},
  };
  for (const Case& c : cases) {
    DeviceFixture f;
    link::RunRequest request = in_run(128, 2);
    request.session_id = f.open_session();
    c.change(&request);
    f.send(run_bytes(request));
    const auto started = take<link::Started>(&f.port.output, MessageType::started);
    ASSERT_TRUE(started) << c.name;
    EXPECT_EQ(started->status, c.status) << c.name;
    EXPECT_EQ(started->session_id, request.session_id) << c.name;
    EXPECT_EQ(started->run_id, 77u) << c.name;
    EXPECT_EQ(started->reason[0] == 0, c.status == StartStatus::started) << c.name;
    EXPECT_EQ(f.port.output.empty(), c.status != StartStatus::started) << c.name;
  }
}

TEST(StreamDevice, RefusesUnknownDirectionsAndFlags) {
  for (const auto& [at, value, status] : {std::tuple{8, 0, StartStatus::direction},
                                          {8, 4, StartStatus::direction},
                                          {8, 255, StartStatus::direction},
                                          {9, 2, StartStatus::flags},
                                          {9, 0x81, StartStatus::flags}}) {
    DeviceFixture f;
    link::RunRequest request = in_run(128, 2);
    request.session_id = f.open_session();
    uint8_t payload[link::RunRequest::kBytes];
    link::encode(request, payload);
    payload[at] = static_cast<uint8_t>(value);
    f.send(
        message_bytes(MessageType::run, {reinterpret_cast<const char*>(payload), sizeof(payload)}));
    const auto started = take<link::Started>(&f.port.output, MessageType::started);
    ASSERT_TRUE(started);
    EXPECT_EQ(started->status, status) << at << " " << value;
    EXPECT_EQ(started->run_id, 77u);
    EXPECT_EQ(f.port.output, "");
  }
}

TEST(StreamDevice, RefusesARunBeforeAnyHello) {
  DeviceFixture f;
  f.send(run_bytes(in_run(128, 2)));  // session 0
  const auto started = take<link::Started>(&f.port.output, MessageType::started);
  ASSERT_TRUE(started);
  EXPECT_EQ(started->status, StartStatus::wrong_session);
}

TEST(StreamDevice, ALongerPayloadIsTakenAndAShorterOneIsNot) {
  DeviceFixture f;
  link::RunRequest request = in_run(4, 1);
  request.session_id = f.open_session();
  uint8_t payload[link::RunRequest::kBytes];
  link::encode(request, payload);
  const std::string text(reinterpret_cast<const char*>(payload), sizeof(payload));
  f.send(message_bytes(MessageType::run, text.substr(0, 31)));
  EXPECT_EQ(f.port.output, "");
  f.send(message_bytes(MessageType::run, text + "more"));
  EXPECT_TRUE(take<link::Started>(&f.port.output, MessageType::started));
}

TEST(StreamDevice, KeepsToTheWindow) {
  for (const uint16_t window : {uint16_t{1}, uint16_t{2}, uint16_t{7}}) {
    DeviceFixture f;
    ASSERT_TRUE(f.start(in_run(300, 20, window)));
    std::string all;
    for (uint32_t acked = 0; acked <= 20; ++acked) {
      all += f.received();
      const uint32_t sent = std::min(20u, acked + window);
      if (sent < 20) {
        ASSERT_EQ(all.size(), 300u * sent) << window << " " << acked;
      }
      if (acked < 20) f.send("\x06");
    }
    const std::string expected = stream_bytes({7, 300, 20});
    ASSERT_EQ(all.substr(0, expected.size()), expected);
    all.erase(0, expected.size());
    const auto report = take<DeviceCounters>(&all, MessageType::report);
    ASSERT_TRUE(report);
    // The run ends when the last frame is accepted; the last acknowledgements come later.
    EXPECT_EQ(report->acks_received, 20u - window);
    f.send(message_bytes(MessageType::get_counters));
    const auto later = take<DeviceCounters>(&f.port.output, MessageType::report);
    ASSERT_TRUE(later);
    EXPECT_EQ(later->acks_received, 20u);
    EXPECT_EQ(later->foreign_bytes, 0u);
  }
}

TEST(StreamDevice, FlushesWhenTheWindowCloses) {
  DeviceFixture f;
  ASSERT_TRUE(f.start(in_run(512, 6, 2)));
  f.received();
  f.port.flushes.clear();
  f.send("\x06\x06");
  EXPECT_EQ(f.port.flushes, std::vector<size_t>{1024});
}

TEST(StreamDevice, LateAcknowledgementsDoNotDisturbTheNextRun) {
  DeviceFixture f;
  ASSERT_TRUE(f.start(in_run(300, 4, 4)));
  f.received();
  link::RunRequest next = in_run(10, 1);
  next.session_id = f.device.counters().session_id;
  f.send("\x06\x06\x06\x06" + run_bytes(next));
  EXPECT_TRUE(take<link::Started>(&f.port.output, MessageType::started));
  EXPECT_EQ(f.device.counters().foreign_bytes, 0u);
}

TEST(StreamDevice, StopEndsTheFrameUnderWayAndReports) {
  for (const size_t taken : {0u, 1u, 299u, 300u, 301u, 4096u}) {
    DeviceFixture f;
    link::RunRequest request = in_run(300, 1000);
    request.session_id = f.open_session();
    f.port.script = {52, taken};  // STARTED, then so much of the stream
    f.port.accept = 0;
    f.send(run_bytes(request));
    f.port.host_sends(message_bytes(MessageType::stop));
    f.port.script = {0};
    f.port.accept = FakePort::kEverything;
    f.settle();
    f.settle();
    ASSERT_TRUE(take<link::Started>(&f.port.output, MessageType::started));
    std::string bytes = f.received();
    const size_t frames = (taken + 299) / 300;
    const std::string expected = stream_bytes({7, 300, 1000}).substr(0, frames * 300);
    ASSERT_EQ(bytes.substr(0, expected.size()), expected) << taken;
    bytes.erase(0, expected.size());
    const auto report = take<DeviceCounters>(&bytes, MessageType::report);
    ASSERT_TRUE(report) << taken;
    EXPECT_EQ(report->state, link::kRunStopped);
    EXPECT_EQ(report->frames_sent, frames);
    EXPECT_EQ(report->in_offered_bytes, expected.size());
    EXPECT_EQ(report->in_accepted_bytes, expected.size());
  }
}

TEST(StreamDevice, StopEndsALongFrameAcrossPieces) {
  DeviceFixture f;
  link::RunRequest request = in_run(10'000, 50);
  request.session_id = f.open_session();
  f.port.script = {52, 4096, 100};
  f.port.accept = 0;
  f.send(run_bytes(request));
  f.port.accept = FakePort::kEverything;
  f.send(message_bytes(MessageType::stop));
  ASSERT_TRUE(take<link::Started>(&f.port.output, MessageType::started));
  EXPECT_EQ(f.port.output.substr(0, 10'000), stream_bytes({7, 10'000, 1}));
  f.port.output.erase(0, 10'000);
  EXPECT_TRUE(take<DeviceCounters>(&f.port.output, MessageType::report));
}

TEST(StreamDevice, AProbeEndsARunWithoutAReport) {
  DeviceFixture f;
  link::RunRequest request = in_run(300, 1000);
  request.session_id = f.open_session();
  f.port.script = {52, 1000};
  f.port.accept = 0;
  f.send(run_bytes(request));
  f.port.accept = FakePort::kEverything;
  f.send("garbage" + probe_bytes());
  ASSERT_TRUE(take<link::Started>(&f.port.output, MessageType::started));
  f.port.output.erase(0, 1000);
  const auto hello = take<link::Hello>(&f.port.output, MessageType::hello);
  ASSERT_TRUE(hello);
  EXPECT_NE(hello->session_id, request.session_id);
  EXPECT_EQ(f.port.output, "");
  EXPECT_FALSE(f.device.run_active());
}

TEST(StreamDevice, AProbeCutsNoMessageThatIsHalfSent) {
  DeviceFixture f;
  f.port.script = {10};
  f.port.accept = 0;
  f.send(probe_bytes());
  f.port.accept = FakePort::kEverything;
  f.send(probe_bytes());
  EXPECT_TRUE(take<link::Hello>(&f.port.output, MessageType::hello));
  EXPECT_TRUE(take<link::Hello>(&f.port.output, MessageType::hello));
  EXPECT_EQ(f.port.output, "");
}

TEST(StreamDevice, ARunDuringARunReplacesIt) {
  DeviceFixture f;
  link::RunRequest request = in_run(300, 1000);
  request.session_id = f.open_session();
  f.port.script = {52, 1000};
  f.port.accept = 0;
  f.send(run_bytes(request));
  request.frame_count = 1;
  f.port.accept = FakePort::kEverything;
  f.send(run_bytes(request));
  ASSERT_TRUE(take<link::Started>(&f.port.output, MessageType::started));
  f.port.output.erase(0, 1000);
  ASSERT_TRUE(take<link::Started>(&f.port.output, MessageType::started));
  EXPECT_EQ(f.port.output.substr(0, 300), stream_bytes({7, 300, 1}));
}

TEST(StreamDevice, CountersComeAtFrameBoundariesByInterval) {
  for (const uint32_t size : {128u, 3000u, 5000u, 4096u}) {
    DeviceFixture f;
    link::RunRequest request = in_run(size, 200);
    request.counters_interval_ms = 10;
    f.port.write_us = 3'000;
    ASSERT_TRUE(f.start(request));
    const std::string stream = stream_bytes({7, size, 200});
    std::string bytes = f.received();
    size_t at = 0;
    uint64_t last_us = 0;
    uint32_t count = 0;
    while (at < stream.size()) {
      ASSERT_EQ(bytes.substr(0, size), stream.substr(at, size)) << at;
      bytes.erase(0, size);
      at += size;
      if (const auto counters = take<DeviceCounters>(&bytes, MessageType::counters)) {
        ++count;
        EXPECT_EQ(counters->state, link::kRunActive);
        EXPECT_EQ(counters->in_accepted_bytes, at);
        EXPECT_EQ(counters->in_offered_bytes, at);
        EXPECT_EQ(counters->frames_sent, at / size);
        EXPECT_GE(counters->run_us - last_us, 10'000u);
        last_us = counters->run_us;
      }
    }
    const auto report = take<DeviceCounters>(&bytes, MessageType::report);
    ASSERT_TRUE(report);
    // A write takes 3 ms, so at least every fifth is followed by counters.
    EXPECT_GE(count, report->run_us / 21'000) << size;
    EXPECT_GT(count, 0u) << size;
  }
}

TEST(StreamDevice, GetCountersIsAnsweredAtTheNextFrameBoundary) {
  DeviceFixture f;
  link::RunRequest request = in_run(5000, 3);
  request.session_id = f.open_session();
  f.port.script = {52, 4096, 10};
  f.port.accept = 0;
  f.send(run_bytes(request));
  f.port.accept = FakePort::kEverything;
  f.send(message_bytes(MessageType::get_counters));
  ASSERT_TRUE(take<link::Started>(&f.port.output, MessageType::started));
  f.port.output.erase(0, 5000);
  const auto counters = take<DeviceCounters>(&f.port.output, MessageType::counters);
  ASSERT_TRUE(counters);
  EXPECT_EQ(counters->frames_sent, 1u);
  EXPECT_GT(counters->short_writes, 0u);
  EXPECT_EQ(f.port.output.size(), 10'000 + DeviceCounters::kBytes + link::kMessageOverhead);
}

TEST(StreamDevice, GetCountersIsAnsweredWhileTheWindowIsClosed) {
  DeviceFixture f;
  ASSERT_TRUE(f.start(in_run(300, 20, 1)));
  EXPECT_EQ(f.received().size(), 300u);
  f.port.flushes.clear();
  f.send(message_bytes(MessageType::get_counters));
  EXPECT_TRUE(take<DeviceCounters>(&f.port.output, MessageType::counters));
  EXPECT_EQ(f.port.flushes.size(), 1u);
}

TEST(StreamDevice, GetCountersWithoutARunIsAReport) {
  DeviceFixture f;
  f.send(message_bytes(MessageType::get_counters));
  const auto none = take<DeviceCounters>(&f.port.output, MessageType::report);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->session_id, 0u);
  EXPECT_EQ(none->in_offered_bytes, 0u);
  ASSERT_TRUE(f.start(in_run(300, 20)));
  f.received();
  f.advance_ms(5000);
  f.send(message_bytes(MessageType::get_counters));
  const auto last = take<DeviceCounters>(&f.port.output, MessageType::report);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->in_accepted_bytes, 6000u);
  EXPECT_EQ(last->state, link::kRunComplete);
  EXPECT_LT(last->run_us, 5'000'000u);  // time since the run is not part of it
}

TEST(StreamDevice, CountsTheTimeBlocked) {
  DeviceFixture f;
  link::RunRequest request = in_run(4096, 2);
  request.session_id = f.open_session();
  f.port.script = {52, 4000, 0};
  f.port.accept = 0;
  f.send(run_bytes(request));
  f.advance_ms(300);
  f.port.accept = FakePort::kEverything;
  f.advance_ms(50);
  ASSERT_TRUE(take<link::Started>(&f.port.output, MessageType::started));
  f.port.output.erase(0, 8192);
  const auto report = take<DeviceCounters>(&f.port.output, MessageType::report);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->longest_blocked_us, 350'000u);
  EXPECT_EQ(report->total_blocked_us, 350'000u);
  EXPECT_EQ(report->run_us, 350'000u);
  EXPECT_GE(report->short_writes, 3u);
}

TEST(StreamDevice, DiscardModeThrowsAwayAndSaysSo) {
  DeviceFixture f;
  link::RunRequest request = in_run(1000, 5);
  request.discard_mode = true;
  request.discard_after_ms = 20;
  request.session_id = f.open_session();
  f.port.script = {52, 1000, 300};
  f.port.accept = 0;
  f.send(run_bytes(request));
  f.port.script = {0, 0};
  f.port.accept = FakePort::kEverything;
  f.advance_ms(20);
  ASSERT_TRUE(take<link::Started>(&f.port.output, MessageType::started));
  const std::string whole = stream_bytes({7, 1000, 5});
  const std::string expected = whole.substr(0, 1300) + whole.substr(3000);
  EXPECT_EQ(f.port.output.substr(0, expected.size()), expected);
  f.port.output.erase(0, expected.size());
  const auto report = take<DeviceCounters>(&f.port.output, MessageType::report);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->in_discarded_bytes, 1700u);
  EXPECT_EQ(report->discards, 2u);
  EXPECT_EQ(report->frames_sent, 3u);
  EXPECT_EQ(report->in_offered_bytes, 5000u);
}

TEST(StreamDevice, ForeignBytesAreReported) {
  DeviceFixture f;
  f.send("AT\r" + probe_bytes());
  ASSERT_TRUE(take<link::Hello>(&f.port.output, MessageType::hello));
  f.send(message_bytes(MessageType::get_counters));
  const auto report = take<DeviceCounters>(&f.port.output, MessageType::report);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->foreign_bytes, 3u);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(report->first_foreign), 4),
            std::string("AT\r\0", 4));
}

TEST(StreamDevice, AHostThatAsksWithoutReadingMeetsBackPressure) {
  DeviceFixture f;
  f.port.accept = 0;
  std::string flood;
  for (int i = 0; i < 1000; ++i) flood += message_bytes(MessageType::get_counters);
  f.port.host_sends(flood);
  for (int i = 0; i < 1000; ++i) f.device.poll();
  EXPECT_GT(f.port.input.size(), 0u);
  f.port.accept = FakePort::kEverything;
  f.settle();
  std::string bytes = f.received();
  int answers = 0;
  while (take<DeviceCounters>(&bytes, MessageType::report)) ++answers;
  EXPECT_EQ(answers, 1000);
  EXPECT_EQ(bytes, "");
}

TEST(StreamDevice, LosingTheLinkEndsRunAndSession) {
  DeviceFixture f;
  link::RunRequest request = in_run(1000, 5);
  request.session_id = f.open_session();
  f.port.accept = 0;
  f.send(run_bytes(request));
  EXPECT_TRUE(f.device.run_active());
  f.device.link_lost();
  f.port.accept = FakePort::kEverything;
  f.settle();
  EXPECT_FALSE(f.device.run_active());
  EXPECT_EQ(f.port.output, "");
  f.send(run_bytes(request));
  const auto started = take<link::Started>(&f.port.output, MessageType::started);
  ASSERT_TRUE(started);
  EXPECT_EQ(started->status, StartStatus::wrong_session);
}

}  // namespace
}  // namespace millrace::firmware
