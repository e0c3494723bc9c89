// SPDX-License-Identifier: Apache-2.0
// The reader against the vectors of spec/trace.md.
#include "millrace/profile/trace_reader.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace millrace::profile {
namespace {

std::vector<uint8_t> from_hex(const std::string& hex) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

// A record in the words of the vectors.
std::string text_of(const TraceReader& reader, const TraceRecord& record, uint64_t at) {
  std::ostringstream out;
  if (record.kind == TraceRecord::Kind::block) {
    const TraceBlock& block = reader.blocks().at(record.block);
    out << "b:" << block.address << ':' << block.halfwords << ':' << block.instructions << ':'
        << block.issue;
  } else if (record.kind == TraceRecord::Kind::wait) {
    out << "w:" << int{record.cause} << ':' << int{record.memory} << ':' << int{record.access}
        << ':' << record.line * uint64_t{32} << ':' << record.stall << ':'
        << record.evicted * uint64_t{32};
  } else {
    out << "e:" << record.event << ':' << record.argument;
  }
  out << ':' << at;
  return out.str();
}

TEST(TraceReader, EveryVectorIsRead) {
  std::ifstream file(MILLRACE_SOURCE_DIR "/spec/vectors/trace.txt");
  std::string head, records, hex;
  int vectors = 0;
  while (std::getline(file, head) && std::getline(file, records) && std::getline(file, hex)) {
    SCOPED_TRACE(head);
    ++vectors;
    std::istringstream words(head);
    std::string name, identity, found;
    uint64_t khz = 0, at = 0;
    words >> name >> khz >> at >> identity;
    const std::vector<uint8_t> bytes = from_hex(hex);
    TraceReader reader(bytes);
    EXPECT_EQ(reader.core_khz(), khz);
    TraceRecord record;
    while (reader.next(&record)) {
      at += record.delta;
      found += (found.empty() ? "" : " ") + text_of(reader, record, at);
    }
    EXPECT_EQ(found, records);
    EXPECT_EQ(reader.problem(), "");
    EXPECT_EQ(reader.is_cut_off(), name.ends_with("_cut"));
  }
  EXPECT_EQ(vectors, 6);
}

TEST(TraceReader, AnotherVersionIsASentenceWithARemedy) {
  std::vector<uint8_t> bytes(52);
  std::copy_n("MRTRACE\x01", 8, bytes.begin());
  EXPECT_EQ(TraceReader(bytes).problem(), "version 1 of the trace, known is 2 (trace it again)");
}

}  // namespace
}  // namespace millrace::profile
