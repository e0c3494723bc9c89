// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output_file.h"
#include "cli/outputs.h"
#include "cli/place_data_report.h"
#include "cli/place_report.h"
#include "cli/print.h"
#include "cli/profile_options.h"
#include "cli/result_json.h"
#include "cli/values.h"
#include "millrace/placement/build_input.h"
#include "millrace/placement/data_input.h"
#include "millrace/placement/evict.h"
#include "millrace/placement/place.h"
#include "millrace/placement/place_data.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Status;
using placement::DataPlacement;
using placement::Eviction;
using placement::Placement;

namespace {

constexpr uint64_t kMaxBudget = uint64_t{1} << 30;

// The files that `place` can write besides the usual ones.
enum Output : size_t {
  kList,
  kGnuLd,
  kZephyrCmake,
  kZephyrSnippet,
  kAttributes,
  kOrderLld,
  kOrderGnu,
  kGnuLdData,
  kGnuLdBss,
  kZephyrDataSnippet,
  kOutputs
};
struct OutputInfo {
  const char* option;
  const char* help;
};
constexpr OutputInfo kInfos[kOutputs] = {
    {"--list", "Write the list (spec/placement_list.md); - is stdout"},
    {"--gnu-ld", "Write it as a fragment of a GNU ld script"},
    {"--zephyr-cmake", "Write it as zephyr_code_relocate() calls (Zephyr 4.1 and later)"},
    {"--zephyr-snippet", "Write it for zephyr_linker_sources(ITCM_SECTION) (4.3 and later)"},
    {"--attributes", "Write which source lines need FASTRUN, with --evict FLASHMEM"},
    {"--order-lld", "Write the best order of what stays, for lld --symbol-ordering-file"},
    {"--order-gnu", "Write the same as patterns for a GNU ld script"},
    {"--gnu-ld-data", "Write the data that has a value as a fragment of a GNU ld script"},
    {"--gnu-ld-bss", "Write the data that begins as zero as one"},
    {"--zephyr-data-snippet", "Write the data for zephyr_linker_sources(DTCM_SECTION)"},
};

struct Options {
  OutputOptions outputs;
  ProgramOptions program;
  std::string samples, drift;
  std::string files[kOutputs];
  profile::ReadOptions read;
  placement::PlaceOptions place;
  std::vector<std::string> pin, never;  // of code and of data
  placement::DataOptions data;          // with a budget of its own, or none
  bool shares_budget = false;           // --data
  uint64_t evict_bytes = 0;
  bool evicts = false;
  size_t top = 20;
};

bool is_data_line(const std::string& line) { return line.starts_with("@data"); }

bool places_data(const Options& options) {
  return options.shares_budget || options.data.budget > 0;
}

// What is said of data makes sense, and what is said of code has code to be said of.
Status check_data(const Options& options) {
  if (options.shares_budget && options.data.budget > 0) {
    return Error{ErrorCode::usage,
                 "--data shares the bytes of --budget, --data-budget has its own: give one"};
  }
  if (options.shares_budget && options.place.budget == 0) {
    return Error{ErrorCode::usage, "--data needs --budget BYTES to share (or give --data-budget)"};
  }
  if (!places_data(options)) {
    const char* given = !options.data.dma.empty()                    ? "--dma"
                        : !options.data.region.empty()               ? "--data-region"
                        : !options.files[kGnuLdData].empty()         ? "--gnu-ld-data"
                        : !options.files[kGnuLdBss].empty()          ? "--gnu-ld-bss"
                        : !options.files[kZephyrDataSnippet].empty() ? "--zephyr-data-snippet"
                        : std::any_of(options.pin.begin(), options.pin.end(), is_data_line)
                            ? "--pin '@data ...'"
                            : nullptr;
    if (given != nullptr) {
      return Error{ErrorCode::usage,
                   std::string(given) + " is of data: give --data-budget BYTES, or --data"};
    }
  }
  if (places_data(options) && options.place.budget == 0) {
    for (const std::string& line : options.pin) {
      if (is_data_line(line)) continue;
      return Error{ErrorCode::usage, "--pin " + printable(line) +
                                         " means a function: give --budget BYTES, or '@data NAME'"};
    }
  }
  return {};
}

Status check(const Options& options) {
  Status status = check_outputs(options.outputs);
  size_t on_stdout = options.outputs.json == "-" || options.outputs.csv == "-" ? 1 : 0;
  for (size_t i = 0; i < kOutputs && status; ++i) {
    const std::string& path = options.files[i];
    if (path.empty()) continue;
    if (path == "-" && ++on_stdout > 1) {
      return Error{ErrorCode::usage,
                   "only one output can go to stdout (name files for the others)"};
    }
    for (size_t k = 0; k < i; ++k) {
      if (path != "-" && !options.files[k].empty() && same_output(path, options.files[k])) {
        return Error{ErrorCode::usage, "write " + path + ": each output needs a file of its own"};
      }
    }
    if (path != "-") status = check_output(path);
  }
  if (!status) return status;
  const bool places = options.place.budget > 0 || options.data.budget > 0;
  const int jobs = (places ? 1 : 0) + (options.evicts ? 1 : 0) + (options.drift.empty() ? 0 : 1);
  if (jobs != 1) {
    return Error{
        ErrorCode::usage,
        "give one of --budget BYTES, --evict BYTES and --drift LIST (millrace place --help "
        "has examples)"};
  }
  status = check_data(options);
  if (!status) return status;
  if (options.drift.empty() && options.samples.empty()) {
    return Error{ErrorCode::usage,
                 "SAMPLES is missing: what is worth moving is told by where the time goes (see "
                 "millrace profile --help)"};
  }
  return {};
}

bool takes_stdout(const Options& options) {
  if (options.outputs.json == "-" || options.outputs.csv == "-") return true;
  for (const std::string& path : options.files) {
    if (path == "-") return true;
  }
  return false;
}

Status write_files(const Options& options, const std::string (&texts)[kOutputs]) {
  for (size_t i = 0; i < kOutputs; ++i) {
    if (options.files[i].empty()) continue;
    Status status = write_output(options.files[i], texts[i]);
    if (!status) return status;
  }
  return {};
}

int run_drift(const Options& options, LoadedProgram* program, const Invocation& invocation) {
  placement::PlacementList list;
  const profile::Failure failure = placement::read_list(options.drift, &list);
  if (failure) return fail(to_error(*failure));
  const std::vector<placement::Match> matches = match_list(list, &program->index);
  write_text(takes_stdout(options) ? stderr : stdout,
             drift_report(list, matches, program->index, options.top));
  Json document = result_document("place", invocation);
  add_drift_json(&document, list, matches, program->index);
  const Status written = write_outputs(options.outputs, document);
  if (!written) return fail_output(written.error());
  for (const placement::Match& match : matches) {
    if (is_drift(match.state)) return kFailed;
  }
  return kOk;
}

// Blanks in names, for a shell.
std::string word(const std::string& path) {
  return path.find_first_of(" '()&;$") == std::string::npos ? path : '"' + path + '"';
}

// For the head of the list: what says whether the next build did what it asks for.
std::string check_command(const Options& options, bool is_evicted) {
  const std::string& list = options.files[kList];
  std::string out = "check the next build: millrace check " + word(options.program.elf);
  if (!options.program.map.empty()) out += " --map " + word(options.program.map);
  if (!options.program.target.empty()) out += " --target " + word(options.program.target);
  out += " --list " + (list == "-" ? std::string("LIST") : word(list));
  if (is_evicted) out += " --evicted";
  if (!options.place.region.empty()) out += " --region " + options.place.region;
  if (options.place.budget > 0) out += fmt::format(" --budget {}", options.place.budget);
  return out;
}

// What stands below the attributes.
std::string script_lines(const placement::PlacementList& list, const char* where) {
  if (list.entries.empty()) return "";
  std::string out = fmt::format(
      "\n// No attribute can move these. For the linker script (Teensyduino's is "
      "imxrt1062_t41.ld), "
      "where\n// {}:\n",
      where);
  for (const placement::Entry& entry : list.entries) {
    out += "//     " + section_patterns(entry) + '\n';
  }
  return out;
}

int run_evict(const Options& options, LoadedProgram* program, const profile::SampleSet& samples,
              const Invocation& invocation) {
  placement::EvictOptions evict;
  evict.bytes = options.evict_bytes;
  evict.region = options.place.region;
  evict.never = options.never;
  evict.profile = options.place.profile;
  Eviction eviction;
  const profile::Failure failure =
      placement::evict(&program->index, samples, program->target, evict, &eviction);
  if (failure) return fail(to_error(*failure));
  write_text(takes_stdout(options) ? stderr : stdout, evict_report(eviction, options.top));
  Json document = result_document("place", invocation);
  add_evict_json(&document, eviction);
  std::string texts[kOutputs];
  std::vector<std::string> head = evict_head(eviction);
  head.push_back(check_command(options, true));
  texts[kList] = list_text(eviction.list, head);
  texts[kGnuLd] = gnu_ld_fragment(eviction.list, eviction.to);
  texts[kZephyrCmake] = zephyr_cmake(eviction.list, &program->index, eviction.to);
  texts[kZephyrSnippet] = zephyr_snippet(eviction.list);
  placement::PlacementList editable, script;
  for (const placement::Evicted& one : eviction.evicted) {
    (one.has_source ? editable : script).entries.push_back(one.entry);
  }
  texts[kAttributes] = attribute_list(editable, &program->index, "FLASHMEM");
  texts[kAttributes] += script_lines(
      script, "its output section for flash begins (Teensyduino: above *(.flashmem*))");
  Status written = write_outputs(options.outputs, document, evict_csv(eviction));
  if (written) written = write_files(options, texts);
  if (!written) return fail_output(written.error());
  return eviction.is_enough ? kOk : kFailed;
}

// What `place` wrote for one memory or for both.
struct Result {
  std::optional<Placement> code;
  std::optional<DataPlacement> data;
};

profile::Failure place_both(const Options& options, LoadedProgram* program,
                            const profile::SampleSet& samples, std::span<const uint8_t> trace,
                            Result* out) {
  placement::PlaceOptions code = options.place;
  placement::DataOptions data = options.data;
  data.profile = code.profile;
  data.boot = code.boot;
  data.min_samples = code.min_samples;
  for (const std::string& line : options.pin) {
    (is_data_line(line) ? data.pin : code.pin).push_back(line);
  }
  for (const std::string& line : options.never) {
    (is_data_line(line) ? data.never : code.never).push_back(line);
  }
  const auto place_code = [&] {
    return placement::place(&program->index, samples, trace, program->target, code,
                            &out->code.emplace());
  };
  const auto place_data = [&] {
    return placement::place_data(&program->index, samples, trace, program->target, data,
                                 &out->data.emplace());
  };
  profile::Failure failure;
  if (code.budget > 0) failure = place_code();
  if (failure || !places_data(options)) return failure;
  if (!options.shares_budget) return place_data();
  // Each byte goes where it saves more. Samples do not say what data would save: code goes first.
  const uint64_t budget = code.budget;
  data.budget = budget;
  failure = place_data();
  if (failure) return failure;
  uint64_t pinned = 0;
  for (const placement::DataCandidate& one : out->data->candidates) {
    if (one.why == placement::DataWhy::pinned) pinned += uint64_t{one.size} + one.align;
  }
  uint64_t share = out->data->is_measured
                       ? best_data_share(out->code->curve, out->data->curve, budget)
                       : budget - std::min(budget, out->code->chosen.total_bytes());
  share = std::min(std::max(share, pinned), budget);
  if (share == 0) {
    out->data.reset();
    return {};
  }
  data.budget = share;
  failure = place_data();
  if (failure) return failure;
  // What is left belongs to code: the choice above had all of it.
  code.budget = std::max<uint64_t>(budget - out->data->bytes, 1);
  return out->code->chosen.total_bytes() <= code.budget ? profile::Failure() : place_code();
}

int run_place(const Options& options, LoadedProgram* program, const profile::SampleSet& samples,
              std::span<const uint8_t> trace, const Invocation& invocation) {
  Result placed;
  const profile::Failure failure = place_both(options, program, samples, trace, &placed);
  if (failure) return fail(to_error(*failure));
  Json document = result_document("place", invocation);
  std::string texts[kOutputs], report, csv;
  placement::PlacementList list;
  std::vector<std::string> head;
  if (placed.code) {
    const Placement& code = *placed.code;
    report = place_report(code, options.top);
    csv = place_csv(code);
    add_place_json(&document, code);
    list = code.list;
    head = list_head(code);
    texts[kGnuLd] = gnu_ld_fragment(code.list);
    texts[kZephyrCmake] = zephyr_cmake(code.list, &program->index, code.region);
    texts[kZephyrSnippet] = zephyr_snippet(code.list);
    texts[kAttributes] =
        attribute_list(code.by_attribute, &program->index, "FASTRUN") +
        script_lines(code.by_script,
                     "an output section for fast memory begins (Teensyduino: below "
                     "*(.fastrun))");
    texts[kOrderLld] = symbol_order_file(code.flash_order);
    texts[kOrderGnu] = gnu_ld_order(code.flash_order);
  }
  if (placed.data) {
    const DataPlacement& data = *placed.data;
    if (!report.empty()) report += '\n';
    report += place_data_report(data, options.top);
    if (!csv.empty()) csv += '\n';
    csv += place_data_csv(data);
    add_place_data_json(&document, data);
    list.entries.insert(list.entries.end(), data.list.entries.begin(), data.list.entries.end());
    const std::vector<std::string> more = data_list_head(data);
    head.insert(head.end(), more.begin(), more.end());
    texts[kZephyrCmake] += zephyr_data_cmake(data);
    texts[kAttributes] += data_attributes(data);
    texts[kGnuLdData] = gnu_ld_data(data.list);
    texts[kGnuLdBss] = gnu_ld_zeroed(data.list);
    texts[kZephyrDataSnippet] = zephyr_data_snippet(data.list);
  } else if (options.shares_budget) {
    report += "\ndata        none: code saves more for every byte of the budget\n";
  }
  head.push_back(check_command(options, false));
  texts[kList] = list_text(list, head);
  write_text(takes_stdout(options) ? stderr : stdout, report);
  Status written = write_outputs(options.outputs, document, csv);
  if (written) written = write_files(options, texts);
  if (!written) return fail_output(written.error());
  return kOk;
}

int run(const Options& options, const Invocation& invocation) {
  const Status usable = check(options);
  if (!usable) return fail_output(usable.error());
  LoadedProgram program;
  const Status status = load_program(options.program, &program);
  if (!status) return fail(status.error());
  if (!options.drift.empty()) return run_drift(options, &program, invocation);
  std::vector<uint8_t> bytes;
  profile::SampleSet samples;
  profile::Failure failure =
      profile::read_file(options.samples, profile::kMaxSampleFileBytes, &bytes);
  if (!failure) failure = profile::parse_samples(options.samples, bytes, options.read, &samples);
  if (failure) return fail(to_error(*failure));
  const bool is_trace = samples.format == name_of(profile::SampleFormat::trace);
  if (options.evicts) return run_evict(options, &program, samples, invocation);
  return run_place(options, &program, samples,
                   is_trace ? std::span<const uint8_t>(bytes) : std::span<const uint8_t>(),
                   invocation);
}

ValueParser line_into(std::vector<std::string>* list) {
  return [list](const std::string& text) {
    if (text.empty()) return Status(Error{ErrorCode::usage, "must not be empty"});
    list->push_back(text);
    return Status();
  };
}

ValueParser evict_into(Options* options) {
  return [options](const std::string& text) {
    options->evicts = true;
    if (text == "bank") return Status();
    return number_into(&options->evict_bytes, Scale::bytes, 1, kMaxBudget)(text);
  };
}

void add_constraints(Command& command, const std::shared_ptr<Options>& options) {
  command.text("--region", "NAME", "Fast memory of the target (its first one for code)",
               ValueKind::text, &options->place.region);
  command.choice("--granularity", "What moves as one piece", {"function", "file", "library"},
                 [options](const std::string& name) {
                   options->place.granularity = name == "file" ? placement::Granularity::file
                                                : name == "library"
                                                    ? placement::Granularity::library
                                                    : placement::Granularity::function;
                 });
  command.option("--pin", "ENTRY", "Move this whatever it is worth; a line of a list; repeats",
                 ValueKind::text, line_into(&options->pin), Repeats::yes);
  command.option("--never", "ENTRY", "Leave this where it is; a line of a list; repeats",
                 ValueKind::text, line_into(&options->never), Repeats::yes);
  command.option("--data-budget", "BYTES", "Fast memory for data that may be used", ValueKind::text,
                 number_into(&options->data.budget, Scale::bytes, 1, kMaxBudget));
  command.flag("--data", "Share the bytes of --budget between code and data",
               &options->shares_budget);
  command.text("--data-region", "NAME", "Fast memory of the target for data (its first one)",
               ValueKind::text, &options->data.region);
  command.option(
      "--dma", "NAME", "DMA uses this data object: it stays; repeats", ValueKind::text,
      [options](const std::string& text) {
        if (text.empty()) return Status(Error{ErrorCode::usage, "must not be empty"});
        options->data.dma.push_back(is_data_line(text) ? text : "@data " + text);
        return Status();
      },
      Repeats::yes);
  command.flag("--pin-interrupts", "Move interrupt handlers and what they call directly",
               &options->place.pin_interrupts);
  command.text("--copy-end", "FUNCTION", "The first function that runs behind the copies to RAM",
               ValueKind::text, &options->place.boot.copy_end);
  command.option("--min-samples", "N", "Samples that a function needs to be believed (3)",
                 ValueKind::text,
                 number_into(&options->place.min_samples, Scale::count, 1, 1'000'000));
}

}  // namespace

