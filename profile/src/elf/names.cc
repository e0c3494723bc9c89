// SPDX-License-Identifier: Apache-2.0
#include <cxxabi.h>

#include <cstdlib>
#include <memory>

#include "millrace/profile/elf_index.h"

namespace millrace::profile {
namespace {

// Longer mangled names are shown as they are: the demangler's work is not bounded by their length.
constexpr size_t kMaxMangledBytes = 1024;
constexpr size_t kMaxReadableBytes = 4096;

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

constexpr std::string_view kAnonymous = "(anonymous namespace)";

bool is_of_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Where an operator's name at `at` ends, its signs included; `at`: none begins there.
size_t behind_operator(const std::string& name, size_t at) {
  constexpr std::string_view kOperator = "operator";
  if (name.compare(at, kOperator.size(), kOperator) != 0) return at;
  size_t end = at + kOperator.size();
  if ((at > 0 && is_of_word(name[at - 1])) || (end < name.size() && is_of_word(name[end])))
    return at;
  if (name.compare(end, 2, "()") == 0) return end + 2;
  while (end < name.size() &&
         std::string_view("<>=!+-*/%^&|~,[]").find(name[end]) != std::string_view::npos) {
    ++end;
  }
  return end;
}

}  // namespace

std::string readable_name(const std::string& symbol) {
  if (!symbol.starts_with("_Z") || symbol.size() > kMaxMangledBytes) return symbol;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || !text) return symbol;
  std::string out(text.get());
  return out.size() > kMaxReadableBytes ? symbol : out;
}

std::string without_parameters(const std::string& readable) {
  // Outside of templates and braces a group behind a word holds parameters: the function's own, or
  // with `::` behind it those of the function around a local one. In a group `>` may compare.
  constexpr std::string_view kConstScope = " const::";
  std::string out, open;
  size_t group = std::string::npos, cut = std::string::npos;
  for (size_t at = 0; at < readable.size();) {
    size_t behind = behind_operator(readable, at);
    if (open.empty() && readable.compare(at, kAnonymous.size(), kAnonymous) == 0) {
      behind = at + kAnonymous.size();
    }
    if (behind != at) {
      out.append(readable, at, behind - at);
      at = behind;
      continue;
    }
    const char c = readable[at++];
    if (c == '(' && open.empty()) {
      group = out.empty() || out.ends_with(' ') ? std::string::npos : out.size();
    }
    out.push_back(c);
    if (c == '(' || c == '{' || c == '<') {
      open.push_back(c);
    } else if (c == '>') {
      if (open.ends_with('<')) open.pop_back();
    } else if (c == ')' || c == '}') {
      const size_t partner = open.rfind(c == ')' ? '(' : '{');
      if (partner != std::string::npos) open.resize(partner);
      if (c == '}' || !open.empty() || group == std::string::npos) continue;
      if (readable.compare(at, kConstScope.size(), kConstScope) == 0) at += kConstScope.size() - 2;
      if (readable.compare(at, 2, "::") == 0) {
        out.resize(group);
      } else {
        cut = group;
      }
      group = std::string::npos;
    }
  }
  if (cut != std::string::npos) out.resize(cut);
  return out;
}

std::string base_name_of_clone(const std::string& symbol) {
  std::string out = symbol;
  for (;;) {
    const size_t dot = out.rfind('.');
    if (dot == std::string::npos || dot == 0) return out;
    const std::string_view suffix = std::string_view(out).substr(dot + 1);
    const bool is_clone = is_number(suffix) || suffix == "part" || suffix == "constprop" ||
                          suffix == "isra" || suffix == "cold" || suffix == "lto_priv" ||
                          suffix == "localalias" || suffix == "ipa" || suffix == "llvm";
    if (!is_clone) return out;
    out.resize(dot);
  }
}

}  // namespace millrace::profile
