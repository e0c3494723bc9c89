// SPDX-License-Identifier: Apache-2.0
// An image against the board's memories, and the start of programs that never were in flash.
#include <fmt/format.h>

#include <algorithm>

#include "core/bytes.h"
#include "memory/physical_memory.h"
#include "millrace/board/boot_rom.h"
#include "millrace/board/memory_map.h"

namespace millrace::board {
namespace {

constexpr uint32_t kVectorAlignment = 128;  // VTOR holds bits 31:7
constexpr size_t kMaxSentences = 16;

uint64_t end_of(const Segment& segment) { return uint64_t{segment.address} + segment.bytes.size(); }

// Reads across segments that touch.
bool read_image(const Image& image, uint32_t address, uint8_t* out, uint32_t size) {
  while (size > 0) {
    const auto after = std::upper_bound(
        image.segments.begin(), image.segments.end(), address,
        [](uint32_t value, const Segment& segment) { return value < segment.address; });
    if (after == image.segments.begin()) return false;
    const Segment& segment = *(after - 1);
    if (address >= end_of(segment)) return false;
    const auto count = static_cast<uint32_t>(std::min<uint64_t>(size, end_of(segment) - address));
    const auto from = segment.bytes.begin() + (address - segment.address);
    std::copy(from, from + count, out);
    out += count;
    size -= count;
    if (size > 0 && address + count < address) return false;
    address += count;
  }
  return true;
}

// Empty: it loads.
std::string why_unloadable(const Segment& segment) {
  const MemoryArea* const area = memory_area(segment.address);
  const std::string what =
      fmt::format("{} bytes at 0x{:08X}", segment.bytes.size(), segment.address);
  if (area == nullptr) {
    return what +
           " would not load: the board has no memory there (check the linker script or "
           "--address)";
  }
  if (area->bytes_at_boot == 0) {
    return fmt::format(
        "{} would not load: {} answers only after the firmware has set it up (give "
        "it a load address in flash)",
        what, area->name);
  }
  const uint64_t end = uint64_t{area->base} + area->bytes_at_boot;
  if (end_of(segment) > end) {
    return fmt::format(
        "{} would not load: they end {} bytes behind the {} bytes of {}{} (make the "
        "image smaller)",
        what, end_of(segment) - end, area->bytes_at_boot, area->name,
        area->bytes_at_boot < area->bytes ? " at boot" : "");
  }
  return {};
}

bool is_vector_table(const Image& image, uint32_t address, uint32_t* sp, uint32_t* pc) {
  uint8_t bytes[8];
  uint8_t code[2];
  if (address % kVectorAlignment != 0 || !read_image(image, address, bytes, 8)) return false;
  *sp = load_le(bytes, 4);
  *pc = load_le(bytes + 4, 4);
  const MemoryArea* const stack = *sp == 0 ? nullptr : memory_area(*sp - 4);
  return stack != nullptr && stack->is_ram && stack->bytes_at_boot > 0 && (*pc & 1) != 0 &&
         read_image(image, *pc & ~1u, code, 2);
}

// The table that begins a segment; for an image with an entry first of all one with that reset
// vector, wherever it is.
bool find_vector_table(const Image& image, uint32_t* table, uint32_t* sp, uint32_t* pc) {
  for (const Segment& segment : image.segments) {
    if (image.entry == 0) break;
    const uint64_t first =
        (uint64_t{segment.address} + kVectorAlignment - 1) / kVectorAlignment * kVectorAlignment;
    for (uint64_t at = first; at < end_of(segment); at += kVectorAlignment) {
      *table = static_cast<uint32_t>(at);
      if (is_vector_table(image, *table, sp, pc) && *pc == (image.entry | 1)) return true;
    }
  }
  for (const Segment& segment : image.segments) {
    *table = segment.address;
    if (is_vector_table(image, *table, sp, pc)) return true;
  }
  return false;
}

void plan_ram_start(const Image& image, BootPlan* plan) {
  uint32_t table = 0;
  uint32_t sp = 0;
  uint32_t pc = 0;
  if (!find_vector_table(image, &table, &sp, &pc)) {
    plan->error = fmt::format(
        "nothing of it is in flash, and no vector table (stack pointer in RAM, Thumb address in "
        "the "
        "image) begins what it has at 0x{:08X} (link it for flash at 0x{:08X} with the boot "
        "header, "
        "or put the vector table first)",
        image.segments.front().address, kFlashBase);
    return;
  }
  plan->start = StartKind::ram_vector_table;
  plan->pc = pc & ~1u;
  plan->sp = sp & ~3u;
  plan->vtor = table;
  plan->notes.push_back(fmt::format(
      "started in RAM through the vector table at 0x{:08X}, as a debugger would: a real board "
      "without one cannot run this image",
      table));
}

void add(std::vector<std::string>* sentences, std::string sentence) {
  if (sentences->size() < kMaxSentences) sentences->push_back(std::move(sentence));
}

}  // namespace

BootPlan plan_boot(const Image& image, const BootOptions& options) {
  BootPlan plan;
  if (image.segments.empty()) {
    plan.error = image.path + ": holds nothing to load (give the firmware)";
    return plan;
  }
  const auto in_flash = [](const Segment& segment) {
    const MemoryArea* const area = memory_area(segment.address);
    return area != nullptr && area->base == kFlashBase;
  };
  const bool boots_from_flash = std::any_of(image.segments.begin(), image.segments.end(), in_flash);
  if (boots_from_flash) {
    plan =
        plan_flash_boot([&image](uint32_t address, uint8_t* out,
                                 uint32_t size) { return read_image(image, address, out, size); },
                        options);
  } else {
    plan_ram_start(image, &plan);
  }
  for (const Segment& segment : image.segments) {
    const std::string problem = why_unloadable(segment);
    if (!problem.empty()) {
      add(&plan.unloadable, problem);
    } else if (boots_from_flash && !in_flash(segment)) {
      add(&plan.notes, fmt::format("{} bytes at 0x{:08X} lie in RAM: they are loaded, but a real "
                                   "board has only what is in flash",
                                   segment.bytes.size(), segment.address));
    }
  }
  if (!plan.unloadable.empty()) plan.error = plan.unloadable.front();
  if (!plan.error.empty()) {
    plan.start = StartKind::none;
    plan.error = image.path + ": " + plan.error;
  }
  return plan;
}

}  // namespace millrace::board
