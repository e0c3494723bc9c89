// SPDX-License-Identifier: Apache-2.0
// The tree of commands and options. CLI11 stands behind it, in command_line.cc only: every file
// that includes CLI11 costs seconds of compile time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/host/result.h"

namespace millrace::cli {

// What an option's value is, for shell completion and so that no output is written over an input
// or another output: CommandLine refuses that for every command. `output`: a file that is written.
enum class ValueKind { none, text, choice, file, output, folder, port };

// Whether an option may be given several times; `set` is then called for each value.
enum class Repeats { no, yes };

struct OptionInfo {
  std::vector<std::string> names;  // with their dashes; empty: a positional argument
  std::string help;
  ValueKind kind = ValueKind::text;
  std::vector<std::string> choices;  // kind choice
};

struct CommandInfo {
  std::string name;
  std::string help;
  std::vector<OptionInfo> options;
  std::vector<std::unique_ptr<CommandInfo>> commands;
};

// Takes an option's value as written; an error's message says what would be right.
using ValueParser = std::function<host::Status(const std::string&)>;

// The file that a value of kind file or output names, where that is only a part of it
// (`6=uart.log`); empty: none.
using FileOf = std::function<std::string(const std::string&)>;

// One command while it is described. An option that is given twice is a usage error unless it
// repeats. Targets must live until CommandLine::run() has returned.
class Command {
 public:
  // `examples` stands at the end of --help, each line as it is.
  Command add_command(const std::string& name, const std::string& help,
                      const std::string& examples);
  // The same for a command that also does something by itself, with positional arguments: a first
  // word that is no command of it is one of these. To be called behind positional().
  Command add_side_command(const std::string& name, const std::string& help,
                           const std::string& examples);
  void flag(const std::string& names, const std::string& help, bool* target);
  // `names` such as "--json" or "-n,--frames"; `placeholder` such as "FILE".
  void option(const std::string& names, const std::string& placeholder, const std::string& help,
              ValueKind kind, ValueParser parse, Repeats repeats = Repeats::no,
              FileOf file_of = {});
  void text(const std::string& names, const std::string& placeholder, const std::string& help,
            ValueKind kind, std::string* target);
  void choice(const std::string& names, const std::string& help,
              const std::vector<std::string>& choices, std::function<void(const std::string&)> set,
              Repeats repeats = Repeats::no);
  void positional(const std::string& name, const std::string& help, ValueKind kind, bool required,
                  ValueParser parse);
  void positional(const std::string& name, const std::string& help, ValueKind kind, bool required,
                  std::string* target);
  // What the command does; returns the exit code. A command without one only groups others.
  void action(std::function<int()> run);

  struct Impl;
  explicit Command(Impl* impl) : impl_(impl) {}

 private:
  Impl* impl_;  // owned by the CommandLine
};

class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& help, const std::string& examples,
              const std::string& version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  Command root();
  const CommandInfo& info() const;
  // Parses, runs the action that was asked for and returns the exit code. Prints help, version
  // and usage errors.
  int run(int argc, char** argv);

 private:
  std::unique_ptr<Command::Impl> root_;
};

}  // namespace millrace::cli
