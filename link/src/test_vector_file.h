// SPDX-License-Identifier: Apache-2.0
// For tests: the lines of a file in spec/vectors, cut into words; comments left out.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace millrace::link {

// A word ends at a space outside double quotes.
inline std::vector<std::vector<std::string>> read_vectors(const std::string& name) {
  std::ifstream file(std::string(MILLRACE_SOURCE_DIR) + "/spec/vectors/" + name);
  std::vector<std::vector<std::string>> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> words(1);
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') quoted = !quoted;
      if (c == ' ' && !quoted) {
        words.emplace_back();
      } else {
        words.back() += c;
      }
    }
    lines.push_back(words);
  }
  return lines;
}

// What a message decodes to, as the lines of a file write it.
using Fields = std::map<std::string, std::string>;
inline std::string number(uint64_t value) { return std::to_string(value); }
inline std::string quoted(const char* text) { return std::string("\"").append(text).append("\""); }

inline std::vector<uint8_t> from_hex(const std::string& hex) {
  std::vector<uint8_t> out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  }
  return out;
}

inline std::string to_hex(const std::vector<uint8_t>& bytes) {
  std::string out;
  for (const uint8_t b : bytes) {
    out += "0123456789abcdef"[b >> 4];
    out += "0123456789abcdef"[b & 15];
  }
  return out;
}

}  // namespace millrace::link
