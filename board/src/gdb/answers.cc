// SPDX-License-Identifier: Apache-2.0
#include "gdb/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "gdb/memory_commands.h"
#include "gdb/monitor.h"
#include "gdb/packet.h"
#include "gdb/target.h"

namespace millrace::board::gdb {
namespace {

// "annex:offset,length" of a text: 'm' and a part of it, or 'l' and the last part.
std::string transfer(std::string_view text, std::string_view annex, std::string_view request) {
  const size_t colon = request.find(':');
  if (colon == std::string_view::npos) return kBadPacket;
  if (request.substr(0, colon) != annex) return "E00";  // no such annex
  Arguments arguments(request.substr(colon + 1));
  const size_t offset = arguments.hex32();
  arguments.expect(',');
  const size_t length = arguments.hex32();
  if (!arguments.complete()) return kBadPacket;
  if (offset >= text.size()) return "l";
  const std::string_view part = text.substr(offset, std::min(length, kMaxPacket - 1));
  std::string reply(1, offset + part.size() < text.size() ? 'm' : 'l');
  reply.append(part);
  return reply;
}

}  // namespace

std::string Answers::answer(std::string_view packet, std::string* console) {
  if (packet.empty()) return "";
  const std::string_view arguments = packet.substr(1);
  switch (packet[0]) {
    case '!':  // extended mode: R
      return "OK";
    case 'g':
      return registers_hex(board_);
    case 'G':
      return set_registers(board_, arguments) ? "OK" : kBadPacket;
    case 'p':
      return read_register(arguments);
    case 'P':
      return write_register(arguments);
    case 'm':
      return read_memory(board_, arguments);
    case 'M':
      return write_memory_hex(board_, arguments);
    case 'X':
      return write_memory_binary(board_, arguments);
    case 'Z':
    case 'z':
      return change_point(packet);
    case 'H':
    case 'T':  // there is one thread
      return "OK";
    case 'q':
      return query(packet, console);
    case 'v':
      return flash(packet);
    default:
      return "";
  }
}

std::string Answers::query(std::string_view packet, std::string* console) {
  constexpr std::string_view kCommand = "qRcmd,";
  constexpr std::string_view kSupported = "qSupported";
  constexpr std::string_view kFeatures = "qXfer:features:read:";
  constexpr std::string_view kMemoryMap = "qXfer:memory-map:read:";
  if (packet.starts_with(kSupported)) return supported(packet.substr(kSupported.size()));
  if (packet.starts_with(kCommand)) {
    const std::optional<std::string> text = from_hex(packet.substr(kCommand.size()));
    if (!text) return kBadPacket;
    *console = monitor(board_, *text);
    return "OK";
  }
  if (packet.starts_with(kFeatures)) {
    return transfer(target_xml(), "target.xml", packet.substr(kFeatures.size()));
  }
  if (packet.starts_with(kMemoryMap)) {
    return transfer(memory_map_xml(), "", packet.substr(kMemoryMap.size()));
  }
  if (packet == "qC") return "QC1";
  if (packet == "qfThreadInfo") return "m1";
  if (packet == "qsThreadInfo") return "l";
  if (packet.starts_with("qAttached")) return "1";  // so that quitting gdb detaches
  return "";
}

std::string Answers::flash(std::string_view packet) {
  constexpr std::string_view kErase = "vFlashErase:";
  constexpr std::string_view kWrite = "vFlashWrite:";
  if (packet.starts_with(kErase)) return erase_flash(board_, packet.substr(kErase.size()));
  if (packet.starts_with(kWrite)) return write_flash(board_, packet.substr(kWrite.size()));
  if (packet == "vFlashDone") return "OK";
  return "";
}

std::string Answers::supported(std::string_view features) {
  knows_hwbreak_ = features.find("hwbreak+") != std::string_view::npos;
  return fmt::format(
      "PacketSize={:x};QStartNoAckMode+;qXfer:features:read+;qXfer:memory-map:read+;"
      "vContSupported+;hwbreak+",
      kMaxPacket);
}

std::string Answers::read_register(std::string_view text) {
  Arguments arguments(text);
  const uint32_t number = arguments.hex32();
  if (!arguments.complete() || number >= kRegisters) return kBadPacket;
  return register_hex(board_, number);
}

std::string Answers::write_register(std::string_view text) {
  Arguments arguments(text);
  const uint32_t number = arguments.hex32();
  arguments.expect('=');
  if (!arguments.ok() || number >= kRegisters) return kBadPacket;
  return set_register(board_, number, arguments.rest()) ? "OK" : kBadPacket;
}

// "Z0,addr,kind", perhaps with conditions behind a ';' that were never announced: not done.
std::string Answers::change_point(std::string_view packet) {
  if (packet.size() < 2) return kBadPacket;
  if (packet[1] < '0' || packet[1] > '4') return "";
  const auto kind = static_cast<PointKind>(packet[1] - '0');
  Arguments arguments(packet.substr(2));
  arguments.expect(',');
  const uint32_t address = arguments.hex32();
  arguments.expect(',');
  const uint32_t size = arguments.hex32();
  if (!arguments.complete()) return kBadPacket;
  switch (packet[0] == 'Z' ? points_.insert(kind, address, size)
                           : points_.remove(kind, address, size)) {
    case StopPoints::Change::done:
      return "OK";
    case StopPoints::Change::bad_range:
      return kBadAddress;
    case StopPoints::Change::too_many:
      return kTooMany;
  }
  return kBadPacket;
}

}  // namespace millrace::board::gdb
