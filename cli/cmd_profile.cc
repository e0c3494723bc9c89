// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <cmath>
#include <cstdlib>
#include <memory>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output_file.h"
#include "cli/outputs.h"
#include "cli/print.h"
#include "cli/profile_options.h"
#include "cli/profile_report.h"
#include "cli/result_json.h"
#include "cli/values.h"
#include "millrace/profile/viewers.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Status;

namespace {

constexpr uint64_t kMaxRows = 1'000'000;

struct Viewer {
  const char* option;
  const char* help;
  std::string (*write)(profile::ElfIndex*, const profile::Profile&);
};

std::string pprof_text(profile::ElfIndex* index, const profile::Profile& profile) {
  const std::vector<uint8_t> bytes = profile::pprof_file(index, profile);
  return {bytes.begin(), bytes.end()};
}

constexpr Viewer kViewers[] = {
    {"--folded", "Write folded stacks (flamegraph.pl, inferno); - is stdout",
     profile::folded_stacks},
    {"--speedscope", "Write speedscope JSON (speedscope.app)", profile::speedscope_json},
    {"--pprof", "Write a pprof profile (go tool pprof)", pprof_text},
    {"--callgrind", "Write a callgrind profile (KCachegrind)", profile::callgrind_file},
    {"--perf-script", "Write the text of perf script (Firefox Profiler)", profile::perf_script},
};

struct Options {
  OutputOptions outputs;
  std::string viewers[std::size(kViewers)];
  std::string save;
  ProgramOptions program;
  std::string samples;
  profile::ReadOptions read;
  profile::ProfileOptions attribution;
  std::string old_samples, old_elf;
  size_t top = 15;
};

Status check(const Options& options) {
  Status status = check_outputs(options.outputs);
  if (!status) return status;
  size_t on_stdout =
      options.outputs.json == "-" || options.outputs.csv == "-" || options.outputs.markdown == "-"
          ? 1
          : 0;
  for (size_t i = 0; i <= std::size(kViewers); ++i) {
    const std::string& path = i < std::size(kViewers) ? options.viewers[i] : options.save;
    if (path.empty()) continue;
    if (path == "-") {
      if (++on_stdout > 1) {
        return Error{ErrorCode::usage,
                     "only one output can go to stdout (name files for the others)"};
      }
      continue;
    }
    for (const std::string* other :
         {&options.outputs.json, &options.outputs.csv, &options.outputs.markdown}) {
      if (!other->empty() && *other != "-" && same_output(path, *other)) {
        return Error{ErrorCode::usage, "write " + path + ": each output needs a file of its own"};
      }
    }
    for (size_t k = 0; k < i && k < std::size(kViewers); ++k) {
      const std::string& other = options.viewers[k];
      if (!other.empty() && other != "-" && same_output(path, other)) {
        return Error{ErrorCode::usage, "write " + path + ": each output needs a file of its own"};
      }
    }
    status = check_output(path);
    if (!status) return status;
  }
  if (!options.old_elf.empty() && options.old_samples.empty()) {
    return Error{ErrorCode::usage, "--diff-elf needs --diff (name the older samples)"};
  }
  if (options.attribution.events > 0 && options.attribution.events_per_s > 0) {
    return Error{ErrorCode::usage, "--events and --rate say the same (give one)"};
  }
  return {};
}

bool takes_stdout(const Options& options) {
  if (options.outputs.json == "-" || options.outputs.csv == "-" ||
      options.outputs.markdown == "-" || options.save == "-") {
    return true;
  }
  for (const std::string& path : options.viewers) {
    if (path == "-") return true;
  }
  return false;
}

Status write_all(const Options& options, profile::ElfIndex* index, const profile::Profile& profile,
                 const profile::SampleSet& samples, const Json& document) {
  Status first = write_outputs(options.outputs, document, profile_csv(profile),
                               profile_markdown(profile, options.top));
  const auto write = [&](const std::string& path, const std::string& text) {
    if (path.empty()) return;
    Status status = write_output(path, text);
    if (!status && first) first = std::move(status);
  };
  for (size_t i = 0; i < std::size(kViewers); ++i) {
    if (!options.viewers[i].empty()) write(options.viewers[i], kViewers[i].write(index, profile));
  }
  if (!options.save.empty()) {
    profile::SampleSet stamped = samples;
    if (stamped.identity.kind == profile::IdentityKind::none) {
      stamped.identity = index->build_id();
      if (stamped.identity.kind == profile::IdentityKind::none) {
        stamped.identity = index->image_hash();
      }
    }
    stamped.events = profile.events;
    stamped.core_khz = profile.core_khz;
    stamped.interval_cycles = profile.interval_cycles;
    const std::vector<uint8_t> bytes = profile::sample_file(stamped);
    write(options.save, {bytes.begin(), bytes.end()});
  }
  return first;
}

int run(const Options& options, const Invocation& invocation) {
  const Status writable = check(options);
  if (!writable) return fail_output(writable.error());
  LoadedProgram program;
  Status status = load_program(options.program, &program);
  if (!status) return fail(status.error());
  profile::SampleSet samples;
  profile::Failure failure = profile::read_samples(options.samples, options.read, &samples);
  profile::Profile profile;
  if (!failure) {
    failure =
        profile::attribute(&program.index, samples, program.target, options.attribution, &profile);
  }
  if (failure) return fail(to_error(*failure));

  Json document = result_document("profile", invocation);
  add_profile_json(&document, profile);
  std::string report = profile_report(profile, options.top);
  if (!options.old_samples.empty()) {
    LoadedProgram old;
    if (!options.old_elf.empty()) {
      ProgramOptions old_options = options.program;
      old_options.elf = options.old_elf;
      old_options.map.clear();
      status = load_program(old_options, &old);
      if (!status) return fail(status.error());
    }
    LoadedProgram& before = options.old_elf.empty() ? program : old;
    profile::SampleSet old_samples;
    profile::Profile old_profile;
    failure = profile::read_samples(options.old_samples, options.read, &old_samples);
    if (!failure) {
      profile::ProfileOptions old_options = options.attribution;
      if (old_samples.events > 0) old_options.events = 0;  // --events counts the new run's
      failure =
          profile::attribute(&before.index, old_samples, before.target, old_options, &old_profile);
    }
    if (failure) return fail(to_error(*failure));
    const profile::ProfileDiff diff = profile::compare(old_profile, profile);
    add_diff_json(&document, diff);
    report += diff_report(diff, options.top);
  }
  write_text(takes_stdout(options) ? stderr : stdout, report);
  const Status written = write_all(options, &program.index, profile, samples, document);
  if (!written) return fail_output(written.error());
  return kOk;
}

// A positive decimal number with a unit that the option's help names.
ValueParser decimal_into(double* target, const char* what) {
  return [=](const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != 0 || !std::isfinite(value) || value <= 0 || value > 1e12 ||
        text.find_first_not_of("0123456789.eE+") != std::string::npos) {
      return Status(Error{ErrorCode::usage, std::string("must be ") + what});
    }
    *target = value;
    return Status();
  };
}

}  // namespace

