// SPDX-License-Identifier: Apache-2.0
// Any bytes from a client. The first byte says how many of the others come before each slice of
// running and, by its top bit, that checksums do not count. Whatever comes, the answer consists of
// whole packets with right checksums, and its size is bounded by the number of packets received.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "gdb/packet.h"
#include "gdb/testing/fake_gdb_board.h"
#include "millrace/board/gdb_server.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using millrace::board::StopReason;
  namespace gdb = millrace::board::gdb;
  if (size == 0) return 0;
  const size_t piece = 1 + (data[0] & 0x7F);
  std::span<const uint8_t> bytes(data + 1, size - 1);
  millrace::board::testing::FakeGdbBoard board;
  board.stop_at(40, StopReason::watchpoint).watch_address = 0x20000010;
  board.stop_at(80, StopReason::locked_up).detail = "detail";
  board.stop_at(120, StopReason::breakpoint);
  board.stop_at(160, StopReason::exited).exit_code = 3;
  millrace::board::GdbServer server(board);
  server.connect();
  if ((data[0] & 0x80) != 0) {
    const std::string packet = gdb::framed("QStartNoAckMode");
    server.receive(std::span(reinterpret_cast<const uint8_t*>(packet.data()), packet.size()));
    if (server.take_output() != "+$OK#9a") std::abort();
  }
  gdb::PacketDecoder decoder;
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(piece, bytes.size()));
    bytes = bytes.subspan(part.size());
    server.receive(part);
    server.run(10);
    const std::string output = server.take_output();
    const auto packets = static_cast<size_t>(std::count(part.begin(), part.end(), '#'));
    if (output.size() > (packets + 3) * 65536) std::abort();
    bool whole = true;
    for (const char c : output) {
      const gdb::PacketEvent event = decoder.put(static_cast<uint8_t>(c));
      if (event == gdb::PacketEvent::damaged || event == gdb::PacketEvent::oversized) std::abort();
      if (c == '$') whole = false;
      if (event == gdb::PacketEvent::packet) whole = true;
    }
    if (!whole) std::abort();
  }
  server.disconnect();
  if (!board.breakpoints.empty() || !board.watchpoints.empty()) std::abort();
  return 0;
}
