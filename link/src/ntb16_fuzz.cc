// SPDX-License-Identifier: Apache-2.0
// Any bytes as an NTB: what comes out lies inside, is no more than went in, and can be packed into
// a block that reads back the same. The first four bytes choose the limits of that block.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "millrace/link/ntb16.h"

namespace {

using namespace millrace::link;

void require(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

std::vector<NtbDatagram> read(const uint8_t* data, size_t size) {
  Ntb16Reader reader(data, size);
  require(reader.block_bytes() <= size, "the block lies in the transfer");
  std::vector<NtbDatagram> out;
  size_t sum = 0;
  NtbDatagram d;
  while (reader.next(&d) == NtbStatus::datagram) {
    require(d.offset <= size && d.length <= size - d.offset, "the datagram lies in the block");
    sum += d.length;
    require(sum <= size, "a block holds no more than its bytes");
    out.push_back(d);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  NtbLimits limits;
  limits.divisor = data[0];
  limits.payload_remainder = data[1];
  limits.ndp_alignment = size_t{1} << (data[2] % 10);
  limits.max_bytes = 64 + 257u * data[3];
  data += 4;
  size -= 4;
  const std::vector<NtbDatagram> datagrams = read(data, size);

  std::vector<uint8_t> block(kMaxNtb16Bytes);
  Ntb16Writer writer;
  writer.begin(block.data(), block.size(), limits);
  size_t taken = 0;
  for (const NtbDatagram& d : datagrams) {
    if (!writer.append(data + d.offset, d.length)) break;
    ++taken;
  }
  const size_t total = writer.finish(1);
  require(total <= limits.max_bytes && total <= block.size(), "within the limits");
  block.resize(total);
  const std::vector<NtbDatagram> again = read(block.data(), block.size());
  require(again.size() == taken, "as many as were taken");
  for (size_t i = 0; i < taken; ++i) {
    require(again[i].length == datagrams[i].length, "of the same length");
    require(std::memcmp(block.data() + again[i].offset, data + datagrams[i].offset,
                        again[i].length) == 0,
            "with the same bytes");
  }
  return 0;
}
