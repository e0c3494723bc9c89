// SPDX-License-Identifier: Apache-2.0
#include "millrace/board/symbols.h"

#include <fmt/core.h>

#include <algorithm>

namespace millrace::board {
namespace {

constexpr uint32_t kLongestUnsized = 0x10000;

}  // namespace

const Symbol* function_at(const Image& image, uint32_t address) {
  auto at = std::upper_bound(
      image.symbols.begin(), image.symbols.end(), address,
      [](uint32_t wanted, const Symbol& symbol) { return wanted < symbol.address; });
  while (at != image.symbols.begin()) {
    const Symbol& symbol = *--at;
    if (!symbol.is_function) continue;
    const uint32_t size = symbol.size != 0 ? symbol.size : kLongestUnsized;
    return address - symbol.address < size ? &symbol : nullptr;
  }
  return nullptr;
}

std::string symbol_at(const Image& image, uint32_t address) {
  const Symbol* symbol = function_at(image, address);
  if (symbol == nullptr) return fmt::format("0x{:08X}", address);
  if (symbol->address == address) return symbol->name;
  return fmt::format("{}+0x{:X}", symbol->name, address - symbol->address);
}

}  // namespace millrace::board
