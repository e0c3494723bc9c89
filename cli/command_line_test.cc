// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/completion.h"
#include "cli/exit_code.h"
#include "cli/values.h"

namespace millrace::cli {
namespace {

// One command line with a group, an option of each kind and a positional argument.
struct Tool {
  Tool() {
    Command serial = line.root().add_command("serial", "a group", "");
    Command bench = serial.add_command("bench", "a command", "Examples: bench PORT");
    bench.positional("PORT", "a port", ValueKind::port, true, &port);
    bench.option("--frames", "N", "frames", ValueKind::text,
                 number_into(&frames, Scale::count, 1, 1000));
    bench.choice("--dtr", "a line", {"on", "off"}, [this](const std::string& v) { dtr = v; });
    bench.choice(
        "--phase", "phases", {"a", "b"}, [this](const std::string& v) { phases += v; },
        Repeats::yes);
    bench.flag("--stop", "stop", &stop);
    bench.text("--json", "FILE", "a file", ValueKind::file, &json);
    bench.action([this] {
      ++runs;
      return 7;
    });
  }

  struct Outcome {
    int code;
    std::string out, err;
  };
  Outcome run(std::vector<std::string> words) {
    words.insert(words.begin(), "tool");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = line.run(static_cast<int>(argv.size()), argv.data());
    std::fflush(stdout);
    std::fflush(stderr);
    return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
  }

