// SPDX-License-Identifier: Apache-2.0
#include "cli/posix/board_options.h"

#include <fmt/core.h>

#include <string_view>

#include "cli/posix/text_file.h"
#include "cli/print.h"
#include "cli/values.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Result;
using host::Status;

namespace {

constexpr std::string_view kCsv = "csv:";

Status wrong(const char* remedy) { return Error{ErrorCode::usage, remedy}; }

// Whether `text` is `yes`; an error if it is not `no` either.
Status take_either(const std::string& text, const char* yes, const char* no, bool* target) {
  if (text != yes && text != no) {
    return Error{ErrorCode::usage, fmt::format("give {} or {}", yes, no)};
  }
  *target = text == yes;
  return Status();
}

Status take_psram(const std::string& text, BoardChoices* choices) {
  if (text != "0" && text != "8" && text != "16") return wrong("give 0, 8 or 16");
  choices->board.psram_bytes = static_cast<uint32_t>(std::stoul(text)) << 20;
  return Status();
}

struct BoardOption {
  const char* name;
  const char* placeholder;
  const char* help;
  ValueKind kind;
  Status (*take)(const std::string& text, BoardChoices* choices);
  std::string (*file_of)(const std::string& text) = nullptr;  // as FileOf
};

constexpr BoardOption kOptions[] = {
    {"timing", "FILE", "Timing profile: lines `name = value` (docs/board.md)", ValueKind::file,
     [](const std::string& text, BoardChoices* c) {
       c->timing_file = text;
       return text.empty() ? wrong("give the name of a file") : Status();
     }},
    {"icache", "on|off", "The instruction cache; off stays off (on)", ValueKind::text,
     [](const std::string& text, BoardChoices* c) {
       return take_either(text, "on", "off", &c->board.icache);
     }},
    {"dcache", "on|off", "The data cache; off stays off (on)", ValueKind::text,
     [](const std::string& text, BoardChoices* c) {
       return take_either(text, "on", "off", &c->board.dcache);
     }},
    {"model", "timing|functional",
     "functional: one cycle an instruction, no caches, exceptions as ever (timing)",
     ValueKind::text,
     [](const std::string& text, BoardChoices* c) {
       return take_either(text, "timing", "functional", &c->board.timing);
     }},
    {"psram", "MB", "External PSRAM: 0, 8 or 16 (0)", ValueKind::text, &take_psram},
    {"adc", "SIGNAL",
     "What the ADCs see: constant:V, sine:HZ,VOLTS,OFFSET, chirp:F0,F1,S,VOLTS,OFFSET, "
     "csv:FILE (0 V)",
     ValueKind::file,
     [](const std::string& text, BoardChoices* c) {
       c->board.adc_signal = text;  // the board knows what is right
       return Status();
     },
     &adc_file},
    {"seed", "N", "Seed of cache replacement and TRNG (1)", ValueKind::text,
     [](const std::string& text, BoardChoices* c) {
       return number_into(&c->board.seed, Scale::count, 0, UINT64_MAX)(text);
     }},
};

}  // namespace

std::string adc_file(const std::string& signal) {
  return signal.rfind(kCsv, 0) == 0 ? signal.substr(kCsv.size()) : "";
}

void add_board_options(Command& command, BoardChoices* choices) {
  for (const BoardOption& option : kOptions) {
    command.option(
        std::string("--") + option.name, option.placeholder, option.help, option.kind,
        [choices, take = option.take](const std::string& text) { return take(text, choices); },
        Repeats::no, option.file_of);
  }
}

bool take_board_option(const std::string& key, const std::string& value, BoardChoices* choices,
                       Status* status) {
  for (const BoardOption& option : kOptions) {
    if (key != option.name) continue;
    *status = option.take(value, choices);
    return true;
  }
  return false;
}

Status load_timing_profile(const std::string& option, BoardChoices* choices) {
  if (choices->timing_file.empty()) return Status();
  Result<std::string> text = read_text_file(option + choices->timing_file, choices->timing_file);
  if (!text) return text.error();
  choices->board.timing_profile = *text;
  choices->board.timing_profile_name = printable(option + choices->timing_file);
  return Status();
}

}  // namespace millrace::cli
