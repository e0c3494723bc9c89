// SPDX-License-Identifier: Apache-2.0
#include "gdb/monitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace millrace::board::gdb {
namespace {

constexpr size_t kMostUnknown = 20;

struct Command {
  std::string_view name;
  std::string_view help;
  std::string (*run)(Board& board);
};

std::string cycles(Board& board) {
  return fmt::format("{} cycles, {} ns, core at {} Hz\n", board.cycles(), board.ns(),
                     board.core_hz());
}

std::string reset(Board& board) {
  board.reset();
  return fmt::format(
      "reset; pc 0x{:08x}. gdb still shows what it read before: maintenance flush "
      "register-cache\n",
      board.read_register(15));
}

std::string fault(Board& board) {
  const std::string text = board.fault_state();
  return (text.empty() ? "the firmware is in no fault handler" : text) + "\n";
}

std::string cache_line(std::string_view name, const CacheCounts& cache) {
  return fmt::format("{}: {} hits, {} misses, {} evictions, {} write-backs\n", name, cache.hits,
                     cache.misses, cache.evictions, cache.writebacks);
}

std::string unknown_lines(const std::vector<UnknownRegister>& registers) {
  std::string text;
  for (size_t i = 0; i < std::min(registers.size(), kMostUnknown); ++i) {
    const UnknownRegister& one = registers[i];
    text += fmt::format("not modelled: {} (0x{:08x}), {} reads, {} writes, first at 0x{:08x}\n",
                        one.name, one.address, one.reads, one.writes, one.first_pc);
  }
  if (registers.size() > kMostUnknown) {
    text += fmt::format("not modelled: {} more\n", registers.size() - kMostUnknown);
  }
  return text;
}

std::string stats(Board& board) {
  const BoardStats s = board.stats();
  std::string text = fmt::format("{} cycles, {} instructions, {:.6f} s simulated\n", s.cycles,
                                 s.instructions, s.seconds);
  text += fmt::format(
      "stall cycles: fetch from flash {}, from OCRAM {}; data from flash {}, OCRAM {}, PSRAM {}\n",
      s.stalls.icache_flash, s.stalls.icache_ocram, s.stalls.dcache_flash, s.stalls.dcache_ocram,
      s.stalls.dcache_psram);
  text += fmt::format(
      "              uncached {}, store buffer {}, registers {}, branches {}, operands {}\n",
      s.stalls.uncached, s.stalls.store_buffer, s.stalls.peripheral, s.stalls.branch,
      s.stalls.operand);
  text +=
      fmt::format("              exceptions {}, asleep {}\n", s.stalls.exception, s.stalls.asleep);
  text += cache_line("instruction cache", s.icache) + cache_line("data cache", s.dcache);
  text += fmt::format("{} branches, {} mispredicted; {} exceptions, {} faults, {} resets\n",
                      s.branches, s.mispredicts, s.exceptions, s.faults, s.resets);
  return text + unknown_lines(s.unknown);
}

std::string help(Board& board);

constexpr Command kCommands[] = {
    {"cycles", "time since power-on", cycles},
    {"fault", "what brought the firmware into its fault handler", fault},
    {"help", "this list", help},
    {"reset", "reset the chip and stop at the first instruction; memories keep their content",
     reset},
    {"stats", "what the core, caches and devices counted since power-on", stats},
};

std::string help(Board&) {
  std::string text;
  for (const Command& command : kCommands) {
    text += fmt::format("monitor {:<7} {}\n", command.name, command.help);
  }
  return text;
}

std::string_view first_word(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin);
  return text.substr(0, text.find_first_of(" \t"));
}

}  // namespace

std::string monitor(Board& board, std::string_view command) {
  const std::string_view word = first_word(command);  // "reset halt" is a habit from probes
  for (const Command& one : kCommands) {
    if (one.name == word) return one.run(board);
  }
  return "there is no such command; there are:\n" + help(board);
}

}  // namespace millrace::board::gdb