void add_place(Command parent, const Program& program) {
  const auto options = std::make_shared<Options>();
  Command command = parent.add_command(
      "place", "What to move to fast memory, and the build input that moves it",
      "Examples:\n"
      "  millrace place firmware.elf run.samples --budget 32K --map firmware.map --list fast.txt\n"
      "  millrace place zephyr.elf run.samples --budget 48K --zephyr-cmake itcm.cmake\n"
      "  millrace place firmware.elf run.trace --budget 16K --granularity library\n"
      "  millrace place firmware.elf run.trace --data-budget 4K --map firmware.map --list "
      "data.txt\n"
      "  millrace place firmware.elf run.trace --budget 32K --data --dma rx_ring --list fast.txt\n"
      "  millrace place sketch.elf run.samples --evict bank --attributes flashmem.txt\n"
      "  millrace place new.elf --drift fast.txt\n"
      "BYTES with K and M are powers of 1,024. A trace (millrace board run --trace) gives exact\n"
      "stalls, samples estimates. Exit code 1 if --drift finds entries that no longer mean what\n"
      "they did, or --evict cannot win that much back.");
  add_program_options(command, &options->program);
  command.positional("SAMPLES", "Samples, or a trace of the virtual board", ValueKind::file, false,
                     &options->samples);
  command.option("--budget", "BYTES", "Fast memory that may be used", ValueKind::text,
                 number_into(&options->place.budget, Scale::bytes, 1, kMaxBudget));
  command.option("--evict", "BYTES",
                 "Instead: what to push out of fast memory to win this back; bank: a whole bank",
                 ValueKind::text, evict_into(options.get()));
  command.text("--drift", "LIST", "Instead: which entries of this list no longer match ELF",
               ValueKind::file, &options->drift);
  add_constraints(command, options);
  command.choice(
      "--format", "What SAMPLES is; told from its content", profile::format_names(),
      [options](const std::string& name) { profile::format_of(name, &options->read.format); });
  command.option("--events", "N", "Events of the workload in the run, for cycles an event",
                 ValueKind::text,
                 number_into(&options->place.profile.events, Scale::count, 1, UINT64_MAX / 2));
  command.option("--idle", "FUNCTION", "Count this function as idle; several times for several",
                 ValueKind::text, line_into(&options->place.profile.idle_functions), Repeats::yes);
  command.option("--top", "N", "Rows of each table (20)", ValueKind::text,
                 number_into(&options->top, Scale::count, 1, 1'000'000));
  command.flag("--partial", "Take what is there of a file that is cut off",
               &options->read.accept_partial);
  command.flag("--force", "Take samples that do not belong to ELF",
               &options->place.profile.accept_mismatch);
  for (size_t i = 0; i < kOutputs; ++i) {
    command.text(kInfos[i].option, "FILE", kInfos[i].help, ValueKind::output, &options->files[i]);
  }
  add_json_option(command, &options->outputs);
  command.text("--csv", "FILE", "Write every candidate as CSV; - is stdout", ValueKind::output,
               &options->outputs.csv);
  command.action([options, &program] { return run(*options, program.invocation); });
}

}  // namespace millrace::cli
