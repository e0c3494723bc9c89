// SPDX-License-Identifier: Apache-2.0
// The order is that of the ROM: configuration block, image vector table, boot data, entry. Each
// refusal says what was expected, what was found and where, because on the board itself the same
// mistake is only a dark LED.
//
// The manual gives IVT.entry as the first instruction or the vector address and does not say how
// the two are told apart. Images of both kinds run on this chip: the Teensy core puts the Thumb
// address of its reset handler there (odd), the NXP SDK and Zephyr the address of a vector table
// (even), whose stack pointer Zephyr relies on. Hence: odd is jumped to, even is a table.
#include "millrace/board/boot_rom.h"

#include <fmt/format.h>

#include "core/bytes.h"
#include "image/boot_header.h"
#include "memory/physical_memory.h"
#include "millrace/board/memory_map.h"

namespace millrace::board {
namespace {

constexpr uint32_t kDcdTag = 0xD2;

bool is_ram(uint32_t address) {
  const MemoryArea* const area = memory_area(address);
  return area != nullptr && area->is_ram && area->bytes_at_boot > 0;
}

// FlexRAM may be shared out anew before the stack is used, so every bank counts.
bool is_stack(uint32_t sp) { return sp != 0 && is_ram(sp - 4); }

bool is_executable(uint32_t address) {
  const MemoryArea* const area = memory_area(address);
  return area != nullptr && area->bytes_at_boot > 0;
}

class FlashBoot {
 public:
  FlashBoot(const BootReader& read, const BootOptions& options) : read_(read), options_(options) {}

  BootPlan plan() {
    plan_.error = run();
    return std::move(plan_);
  }

 private:
  std::string run() {
    for (const auto step :
         {&FlashBoot::config, &FlashBoot::vector_table, &FlashBoot::boot_data, &FlashBoot::entry}) {
      std::string problem = (this->*step)();
      if (!problem.empty()) return problem;
    }
    return {};
  }

  // Flash that the image leaves out is erased.
  std::vector<uint8_t> flash(uint32_t address, size_t size) const {
    std::vector<uint8_t> bytes(size, 0xFF);
    if (read_(address, bytes.data(), static_cast<uint32_t>(size))) return bytes;
    for (size_t i = 0; i < size; ++i) {
      if (!read_(address + static_cast<uint32_t>(i), &bytes[i], 1)) bytes[i] = 0xFF;
    }
    return bytes;
  }

  std::string found(uint32_t address) const {
    uint8_t bytes[4];
    if (!read_(address, bytes, 4)) return "the image has nothing there";
    return fmt::format("found 0x{:08X}", load_le(bytes, 4));
  }

  std::string config() {
    uint8_t tag[4];
    if (!read_(kFlashBase, tag, 4) || load_le(tag, 4) != kConfigTag) {
      return fmt::format(
          "no boot header: expected the FlexSPI configuration block's tag 0x{:08X} at 0x{:08X}, {} "
          "(link with the board's boot header; a bare program needs it in front)",
          kConfigTag, kFlashBase, found(kFlashBase));
    }
    plan_.flexspi = decode_config(flash(kFlashBase, kConfigBytes));
    const FlexspiConfig& config = *plan_.flexspi;
    if (config.serial_clock_khz == 0) {
      plan_.notes.push_back(
          fmt::format("the serial clock code {} of the configuration block is not one of the "
                      "RT1060's",
                      config.serial_clock));
    }
    if (config.read_data_pads == 0) {
      plan_.notes.push_back("sequence 0 of the configuration block's look-up table reads nothing");
    }
    if (config.flash_a1_bytes != kFlashBytes) {
      plan_.notes.push_back(
          fmt::format("the configuration block speaks of {} bytes of flash; a Teensy 4.1 has {}",
                      config.flash_a1_bytes, kFlashBytes));
    }
    return {};
  }

  std::string vector_table() {
    const uint32_t at = kFlashBase + kIvtOffset;
    uint8_t bytes[kIvtBytes];
    if (!read_(at, bytes, 4) || !is_ivt_header(load_le(bytes, 4))) {
      return fmt::format(
          "no image vector table: expected its header 0x432000D1 (version 40 to 43) at 0x{:08X}, "
          "{} (place the table 0x1000 bytes behind the start of flash)",
          at, found(at));
    }
    if (!read_(at, bytes, kIvtBytes)) {
      return fmt::format(
          "the image vector table at 0x{:08X} is cut short: the image does not have all of its {} "
          "bytes (build or copy it again)",
          at, kIvtBytes);
    }
    plan_.ivt = decode_ivt(bytes);
    const ImageVectorTable& ivt = *plan_.ivt;
    if (ivt.self != at && !is_ram(ivt.self)) {
      return fmt::format(
          "the image vector table at 0x{:08X} says that it is at 0x{:08X} (link the image for the "
          "place where it is loaded)",
          at, ivt.self);
    }
    plan_.copies_to_ram = ivt.self != at;
    if (ivt.dcd != 0) {
      plan_.notes.push_back(fmt::format(
          "the device configuration data at 0x{:08X} are not carried out{}", ivt.dcd,
          flash(in_flash(ivt.dcd), 1)[0] == kDcdTag ? "" : " (they have no header D2 there)"));
    }
    return {};
  }

