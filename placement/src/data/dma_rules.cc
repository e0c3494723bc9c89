// SPDX-License-Identifier: Apache-2.0
#include "data/dma_rules.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace millrace::placement {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Calls f for each word, in lower case: `usbDmaBuffer_2` has usb, dma, buffer, 2; `dQH` is one.
template <class F>
bool any_word(std::string_view name, F f) {
  std::string word;
  for (size_t i = 0; i <= name.size(); ++i) {
    const char c = i < name.size() ? name[i] : '_';
    const bool is_letter = std::isalnum(static_cast<unsigned char>(c)) != 0;
    const bool begins = i > 0 && std::isupper(static_cast<unsigned char>(c)) != 0 &&
                        std::islower(static_cast<unsigned char>(name[i - 1])) != 0 &&
                        word.size() > 1;  // not behind the d of dQH
    if ((!is_letter || begins) && !word.empty()) {
      if (f(word)) return true;
      word.clear();
    }
    if (is_letter) word += lower(c);
  }
  return false;
}

template <size_t N>
bool begins_with_any(std::string_view text, const std::array<std::string_view, N>& all) {
  return std::any_of(all.begin(), all.end(),
                     [&](std::string_view one) { return text.starts_with(one); });
}

// `.bss.NAME`, or without the part behind the compiler's own prefix.
bool is_or_below(std::string_view section, std::string_view prefix) {
  return section == prefix || (section.starts_with(prefix) && section[prefix.size()] == '.');
}

}  // namespace

bool is_dma_section(std::string_view section) {
  std::string low(section);
  std::transform(low.begin(), low.end(), low.begin(), lower);
  std::string_view text = low;
  static constexpr std::array<std::string_view, 4> kUncached = {"nocache", "noncache", "non_cache",
                                                                "uncached"};
  // What follows is the name of a variable, or a word of somebody who wanted it with the others.
  for (const std::string_view prefix : {".bss.", ".data.", ".noinit."}) {
    if (text.starts_with(prefix)) return begins_with_any(text.substr(prefix.size()), kUncached);
  }
  if (text.starts_with('.')) text.remove_prefix(1);
  static constexpr std::array<std::string_view, 3> kBegin = {"dma", "usb", "endpoint_queue"};
  return begins_with_any(text, kUncached) || begins_with_any(text, kBegin) ||
         text.find("dmabuf") != std::string_view::npos;
}

bool is_dma_name(std::string_view name) {
  std::string low(name);
  std::transform(low.begin(), low.end(), low.begin(), lower);
  for (const char* text : {"queue_head", "queuehead", "transfer_desc", "transferdesc"}) {
    if (low.find(text) != std::string::npos) return true;
  }
  // What a peripheral sends from or receives into: rx_buffers, txRing, RxDescriptors, but not
  // rx_count.
  bool is_direction = false, is_store = false;
  any_word(name, [&](const std::string& word) {
    is_direction = is_direction || word == "rx" || word == "tx";
    for (const char* one : {"buf", "ring", "desc", "pool", "fifo"}) {
      is_store = is_store || word.starts_with(one);
    }
    return false;
  });
  if (is_direction && is_store) return true;
  return any_word(name, [](const std::string& word) {
    return word.starts_with("dma") || word == "edma" || word == "dqh" || word == "dtd" ||
           word == "qh" || word == "qtd" || word == "tcd" || word == "dqhs" || word == "dtds" ||
           word == "nocache" || word == "descriptorring" || word == "bdring";
  });
}

bool is_stack_or_heap(std::string_view section, std::string_view name) {
  const auto is_one = [](const std::string& word) {
    return word == "stack" || word == "stacks" || word == "heap" || word == "kheap" ||
           word == "ucheap";
  };
  return any_word(section, is_one) || any_word(name, is_one) || name == "ucHeap";
}

bool is_ordinary_section(std::string_view section) {
  static constexpr std::array<std::string_view, 4> kOwn = {".rodata", ".data", ".bss", ".progmem"};
  if (section == "COMMON" || is_or_below(section, ".externalram")) return true;
  return std::any_of(kOwn.begin(), kOwn.end(),
                     [&](std::string_view one) { return is_or_below(section, one); });
}

const char* teensy_attribute(std::string_view section) {
  if (is_or_below(section, ".dmabuffers")) return "DMAMEM";
  if (is_or_below(section, ".progmem")) return "PROGMEM";
  if (is_or_below(section, ".externalram")) return "EXTMEM";
  return nullptr;
}

}  // namespace millrace::placement
