// SPDX-License-Identifier: Apache-2.0
#include "millrace/board/symbols.h"

#include <cxxabi.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace millrace::board {
namespace {

constexpr uint32_t kLongestUnsized = 0x10000;
// Longer mangled names are shown as they are: the demangler's work is not bounded by their length.
constexpr size_t kLongestMangled = 256;

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

std::string readable_name(const Symbol& symbol) {
  if (symbol.name.rfind("_Z", 0) != 0 || symbol.name.size() > kLongestMangled) return symbol.name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? text.get() : symbol.name;
}

std::string symbol_at(const Image& image, uint32_t address) {
  const Symbol* symbol = function_at(image, address);
  if (symbol == nullptr) return fmt::format("0x{:08X}", address);
  std::string name = readable_name(*symbol);
  if (symbol->address == address) return name;
  return fmt::format("{}+0x{:X}", name, address - symbol->address);
}

}  // namespace millrace::board
