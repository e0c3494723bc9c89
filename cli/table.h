// SPDX-License-Identifier: Apache-2.0
// One table, printed as text for a terminal, as Markdown or as CSV.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace millrace::cli {

// Columns of every table and paragraph that is printed for people.
inline constexpr size_t kWidth = 100;

class Table {
 public:
  // A heading that starts with '<' is left-aligned (without the sign); others are right-aligned.
  explicit Table(std::vector<std::string> headings);
  // Cells are made printable(). REQUIRES: as many cells as headings.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  // Two spaces between columns, a line under the headings. `width` > 0: where the table is wider
  // and the last column left-aligned, that one goes on in further lines.
  std::string text(size_t width = 0) const;
  std::string markdown() const;  // '|' inside cells is escaped
  std::string csv() const;       // RFC 4180, LF

 private:
  std::vector<std::string> headings_;
  std::vector<bool> left_;
  std::vector<std::vector<std::string>> rows_;
};

// The lines of a report that name what they tell: `constexpr KeyRow row(12); row("target", text)`
// is the key, padded to 12 columns, and the text, made printable(), which goes on below itself.
class KeyRow {
 public:
  constexpr explicit KeyRow(size_t key_width) : key_width_(key_width) {}
  // Ends with a newline. `key` is written as it is: it may have a colour.
  std::string operator()(const std::string& key, const std::string& value) const;

 private:
  size_t key_width_;
};

// Breaks `text` at spaces into lines of at most `width` columns; each line after the first starts
// with `indent` spaces; spaces at the start are kept. UTF-8 is counted by code point.
std::string wrap(const std::string& text, size_t width, size_t indent);
// Columns that `text` takes. A Colour takes none.
size_t columns_of(const std::string& text);

}  // namespace millrace::cli
