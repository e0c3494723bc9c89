// SPDX-License-Identifier: Apache-2.0
#include "cli/table.h"

#include <algorithm>

#include "cli/print.h"

namespace millrace::cli {

namespace {

// a - b, at least 0.
size_t without(size_t a, size_t b) { return a - std::min(a, b); }

}  // namespace

Table::Table(std::vector<std::string> headings) {
  for (std::string& heading : headings) {
    const bool left = !heading.empty() && heading[0] == '<';
    left_.push_back(left);
    headings_.push_back(left ? heading.substr(1) : heading);
  }
}

void Table::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::text(size_t width) const {
  std::vector<size_t> widths;
  for (const std::string& heading : headings_) widths.push_back(columns_of(heading));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
  }
  size_t before_last = 0;
  for (size_t i = 0; i + 1 < widths.size(); ++i) before_last += widths[i] + 2;
  constexpr size_t kNarrowest = 16;
  const bool folds = width > 0 && left_.back() && before_last + widths.back() > width;
  if (folds) widths.back() = std::max(kNarrowest, without(width, before_last));
  const auto line = [&](std::vector<std::string> cells) {
    std::string more;
    if (folds) {
      std::string& last = cells.back();
      last = wrap(last, widths.back(), 0);
      if (const size_t end = last.find('\n'); end != std::string::npos) {
        more = last.substr(end + 1) + '\n';
        last.resize(end);
        for (size_t at = 0; at < more.size(); at = more.find('\n', at) + 1) {
          more.insert(at, before_last, ' ');
        }
      }
    }
    std::string out;
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string space(without(widths[i], columns_of(cells[i])), ' ');
      if (i != 0) out += "  ";
      out += left_[i] ? cells[i] + space : space + cells[i];
    }
    return out.substr(0, out.find_last_not_of(' ') + 1) + '\n' + more;
  };
  std::string out = line(headings_);
  std::vector<std::string> rule;
  rule.reserve(widths.size());
  for (const size_t columns : widths) rule.emplace_back(columns, '-');
  out += line(rule);
  for (const auto& row : rows_) out += line(row);
  return out;
}

std::string Table::markdown() const {
  const auto line = [](const std::vector<std::string>& cells) {
    std::string out = "|";
    for (const std::string& cell : cells) {
      out += ' ';
      for (const char c : cell) out += c == '|' ? std::string("\\|") : std::string(1, c);
      out += " |";
    }
    return out + '\n';
  };
  std::string out = line(headings_) + '|';
  for (const bool left : left_) out += left ? "---|" : "--:|";
  out += '\n';
  for (const auto& row : rows_) out += line(row);
  return out;
}

std::string Table::csv() const {
  const auto line = [](const std::vector<std::string>& cells) {
    std::string out;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i != 0) out += ',';
      if (cells[i].find_first_of(",\"\r\n") == std::string::npos) {
        out += cells[i];
        continue;
      }
      out += '"';
      for (const char c : cells[i]) out += c == '"' ? std::string("\"\"") : std::string(1, c);
      out += '"';
    }
    return out + '\n';
  };
  std::string out = line(headings_);
  for (const auto& row : rows_) out += line(row);
  return out;
}

std::string KeyRow::operator()(const std::string& key, const std::string& value) const {
  const std::string space(std::max<size_t>(1, without(key_width_, columns_of(key))), ' ');
  return wrap(key + space + printable(value), kWidth, key_width_) + '\n';
}

size_t columns_of(const std::string& text) {
  constexpr char kEscape = '\x1b';
  size_t columns = 0;
  bool is_colour = false;
  for (const char c : text) {
    const bool continues = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
    if (c == kEscape) is_colour = true;
    if (!is_colour && !continues) ++columns;
    if (c == 'm') is_colour = false;
  }
  return columns;
}

std::string wrap(const std::string& text, size_t width, size_t indent) {
  const size_t first = std::min(text.find_first_not_of(' '), text.size());
  std::string out(first, ' ');
  size_t column = 0;
  for (size_t at = first; at < text.size();) {
    size_t end = text.find(' ', at);
    if (end == std::string::npos) end = text.size();
    const std::string word = text.substr(at, end - at);
    const size_t wide = columns_of(word);
    if (column != 0 && column + 1 + wide > width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column != 0) {
      out += ' ';
      ++column;
    } else {
      column = first;
    }
    out += word;
    column += wide;
    at = end + 1;
  }
  return out;
}

}  // namespace millrace::cli
