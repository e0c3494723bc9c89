// SPDX-License-Identifier: Apache-2.0
// Every rule of docs/verdicts.md, and each threshold from both sides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "millrace/host/serial_run.h"

namespace millrace::host {
namespace {

using link::FaultKind;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// 16,384 frames of 2,048 bytes in 1 s, high speed, the device blocked 93 % of the time.
RunResult clean_run() {
  RunResult r;
  r.protocol = Protocol::extended;
  r.end = RunEnd::complete;
  r.duration_ns = 1000000000;
  r.in_bytes = uint64_t{2048} * 16384;
  r.frames = 16384;
  r.bytes_per_s = 33.554432e6;
  r.ceiling_bytes_per_s = 53.248e6;
  r.packets_per_microframe = r.bytes_per_s / 512 / 8000;
  r.in_totals.received_bytes = r.in_totals.verified_bytes = r.in_bytes;
  r.reads.reads = 1000;
  r.hello.emplace();
  r.counters.emplace();
  r.counters->state = link::kRunComplete;
  r.counters->in_offered_bytes = r.counters->in_accepted_bytes = r.in_bytes;
  r.counters->run_us = 1000000;
  r.counters->total_blocked_us = 930000;
  return r;
}

link::Fault& add_fault(RunResult& r, FaultKind kind, uint64_t offset, uint64_t length) {
  link::Fault fault;
  fault.kind = kind;
  fault.stream_offset = fault.wire_offset = offset;
  fault.length = length;
  fault.frame = static_cast<uint32_t>(offset / 2048);
  fault.word = static_cast<uint32_t>(offset % 2048 / 4);
  r.in_totals.faults += 1;
  r.in_totals.faults_of_kind[static_cast<size_t>(kind)] += 1;
  r.faults.push_back(fault);
  return r.faults.back();
}

link::Fault& add_loss(RunResult& r, uint64_t offset, uint64_t length) {
  r.in_totals.lost_bytes += length;
  r.in_totals.verified_bytes -= length;
  r.in_totals.received_bytes -= length;
  return add_fault(r, FaultKind::lost, offset, length);
}

link::Fault& add_insert(RunResult& r, uint64_t offset, const char* text) {
  link::Fault& fault = add_fault(r, FaultKind::inserted, offset, std::strlen(text));
  fault.sample_size = static_cast<uint8_t>(std::strlen(text));
  std::memcpy(fault.received, text, fault.sample_size);
  fault.is_text = true;
  r.in_totals.inserted_bytes += fault.length;
  r.in_totals.received_bytes += fault.length;
  return fault;
}

void expect(const RunResult& r, VerdictKind kind, const char* part) {
  const Verdict verdict = judge(r);
  EXPECT_EQ(verdict.kind, kind) << verdict.sentence;
  EXPECT_EQ(verdict.failed, kind > VerdictKind::ack_bound) << verdict.sentence;
  EXPECT_THAT(verdict.sentence, HasSubstr(part));
  EXPECT_EQ(verdict.sentence.find('\n'), std::string::npos);
}

// ---- how it ended

TEST(Verdict, Reset) {
  RunResult r = clean_run();
  add_loss(r, 0, 1000);  // how it ended stands above what was lost
  r.end = RunEnd::reset;
  r.end_detail = "boot counter 4 before, 5 now";
  expect(r, VerdictKind::device_reset, "boot counter 4 before, 5 now");
}

TEST(Verdict, ReplugAndGone) {
  RunResult r = clean_run();
  r.end = RunEnd::gone;
  r.end_detail = "/dev/ttyACM0: the device went away";
  expect(r, VerdictKind::device_gone, "/dev/ttyACM0");
  r.replug_ns = 1234567890;
  r.replug_path = "/dev/ttyACM1";
  expect(r, VerdictKind::replugged, "1234 ms later at /dev/ttyACM1");
}

// Only what the counter can tell: it starts at 1 again when the power goes.
TEST(Verdict, ReplugSaysWhatTheBootCounterTells) {
  RunResult r = clean_run();
  r.end = RunEnd::gone;
  r.replug_ns = 1000000;
  r.replug_path = "/dev/ttyACM1";
  r.hello.emplace();
  r.hello->boot_counter = 7;
  expect(r, VerdictKind::replugged, "has not answered a probe since");
  r.replug_boot_counter = 7;
  expect(r, VerdictKind::replugged, "not restarted (boot counter 7 as before)");
  r.hello->boot_counter = 1;
  r.replug_boot_counter = 1;
  expect(r, VerdictKind::replugged, "no reset, or a loss of power");
  r.hello->boot_counter = 0;  // the board cannot tell
  expect(r, VerdictKind::replugged, "keeps no boot counter");
  r.hello.reset();
  r.replug_boot_counter.reset();
  expect(r, VerdictKind::replugged, "keeps no boot counter");
}

TEST(Verdict, Refused) {
  RunResult r = clean_run();
  r.hello.emplace();
  r.end = RunEnd::refused;
  r.end_detail = "at most 64 KiB";
  expect(r, VerdictKind::refused, "at most 64 KiB");
}

// A silent device refuses nothing: the sentence does not say so, and begins with DTR if it is low.
TEST(Verdict, RefusedWithoutHelloBlamesNoDevice) {
  RunResult r = clean_run();
  r.hello.reset();
  r.end = RunEnd::refused;
  r.end_detail = "no HELLO came";
  expect(r, VerdictKind::refused, "refused: no HELLO came");
  r.modem_lines.emplace();
  expect(r, VerdictKind::refused, "refused: DTR is low");
  EXPECT_THAT(judge(r).sentence, HasSubstr("no HELLO came"));
  r.modem_lines->dtr = true;
  expect(r, VerdictKind::refused, "refused: no HELLO came");
}

TEST(Verdict, NoAnswer) {
  RunResult r;
  r.end = RunEnd::no_answer;
  expect(r, VerdictKind::no_answer, "sent nothing");
  r.modem_lines.emplace();
  expect(r, VerdictKind::no_answer, "DTR is low");
  r.modem_lines->dtr = true;
  expect(r, VerdictKind::no_answer, "DTR is high");
}

TEST(Verdict, NotOurStream) {
  RunResult r;
  r.end = RunEnd::timed_out;
  add_insert(r, 0, "$GPGGA,1\r\n");
  r.in_totals.received_bytes = r.in_totals.inserted_bytes = 1000;
  r.in_totals.verified_bytes = 4;
  expect(r, VerdictKind::not_our_stream, "\"$GPGGA,1\\r\\n\"");
  r.in_totals.verified_bytes = 50;  // 1 in 20: a stream with something in between
  expect(r, VerdictKind::foreign_writer, "$GPGGA");
}

// ---- what happened to the bytes

TEST(Verdict, TtyManglingNamesTheFlags) {
  RunResult r = clean_run();
  r.in_totals.faults = 100;
  r.in_totals.single_altered[0x0d] = 40;
  r.in_totals.altered_to[0x0d] = 0x0a;
  r.in_totals.single_lost[0x11] = 30;
  r.in_totals.single_lost[0x13] = 30;
  expect(r, VerdictKind::tty_mangling, "IXON, ICRNL");
  // 90 %: 100 of 111 is above, of 112 below.
  r.in_totals.single_lost[0x77] = 11;
  expect(r, VerdictKind::tty_mangling, "100 times");
  r.in_totals.single_lost[0x77] = 12;
  EXPECT_NE(judge(r).kind, VerdictKind::tty_mangling);
}

TEST(Verdict, TtyManglingNeedsThreeBytes) {
  RunResult r = clean_run();
  r.in_totals.single_lost[0x0d] = 2;
  EXPECT_NE(judge(r).kind, VerdictKind::tty_mangling);
  r.in_totals.single_lost[0x0d] = 3;
  expect(r, VerdictKind::tty_mangling, "IGNCR");
}

TEST(Verdict, StrippedEighthBit) {
  RunResult r = clean_run();
  for (size_t v = 0x80; v < 0x100; ++v) {
    r.in_totals.single_altered[v] = 5;
    r.in_totals.altered_to[v] = static_cast<uint8_t>(v & 0x7f);
  }
  expect(r, VerdictKind::tty_mangling, "ISTRIP set): bit 7 cleared (640 times)");
  // Neighbours are not among the single ones; each lost one bit.
  r.in_totals.flipped_bits = 2560;
  expect(r, VerdictKind::tty_mangling, "bit 7 cleared (2,560 times)");
}

TEST(Verdict, ForeignWriterAndModemManager) {
  RunResult r = clean_run();
  add_insert(r, 4096, "hello");
  expect(r, VerdictKind::foreign_writer, "another writer");
  r = clean_run();
  add_insert(r, 4096, "AT\r");
  expect(r, VerdictKind::foreign_writer, "ModemManager");
}

// Text that stands where stream bytes should: nothing is missing, nothing too much.
TEST(Verdict, TextOverStreamBytesIsAForeignWriter) {
  const auto add_text = [](RunResult& r, FaultKind kind, uint64_t offset, const char* text) {
    link::Fault& fault = add_fault(r, kind, offset, std::strlen(text));
    fault.received_length = fault.length;
    fault.sample_size = static_cast<uint8_t>(fault.length);
    std::memcpy(fault.received, text, fault.sample_size);
    fault.is_text = true;
    r.in_totals.altered_bytes += fault.length;
  };
  for (const FaultKind kind : {FaultKind::replaced, FaultKind::flipped}) {
    RunResult r = clean_run();
    add_text(r, kind, 4096, "AT+CGMI\r\n");
    expect(r, VerdictKind::foreign_writer, "9 bytes");
    EXPECT_THAT(judge(r).sentence, HasSubstr("ModemManager"));
    // Half of the altered runs may be something else.
    add_fault(r, FaultKind::flipped, 8192, 1);
    expect(r, VerdictKind::foreign_writer, "offset 4,096");
    add_fault(r, FaultKind::replaced, 9000, 5);
    expect(r, VerdictKind::bit_errors, "");
  }
}

TEST(Verdict, DeviceReceivedAnAtCommand) {
  RunResult r = clean_run();
  r.counters->foreign_bytes = 4;
  std::memcpy(r.counters->first_foreign, "AT\r\n", 4);
  expect(r, VerdictKind::foreign_writer, "ModemManager");
  std::memcpy(r.counters->first_foreign, "\x01\x02\x03\x04", 4);
  EXPECT_FALSE(judge(r).failed) << "bytes before our run spoil nothing";
}

TEST(Verdict, ForeignBytesWhileWriting) {
  RunResult r = clean_run();
  r.settings.direction = link::Direction::out;
  r.in_totals = link::VerifierTotals();
  add_insert(r, 0, "debug: ok\r\n");
  expect(r, VerdictKind::foreign_writer, "debug: ok");
}

TEST(Verdict, StaleBytes) {
  RunResult r = clean_run();
  link::Fault& fault = add_fault(r, FaultKind::stale, 0, 700);
  fault.source_offset = 123456;
  r.in_totals.duplicated_bytes = 700;
  expect(r, VerdictKind::stale_bytes, "700 bytes at offset 0");
}

TEST(Verdict, ReorderedIsStaleHereAndLostThere) {
  RunResult r = clean_run();
  add_fault(r, FaultKind::stale, 4096, 512).source_offset = 4608;
  r.in_totals.duplicated_bytes = 512;
  add_loss(r, 4608, 512);
  expect(r, VerdictKind::reordered, "512 bytes in 1 place came earlier than they should");
  r.faults.back().length = r.in_totals.lost_bytes = 256;  // not the same piece
  expect(r, VerdictKind::stale_bytes, "512 bytes at offset 4,096");
  EXPECT_THAT(judge(r).sentence, HasSubstr("; also lost behind the device: "));
  r.faults.back().length = r.in_totals.lost_bytes = 512;
  add_loss(r, 9216, 512);  // and another loss: 1,024 bytes are missing, 512 stale
  expect(r, VerdictKind::lost_behind_device, "; also stale bytes: 512 bytes at offset 4,096");
}

// ---- more than one fault

TEST(Verdict, TwoFaultsAreNamedTheOneWithMoreBytesFirst) {
  RunResult r = clean_run();
  add_loss(r, 737280, 1536);
  add_fault(r, FaultKind::flipped, 8192, 3);
  r.in_totals.altered_bytes = 3;
  r.in_totals.flipped_bits = 9;
  expect(r, VerdictKind::lost_behind_device, "; also bit errors: 3 bytes altered (9 bits)");
  r.in_totals.altered_bytes = 1537;
  expect(r, VerdictKind::bit_errors, "; also lost behind the device: ");
  add_insert(r, 9000, "AT\r");
  EXPECT_THAT(judge(r).sentence, HasSubstr("; also foreign writer: 3 bytes in 1 place"));
}

TEST(Verdict, WhatOneFaultExplainsIsNoSecondOne) {
  // IXON takes 30 bytes one by one and two of them in a row: no loss of its own.
  RunResult r = clean_run();
  for (uint64_t i = 0; i < 30; ++i) add_loss(r, 1000 * i, 1);
  r.in_totals.single_lost[0x11] = 30;
  add_loss(r, 90000, 2);
  expect(r, VerdictKind::tty_mangling, "IXON");
  EXPECT_EQ(judge(r).sentence.find("also"), std::string::npos) << judge(r).sentence;
  // Three packets are one, and they are more.
  add_loss(r, 737280, 1536);
  expect(r, VerdictKind::lost_behind_device, "1,536 bytes did not arrive");
  EXPECT_THAT(judge(r).sentence, HasSubstr("; also tty mangling: "));
}

// A terminal in line mode keeps back and drops whole lines: few bytes tell of it, and many follow.
TEST(Verdict, LineModeStandsBeforeWhatFollowsFromIt) {
  RunResult r = clean_run();
  r.in_totals.single_lost[0x04] = 10;
  add_insert(r, 9000, "what a line discipline gave back");  // 32 bytes
  expect(r, VerdictKind::tty_mangling, "ICANON");
  EXPECT_THAT(judge(r).sentence, HasSubstr("; also foreign writer: 32 bytes"));
  // A flag that alters single bytes explains nothing else.
  r.in_totals.single_lost[0x04] = 0;
  r.in_totals.single_lost[0x11] = 10;
  expect(r, VerdictKind::foreign_writer, "; also tty mangling: ");
}

TEST(Verdict, FaultsBeforeAnUnplugAreNamedBehindIt) {
  RunResult r = clean_run();
  r.end = RunEnd::gone;
  r.end_detail = "ttyACM0: the device went away";
  r.counters.reset();
  EXPECT_EQ(judge(r).sentence.find("before that"), std::string::npos);
  add_loss(r, 4096, 512);
  expect(r, VerdictKind::device_gone, "; before that: lost: 512 bytes");
}

TEST(Verdict, TimedOutBehindOtherFaultsIsNamedToo) {
  RunResult r = clean_run();
  r.end = RunEnd::timed_out;
  r.end_detail = "nothing came for 2000 ms";
  r.counters.reset();
  add_fault(r, FaultKind::flipped, 8192, 1);
  r.in_totals.altered_bytes = r.in_totals.flipped_bits = 1;
  r.in_totals.lost_bytes = 4096;
  add_fault(r, FaultKind::missing_tail, 33550336, 4096);
  expect(r, VerdictKind::timed_out, "; also bit errors: 1 byte altered");
}

TEST(Verdict, CacheCoherency) {
  RunResult r = clean_run();
  link::Fault& fault = add_fault(r, FaultKind::stale_lines, 8192, 64);
  fault.source_offset = 4096;
  r.in_totals.altered_bytes = 64;
  expect(r, VerdictKind::cache_coherency, "2 whole 32-byte lines");
}

TEST(Verdict, DeviceDiscardedNamesTheTimeAndTheRest) {
  RunResult r = clean_run();
  add_loss(r, 737280, 2048);
  r.counters->in_discarded_bytes = 1536;
  r.counters->in_accepted_bytes -= 1536;
  r.counters->discards = 3;
  r.counters->longest_blocked_us = 151000;
  expect(r, VerdictKind::device_discarded,
         "discarded 1,536 bytes in 3 places after this host took nothing for 151 ms; 512 more");
}

TEST(Verdict, LostBehindTheDevice) {
  RunResult r = clean_run();
  add_loss(r, 737280, 1536).size_granule = link::Granule::packet;
  r.faults.back().start_granule = link::Granule::buffer;
  expect(r, VerdictKind::lost_behind_device, "accepted all 33,554,432 bytes, 1,536 bytes did not");
  EXPECT_THAT(judge(r).sentence, HasSubstr("frame 360, word 0"));
  EXPECT_THAT(judge(r).sentence, HasSubstr("whole 512-byte units, from a 2,048-byte boundary"));
}

// 262,144 bytes asked for, 100,000 offered and accepted.
TEST(Verdict, DeviceThatOffersLessThanWasAskedForEndedEarly) {
  RunResult r = clean_run();
  r.settings.frame_size = 4096;
  r.settings.frame_count = 64;
  r.in_bytes = r.in_totals.received_bytes = r.in_totals.verified_bytes = 100000;
  r.in_totals.lost_bytes = 162144;
  add_fault(r, FaultKind::missing_tail, 100000, 162144);
  r.counters->in_offered_bytes = r.counters->in_accepted_bytes = 100000;
  expect(r, VerdictKind::device_ended_early, "offered only 100,000 of 262,144 bytes, and all");
  EXPECT_EQ(judge(r).sentence.find("cable"), std::string::npos);
  // 512 of the 100,000 are missing as well: only these were lost on the way.
  add_loss(r, 4096, 512);
  expect(r, VerdictKind::lost_behind_device, "accepted all 100,000 bytes, 512 bytes did not");
  EXPECT_THAT(judge(r).sentence, HasSubstr("it also ended early"));
  // A run that we stopped is not early: all that is missing was lost on the way.
  r.end = RunEnd::stopped;
  r.in_totals.lost_bytes = 512;
  expect(r, VerdictKind::lost_behind_device, "512 bytes did not");
  EXPECT_EQ(judge(r).sentence.find("early"), std::string::npos);
}

TEST(Verdict, LostWithoutCountersIsUnattributedUnlessItLooksLikeADiscard) {
  RunResult r = clean_run();
  r.counters.reset();
  add_loss(r, 737280, 1536).size_granule = link::Granule::packet;
  r.faults.back().start_granule = link::Granule::buffer;
  r.reads.longest_silence_ns = 119999999;
  expect(r, VerdictKind::lost_unattributed, "who lost them is not known");
  r.reads.longest_silence_ns = 120000000;
  expect(r, VerdictKind::lost_unattributed, "probably discarded by the device");
  r.faults.back().start_granule = link::Granule::packet;
  expect(r, VerdictKind::lost_unattributed, "not known");
}

// A second reader takes pieces of any size; that one of them starts at a boundary says nothing.
TEST(Verdict, OneLossAtABoundaryAmongOthersIsNoDiscard) {
  RunResult r = clean_run();
  r.counters.reset();
  r.reads.longest_silence_ns = 343000000;
  add_loss(r, 0, 22528);
  for (link::Granule* granule : {&r.faults[0].size_granule, &r.faults[0].start_granule}) {
    *granule = link::Granule::buffer;
  }
  expect(r, VerdictKind::lost_unattributed, "probably discarded by the device");
  add_loss(r, 30718, 80386);
  expect(r, VerdictKind::lost_unattributed, "not known");
}

TEST(Verdict, DeviceThatDidNotHandOverEverythingIsNotCalledInnocent) {
  RunResult r = clean_run();
  add_loss(r, 0, 2048);
  r.counters->in_accepted_bytes -= 2048;
  expect(r, VerdictKind::lost_unattributed, "accepted 33,552,384 of 33,554,432");
}

TEST(Verdict, BitErrorsAndDuplicates) {
  RunResult r = clean_run();
  add_fault(r, FaultKind::duplicated, 4096, 512);
  r.in_totals.duplicated_bytes = 512;
  expect(r, VerdictKind::duplicated, "512 bytes came twice");
  add_fault(r, FaultKind::flipped, 4096, 1);
  r.in_totals.altered_bytes = 1;
  r.in_totals.flipped_bits = 3;
  expect(r, VerdictKind::duplicated, "; also bit errors: 1 byte altered (3 bits) in 1 place;");
}

TEST(Verdict, FaultsOnTheWayOut) {
  RunResult r = clean_run();
  r.settings.direction = link::Direction::out;
  r.counters->out_lost_bytes = 512;
  expect(r, VerdictKind::lost_behind_device, "lost on the way out");
  r.counters->out_lost_bytes = 0;
  r.counters->out_altered_bytes = 2;
  expect(r, VerdictKind::bit_errors,
         "altered on the way out: 2 bytes, first at offset 0 of the OUT");
  r.counters->out_altered_bytes = 0;
  r.counters->out_duplicated_bytes = 64;
  expect(r, VerdictKind::duplicated, "duplicated on the way out: 64 bytes, first at");
  r.counters->out_duplicated_bytes = 0;
  r.counters->out_inserted_bytes = 3;
  expect(r, VerdictKind::foreign_writer, "3 bytes");
}

TEST(Verdict, OneIsSingular) {
  RunResult r = clean_run();
  add_insert(r, 4096, "x");
  expect(r, VerdictKind::foreign_writer, ": 1 byte in 1 place not of the stream");
  r = clean_run();
  add_fault(r, FaultKind::flipped, 4096, 1);
  r.in_totals.altered_bytes = r.in_totals.flipped_bits = 1;
  expect(r, VerdictKind::bit_errors, "1 byte altered (1 bit) in 1 place;");
  r = clean_run();
  add_loss(r, 4096, 1);
  expect(r, VerdictKind::lost_behind_device, ", 1 byte did not arrive");
}

// A run without REPORT is no fault, but its sentence says so.
TEST(Verdict, MissingReportIsSaid) {
  RunResult r = clean_run();
  r.counters.reset();
  r.end_detail = "the device sent no REPORT";
  expect(r, VerdictKind::device_or_link_bound, "; the device sent no REPORT, so its own counts");
}

TEST(Verdict, CountersThatContradictTheRunAreNotUsed) {
  RunResult r = clean_run();
  r.counters->in_accepted_bytes = r.in_bytes - 1;
  expect(r, VerdictKind::device_or_link_bound, "contradict the run: 33,554,431 bytes accepted");
  r.counters->in_accepted_bytes = r.in_bytes + 1;
  expect(r, VerdictKind::device_or_link_bound, "contradict the run");
  r.counters->state = link::kRunActive;  // COUNTERS of a moment before the end
  r.counters->in_accepted_bytes = r.in_bytes - 1;
  expect(r, VerdictKind::link_bound, "93.0 %");
}

TEST(Verdict, TimedOutUnlessSomethingWasLostBefore) {
  RunResult r = clean_run();
  r.end = RunEnd::timed_out;
  r.end_detail = "nothing came for 2000 ms";
  r.counters.reset();
  r.in_totals.lost_bytes = 4096;
  add_fault(r, FaultKind::missing_tail, 33550336, 4096);
  expect(r, VerdictKind::timed_out, "nothing came for 2000 ms");
  expect(r, VerdictKind::timed_out, "; the last 4,096 bytes are missing");
  add_loss(r, 4096, 100);
  expect(r, VerdictKind::lost_unattributed, "4,196 bytes");
}

TEST(Verdict, Interrupted) {
  RunResult r = clean_run();
  r.end = RunEnd::interrupted;
  expect(r, VerdictKind::interrupted, "interrupted: 33,554,432 bytes were verified");
}

// ---- why it was not faster

TEST(Verdict, LinkBoundWhenTheDeviceIsBlockedHalfOfTheTime) {
  RunResult r = clean_run();
  r.bytes_per_s = 36.9e6;
  r.packets_per_microframe = 9.0;
  const Verdict verdict = judge(r);
  EXPECT_EQ(
      verdict.sentence,
      "link-bound: the device was blocked 93.0 % of the time while this host waited for data; "
      "36.9 MB/s is 9.0 of 13 packets per microframe");
  r.counters->total_blocked_us = 500000;
  expect(r, VerdictKind::link_bound, "50.0 %");
  r.counters->total_blocked_us = 499999;  // cut, not rounded to the threshold
  expect(r, VerdictKind::device_or_link_bound, "not this host: the device was blocked 49.9 %");
}

TEST(Verdict, LinkBoundAtTheCeiling) {
  RunResult r = clean_run();
  r.counters.reset();
  r.bytes_per_s = 0.95 * 53.248e6;
  expect(r, VerdictKind::link_bound, "95.0 % of the ceiling of 53.248 MB/s");
  r.bytes_per_s = 0.949 * 53.248e6;
  expect(r, VerdictKind::device_or_link_bound, "does not count");
}

TEST(Verdict, DeviceBound) {
  RunResult r = clean_run();
  r.counters->total_blocked_us = 99999;
  expect(r, VerdictKind::device_bound, "9.9 % of the time blocked");
  r.counters->total_blocked_us = 100000;
  expect(r, VerdictKind::device_or_link_bound, "10.0 %");
}

TEST(Verdict, HostCpu) {
  RunResult r = clean_run();
  r.cpu.read = 0.61;
  r.cpu.verify = 0.3;
  r.cpu.total_ns_per_byte = 27.5;
  expect(r, VerdictKind::host_cpu, "reading took 61.0 %, verifying 30.0 % of a core (27.5 ns/B");
  r.cpu.read = 0.6;
  expect(r, VerdictKind::link_bound, "93.0 %");
}

TEST(Verdict, CallBound) {
  RunResult r = clean_run();
  r.settings.read_size = 128;
  r.reads.reads = 262144;
  r.reads.full_reads = 236000;  // 90.03 %
  expect(r, VerdictKind::call_bound, "90.0 % of 262,144 reads filled their 128 bytes");
  EXPECT_THAT(judge(r).sentence, HasSubstr("262144 reads/s"));
  r.reads.full_reads = 235000;  // 89.6 %
  expect(r, VerdictKind::link_bound, "");
  r.reads.full_reads = 262144;
  r.settings.read_size = 65536;  // large: not the call is the limit
  expect(r, VerdictKind::link_bound, "");
  r.settings.read_size = 128;
  r.counters->total_blocked_us = 50000;  // the device did not wait for us
  expect(r, VerdictKind::device_bound, "");
}

TEST(Verdict, AckBound) {
  RunResult r = clean_run();
  r.settings.window_frames = 1;
  r.bytes_per_s = 20e6;
  r.counters->total_blocked_us = 10000;
  r.ack_round_trip_ns.add(102400, 100);
  // 2,048 B / 102.4 us = 20 MB/s; the histogram's quantiles are within 3.2 %, its mean is exact.
  expect(r, VerdictKind::ack_bound,
         "2,048 bytes in flight and a round trip of 102 us (mean, 102 us median) make 20.0 MB/s");
  // One of 921.6 us on nine of 102.4: 184.3 us and 11.1 MB/s, though the median stays.
  r.ack_round_trip_ns = Histogram();
  r.ack_round_trip_ns.add(102400, 9);
  r.ack_round_trip_ns.add(921600);
  expect(r, VerdictKind::ack_bound, "a round trip of 184 us (mean, ");
  expect(r, VerdictKind::ack_bound, " us median) make 11.1 MB/s at most");
}

TEST(Verdict, DeviceThatDoesNotWaitIsNotAckBound) {
  RunResult r = clean_run();
  r.settings.window_frames = 2;
  r.counters->total_blocked_us = 10000;
  r.ack_round_trip_ns.add(102400, 100);
  r.most_unacknowledged_bytes = 4096;  // 2 frames of 2,048 are allowed
  expect(r, VerdictKind::ack_bound, "4,096 bytes in flight");
  r.most_unacknowledged_bytes = 4097;
  expect(r, VerdictKind::device_bound, "the device did not wait for acknowledgements: 4,097 bytes");
}

TEST(Verdict, OutNamesTheTimeInWrite) {
  RunResult r = clean_run();
  r.settings.direction = link::Direction::out;
  r.reads = ReadStats{};
  r.out_write_ns = 970000000;
  expect(r, VerdictKind::device_or_link_bound, "97.0 % of the time in write()");
}

TEST(Verdict, FullSpeedRateIsAShare) {
  RunResult r = clean_run();
  r.ceiling_bytes_per_s = 1.216e6;
  r.packets_per_microframe = 0;
  r.bytes_per_s = 0.608e6;
  expect(r, VerdictKind::link_bound, "0.608 MB/s is 50 % of what full speed can carry");
  // As many digits as in the line of the figure above it.
  r.ceiling_bytes_per_s = 0;
  r.bytes_per_s = 2.64e6;
  r.counters->total_blocked_us = r.counters->run_us;
  expect(r, VerdictKind::link_bound, "; 2.64 MB/s");
}

}  // namespace
}  // namespace millrace::host