void add_profile(Command parent, const Program& program) {
  const auto options = std::make_shared<Options>();
  Command command = parent.add_command(
      "profile", "Where the time of a sampled program goes, by memory, function and line",
      "Examples:\n"
      "  millrace profile zephyr.elf run.samples --map zephyr.map\n"
      "  millrace profile firmware.elf pcs.bin --clock 600 --rate 1500\n"
      "  millrace profile firmware.elf run.trace --events 1000 --callgrind run.callgrind\n"
      "  millrace profile new.elf new.samples --diff old.samples --diff-elf old.elf\n"
      "  millrace profile record udp:192.168.7.1 -o run.samples   take samples of a target\n"
      "Shares are of busy time and come with the interval that holds the true one with 95 %\n"
      "probability. Samples: see --format; the content tells them apart but for raw-*.\n"
      "Exit code 1: the samples are of another program, or a file is damaged.");
  add_program_options(command, &options->program);
  command.positional("SAMPLES", "Samples, or a trace of the virtual board", ValueKind::file, true,
                     &options->samples);
  command.choice(
      "--format", "What SAMPLES is (auto)", profile::format_names(),
      [options](const std::string& name) { profile::format_of(name, &options->read.format); });
  command.option("--events", "N", "Events of the workload within the run: cycles per event",
                 ValueKind::text,
                 number_into(&options->attribution.events, Scale::count, 1, UINT64_MAX / 2));
  command.option("--rate", "PER_S", "Instead: events a second, steady during the run",
                 ValueKind::text,
                 decimal_into(&options->attribution.events_per_s, "a rate, events a second"));
  const auto clock_mhz = std::make_shared<double>(0);
  command.option("--clock", "MHZ", "Core clock, if the samples do not say it", ValueKind::text,
                 [options, clock_mhz](const std::string& text) {
                   Status status = decimal_into(clock_mhz.get(), "a clock in MHz")(text);
                   if (!status) return status;
                   if (*clock_mhz > 4'000'000 || *clock_mhz * 1000 < 1) {
                     return Status(Error{ErrorCode::usage, "must be a clock in MHz"});
                   }
                   options->attribution.core_khz =
                       static_cast<uint32_t>(std::llround(*clock_mhz * 1000));
                   return status;
                 });
  command.option("--interval", "CYCLES", "Mean distance of two samples, if they do not say it",
                 ValueKind::text,
                 number_into(&options->attribution.interval_cycles, Scale::count, 1, UINT32_MAX));
  command.option(
      "--idle", "FUNCTION", "Count this function as idle; several times for several",
      ValueKind::text,
      [options](const std::string& name) {
        if (name.empty()) return Status(Error{ErrorCode::usage, "must not be empty"});
        options->attribution.idle_functions.push_back(name);
        return Status();
      },
      Repeats::yes);
  command.text("--diff", "OLD", "Compare with these older samples", ValueKind::file,
               &options->old_samples);
  command.text("--diff-elf", "ELF", "What the older samples ran; without it ELF", ValueKind::file,
               &options->old_elf);
  command.option("--top", "N", "Rows of each table (15)", ValueKind::text,
                 number_into(&options->top, Scale::count, 1, kMaxRows));
  command.flag("--partial", "Take what is there of a file that is cut off",
               &options->read.accept_partial);
  command.flag("--force", "Take samples that do not belong to ELF",
               &options->attribution.accept_mismatch);
  add_json_option(command, &options->outputs);
  add_table_options(command, &options->outputs);
  for (size_t i = 0; i < std::size(kViewers); ++i) {
    command.text(kViewers[i].option, "FILE", kViewers[i].help, ValueKind::output,
                 &options->viewers[i]);
  }
  command.text("--save", "FILE", "Write the samples as a sample file that names this ELF",
               ValueKind::output, &options->save);
  command.action([options, &program] { return run(*options, program.invocation); });
  add_profile_record(command, program);
}

}  // namespace millrace::cli
