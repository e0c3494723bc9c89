// SPDX-License-Identifier: Apache-2.0
// gdb takes a Cortex-M from three features. m-profile makes it unwind exception frames, m-system
// gives it both stack pointers for that, vfp makes it show s0-s31 and d0-d15. Their `regnum` is
// left to count up from 0, so the description's order is the numbering.
#include "gdb/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/bytes.h"
#include "gdb/packet.h"
#include "memory/physical_memory.h"

namespace millrace::board::gdb {
namespace {

constexpr unsigned kFirstSingle = 32;  // s0 in board.h's numbers

struct Range {
  uint32_t address;
  uint32_t size;
};
// IMXRT1060RM chapter 2, table 2-1, as far as physical_memory.h has it, and the private peripheral
// bus. FlexRAM can be any mixture of the three: the board says what is there at the moment.
constexpr std::array<Range, 6> kRam = {{
    {0x00000000, kFlexramBytes},                 // ITCM
    {0x20000000, kFlexramBytes},                 // DTCM
    {0x20200000, kOcram2Bytes + kFlexramBytes},  // OCRAM2, OCRAM
    {kPsramBase, 16u << 20},
    {0xE0000000, 1u << 20},    // system control space: words
    {0x00200000, 128u << 10},  // boot ROM
}};

std::string register_line(std::string_view name, unsigned bits, std::string_view type) {
  return fmt::format("<reg name=\"{}\" bitsize=\"{}\" type=\"{}\"/>\n", name, bits, type);
}

std::string make_target_xml() {
  std::string xml =
      "<?xml version=\"1.0\"?>\n<!DOCTYPE target SYSTEM \"gdb-target.dtd\">\n"
      "<target version=\"1.0\">\n<architecture>arm</architecture>\n"
      "<feature name=\"org.gnu.gdb.arm.m-profile\">\n";
  for (int i = 0; i <= 12; ++i) xml += register_line(fmt::format("r{}", i), 32, "uint32");
  xml += register_line("sp", 32, "data_ptr");
  xml += register_line("lr", 32, "int");
  xml += register_line("pc", 32, "code_ptr");
  xml += register_line("xpsr", 32, "int");
  xml += "</feature>\n<feature name=\"org.gnu.gdb.arm.m-system\">\n";
  xml += register_line("msp", 32, "data_ptr");
  xml += register_line("psp", 32, "data_ptr");
  for (const char* name : {"primask", "basepri", "faultmask", "control"}) {
    xml += register_line(name, 32, "uint32");
  }
  xml += "</feature>\n<feature name=\"org.gnu.gdb.arm.vfp\">\n";
  xml += register_line("fpscr", 32, "int");
  for (int i = 0; i <= 15; ++i) xml += register_line(fmt::format("d{}", i), 64, "ieee_double");
  return xml + "</feature>\n</target>\n";
}

std::string make_memory_map_xml() {
  std::string xml =
      "<?xml version=\"1.0\"?>\n<!DOCTYPE memory-map PUBLIC \"+//IDN gnu.org//DTD GDB Memory Map "
      "V1.0//EN\" \"http://sourceware.org/gdb/gdb-memory-map.dtd\">\n<memory-map>\n";
  for (const Range& ram : kRam) {
    xml += fmt::format("<memory type=\"ram\" start=\"0x{:08x}\" length=\"0x{:x}\"/>\n", ram.address,
                       ram.size);
  }
  xml += fmt::format(
      "<memory type=\"flash\" start=\"0x{:08x}\" length=\"0x{:x}\">\n"
      "<property name=\"blocksize\">0x{:x}</property>\n</memory>\n",
      kFlashBase, kFlashBytes, kFlashSector);
  return xml + "</memory-map>\n";
}

unsigned bytes_of(unsigned number) { return number < kFirstDouble ? 4 : 8; }

}  // namespace

const std::string& target_xml() {
  static const std::string xml = make_target_xml();
  return xml;
}

const std::string& memory_map_xml() {
  static const std::string xml = make_memory_map_xml();
  return xml;
}

std::string register_hex(const Board& board, unsigned number) {
  std::array<uint8_t, 8> bytes{};
  if (number < kFirstDouble) {
    store_le(bytes.data(), 4, board.read_register(number));
  } else {
    const unsigned single = kFirstSingle + 2 * (number - kFirstDouble);
    store_le(bytes.data(), 4, board.read_register(single));
    store_le(bytes.data() + 4, 4, board.read_register(single + 1));
  }
  return to_hex(std::span(bytes).first(bytes_of(number)));
}

std::string registers_hex(const Board& board) {
  std::string digits;
  for (unsigned number = 0; number < kRegisters; ++number) digits += register_hex(board, number);
  return digits;
}

bool set_register(Board& board, unsigned number, std::string_view digits) {
  const std::optional<std::string> bytes = from_hex(digits);
  if (!bytes || bytes->size() != bytes_of(number)) return false;
  const auto* value = reinterpret_cast<const uint8_t*>(bytes->data());
  if (number < kFirstDouble) {
    board.write_register(number, load_le(value, 4));
  } else {
    const unsigned single = kFirstSingle + 2 * (number - kFirstDouble);
    board.write_register(single, load_le(value, 4));
    board.write_register(single + 1, load_le(value + 4, 4));
  }
  return true;
}

bool set_registers(Board& board, std::string_view digits) {
  if (digits.size() != registers_hex(board).size() || !from_hex(digits)) return false;
  const auto one = [&](unsigned number) {
    const size_t at =
        number < kFirstDouble ? 8 * number : 8 * kFirstDouble + 16 * (number - kFirstDouble);
    set_register(board, number, digits.substr(at, size_t{2} * bytes_of(number)));
  };
  // CONTROL decides which stack pointer r13 is: it comes first, then msp and psp, then r13. A new
  // pc ends an IT block, which xPSR may begin again.
  static constexpr std::array<unsigned, 5> kFirst = {22, 17, 18, 15, 16};
  for (const unsigned number : kFirst) one(number);
  for (unsigned number = 0; number < kRegisters; ++number) {
    if (std::find(kFirst.begin(), kFirst.end(), number) == kFirst.end()) one(number);
  }
  return true;
}

bool in_flash(uint32_t address, uint32_t size) {
  return address >= kFlashBase && size <= kFlashBytes && address - kFlashBase <= kFlashBytes - size;
}

}  // namespace millrace::board::gdb
