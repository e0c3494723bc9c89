// SPDX-License-Identifier: Apache-2.0
// Everything that touches CLI11. Options are declared with a parser of our own as their validator,
// so that each bad value has one sentence that names the option, the value and what would be
// right; CLI11's own conversions are not used.
#include "cli/command_line.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <utility>

#include "cli/exit_code.h"
#include "cli/output_file.h"
#include "cli/print.h"
#include "cli/table.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Status;

namespace {

struct FileValue {
  std::string name, path;
  bool is_output = false;
};

}  // namespace

struct Command::Impl {
  CLI::App* app = nullptr;
  CommandInfo* info = nullptr;
  std::string path;  // "millrace serial bench"
  std::function<int()> action;
  std::vector<std::unique_ptr<Impl>> commands;
  std::vector<CLI::Option*> required;   // positional arguments
  std::vector<FileValue> files;         // values of options and arguments that name files
  std::unique_ptr<CLI::App> owned_app;  // root only
  std::unique_ptr<CommandInfo> owned_info;
};

namespace {

constexpr size_t kHelpColumn = 34;

std::string wrapped(const std::string& help) { return wrap(help, kWidth - 2 - kHelpColumn, 0); }

// In a list of commands a description has the column beside the name, above its own help the width
// of the page.
class PageFormatter : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override {
    std::string text = app->get_description();
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text.empty() ? text : wrap(text, kWidth, 0) + '\n';
  }
};

void style(CLI::App* app, const std::string& examples) {
  app->set_help_flag("-h,--help", "Print this help");
  app->footer(examples);
  app->get_formatter()->column_width(kHelpColumn);
  app->get_formatter()->label("REQUIRED", "");
}

std::vector<std::string> split_names(const std::string& names) {
  std::vector<std::string> out;
  for (size_t at = 0; at <= names.size();) {
    const size_t comma = std::min(names.find(',', at), names.size());
    out.push_back(names.substr(at, comma - at));
    at = comma + 1;
  }
  return out;
}

CLI::Option* add(CLI::App* app, const std::string& names, const std::string& help,
                 const std::string& shown, ValueParser parse) {
  CLI::Option* option = app->add_option(
      names, [](const CLI::results_t&) { return true; }, wrapped(help));
  option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::Throw)->type_name(shown);
  option->check(CLI::Validator(
      [parse = std::move(parse)](const std::string& value) {
        const Status status = parse(value);
        if (status) return std::string();
        return fmt::format("{}: {}", value.empty() ? "''" : value, status.error().message);
      },
      ""));
  return option;
}

// The file that a value names: `board:IMAGE?parameters` reads IMAGE.
std::string file_in(ValueKind kind, const std::string& value) {
  constexpr const char* kBoard = "board:";
  if (kind != ValueKind::port) return value == "-" ? "" : value;
  if (value.rfind(kBoard, 0) != 0) return "";
  const size_t start = std::char_traits<char>::length(kBoard);
  return value.substr(start, value.find('?') - start);
}

// Remembers values that name files, in `files`.
ValueParser noting(const std::string& name, ValueKind kind, ValueParser parse, FileOf file_of,
                   std::vector<FileValue>* files) {
  if (kind != ValueKind::file && kind != ValueKind::output && kind != ValueKind::port) return parse;
  return [name, kind, parse = std::move(parse), file_of = std::move(file_of),
          files](const std::string& value) {
    Status status = parse(value);
    std::string path = status && file_of ? file_of(value) : file_in(kind, value);
    if (status && !path.empty()) {
      files->push_back({name, std::move(path), kind == ValueKind::output});
    }
    return status;
  };
}

// A sentence if something would be written over what is read, or two things to one file.
std::string clash(const std::vector<FileValue>& files) {
  for (const FileValue& out : files) {
    for (const FileValue& other : files) {
      if (!out.is_output || &out == &other || !same_output(out.path, other.path)) continue;
      if (other.is_output && out.name == other.name) {
        return fmt::format("write {}: each {} needs a file of its own", out.path, out.name);
      }
      if (other.is_output) {
        return fmt::format("write {}: {} and {} need a file each", out.path, out.name, other.name);
      }
      return fmt::format("write {}: {} would overwrite what {} reads (name another file)", out.path,
                         out.name, other.name);
    }
  }
  return "";
}

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

