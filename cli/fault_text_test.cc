// SPDX-License-Identifier: Apache-2.0
#include "cli/fault_text.h"

#include <gtest/gtest.h>

#include <cstring>

namespace millrace::cli {
namespace {

using link::Fault;
using link::FaultKind;
using link::Granule;

Fault fault(FaultKind kind, uint64_t length) {
  Fault out;
  out.kind = kind;
  out.stream_offset = out.wire_offset = 8388608;
  out.frame = 4096;
  out.length = length;
  return out;
}

TEST(FaultSentence, NamesWholePacketsAndTheBoundary) {
  Fault lost = fault(FaultKind::lost, 1536);
  lost.size_granule = Granule::packet;
  lost.start_granule = Granule::buffer;
  EXPECT_EQ(fault_sentence(lost),
            "lost 1,536 bytes at offset 8,388,608 (frame 4,096, word 0) = 3 whole 512-byte packets "
            "at a 2,048-byte boundary");
}

TEST(FaultSentence, OneBufferAndAnotherWireOffset) {
  Fault lost = fault(FaultKind::lost, 2048);
  lost.size_granule = Granule::buffer;
  lost.wire_offset = 8388788;
  EXPECT_EQ(fault_sentence(lost),
            "lost 2,048 bytes at offset 8,388,608 (frame 4,096, word 0, wire offset 8,388,788) = 1 "
            "whole 2,048-byte buffer");
}

TEST(FaultSentence, EachKindSaysWhatHappened) {
  const struct {
    FaultKind kind;
    const char* start;
  } cases[] = {
      {FaultKind::duplicated, "duplicated 64 bytes (first seen at offset 0)"},
      {FaultKind::stale, "stale: 64 bytes of our own stream from offset 0"},
      {FaultKind::inserted, "inserted 64 bytes that are not ours"},
      {FaultKind::flipped, "flipped 0 bits within 64 bytes"},
      {FaultKind::replaced, "replaced 64 bytes"},
      {FaultKind::stale_lines, "stale lines: 64 bytes = 2 cache lines of 32 bytes"},
      {FaultKind::mixed, "lost 64 bytes and got 0 bytes foreign"},
      {FaultKind::missing_tail, "missing tail: the stream ended 64 bytes early"},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(fault_sentence(fault(one.kind, 64)).rfind(one.start, 0), 0U)
        << fault_sentence(fault(one.kind, 64));
    EXPECT_NE(std::string(fault_kind_name(one.kind)), "none");
  }
}

TEST(FaultDump, ShowsForeignBytesAsHexAndText) {
  Fault inserted = fault(FaultKind::inserted, 4);
  inserted.is_text = true;
  inserted.sample_size = 4;
  std::memcpy(inserted.received, "AT\r\n", 4);
  EXPECT_EQ(fault_dump(inserted, 2), "  41 54 0d 0a " + std::string(12 * 3 + 1, ' ') + " |AT..|\n");
}

TEST(FaultDump, ShowsAlteredBytesBesideExpectedOnes) {
  Fault flipped = fault(FaultKind::flipped, 1);
  flipped.sample_size = 1;
  flipped.received[0] = 0x01;
  flipped.expected[0] = 0x81;
  EXPECT_EQ(fault_dump(flipped, 0), "got      01 \nexpected 81 \n");
}

}  // namespace
}  // namespace millrace::cli
