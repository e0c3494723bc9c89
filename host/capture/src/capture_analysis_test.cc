// SPDX-License-Identifier: Apache-2.0
// Whole captures with known answers. Turnarounds are in microseconds and exact.
#include "millrace/capture/capture_analysis.h"

#include <gmock/gmock.h>

#include "testing/capture_builder.h"

namespace millrace::capture {
namespace {

constexpr int64_t kUs = 1000;

std::unique_ptr<CaptureAnalysis> analyse_file(const Bytes& file,
                                              const AnalysisOptions& options = {}) {
  MemorySource source(file, 1000);
  auto result = analyse(&source, "test", options);
  EXPECT_TRUE(result) << result.error().message;
  return std::move(*result);
}

std::unique_ptr<CaptureAnalysis> analyse_records(std::vector<TestRecord> records,
                                                 const AnalysisOptions& options = {}) {
  std::stable_sort(records.begin(), records.end(),
                   [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  return analyse_file(pcap_file(220, records), options);
}

const Turnaround& first_turnaround(const CaptureAnalysis& analysis) {
  static const Turnaround kNone;
  const DeviceAnalysis* device = nullptr;
  const Turnaround* found = analysis.headline(&device);
  EXPECT_NE(found, nullptr);
  return found == nullptr ? kNone : *found;
}

// Ping i is sent at 1 ms x i, its OUT ends 20 us later, the reply `50 + i` us after that.
std::vector<TestRecord> pings(uint16_t count) {
  std::vector<TestRecord> records;
  for (uint16_t i = 0; i < count; ++i) {
    const int64_t at = int64_t{1000} * i;
    add_transfer(&records, 0x100, 0x02, at, at + 20, ntb(i, {ping_frame(false, 9, i)}));
    add_transfer(&records, 0x200, 0x82, at + 1, at + 20 + 50 + i, ntb(i, {ping_frame(true, 9, i)}),
                 16384);
  }
  return records;
}

TEST(Turnaround, MedianOfTheFirst300PingsIsThePublishedFigure) {
  const auto analysis = analyse_records(pings(301));
  const Turnaround& t = first_turnaround(*analysis);
  EXPECT_EQ(t.by, PairedBy::icmp_echo);
  EXPECT_EQ(t.times.count(), 301u);
  // 50..349 us: between the 150th and 151st, 199 and 200.
  EXPECT_EQ(t.median_of_first_ns(), 199'500);
  // All 301, 50..350: the 151st.
  EXPECT_EQ(t.times.quantile(0.5), 200 * kUs);
  EXPECT_EQ(t.times.min(), 50 * kUs);
  EXPECT_EQ(t.times.max(), 350 * kUs);
  EXPECT_EQ(t.from_submit.min(), 70 * kUs);
  EXPECT_EQ(t.requests, 301u);
  EXPECT_EQ(t.unanswered + t.shut_out + t.unrequested, 0u);
}

TEST(Turnaround, CoalescedAndLostFramesDoNotMispair) {
  std::vector<TestRecord> records;
  const auto ping = [](uint16_t i) { return ping_frame(false, 9, i); };
  const auto pong = [](uint16_t i) { return ping_frame(true, 9, i); };
  // Three in one NTB; the second is never answered, the third before the first.
  add_transfer(&records, 1, 0x02, 0, 10, ntb(0, {ping(1), ping(2), ping(3)}));
  add_transfer(&records, 2, 0x82, 0, 40, ntb(0, {pong(3)}), 16384);
  add_transfer(&records, 3, 0x02, 45, 50, ntb(1, {ping(4)}));
  add_transfer(&records, 4, 0x82, 41, 110, ntb(1, {pong(1), pong(4)}), 16384);
  const auto analysis = analyse_records(records);
  const Turnaround& t = first_turnaround(*analysis);
  std::vector<int64_t> us;
  for (const int64_t ns : t.first_ns) us.push_back(ns / kUs);
  EXPECT_THAT(us, testing::ElementsAre(30, 100, 60));
  EXPECT_EQ(t.requests, 4u);
  EXPECT_EQ(t.shut_out, 1u);  // open at the end, within its second
  const EndpointStatistics& out = *analysis->devices[0]->endpoints[endpoint_index(0x02)];
  EXPECT_EQ(out.frames->frames, 4u);
  EXPECT_EQ(out.frames->frames_per_transfer.max(), 3u);
}

TEST(Turnaround, AReplyAfterTheTimeLimitIsNone) {
  std::vector<TestRecord> records;
  add_transfer(&records, 1, 0x02, 0, 10, ping_frame(false, 1, 1));
  add_transfer(&records, 2, 0x82, 0, 2'000'000, ping_frame(true, 1, 1), 2048);
  add_transfer(&records, 1, 0x02, 2'000'100, 2'000'110, ping_frame(false, 1, 2));
  add_transfer(&records, 2, 0x82, 2'000'100, 2'000'150, ping_frame(true, 1, 2), 2048);
  const auto analysis = analyse_records(records);
  const Turnaround& t = first_turnaround(*analysis);
  EXPECT_EQ(t.times.count(), 1u);
  EXPECT_EQ(t.times.max(), 40 * kUs);
  EXPECT_EQ(t.unanswered, 1u);
  EXPECT_EQ(t.unrequested, 1u);
}

TEST(Turnaround, UdpEchoesArePairedByTheirPayload) {
  std::vector<TestRecord> records;
  for (uint8_t i = 0; i < 3; ++i) {
    add_transfer(&records, 10u + i, 0x02, i * 10, i * 10 + 5,
                 udp_frame(false, 5000, 7, Bytes(32, i)));
  }
  // Answered in reverse.
  for (uint8_t i = 0; i < 3; ++i) {
    add_transfer(&records, 20u + i, 0x82, 0, 100 + i,
                 udp_frame(true, 5000, 7, Bytes(32, static_cast<uint8_t>(2 - i))), 2048);
  }
  const auto analysis = analyse_records(records);
  const Turnaround& t = first_turnaround(*analysis);
  EXPECT_EQ(t.by, PairedBy::udp);
  std::vector<int64_t> us;
  for (const int64_t ns : t.first_ns) us.push_back(ns / kUs);
  // Ends of the requests: 5, 15, 25.
  EXPECT_THAT(us, testing::ElementsAre(75, 86, 97));
  EXPECT_EQ(t.ambiguous, 0u);
}

TEST(Turnaround, UdpRepliesWithAnotherPayloadArePairedByTheirFlowIfOneIsOpen) {
  std::vector<TestRecord> records;
  for (int64_t i = 0; i < 4; ++i) {
    add_transfer(&records, 1, 0x02, i * 1000, i * 1000 + 5, udp_frame(false, 5000, 99, {1, 2}));
    add_transfer(&records, 2, 0x82, i * 1000, i * 1000 + 45, udp_frame(true, 5000, 99, {7}), 2048);
  }
  const auto analysis = analyse_records(records);
  const Turnaround& t = first_turnaround(*analysis);
  EXPECT_EQ(t.by, PairedBy::udp_flow);
  EXPECT_EQ(t.times.count(), 4u);
  EXPECT_EQ(t.times.quantile(1), 40 * kUs);
}

TEST(Turnaround, EqualPayloadsInFlightAreCountedAsAmbiguous) {
  std::vector<TestRecord> records;
  for (int64_t i = 0; i < 2; ++i) {
    add_transfer(&records, 1u + static_cast<uint64_t>(i), 0x02, i, 10 + i,
                 udp_frame(false, 5000, 7, Bytes(8, 1)));
  }
  for (int64_t i = 0; i < 2; ++i) {
    add_transfer(&records, 3u + static_cast<uint64_t>(i), 0x82, i, 30 + i,
                 udp_frame(true, 5000, 7, Bytes(8, 1)), 2048);
  }
  const auto analysis = analyse_records(records);
  EXPECT_EQ(first_turnaround(*analysis).ambiguous, 1u);
  EXPECT_EQ(first_turnaround(*analysis).times.max(), 20 * kUs);
}

TEST(Turnaround, AReplyThatIsReportedFirstCountsAsZero) {
  std::vector<TestRecord> records;
  add_transfer(&records, 1, 0x02, 0, 50, ping_frame(false, 1, 1));
  add_transfer(&records, 2, 0x82, 0, 49, ping_frame(true, 1, 1), 2048);
  const auto analysis = analyse_records(records);
  const Turnaround& t = first_turnaround(*analysis);
  EXPECT_EQ(t.times.max(), 0);
  EXPECT_EQ(t.reply_first, 1u);
  EXPECT_EQ(t.unrequested, 0u);
}

TEST(Turnaround, SerialEchoIsPairedByItsBytes) {
  std::vector<TestRecord> records;
  // Two requests of 3 and 2 bytes come back as 4 and 1.
  add_transfer(&records, 1, 0x03, 0, 10, {1, 2, 3});
  add_transfer(&records, 2, 0x03, 11, 20, {4, 5});
  add_transfer(&records, 3, 0x84, 0, 50, {1, 2, 3, 4}, 512);
  add_transfer(&records, 4, 0x84, 0, 70, {5}, 512);
  const auto analysis = analyse_records(records);
  const Turnaround& t = first_turnaround(*analysis);
  EXPECT_EQ(t.by, PairedBy::echo);
  EXPECT_EQ(t.out_endpoint, 0x03);
  EXPECT_EQ(t.in_endpoint, 0x84);
  EXPECT_THAT(t.first_ns, testing::ElementsAre(40 * kUs, 50 * kUs));
}

TEST(Turnaround, DialogueIsPairedByOrderFromTheLastTransferOfTheRequest) {
  std::vector<TestRecord> records;
  add_transfer(&records, 1, 0x03, 0, 10, {'?', 'a'});
  add_transfer(&records, 2, 0x03, 11, 20, {'b'});
  add_transfer(&records, 3, 0x83, 0, 60, {'o', 'k'}, 512);
  add_transfer(&records, 4, 0x83, 61, 70, {'.'}, 512);
  add_transfer(&records, 5, 0x83, 71, 90, {}, 512);  // empty: no data
  add_transfer(&records, 6, 0x03, 100, 110, {'?'});
  add_transfer(&records, 7, 0x83, 130, 140, {'!'}, 512);
  const auto analysis = analyse_records(records);
  const Turnaround& t = first_turnaround(*analysis);
  EXPECT_EQ(t.by, PairedBy::order);
  EXPECT_THAT(t.first_ns, testing::ElementsAre(40 * kUs, 30 * kUs));
  EXPECT_EQ(t.of_several, 1u);
  EXPECT_EQ(t.unrequested, 1u);
  // The second reply was asked for 20 us after the end of its request.
  EXPECT_EQ(t.asked_late.count(), 1u);
  EXPECT_EQ(t.asked_late.max(), 20 * kUs);
}

TEST(Turnaround, DataThatLetsARequestGoIsNoAnswerToIt) {
  std::vector<TestRecord> records;
  // The host acknowledges at once what came, and gets the next 90 us after the request's end.
  for (int64_t at = 0; at <= 1000; at += 100) {
    add_transfer(&records, 1, 0x83, at + 1, at + 70, Bytes(512), 512);
    if (at < 1000) add_transfer(&records, 2, 0x03, at + 70, at + 80, {6});
  }
  const auto analysis = analyse_records(records);
  const Turnaround& t = first_turnaround(*analysis);
  EXPECT_EQ(t.reply_first, 0u);
  EXPECT_EQ(t.times.count(), 10u);
  EXPECT_EQ(t.times.min(), 90 * kUs);
  EXPECT_EQ(t.times.max(), 90 * kUs);
}

TEST(Turnaround, EndpointsCanBeChosen) {
  std::vector<TestRecord> records = pings(3);
  AnalysisOptions options;
  options.in_endpoint = 0x81;
  const auto analysis = analyse_records(records, options);
  const DeviceAnalysis* device = nullptr;
  EXPECT_EQ(analysis->headline(&device), nullptr);
}

// A section, an interface, then blocks of an unknown type, of which there is no end.
class EndlessBlocks final : public ByteSource {
 public:
  host::Result<size_t> read(uint8_t* to, size_t size) override {
    const Bytes& part = reads_++ == 0 ? start_ : block_;
    const size_t taken = std::min(size, part.size());
    std::copy_n(part.begin(), taken, to);
    return taken;
  }

 private:
  Bytes start_ = joined({section_block(), interface_block(220)});
  Bytes block_ = block(0xBAD, {});
  int reads_ = 0;
};

TEST(CaptureAnalysis, IsLeftBetweenBlocksThatHoldNoRecord) {
  EndlessBlocks source;
  int asked = 0;
  AnalysisOptions options;
  options.keep_going = [&asked] { return ++asked < 100; };
  const auto analysis = analyse(&source, "endless", options);
  ASSERT_TRUE(analysis);
  ASSERT_TRUE((*analysis)->error);
  EXPECT_EQ((*analysis)->error->code, host::ErrorCode::interrupted);
  EXPECT_EQ(asked, 100);
}

TEST(CaptureAnalysis, OnlyTheDeviceAskedFor) {
  AnalysisOptions options;
  options.device = device_key(1, 6);
  EXPECT_TRUE(analyse_records(pings(3), options)->devices.empty());
  options.device = device_key(1, 5);
  EXPECT_EQ(analyse_records(pings(3), options)->devices.size(), 1u);
}

TEST(CaptureAnalysis, WhatIsOpenAtALossIsLeftOut) {
  std::vector<TestRecord> records = pings(3);
  // The second ping's OUT is submitted again without its completion in between.
  records.erase(records.begin() + 5);  // S C S C | S [C] S C | ...
  const auto analysis = analyse_records(records);
  EXPECT_EQ(analysis->urbs.completions_missing, 1u);
  EXPECT_EQ(analysis->devices[0]->losses, 1u);
  const Turnaround& t = first_turnaround(*analysis);
  EXPECT_EQ(t.times.count(), 2u);
  EXPECT_EQ(t.unrequested, 1u);
}

TEST(CaptureAnalysis, DropsThatTheFileTellsShutOutWhatIsOpen) {
  std::vector<TestRecord> r;
  add_transfer(&r, 1, 0x02, 0, 10, ping_frame(false, 1, 1));
  add_transfer(&r, 2, 0x82, 0, 50, ping_frame(true, 1, 1), 2048);
  const Bytes lost = option(4, ByteWriter().u64(3).bytes);
  const Bytes file =
      joined({section_block(), interface_block(220), packet_block(0, 0, r[0].data),
              packet_block(0, 10, r[1].data), packet_block(0, 11, r[2].data, false, lost),
              packet_block(0, 50, r[3].data)});
  const auto analysis = analyse_file(file);
  EXPECT_EQ(analysis->file.dropped, 3u);
  const DeviceAnalysis* device = nullptr;
  EXPECT_EQ(analysis->headline(&device), nullptr);
}

// A completion that is missing takes its bytes along: 512 are in flight, not 512 more each time.
TEST(CaptureAnalysis, LostCompletionsDoNotStayInFlight) {
  std::vector<TestRecord> records;
  for (int i = 0; i < 5; ++i) {
    TestUrb urb;
    urb.id = 1;
    urb.endpoint = 0x81;
    urb.time_us = i;
    urb.length = 512;
    records.push_back(usbmon(urb));
  }
  const auto analysis = analyse_records(records);
  EXPECT_EQ(analysis->urbs.completions_missing, 4u);
  const EndpointStatistics& statistics = *analysis->devices[0]->endpoints[endpoint_index(0x81)];
  EXPECT_EQ(statistics.abandoned, 4u);
  EXPECT_EQ(statistics.max_bytes_in_flight, 512u);
  EXPECT_EQ(statistics.queued, 1u);
}

// A submission that is missing was never counted as queued: the others stay.
TEST(CaptureAnalysis, LostSubmissionsLeaveTheQueueAlone) {
  std::vector<TestRecord> records;
  const auto event = [&](char type, uint64_t id, int64_t us) {
    TestUrb urb;
    urb.id = id;
    urb.type = type;
    urb.endpoint = 0x81;
    urb.time_us = us;
    urb.length = 512;
    if (type == 'C') urb.data = Bytes(512);
    records.push_back(usbmon(urb));
  };
  event('S', 2, 0);
  event('S', 1, 1);
  event('C', 1, 2);
  event('C', 1, 4);  // submitted at 3
  const auto analysis = analyse_records(records);
  EXPECT_EQ(analysis->urbs.submissions_missing, 1u);
  EXPECT_EQ(analysis->devices[0]->losses, 1u);
  const EndpointStatistics& statistics = *analysis->devices[0]->endpoints[endpoint_index(0x81)];
  EXPECT_EQ(statistics.queued, 1u);
  EXPECT_EQ(statistics.abandoned, 0u);
}

TEST(CaptureAnalysis, QueueDepthShortTransfersAndIdleTime) {
  std::vector<TestRecord> records;
  const auto event = [&](char type, uint64_t id, int64_t us, uint32_t length, const Bytes& data,
                         int32_t status) {
    TestUrb urb;
    urb.id = id;
    urb.type = type;
    urb.endpoint = 0x81;
    urb.time_us = us;
    urb.length = length;
    urb.data = data;
    urb.status = status;
    records.push_back(usbmon(urb));
  };
  event('S', 1, 0, 512, {}, -115);
  event('S', 2, 1, 512, {}, -115);
  event('C', 1, 100, 512, Bytes(512), 0);
  event('C', 2, 200, 10, Bytes(10), 0);
  event('S', 1, 260, 512, {}, -115);
  event('C', 1, 300, 0, {}, 0);
  event('S', 1, 301, 512, {}, -115);
  event('C', 1, 302, 0, {}, -108);
  event('S', 2, 303, 512, {}, -115);
  event('E', 2, 304, 0, {}, -12);
  const auto analysis = analyse_records(records);
  const EndpointStatistics& s = *analysis->devices[0]->endpoints[endpoint_index(0x81)];
  EXPECT_EQ(s.transfers, 3u);
  EXPECT_EQ(s.bytes, 522u);
  EXPECT_EQ(s.short_transfers, 2u);
  EXPECT_EQ(s.full_transfers, 1u);
  EXPECT_EQ(s.zero_length, 1u);
  EXPECT_EQ(s.queue_depth.max(), 2u);
  EXPECT_EQ(s.max_bytes_in_flight, 1024u);
  EXPECT_EQ(s.unqueued_total_ns, 60'000u + 1'000u + 1'000u);
  EXPECT_EQ(s.errors.at(-108), 1u);
  EXPECT_EQ(s.refused, 1u);
}

TEST(CaptureAnalysis, UrbsThatWereQueuedBeforeTheCaptureAreNoLoss) {
  std::vector<TestRecord> records;
  add_transfer(&records, 1, 0x82, 0, 50, {1}, 512);
  records.erase(records.begin());
  add_transfer(&records, 1, 0x82, 60, 70, {2}, 512);
  const auto analysis = analyse_records(records);
  EXPECT_EQ(analysis->urbs.without_submission, 1u);
  EXPECT_EQ(analysis->losses(), 0u);
}

TEST(CaptureAnalysis, DescriptorsGiveDriverAndFraming) {
  // Communications interface 0 (NCM) with a union to data interface 1, bulk 0x82 and 0x02.
  const Bytes configuration = {9, 2,  60,   0, 2,  1,  0,    0xc0, 50,  //
                               9, 4,  0,    0, 1,  2,  0x0d, 0,    0,   //
                               5, 36, 6,    0, 1,                       //
                               7, 5,  0x81, 3, 16, 0,  9,               //
                               9, 4,  1,    0, 0,  10, 0,    1,    0,   //
                               9, 4,  1,    1, 2,  10, 0,    1,    0,   //
                               7, 5,  0x82, 2, 0,  2,  0,    7,    5,  2, 2, 0, 2, 0};
  std::vector<TestRecord> records;
  TestUrb urb;
  urb.id = 1;
  urb.transfer = 2;
  urb.endpoint = 0x80;
  urb.length = 255;
  urb.setup = {0x80, 6, 0, 2, 0, 0, 255, 0};
  records.push_back(usbmon(urb));
  urb.type = 'C';
  urb.setup.clear();
  urb.length = static_cast<uint32_t>(configuration.size());
  urb.data = configuration;
  records.push_back(usbmon(urb));
  const auto analysis = analyse_records(records);
  const DeviceInfo& info = analysis->devices[0]->info;
  EXPECT_EQ(info.driver, "cdc_ncm");
  EXPECT_EQ(info.endpoints[endpoint_index(0x02)].framing, Framing::ncm);
  EXPECT_EQ(info.endpoints[endpoint_index(0x82)].max_packet, 512);
  EXPECT_EQ(info.endpoints[endpoint_index(0x81)].type, TransferType::interrupt);
  EXPECT_FALSE(info.endpoints[endpoint_index(0x82)].framing_is_guess);
}

// Seconds modulo 4,096: from 4,095.999990 s to 35 us behind it are 45 us, not 199 s.
TEST(CaptureAnalysis, TextOfUsbmonWrapsItsClock) {
  const std::string text =
      "f1 4095999980 S Bo:1:005:2 -115 2 = 0102\n"
      "f1 4095999990 C Bo:1:005:2 0 2 >\n"
      "f2 4095999900 S Bi:1:005:2 -115 512 <\n"
      "f2 35 C Bi:1:005:2 0 2 = 0102\n";
  const auto analysis = analyse_file(Bytes(text.begin(), text.end()));
  const Turnaround& t = first_turnaround(*analysis);
  EXPECT_EQ(t.times.max(), 45 * kUs);
  EXPECT_LT(analysis->seconds(), 0.001);
}

TEST(CaptureAnalysis, TextOfOldKernelsWrapsAt32Bits) {
  const std::string text =
      "f1 4294967290 S Bo:1:005:2 -115 2 = 0102\n"
      "f1 4294967295 C Bo:1:005:2 0 2 >\n"
      "f2 4294967200 S Bi:1:005:2 -115 512 <\n"
      "nonsense\n"
      "f2 35 C Bi:1:005:2 0 2 = 0102\n";
  const auto analysis = analyse_file(Bytes(text.begin(), text.end()));
  EXPECT_EQ(analysis->format, CaptureFormat::usbmon_text);
  EXPECT_EQ(analysis->file.lines_bad, 1u);
  const Turnaround& t = first_turnaround(*analysis);
  EXPECT_EQ(t.by, PairedBy::echo);
  EXPECT_EQ(t.times.max(), 36 * kUs);
}

TEST(CaptureAnalysis, TimesAtTheEndsOfTheWorldDoNotOverflow) {
  std::vector<TestRecord> r;
  add_transfer(&r, 1, 0x02, 0, 10, {1, 2});
  add_transfer(&r, 2, 0x82, 0, 50, {1, 2}, 512);
  const Bytes early = option(14, ByteWriter().u64(uint64_t{1} << 63).bytes);
  const Bytes late = joined({option(9, {0}), option(14, ByteWriter().u64(INT64_MAX).bytes)});
  ByteWriter file;
  file.raw(section_block()).raw(interface_block(220, early)).raw(interface_block(220, late));
  uint32_t interface = 0;
  for (const TestRecord& record : r) {
    file.raw(packet_block(interface++ % 2, UINT64_MAX / 2, record.data));
  }
  const auto analysis = analyse_file(file.bytes);
  EXPECT_EQ(analysis->file.records, 4u);
  EXPECT_GE(analysis->seconds(), 0);
}

TEST(CaptureAnalysis, ForeignLinkTypesAreCountedAndNoMore) {
  const auto analysis = analyse_file(pcap_file(1, {{0, ping_frame(false, 1, 1), 0}}));
  EXPECT_EQ(analysis->foreign_records, 1u);
  EXPECT_TRUE(analysis->devices.empty());
}

TEST(NtbSize, IsThatOfAWrittenBlock) {
  for (const size_t count : {1u, 3u, 8u}) {
    const std::vector<Bytes> frames(count, ping_frame(false, 1, 1, 18));  // 60 bytes
    EXPECT_EQ(ntb_bytes_for(count, 60), ntb(0, frames).size()) << count;
  }
}

// Ids that only grow, as of captures that number their URBs. Every tenth, 14,000 of at most 16,384,
// stays open until all others are over.
TEST(Urbs, AreFoundHoweverManyCameInBetween) {
  constexpr uint64_t kUrbs = 140'000;
  std::vector<TestRecord> records;
  records.reserve(2 * kUrbs);
  const auto add = [&](uint64_t id, char type) {
    TestUrb urb;
    urb.id = id;
    urb.type = type;
    urb.endpoint = 0x81;
    urb.time_us = static_cast<int64_t>(records.size());
    urb.length = 512;
    records.push_back(usbmon(urb));
  };
  for (uint64_t id = 1; id <= kUrbs; ++id) {
    add(id, 'S');
    if (id % 10 != 0) add(id, 'C');
  }
  const auto open = analyse_file(pcap_file(220, records));
  EXPECT_EQ(open->urbs.open_at_end, kUrbs / 10);
  for (uint64_t id = 10; id <= kUrbs; id += 10) add(id, 'C');
  const auto all = analyse_file(pcap_file(220, records));
  EXPECT_EQ(all->urbs.submissions, kUrbs);
  EXPECT_EQ(all->urbs.completions, kUrbs);
  EXPECT_EQ(all->urbs.open_at_end + all->urbs.without_submission + all->urbs.untracked, 0u);
}

}  // namespace
}  // namespace millrace::capture
