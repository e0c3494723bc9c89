// SPDX-License-Identifier: Apache-2.0
#include "cli/posix/board_info.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/print.h"
#include "cli/table.h"
#include "cli/values.h"
#include "millrace/board/memory_map.h"

namespace millrace::cli {

using board::BootPlan;
using board::Image;
using board::StartKind;

namespace {

constexpr KeyRow row(14);
constexpr size_t kNameWidth = 40;
constexpr size_t kSegmentsShown = 40;

std::string hex(uint32_t value) { return fmt::format("0x{:08X}", value); }

std::string shortened(const std::string& name) {
  return name.size() <= kNameWidth ? name : name.substr(0, kNameWidth - 3) + "...";
}

std::string start_sentence(const Image& image, const BootPlan& plan) {
  std::string out;
  switch (plan.start) {
    case StartKind::none:
      return "it does not boot";
    case StartKind::code:
      out = "the boot ROM jumps to ";
      break;
    case StartKind::vector_table:
      out = fmt::format("the boot ROM takes the vector table at {}: ", hex(plan.vtor));
      break;
    case StartKind::ram_vector_table:
      out = fmt::format("in RAM, through the vector table at {}: ", hex(plan.vtor));
      break;
  }
  out += hex(plan.pc);
  const std::string function = function_at(image, plan.pc);
  if (!function.empty()) out += fmt::format(" ({})", function);
  if (plan.start != StartKind::code) out += fmt::format(", stack pointer {}", hex(plan.sp));
  if (plan.copies_to_ram) {
    out += fmt::format(", after copying {} to {}", plural(plan.boot_data->length, "byte"),
                       hex(plan.boot_data->start));
  }
  return out;
}

std::string header_rows(const BootPlan& plan) {
  std::string out;
  if (plan.flexspi) {
    const board::FlexspiConfig& config = *plan.flexspi;
    out += row("FlexSPI",
               fmt::format("version 0x{:08X}, clock {} MHz (code {}), {}, flash {} bytes, chip "
                           "select hold {}, setup {}, sample clock {}; a read takes {} before the "
                           "data, which come on {}",
                           config.version, config.serial_clock_khz / 1000, config.serial_clock,
                           plural(config.pads, "pad"), grouped(config.flash_a1_bytes),
                           config.cs_hold_sck, config.cs_setup_sck, config.read_sample_clock,
                           plural(config.read_command_sck, "clock"),
                           plural(config.read_data_pads, "pad")));
  }
  if (plan.ivt) {
    const board::ImageVectorTable& ivt = *plan.ivt;
    out += row(
        "vector table",
        fmt::format("header {}, entry {}, DCD {}, boot data {}, self {}, CSF {}", hex(ivt.header),
                    hex(ivt.entry), hex(ivt.dcd), hex(ivt.boot_data), hex(ivt.self), hex(ivt.csf)));
  }
  if (plan.boot_data) {
    out +=
        row("boot data", fmt::format("start {}, length {}, plugin {}", hex(plan.boot_data->start),
                                     grouped(plan.boot_data->length), plan.boot_data->plugin));
  }
  return out;
}

std::string memory_table(const Image& image) {
  Table table({"<memory", "<at", "bytes at most", "run there", "stored there"});
  for (const MemoryUse& use : memory_use(image)) {
    table.add({std::string(use.name), hex(use.base), grouped(use.size),
               image.sections.empty() ? "?" : grouped(use.runs), grouped(use.stored)});
  }
  return table.text() + "ITCM, DTCM and OCRAM from 0x20280000 on share 512 KB of FlexRAM.\n";
}

std::string section_table(const Image& image) {
  Table table({"<section", "<runs at", "<memory", "<stored at", "<memory", "bytes"});
  for (const board::Section& section : image.sections) {
    table.add({shortened(section.name), hex(section.run_address), memory_name(section.run_address),
               section.is_stored ? hex(section.load_address) : "-",
               section.is_stored ? memory_name(section.load_address) : "-", grouped(section.size)});
  }
  return table.text();
}

std::string segment_table(const Image& image) {
  Table table({"<stored at", "<memory", "bytes"});
  for (size_t i = 0; i < std::min(image.segments.size(), kSegmentsShown); ++i) {
    const board::Segment& segment = image.segments[i];
    table.add({hex(segment.address), memory_name(segment.address), grouped(segment.bytes.size())});
  }
  std::string out = table.text();
  if (image.segments.size() > kSegmentsShown) {
    out += fmt::format("and {} more\n", image.segments.size() - kSegmentsShown);
  }
  return out;
}

}  // namespace

std::vector<MemoryUse> memory_use(const Image& image) {
  std::vector<MemoryUse> out;
  for (const board::MemoryArea& area : board::memory_areas()) {
    MemoryUse use = {area.name, area.base, area.bytes, 0, 0};
    for (const board::Section& section : image.sections) {
      if (section.run_address - area.base < area.bytes) use.runs += section.size;
    }
    for (const board::Segment& segment : image.segments) {
      if (segment.address - area.base < area.bytes) use.stored += segment.bytes.size();
    }
    out.push_back(use);
  }
  return out;
}

std::string memory_name(uint32_t address) {
  const board::MemoryArea* const area = board::memory_area(address);
  return area == nullptr ? "-" : std::string(area->name);
}

std::string function_at(const Image& image, uint32_t address) {
  for (const board::Symbol& symbol : image.symbols) {
    if (symbol.is_function && address - symbol.address < std::max(symbol.size, 1u)) {
      return symbol.name;
    }
  }
  return {};
}

const char* kind_name(Image::Kind kind) {
  switch (kind) {
    case Image::Kind::elf:
      return "elf";
    case Image::Kind::hex:
      return "hex";
    case Image::Kind::binary:
      return "binary";
  }
  return "binary";
}

const char* start_name(StartKind start) {
  switch (start) {
    case StartKind::none:
      return "none";
    case StartKind::code:
      return "code";
    case StartKind::vector_table:
      return "vector_table";
    case StartKind::ram_vector_table:
      return "ram_vector_table";
  }
  return "none";
}

std::string board_report(const Image& image, const BootPlan& plan) {
  static constexpr const char* kKinds[] = {"ELF for ARM", "Intel HEX", "binary"};
  std::string out =
      row("image", fmt::format("{}, {}", image.path, kKinds[static_cast<size_t>(image.kind)]));
  out += row("start", start_sentence(image, plan));
  out += header_rows(plan);
  if (image.entry != 0) out += row("file's entry", hex(image.entry));
  if (image.kind == Image::Kind::elf) {
    const auto functions =
        std::count_if(image.symbols.begin(), image.symbols.end(),
                      [](const board::Symbol& symbol) { return symbol.is_function; });
    out +=
        row("symbols", image.symbols.empty()
                           ? "none (stripped)"
                           : fmt::format("{}, {} of them functions", grouped(image.symbols.size()),
                                         grouped(static_cast<uint64_t>(functions))));
    if (!image.build_id.empty()) out += row("build ID", image.build_id);
  }
  out += '\n' + memory_table(image);
  out += '\n' + (image.sections.empty() ? segment_table(image) : section_table(image));
  if (!image.notes.empty() || !plan.notes.empty() || !plan.unloadable.empty()) out += '\n';
  for (const std::string& sentence : plan.unloadable) out += row("PROBLEM", sentence);
  for (const std::string& sentence : image.notes) out += row("note", sentence);
  for (const std::string& sentence : plan.notes) out += row("note", sentence);
  return out;
}

}  // namespace millrace::cli
