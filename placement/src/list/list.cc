// SPDX-License-Identifier: Apache-2.0
#include "millrace/placement/list.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace millrace::placement {
namespace {

using profile::printable;

constexpr size_t kCommentColumn = 60;
constexpr unsigned char kFirstTooLarge = 0xF5;  // no lead byte of UTF-8 from here on
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string_view next_word(std::string_view* line) {
  const size_t first = std::min(line->find_first_not_of(" \t"), line->size());
  const size_t end = std::min(line->find_first_of(" \t", first), line->size());
  const std::string_view out = line->substr(first, end - first);
  line->remove_prefix(end);
  return out;
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < ' ' && c != '\t') || byte == 0x7F;
}

// RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80             ? 1
                          : lead < 0xC2           ? 0
                          : lead < 0xE0           ? 2
                          : lead < 0xF0           ? 3
                          : lead < kFirstTooLarge ? 4
                                                  : 0;
    if (length == 0 || text.size() - i < length) return false;
    uint32_t point = length == 1 ? lead : lead & (0x7Fu >> length);
    for (size_t k = 1; k < length; ++k) {
      const auto byte = static_cast<unsigned char>(text[i + k]);
      if ((byte & 0xC0) != 0x80) return false;
      point = point << 6 | (byte & 0x3Fu);
    }
    const bool is_surrogate = point >= 0xD800 && point < 0xE000;
    if (is_surrogate || point > 0x10FFFF || (length == 3 && point < 0x800) ||
        (length == 4 && point < 0x10000)) {
      return false;
    }
    i += length;
  }
  return true;
}

// Up to a '#' at the beginning or behind a blank.
std::string_view without_comment(std::string_view line) {
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) {
      return line.substr(0, i);
    }
  }
  return line;
}

class Parser {
 public:
  explicit Parser(PlacementList* out) : out_(*out) {}

  // An empty string, or what is wrong with the line.
  std::string line(std::string_view text, uint32_t number) {
    if (text.size() > kMaxListLineBytes) {
      return fmt::format("longer than {} bytes (one name a line)", kMaxListLineBytes);
    }
    if (!is_utf8(text)) return "not UTF-8 (save the file as UTF-8)";
    if (std::any_of(text.begin(), text.end(), is_control)) {
      return "a control byte (a list is text: one name a line)";
    }
    text = without_comment(text);
    std::string_view word = next_word(&text);
    if (word.empty()) return {};
    Entry entry;
    entry.line = number;
    std::string problem = subject(word, &text, &entry);
    if (!problem.empty()) return problem;
    while (!(word = next_word(&text)).empty()) {
      problem = qualifier(word, &entry);
      if (!problem.empty()) return problem;
    }
    if (seen_.size() == kMaxListEntries) {
      return fmt::format("more than {} entries (name whole files or archives: @object, @library)",
                         kMaxListEntries);
    }
    if (seen_.emplace(entry.kind, entry.name, entry.file, entry.section).second) {
      out_.entries.push_back(std::move(entry));
    }
    return {};
  }

 private:
  static std::string subject(std::string_view word, std::string_view* rest, Entry* entry) {
    if (word[0] != '@') {
      entry->name = std::string(word);
      if (word.find('=') != std::string_view::npos) {
        return fmt::format("{} where a symbol was expected", printable(entry->name, 60));
      }
      return {};
    }
    if (word == "@data") {
      entry->kind = EntryKind::data;
    } else if (word == "@object") {
      entry->kind = EntryKind::object;
    } else if (word == "@library") {
      entry->kind = EntryKind::library;
    } else {
      return fmt::format("{} is unknown (known: @data, @object, @library)",
                         printable(std::string(word), 60));
    }
    entry->name = std::string(next_word(rest));
    if (entry->name.empty()) return std::string(word) + " without a name";
    const size_t colon = entry->name.rfind(':');
    // Not of C:\x\y.o.
    if (entry->kind == EntryKind::object && colon != std::string::npos && colon > 1) {
      entry->file = entry->name.substr(0, colon);
      entry->name = entry->name.substr(colon + 1);
      if (entry->name.empty()) return "@object without an object behind the colon";
    }
    return {};
  }

  static std::string qualifier(std::string_view word, Entry* entry) {
    const size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    const bool is_known = key == "file" || key == "section";
    if (equals == std::string_view::npos || !is_known) {
      return fmt::format("{} is unknown behind a name (known: file=, section=; one name a line)",
                         printable(std::string(word), 60));
    }
    if (entry->kind == EntryKind::object || entry->kind == EntryKind::library) {
      return std::string(key) + "= is for symbols only";
    }
    std::string* const to = key == "file" ? &entry->file : &entry->section;
    if (equals + 1 == word.size()) return std::string(key) + "= without a value";
    if (!to->empty()) return std::string(key) + "= twice";
    *to = std::string(word.substr(equals + 1));
    return {};
  }

  PlacementList& out_;
  std::set<std::tuple<EntryKind, std::string, std::string, std::string>> seen_;
};

}  // namespace

Failure parse_list(const std::string& path, std::string_view text, PlacementList* out) {
  *out = {};
  out->path = path;
  Parser parser(out);
  uint32_t number = 0;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::string problem = parser.line(line, ++number);
    if (!problem.empty()) {
      return Error{Error::Kind::malformed,
                   fmt::format("{} line {}: {}", printable(path), number, problem)};
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

Failure read_list(const std::string& path, PlacementList* out) {
  std::vector<uint8_t> bytes;
  Failure failure = profile::read_file(path, kMaxListBytes, &bytes);
  if (failure) return failure;
  return parse_list(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, out);
}

std::string entry_text(const Entry& entry) {
  switch (entry.kind) {
    case EntryKind::object:
      return "@object " + (entry.file.empty() ? "" : entry.file + ":") + entry.name;
    case EntryKind::library:
      return "@library " + entry.name;
    default:
      break;
  }
  std::string out = (entry.kind == EntryKind::data ? "@data " : "") + entry.name;
  if (!entry.file.empty()) out += " file=" + entry.file;
  if (!entry.section.empty()) out += " section=" + entry.section;
  return out;
}

bool can_be_listed(const Entry& entry) {
  PlacementList list;
  return !parse_list("", entry_text(entry), &list) && list.entries.size() == 1 &&
         list.entries[0] == entry;
}

std::string list_text(const PlacementList& list, const std::vector<std::string>& head) {
  std::string out;
  for (const std::string& line : head) out += "# " + printable(line, 500) + '\n';
  for (const Entry& entry : list.entries) {
    std::string line = entry_text(entry);
    if (!entry.comment.empty()) {
      line = fmt::format("{:<{}}  # {}", line, kCommentColumn, printable(entry.comment, 200));
    }
    out += line + '\n';
  }
  return out;
}

}  // namespace millrace::placement