  CommandLine line{"tool", "does things", "", "tool 1.2.3"};
  std::string port, dtr, json, phases;
  uint32_t frames = 5;
  bool stop = false;
  int runs = 0;
};

TEST(CommandLine, StoresValuesAndRunsTheAction) {
  Tool tool;
  EXPECT_EQ(
      tool.run({"serial", "bench", "p", "--frames", "1k", "--dtr=on", "--stop", "--json", "-"})
          .code,
      7);
  EXPECT_EQ(tool.runs, 1);
  EXPECT_EQ(tool.port, "p");
  EXPECT_EQ(tool.frames, 1000U);
  EXPECT_EQ(tool.dtr, "on");
  EXPECT_TRUE(tool.stop);
  EXPECT_EQ(tool.json, "-");
}

TEST(CommandLine, NoOutputIsWrittenOverAnInputOrAnotherOutput) {
  const std::string folder = testing::TempDir();
  const std::string image = folder + "command_line_image.elf";
  const std::string link = folder + "command_line_link.elf";
  std::ofstream(image) << "image";
  std::filesystem::remove(link);
  std::filesystem::create_symlink(image, link);
  struct Case {
    std::vector<std::string> words;
    int code;
  };
  const std::string other = folder + "command_line_other";
  const Case cases[] = {
      {{"make", image, "--json", image}, kUsage},
      {{"make", image, "--json", link}, kUsage},
      {{"make", image, "--json", folder + "./command_line_image.elf"}, kUsage},
      {{"make", other, "--port", "board:" + image + "?seed=1", "--json", image}, kUsage},
      {{"make", image, "--json", other, "--csv", other}, kUsage},
      {{"make", image, "--json", other, "--csv", image + ".csv"}, 7},
      {{"make", image, "--json", "-"}, 7},
      {{"make", image, "--json", "/dev/null", "--csv", "/dev/null"}, 7},
      {{"make", image, "--port", "board:" + image, "--json", other}, 7},
  };
  for (const Case& one : cases) {
    Tool tool;
    std::string input, json, csv, port;
    Command make = tool.line.root().add_command("make", "reads and writes", "");
    make.positional("INPUT", "read", ValueKind::file, true, &input);
    make.text("--port", "PORT", "measured", ValueKind::port, &port);
    make.text("--json", "FILE", "written", ValueKind::output, &json);
    make.text("--csv", "FILE", "written", ValueKind::output, &csv);
    make.action([] { return 7; });
    const Tool::Outcome outcome = tool.run(one.words);
    EXPECT_EQ(outcome.code, one.code) << one.words.back() << outcome.err;
    EXPECT_EQ(outcome.err.empty(), one.code == 7) << outcome.err;
  }
  std::filesystem::remove(image);
  std::filesystem::remove(link);
}

TEST(CommandLine, OptionThatRepeatsTakesEveryValue) {
  Tool tool;
  EXPECT_EQ(tool.run({"serial", "bench", "p", "--phase", "a", "--phase", "b"}).code, 7);
  EXPECT_EQ(tool.phases, "ab");
}

TEST(CommandLine, HelpAndVersionGoToStdout) {
  const Tool::Outcome help = Tool().run({"serial", "bench", "--help"});
  EXPECT_EQ(help.code, kOk);
  EXPECT_NE(help.out.find("--frames N"), std::string::npos) << help.out;
  EXPECT_NE(help.out.find("Examples: bench PORT"), std::string::npos);
  EXPECT_EQ(Tool().run({"--version"}).out, "tool 1.2.3\n");
}

TEST(CommandLine, UsageErrorsAreOneSentence) {
  const struct {
    std::vector<std::string> words;
    std::string err;
  } cases[] = {
      {{"serial", "bench", "p", "--frames", "0"},
       "millrace: --frames 0: must be a number in 1..1,000; see tool serial bench --help\n"},
      {{"serial", "bench", "p", "--frames", ""},
       "millrace: --frames '': must be a number in 1..1,000; see tool serial bench --help\n"},
      {{"serial", "bench", "p", "--dtr", "up"},
       "millrace: --dtr up: must be one of on|off; see tool serial bench --help\n"},
      {{"serial", "bench", "p", "--frmes", "3"},
       "millrace: unknown option --frmes (did you mean --frames?); see tool serial bench --help\n"},
      {{"serial", "bench", "p", "q"},
       "millrace: unknown argument q; see tool serial bench --help\n"},
      {{"serial", "bench", "p", "--frames", "2", "--frames", "3"},
       "millrace: --frames may be given only once; see tool serial bench --help\n"},
      {{"serial", "bench", "p", "--dtr", "on", "--dtr=on"},
       "millrace: --dtr may be given only once; see tool serial bench --help\n"},
      {{"serial", "bench", "p", "--json", "a", "--json", "b"},
       "millrace: --json may be given only once; see tool serial bench --help\n"},
      {{"serial", "bench", "p", "--frames"},
       "millrace: --frames needs a value; see tool serial bench --help\n"},
      {{"serial", "bench"},
       "millrace: tool serial bench needs PORT; see tool serial bench --help\n"},
      {{"serial"}, "millrace: tool serial needs a command: bench; see tool serial --help\n"},
      {{"serial", "bnch"},
       "millrace: unknown command bnch (did you mean bench?); see tool serial --help\n"},
      {{}, "millrace: tool needs a command: serial; see tool --help\n"},
      {{""}, "millrace: unknown command ''; see tool --help\n"},
  };
  for (const auto& one : cases) {
    const Tool::Outcome outcome = Tool().run(one.words);
    EXPECT_EQ(outcome.code, kUsage);
    EXPECT_EQ(outcome.err, one.err);
    EXPECT_EQ(outcome.out, "");
  }
}

TEST(Completion, ListsCommandsOptionsAndChoices) {
  const Tool tool;
  const std::string bash = bash_completion(tool.line.info());
  EXPECT_NE(bash.find("'tool serial bench --dtr') COMPREPLY=($(compgen -W 'on off'"),
            std::string::npos)
      << bash;
  EXPECT_NE(bash.find("words='--help bench'"), std::string::npos);
  EXPECT_NE(zsh_completion(tool.line.info()).find("#compdef"), std::string::npos);
  EXPECT_NE(fish_completion(tool.line.info()).find("-l dtr -x -a 'on off'"), std::string::npos);
}

TEST(ExitCode, TheWorstOfSeveralRuns) {
  EXPECT_EQ(worse(kOk, kFailed), kFailed);
  EXPECT_EQ(worse(kFailed, kGone), kGone);
  EXPECT_EQ(worse(kInterrupted, kGone), kInterrupted);
  EXPECT_EQ(worse(kOk, kOk), kOk);
}

}  // namespace
}  // namespace millrace::cli