// " (did you mean --frames?)", or nothing.
std::string nearest(const CommandInfo& info, const std::string& word) {
  std::string best;
  size_t best_distance = 3;
  const auto offer = [&](const std::string& name) {
    const size_t distance = edit_distance(name, word);
    if (distance < best_distance && distance < name.size() / 2 + 1) {
      best = name;
      best_distance = distance;
    }
  };
  for (const OptionInfo& option : info.options) {
    for (const std::string& name : option.names) offer(name);
  }
  for (const auto& command : info.commands) offer(command->name);
  return best.empty() ? "" : fmt::format(" (did you mean {}?)", best);
}

std::string names_of(const CommandInfo& info) {
  std::string out;
  for (size_t i = 0; i < info.commands.size(); ++i) {
    if (i != 0) out += i + 1 == info.commands.size() ? " or " : ", ";
    out += info.commands[i]->name;
  }
  return out;
}

// The command that the words given so far have reached.
Command::Impl* deepest(Command::Impl* at) {
  for (;;) {
    const std::vector<CLI::App*> chosen = at->app->get_subcommands();
    if (chosen.empty()) return at;
    for (const auto& command : at->commands) {
      if (command->app == chosen.front()) {
        at = command.get();
        break;
      }
    }
  }
}

// `unknown option --frmes (did you mean --frames?)`, of the words that fit nowhere. CLI11 lists
// them in no order; an option explains the words behind it.
std::string unknown(const Command::Impl* at, const std::vector<std::string>& words) {
  const auto is_option = [](const std::string& word) { return word.rfind('-', 0) == 0; };
  const auto option = std::find_if(words.begin(), words.end(), is_option);
  const std::string& word = option == words.end() ? words.front() : *option;
  const char* what = option != words.end()                      ? "option"
                     : at->info->commands.empty() || at->action ? "argument"
                                                                : "command";
  return fmt::format("unknown {} {}{}", what, word.empty() ? "''" : word, nearest(*at->info, word));
}

// One sentence for what CLI11 found wrong.
std::string failure(const Command::Impl* at, const CLI::ParseError& error) {
  std::string text = error.what();
  const size_t colon = text.find(": ");
  std::vector<std::string> extras = at->app->remaining(true);
  const auto others = std::remove(extras.begin(), extras.end(), "--");
  const bool options_ended = others != extras.end();
  extras.erase(others, extras.end());
  const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
  // Behind "--" CLI11 gives words to a parent, and names them only in its text.
  if (code == CLI::ExitCodes::ExtrasError && extras.empty() && colon != std::string::npos) {
    return "unknown argument " + text.substr(colon + 2);
  }
  switch (code) {
    case CLI::ExitCodes::ExtrasError:
    case CLI::ExitCodes::RequiredError:
      if (!extras.empty() && options_ended) {
        return fmt::format("unknown argument {} (behind -- no word is an option)", extras.front());
      }
      if (!extras.empty()) return unknown(at, extras);
      if (!at->info->commands.empty() && !at->action) {
        return fmt::format("{} needs a command: {}", at->path, names_of(*at->info));
      }
      return fmt::format("{} needs {}", at->path, text.substr(0, text.find(" is required")));
    case CLI::ExitCodes::ArgumentMismatch:
      if (text.find("At Most") != std::string::npos) {
        return fmt::format("{} may be given only once", text.substr(0, colon));
      }
      return fmt::format("{} needs a value", text.substr(0, colon));
    case CLI::ExitCodes::ValidationError:
      if (colon == std::string::npos) return text;
      return text.substr(0, colon) + ' ' + text.substr(colon + 2);
    default:
      return text;
  }
}

}  // namespace

Command Command::add_command(const std::string& name, const std::string& help,
                             const std::string& examples) {
  auto child = std::make_unique<Impl>();
  child->app = impl_->app->add_subcommand(name, wrapped(help));
  impl_->app->require_subcommand(1);
  style(child->app, examples);
  impl_->info->commands.push_back(std::make_unique<CommandInfo>());
  child->info = impl_->info->commands.back().get();
  child->info->name = name;
  child->info->help = help;
  child->path = impl_->path + ' ' + name;
  impl_->commands.push_back(std::move(child));
  return Command(impl_->commands.back().get());
}

// CLI11 would miss the positional arguments of this command when the other one is given:
// CommandLine asks for them itself.
Command Command::add_side_command(const std::string& name, const std::string& help,
                                  const std::string& examples) {
  Command child = add_command(name, help, examples);
  impl_->app->require_subcommand(0, 1);
  for (CLI::Option* option : impl_->required) option->required(false);
  return child;
}

