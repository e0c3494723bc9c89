// SPDX-License-Identifier: Apache-2.0
// What g++ 12 does with `section` before a function: of a template it is ignored without a word;
// inline functions, members defined within their class among them, are an error ("section type
// conflict") beside any other function of that section. Code of assembler files, and what the
// compiler makes by itself (constructors of globals, thunks, implicit members, lambdas), has no
// declaration to write it before. Nobody edits the headers of the toolchain. For all of these there
// is the linker script.
//
// A symbol table says of inline functions that they are weak, unless link-time optimisation has
// made everything local, or global for its other partitions; then the line itself tells, where it
// is here: a member that is defined outside of its class has `::` before its name. What is in a
// header is inline.
#include "evict/editable.h"

#include <algorithm>
#include <filesystem>

#include "millrace/profile/error.h"

namespace millrace::placement {
namespace {

using profile::Function;

constexpr size_t kMaxSourceBytes = size_t{8} << 20;

// Archives of the toolchain: nobody has their sources to edit.
constexpr const char* kToolchain[] = {
    "libc",     "libc_nano", "libg",      "libg_nano",      "libm",           "libgcc",   "libgcov",
    "libnosys", "libstdc++", "libsupc++", "libstdc++_nano", "libsupc++_nano", "librdimon"};
constexpr const char* kToolchainFolders[] = {"/include/c++/", "/lib/gcc/", "/include/newlib/",
                                             "/arm-none-eabi/include/"};
constexpr const char* kHeaders[] = {".h", ".hpp", ".hh", ".hxx", ".inl", ".tpp", ".ipp"};
constexpr const char* kAssembler[] = {".S", ".s", ".asm", ".sx"};
// Constructors of globals, thunks, initialisers of thread-local objects.
constexpr const char* kMade[] = {"_GLOBAL__", "_ZTh", "_ZTv", "_ZTc", "_ZTH", "_ZTW", "__tcf_"};

// "/usr/lib/.../libc.a" -> "libc".
std::string archive_stem(const std::string& library) {
  const std::string name = library.substr(library.find_last_of("/\\") + 1);
  return name.substr(0, name.find(".a"));
}

// `a::B::f` of a symbol, without what the compiler adds and the parameters.
std::string qualified_name(const std::string& symbol) {
  std::string name = profile::without_parameters(profile::readable_name(symbol));
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  for (size_t at; (at = name.find(kAnonymous)) != std::string::npos;) {
    name.erase(at, kAnonymous.size());
  }
  return name;
}

// What C++ defines there is inline, or the program would have it twice.
bool is_header(const std::string& file) {
  return std::any_of(std::begin(kHeaders), std::end(kHeaders),
                     [&](const char* ending) { return file.ends_with(ending); });
}

bool is_template(std::string name) {
  const size_t at = name.rfind("operator");
  if (at != std::string::npos) name.resize(at);  // operator<, operator<<
  return name.find('<') != std::string::npos;
}

}  // namespace

bool Editable::is_editable(const Unit& unit) { return is_editable(unit, unit.functions[0]); }

bool Editable::any_is_editable(const Unit& unit) {
  return std::any_of(unit.functions.begin(), unit.functions.end(),
                     [&](uint32_t one) { return is_editable(unit, one); });
}

bool Editable::is_editable(const Unit& unit, uint32_t number) {
  const std::string stem = archive_stem(unit.library);
  if (std::find(std::begin(kToolchain), std::end(kToolchain), stem) != std::end(kToolchain)) {
    return false;
  }
  const Function& function = index_.functions()[number];
  const std::string& file = function.file;
  if (file.empty() || function.line == 0) return false;
  for (const char* folder : kToolchainFolders) {
    if (file.find(folder) != std::string::npos) return false;
  }
  for (const char* ending : kAssembler) {
    if (file.ends_with(ending)) return false;
  }
  for (const char* made : kMade) {
    if (function.name.starts_with(made)) return false;
  }
  const std::string symbol = profile::base_name_of_clone(function.name);
  const bool is_cpp = symbol.starts_with("_Z");
  const std::string name = qualified_name(symbol);
  if (is_cpp && (function.is_weak || is_template(name) || is_header(file))) return false;
  if (name.find("{lambda") != std::string::npos) return false;
  if (lines_of(file) == nullptr) {
    // Not here. If others are, this is no file of the user's; else he builds elsewhere.
    return file[0] != '/' || !is_build_machine();
  }
  return is_on_its_line(function, name, function.is_local || is_made_at_link(unit.object));
}

bool Editable::is_on_its_line(const Function& function, const std::string& name, bool is_doubtful) {
  const std::vector<std::string>& lines = *lines_of(function.file);
  if (function.line > lines.size()) return false;
  const std::string& line = lines[function.line - 1];
  const size_t colons = name.rfind("::");
  const bool may_be_member = colons != std::string::npos;
  const std::string bare = may_be_member ? name.substr(colons + 2) : name;
  if (may_be_member && is_doubtful) return line.find("::" + bare) != std::string::npos;
  return line.find(bare) != std::string::npos;
}

const std::vector<std::string>* Editable::lines_of(const std::string& file) {
  const auto [at, is_new] = files_.emplace(file, std::nullopt);
  std::vector<uint8_t> bytes;
  if (is_new && file.starts_with('/') && !profile::read_file(file, kMaxSourceBytes, &bytes)) {
    std::vector<std::string>& lines = at->second.emplace();
    std::string line;
    for (const uint8_t byte : bytes) {
      if (byte != '\n') {
        line += static_cast<char>(byte);
        continue;
      }
      lines.push_back(std::move(line));
      line.clear();
    }
    lines.push_back(std::move(line));
  }
  return at->second ? &*at->second : nullptr;
}

bool Editable::is_build_machine() {
  if (!is_build_machine_) {
    const std::vector<std::string>& files = index_.files();
    is_build_machine_ = std::any_of(files.begin(), files.end(), [](const std::string& file) {
      std::error_code error;
      return file.starts_with('/') && std::filesystem::exists(file, error);
    });
  }
  return *is_build_machine_;
}

}  // namespace millrace::placement
