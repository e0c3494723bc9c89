// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/exit_code.h"
#include "cli/print.h"

namespace millrace::cli {

void add_completion(Command parent, const Program& program) {
  const auto shell = std::make_shared<std::string>();
  Command command = parent.add_command(
      "completion", "Print a completion script for a shell",
      "Examples:\n"
      "  millrace completion bash > ~/.local/share/bash-completion/completions/millrace\n"
      "  millrace completion zsh > ~/.zfunc/_millrace\n"
      "  millrace completion fish > ~/.config/fish/completions/millrace.fish");
  command.positional(
      "SHELL", "bash, zsh or fish", ValueKind::text, true, [shell](const std::string& value) {
        if (value != "bash" && value != "zsh" && value != "fish") {
          return host::Status(host::Error{host::ErrorCode::usage, "must be bash, zsh or fish"});
        }
        *shell = value;
        return host::Status();
      });
  command.action([shell, &program] {
    const CommandInfo& root = program.line->info();
    print("{}", *shell == "bash"  ? bash_completion(root)
                : *shell == "zsh" ? zsh_completion(root)
                                  : fish_completion(root));
    return kOk;
  });
}

}  // namespace millrace::cli
