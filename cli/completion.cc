// SPDX-License-Identifier: Apache-2.0
// The bash script is one function: it walks the words to find the command that is being completed,
// then offers what a `case` on that command and on the previous word lists. Port names are asked
// of `millrace ports --names` at completion time. bash splits words at ':', which port names hold
// (usb:VID:PID), so offers are cut back to what follows the last ':' already typed.
#include "cli/completion.h"

#include <fmt/core.h>

#include <algorithm>

namespace millrace::cli {

namespace {

template <class F>
void for_each_command(const CommandInfo& info, const std::string& path, const F& f) {
  f(info, path);
  for (const auto& command : info.commands) {
    for_each_command(*command, path + ' ' + command->name, f);
  }
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

const char* bash_action(const OptionInfo& option) {
  switch (option.kind) {
    case ValueKind::file:
    case ValueKind::output:
      return "COMPREPLY=($(compgen -f -- \"$cur\"))";
    case ValueKind::folder:
      return "COMPREPLY=($(compgen -d -- \"$cur\"))";
    case ValueKind::port:
      return "_millrace_ports";
    default:
      return ":";
  }
}

// The lines of `case` that complete the values of one command's options.
std::string bash_values(const CommandInfo& info, const std::string& path) {
  std::string out;
  for (const OptionInfo& option : info.options) {
    if (option.names.empty() || option.kind == ValueKind::none) continue;
    for (const std::string& name : option.names) {
      const std::string action =
          option.kind == ValueKind::choice
              ? fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$cur\"))", joined(option.choices))
              : bash_action(option);
      out += fmt::format("    '{} {}') {}; return ;;\n", path, name, action);
    }
  }
  return out;
}

std::string words_of(const CommandInfo& info) {
  std::string words = "--help";
  for (const auto& command : info.commands) words += ' ' + command->name;
  for (const OptionInfo& option : info.options) {
    if (!option.names.empty()) words += ' ' + joined(option.names);
  }
  return words;
}

bool takes_port(const CommandInfo& info) {
  for (const OptionInfo& option : info.options) {
    if (option.names.empty() && option.kind == ValueKind::port) return true;
  }
  return false;
}

std::string fish_quoted(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\'' ? std::string("\\'") : std::string(1, c);
  return out;
}

}  // namespace

std::string bash_completion(const CommandInfo& root) {
  std::string paths;
  std::string values;
  std::string words;
  for_each_command(root, root.name, [&](const CommandInfo& info, const std::string& path) {
    if (!info.commands.empty() || &info == &root) {
      for (const auto& command : info.commands) {
        paths += fmt::format("      '{} {}') path+=\" $word\" ;;\n", path, command->name);
      }
    }
    values += bash_values(info, path);
    words += fmt::format("    '{}') words='{}'{} ;;\n", path, words_of(info),
                         takes_port(info) ? "; ports=1" : "");
  });
  return fmt::format(R"sh(# bash completion for millrace, written by `millrace completion bash`
_millrace_ports() {{
  COMPREPLY+=($(compgen -W "$(millrace ports --names 2>/dev/null)" -- "$cur"))
}}
_millrace() {{
  local line="${{COMP_LINE:0:COMP_POINT}}" cur word previous path=millrace words= ports= i
  local -a typed
  read -ra typed <<< "$line"
  [[ $line == *' ' ]] && typed+=('')
  cur="${{typed[-1]}}"
  previous="${{typed[-2]}}"
  COMPREPLY=()
  for ((i = 1; i < ${{#typed[@]}} - 1; ++i)); do
    word="${{typed[i]}}"
    case "$path $word" in
{}    esac
  done
  case "$path $previous" in
{}  esac
  case "$path" in
{}  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  [[ -n $ports && $cur != -* ]] && _millrace_ports
  if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
    local before="${{cur%:*}}:"
    COMPREPLY=("${{COMPREPLY[@]#"$before"}}")
  fi
}}
complete -o filenames -F _millrace millrace
)sh",
                     paths, values, words);
}

std::string zsh_completion(const CommandInfo& root) {
  return "#compdef millrace\nautoload -U +X bashcompinit && bashcompinit\n" + bash_completion(root);
}

std::string fish_completion(const CommandInfo& root) {
  std::string out =
      "# fish completion for millrace, written by `millrace completion fish`\n"
      "complete -c millrace -f\n";
  for_each_command(root, "", [&](const CommandInfo& info, const std::string& path) {
    // Offered when the command's own words were given and none of its commands yet.
    std::string condition;
    for (size_t at = 1; at < path.size();) {
      const size_t space = std::min(path.find(' ', at), path.size());
      condition += fmt::format("__fish_seen_subcommand_from {}; and ", path.substr(at, space - at));
      at = space + 1;
    }
    std::vector<std::string> commands;
    for (const auto& command : info.commands) commands.push_back(command->name);
    condition += commands.empty() ? "true" : "not __fish_seen_subcommand_from " + joined(commands);
    const std::string start = fmt::format("complete -c millrace -n '{}'", condition);
    for (const auto& command : info.commands) {
      out += fmt::format("{} -a {} -d '{}'\n", start, command->name, fish_quoted(command->help));
    }
    for (const OptionInfo& option : info.options) {
      std::string line = start;
      for (const std::string& name : option.names) {
        line += name.rfind("--", 0) == 0 ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (option.names.empty() && option.kind != ValueKind::port) continue;
      const bool is_path = option.kind == ValueKind::file || option.kind == ValueKind::output ||
                           option.kind == ValueKind::folder;
      if (is_path) line += " -r -F";
      if (option.kind == ValueKind::text) line += " -x";
      if (option.kind == ValueKind::choice)
        line += fmt::format(" -x -a '{}'", joined(option.choices));
      if (option.kind == ValueKind::port) line += " -a '(millrace ports --names 2>/dev/null)'";
      out += fmt::format("{} -d '{}'\n", line, fish_quoted(option.help));
    }
  });
  return out;
}

}  // namespace millrace::cli