void Command::flag(const std::string& names, const std::string& help, bool* target) {
  impl_->app->add_flag(names, *target, wrapped(help));
  impl_->info->options.push_back({split_names(names), help, ValueKind::none, {}});
}

void Command::option(const std::string& names, const std::string& placeholder,
                     const std::string& help, ValueKind kind, ValueParser parse, Repeats repeats,
                     FileOf file_of) {
  CLI::Option* option = add(
      impl_->app, names, help, placeholder,
      noting(split_names(names).back(), kind, std::move(parse), std::move(file_of), &impl_->files));
  if (repeats == Repeats::yes) option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  impl_->info->options.push_back({split_names(names), help, kind, {}});
}

void Command::text(const std::string& names, const std::string& placeholder,
                   const std::string& help, ValueKind kind, std::string* target) {
  option(names, placeholder, help, kind, [target](const std::string& value) {
    if (value.empty()) return Status(Error{ErrorCode::usage, "must not be empty"});
    *target = value;
    return Status();
  });
}

void Command::choice(const std::string& names, const std::string& help,
                     const std::vector<std::string>& choices,
                     std::function<void(const std::string&)> set, Repeats repeats) {
  std::string shown;
  for (const std::string& choice : choices) shown += (shown.empty() ? "" : "|") + choice;
  CLI::Option* option =
      add(impl_->app, names, help, shown,
          [choices, shown, set = std::move(set)](const std::string& value) {
            if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
              return Status(Error{ErrorCode::usage, "must be one of " + shown});
            }
            set(value);
            return Status();
          });
  if (repeats == Repeats::yes) option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  impl_->info->options.push_back({split_names(names), help, ValueKind::choice, choices});
}

void Command::positional(const std::string& name, const std::string& help, ValueKind kind,
                         bool required, ValueParser parse) {
  CLI::Option* option =
      add(impl_->app, name, help, "", noting(name, kind, std::move(parse), {}, &impl_->files));
  if (required) {
    option->required();
    impl_->required.push_back(option);
  }
  impl_->info->options.push_back({{}, help, kind, {}});
}

void Command::positional(const std::string& name, const std::string& help, ValueKind kind,
                         bool required, std::string* target) {
  positional(name, help, kind, required, [target](const std::string& value) {
    if (value.empty()) return Status(Error{ErrorCode::usage, "must not be empty"});
    *target = value;
    return Status();
  });
}

void Command::action(std::function<int()> run) { impl_->action = std::move(run); }

CommandLine::CommandLine(const std::string& name, const std::string& help,
                         const std::string& examples, const std::string& version)
    : root_(std::make_unique<Command::Impl>()) {
  root_->owned_app = std::make_unique<CLI::App>(help, name);
  root_->owned_info = std::make_unique<CommandInfo>();
  root_->app = root_->owned_app.get();
  root_->app->formatter(std::make_shared<PageFormatter>());
  root_->info = root_->owned_info.get();
  root_->info->name = name;
  root_->info->help = help;
  root_->path = name;
  style(root_->app, examples);
  root_->app->set_version_flag("--version", version, "Print the version");
  root_->info->options.push_back({{"--version"}, "Print the version", ValueKind::none, {}});
}

CommandLine::~CommandLine() = default;

Command CommandLine::root() { return Command(root_.get()); }

const CommandInfo& CommandLine::info() const { return *root_->info; }

int CommandLine::run(int argc, char** argv) {
  try {
    root_->app->parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    print("{}", root_->app->help());
    return kOk;
  } catch (const CLI::CallForVersion& version) {
    print("{}\n", version.what());
    return kOk;
  } catch (const CLI::ParseError& error) {
    Command::Impl* at = deepest(root_.get());
    print(stderr, "millrace: {}; see {} --help\n", printable_sentence(failure(at, error)),
          at->path);
    return kUsage;
  }
  Command::Impl* at = deepest(root_.get());
  for (const CLI::Option* option : at->required) {
    if (option->count() != 0) continue;
    print(stderr, "millrace: {} needs {}; see {} --help\n", at->path, option->get_name(), at->path);
    return kUsage;
  }
  const std::string problem = clash(at->files);
  if (!problem.empty()) {
    print(stderr, "millrace: {}\n", printable_sentence(problem));
    return kUsage;
  }
  return at->action ? at->action() : kUsage;
}

}  // namespace millrace::cli
