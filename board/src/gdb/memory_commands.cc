// SPDX-License-Identifier: Apache-2.0
#include "gdb/memory_commands.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "gdb/packet.h"
#include "gdb/target.h"

namespace millrace::board::gdb {
namespace {

constexpr uint32_t kMostRead = kMaxPacket / 2;  // two digits a byte
constexpr const char* kNoFlash = "E.memtype";   // the manual's word for it

// The system control space answers to whole aligned words only, so what is not readable at once is
// read in the largest aligned pieces. Returns how many bytes there are up to the first gap.
uint32_t read_pieces(Board& board, uint32_t address, uint8_t* out, uint32_t size) {
  if (board.read_memory(address, out, size)) return size;
  uint32_t done = 0;
  while (done < size) {
    const uint32_t at = address + done;
    const uint32_t piece = at % 4 == 0 && size - done >= 4 ? 4 : 1;
    if (!board.read_memory(at, out + done, piece)) break;
    done += piece;
  }
  return done;
}

bool wraps(uint32_t address, size_t size) {
  return size != 0 && address + static_cast<uint32_t>(size - 1) < address;
}

std::string write_bytes(Board& board, uint32_t address, std::string_view bytes) {
  if (bytes.empty()) return "OK";  // gdb asks whether X is known
  if (wraps(address, bytes.size())) return kBadAddress;
  const bool written = board.write_memory(address, reinterpret_cast<const uint8_t*>(bytes.data()),
                                          static_cast<uint32_t>(bytes.size()));
  return written ? "OK" : kBadAddress;
}

struct Head {
  uint32_t address = 0;
  uint32_t size = 0;
  std::string_view rest;
};

// "address,size:rest"
std::optional<Head> head(std::string_view text) {
  Arguments arguments(text);
  Head result;
  result.address = arguments.hex32();
  arguments.expect(',');
  result.size = arguments.hex32();
  arguments.expect(':');
  result.rest = arguments.rest();
  if (!arguments.ok()) return std::nullopt;
  return result;
}

}  // namespace

std::string read_memory(Board& board, std::string_view text) {
  Arguments arguments(text);
  const uint32_t address = arguments.hex32();
  arguments.expect(',');
  const uint32_t asked = arguments.hex32();
  if (!arguments.complete()) return kBadPacket;
  if (asked == 0) return "";
  const uint64_t to_the_end = (uint64_t{1} << 32) - address;
  const auto size = static_cast<uint32_t>(std::min<uint64_t>({asked, kMostRead, to_the_end}));
  std::vector<uint8_t> bytes(size);
  const uint32_t there = read_pieces(board, address, bytes.data(), size);
  if (there == 0) return kBadAddress;
  return to_hex(std::span(bytes).first(there));
}

std::string write_memory_hex(Board& board, std::string_view text) {
  const std::optional<Head> arguments = head(text);
  if (!arguments) return kBadPacket;
  const std::optional<std::string> bytes = from_hex(arguments->rest);
  if (!bytes || bytes->size() != arguments->size) return kBadPacket;
  return write_bytes(board, arguments->address, *bytes);
}

std::string write_memory_binary(Board& board, std::string_view text) {
  const std::optional<Head> arguments = head(text);
  if (!arguments || arguments->rest.size() != arguments->size) return kBadPacket;
  return write_bytes(board, arguments->address, arguments->rest);
}

std::string erase_flash(Board& board, std::string_view text) {
  Arguments arguments(text);
  const uint32_t address = arguments.hex32();
  arguments.expect(',');
  const uint32_t size = arguments.hex32();
  if (!arguments.complete()) return kBadPacket;
  if (!in_flash(address, size)) return kNoFlash;
  if (address % kFlashSector != 0 || size % kFlashSector != 0) return kBadPacket;
  const std::vector<uint8_t> erased(kFlashSector, 0xFF);
  for (uint32_t done = 0; done < size; done += kFlashSector) {
    if (!board.write_memory(address + done, erased.data(), kFlashSector)) return kBadAddress;
  }
  return "OK";
}

std::string write_flash(Board& board, std::string_view text) {
  Arguments arguments(text);
  const uint32_t address = arguments.hex32();
  arguments.expect(':');
  if (!arguments.ok()) return kBadPacket;
  if (!in_flash(address, static_cast<uint32_t>(arguments.rest().size()))) return kNoFlash;
  return write_bytes(board, address, arguments.rest());
}

}  // namespace millrace::board::gdb