  // Where the byte that will be at `address` is before the ROM copies anything.
  uint32_t in_flash(uint32_t address) const {
    if (!plan_.copies_to_ram) return address;
    return address - (plan_.ivt->self - kIvtOffset) + kFlashBase;
  }

  std::string boot_data() {
    const uint32_t at = plan_.ivt->boot_data;
    uint8_t bytes[kBootDataBytes];
    if (!read_(in_flash(at), bytes, kBootDataBytes)) {
      return fmt::format(
          "the image vector table puts the boot data at 0x{:08X}, where the image has nothing (set "
          "it to the address of start, length, plugin)",
          at);
    }
    plan_.boot_data = decode_boot_data(bytes);
    const BootData& data = *plan_.boot_data;
    const uint32_t start = plan_.ivt->self - kIvtOffset;
    if (data.plugin != 0) {
      return fmt::format(
          "the boot data at 0x{:08X} ask for a plugin, flag {} (boot data of a "
          "program have 0 there)",
          at, data.plugin);
    }
    if (data.start != start) {
      return fmt::format(
          "the boot data at 0x{:08X} begin the image at 0x{:08X}, its vector table at 0x{:08X} "
          "(set "
          "start to the address of the configuration block)",
          at, data.start, start);
    }
    if (plan_.copies_to_ram) {
      const MemoryArea& area = *memory_area(start + kIvtOffset);
      const uint64_t end = uint64_t{area.base} + area.bytes_at_boot;
      if (start < area.base || uint64_t{start} + data.length > end) {
        return fmt::format(
            "the boot data at 0x{:08X} have {} bytes copied to 0x{:08X}, beyond the {} bytes of {} "
            "at boot (make the image smaller)",
            at, data.length, start, area.bytes_at_boot, area.name);
      }
    } else if (data.length > kFlashBytes) {
      plan_.notes.push_back(fmt::format("the boot data speak of {} bytes; the flash has {}",
                                        data.length, kFlashBytes));
    }
    return {};
  }

  std::string entry() {
    const uint32_t at = plan_.ivt->entry;
    if ((at & 1) != 0) {
      plan_.pc = at & ~1u;
      plan_.sp = options_.rom_stack;
      plan_.vtor = options_.rom_vtor;
      std::string problem = check_code("the entry of the image vector table", at);
      if (problem.empty()) plan_.start = StartKind::code;
      return problem;
    }
    uint8_t bytes[8];
    if (!read_loaded(at, bytes, 8)) {
      return fmt::format(
          "the entry 0x{:08X} of the image vector table is even, a vector table, but the image has "
          "nothing there (set it to the vector table, or to a Thumb address)",
          at);
    }
    const uint32_t sp = load_le(bytes, 4);
    const uint32_t pc = load_le(bytes + 4, 4);
    if (!is_stack(sp)) {
      return fmt::format(
          "the vector table at 0x{:08X} has the stack pointer 0x{:08X}, which is in no RAM (check "
          "the entry of the image vector table and the linker script)",
          at, sp);
    }
    if ((pc & 1) == 0) {
      return fmt::format(
          "the vector table at 0x{:08X} has the reset vector 0x{:08X}, which is even and so no "
          "Thumb address (check the entry of the image vector table)",
          at, pc);
    }
    plan_.pc = pc & ~1u;
    plan_.sp = sp & ~3u;
    plan_.vtor = options_.vtor_follows_table ? at : options_.rom_vtor;
    std::string problem =
        check_code(fmt::format("the reset vector of the table at 0x{:08X}", at), pc);
    if (problem.empty()) plan_.start = StartKind::vector_table;
    return problem;
  }

  bool read_loaded(uint32_t address, uint8_t* out, uint32_t size) const {
    if (plan_.copies_to_ram && address - plan_.boot_data->start < plan_.boot_data->length) {
      return read_(in_flash(address), out, size);
    }
    return read_(address, out, size);
  }

  std::string check_code(const std::string& what, uint32_t address) const {
    if (!is_executable(address)) {
      return fmt::format("{} is 0x{:08X}, where no program can run (check the linker script)", what,
                         address);
    }
    uint8_t bytes[2];
    if (!read_loaded(address & ~1u, bytes, 2)) {
      return fmt::format("{} is 0x{:08X}, where the image has nothing (check the linker script)",
                         what, address);
    }
    return {};
  }

  const BootReader& read_;
  const BootOptions& options_;
  BootPlan plan_;
};

}  // namespace

BootPlan plan_flash_boot(const BootReader& read, const BootOptions& options) {
  return FlashBoot(read, options).plan();
}

}  // namespace millrace::board
