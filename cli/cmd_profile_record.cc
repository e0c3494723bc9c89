// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <cmath>
#include <cstdlib>
#include <memory>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/output_file.h"
#include "cli/outputs.h"
#include "cli/print.h"
#include "cli/record_target.h"
#include "cli/result_json.h"
#include "cli/terminal.h"
#include "cli/values.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Result;
using host::Status;

namespace {

struct Options {
  std::string target, output, elf;
  RecordLoad load;
  sampling::RecordPlan plan;
  bool has_samples = false, has_port = false;
  OutputOptions outputs;
};

Status check(const Options& options) {
  if (Status status = check_outputs(options.outputs); !status) return status;
  if (options.output.empty()) {
    return Error{ErrorCode::usage, "--output is missing (the file for the samples)"};
  }
  if (options.has_samples && options.plan.duration_ns > 0) {
    return Error{ErrorCode::usage, "--samples and --seconds both say when to stop (give one)"};
  }
  const RecordLoad& load = options.load;
  if ((options.has_port || !load.host_address.empty() || !load.device_address.empty()) &&
      board_image(options.target).empty()) {
    return Error{ErrorCode::usage,
                 "--host-address, --device-address and --port are for board: targets (write "
                 "udp:ADDRESS:PORT)"};
  }
  if (options.plan.duration_ns > 0 &&
      static_cast<uint64_t>(options.plan.duration_ns) / options.plan.interval_ns >
          sampling::kMostSamples) {
    return Error{ErrorCode::usage,
                 fmt::format("--seconds and --interval make more than {} samples (fewer do: 16,384 "
                             "give 0.4 % at 50 %)",
                             grouped(sampling::kMostSamples))};
  }
  if (options.output == "-") {
    if (options.outputs.json == "-") {
      return Error{ErrorCode::usage,
                   "only one output can go to stdout (name files for the others)"};
    }
    return {};
  }
  if (!options.outputs.json.empty() && options.outputs.json != "-" &&
      same_output(options.output, options.outputs.json)) {
    return Error{ErrorCode::usage,
                 "write " + options.output + ": each output needs a file of its own"};
  }
  return check_output(options.output);
}

double share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string report(const Options& options, const RecordOutcome& outcome) {
  const profile::SampleSet& s = outcome.samples;
  std::string out =
      fmt::format("{} of {}", plural(s.samples.size(), "sample"), printable(options.target));
  if (outcome.rounds > 1) out += fmt::format(", in {}", plural(outcome.rounds, "round"));
  if (outcome.is_interrupted) out += ", interrupted";
  out += '\n';
  const auto line = [&](const char* name, const std::string& text) {
    out += fmt::format("  {:<10} {}\n", name, text);
  };
  line("interval", fmt::format("{} cycles +- {:.1f} % at {} MHz", grouped(s.interval_cycles),
                               s.jitter_permille / 10.0, s.core_khz / 1000.0));
  line("run", fmt::format("{} cycles, {:.2f} % of them in the sampler", grouped(s.run_cycles),
                          100 * share(s.handler_cycles, s.run_cycles)));
  if (s.lost > 0) line("lost", fmt::format("{}: the buffer was full", grouped(s.lost)));
  if (s.overruns > 0) {
    line("overruns", fmt::format("{}: no sample, interrupts were locked out", grouped(s.overruns)));
  }
  if (s.events > 0) {
    line("events", fmt::format("{}, {} cycles of run each", grouped(s.events),
                               grouped(s.run_cycles / s.events)));
  }
  if (!outcome.load_line.empty()) line("load", outcome.load_line);
  line("program", s.identity.kind == profile::IdentityKind::none
                      ? "not named (--elf names it, so that another one is refused)"
                      : s.identity.text());
  return out;
}

Json to_json(const RecordOutcome& outcome) {
  const profile::SampleSet& s = outcome.samples;
  return {{"samples", s.samples.size()},
          {"rounds", outcome.rounds},
          {"mode", s.has_lr ? "callers" : "pc"},
          {"core_khz", s.core_khz},
          {"interval_cycles", s.interval_cycles},
          {"jitter_permille", s.jitter_permille},
          {"lost", s.lost},
          {"overruns", s.overruns},
          {"run_cycles", s.run_cycles},
          {"handler_cycles", s.handler_cycles},
          {"events", s.events},
          {"identity", s.identity.text()},
          {"load", outcome.load},
          {"is_interrupted", outcome.is_interrupted}};
}

int run(const Options& options, const Invocation& invocation) {
  if (const Status writable = check(options); !writable) return fail_output(writable.error());
  std::FILE* const out = options.output == "-" ? stderr : report_file(options.outputs);
  catch_interrupt();
  sampling::RecordHooks hooks;
  ProgressBar bar;
  bar.set_label("sampling");
  hooks.keep_going = [] { return !interrupted(); };
  hooks.progress = [&bar](const sampling::RecordProgress& p) {
    bar.show_share(static_cast<double>(p.samples), static_cast<double>(p.wanted),
                   grouped(p.samples) + " samples");
  };
  const Result<RecordOutcome> outcome =
      record_samples(options.target, options.load, options.plan, options.elf, hooks);
  bar.clear();
  // What hinders it after Ctrl-C may be Ctrl-C.
  if (!outcome && !interrupted()) return fail(outcome.error());
  if (!outcome || (outcome->is_interrupted && outcome->samples.samples.empty())) {
    print(out, "{}", interrupted_before("the first sample"));
    return kInterrupted;
  }
  int code = kOk;
  if (outcome->is_interrupted) code = kInterrupted;
  if (outcome->trouble) code = worse(code, fail(*outcome->trouble));
  if (outcome->samples.samples.empty()) {
    if (code == kOk) {
      code = fail({ErrorCode::protocol, printable(options.target) +
                                            ": no sample came (a longer time, or a shorter "
                                            "--interval)"});
    }
    return code;
  }
  print(out, "{}", report(options, *outcome));
  const std::vector<uint8_t> bytes = profile::sample_file(outcome->samples);
  Status written = write_output(options.output, {bytes.begin(), bytes.end()});
  if (written) {
    Json document = result_document("profile record", invocation);
    document["target"] = options.target;
    document["output"] = options.output;
    document["recording"] = to_json(*outcome);
    if (outcome->trouble) document["error"] = outcome->trouble->message;
    written = write_outputs(options.outputs, document);
  }
  return written ? code : worse(code, fail_output(written.error()));
}

// A positive number with decimals, times `scale`, as an integer.
template <class T>
ValueParser scaled_into(T* target, double scale, double least, double most, const char* what) {
  return [=](const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || text.find_first_not_of("0123456789.eE") != std::string::npos ||
        *end != '\0' || !(value >= least) || value > most) {
      return Status(
          Error{ErrorCode::usage, fmt::format("must be {}, {:g} to {:g}", what, least, most)});
    }
    *target = static_cast<T>(std::llround(value * scale));
    return Status();
  };
}

}  // namespace

void add_profile_record(Command profile, const Program& program) {
  const auto options = std::make_shared<Options>();
  Options* o = options.get();
  Command command = profile.add_side_command(
      "record", "Take samples of a target that has a sampler, and write a sample file",
      "Examples:\n"
      "  millrace profile record udp:192.168.7.1 -o run.samples --load udp:32@1500\n"
      "  millrace profile record /dev/ttyACM0 -o run.samples --load serial:in --mode callers\n"
      "  millrace profile record 'board:usb_echo_heavy_ecm_flash.elf' -o run.samples\n"
      "  millrace profile record board:zephyr.elf --port 4242 --load udp:32@1500 -o run.samples\n"
      "  millrace profile usb_echo_heavy_ecm_flash.elf run.samples\n"
      "A target with no load of ours is sampled at whatever else it does. board: runs in virtual\n"
      "time, by default with one UDP echo of 32 bytes after the other, or a stream to the PC. On\n"
      "Ctrl-C what was sampled until then is read out and written. --interval is in us; more\n"
      "samples than the target's buffer holds are taken in rounds.\n"
      "Exit code 1: not enough samples came, or the program is another; 3: no sampler answers.");
  command.positional("TARGET",
                     "udp:ADDRESS[:PORT], an IPv4 address, a serial port (as `serial bench` takes "
                     "it), or board:IMAGE?KEY=VALUE",
                     ValueKind::port, true, &o->target);
  command.text("-o,--output", "FILE", "The sample file; - is stdout", ValueKind::output,
               &o->output);
  command.option("--samples", "N", "Stop when so many are there (16384)", ValueKind::text,
                 [o](const std::string& text) {
                   o->has_samples = true;
                   return number_into(&o->plan.samples, Scale::count, 1,
                                      sampling::kMostSamples)(text);
                 });
  command.option("--seconds", "S", "Instead: stop after so long, of the target's work",
                 ValueKind::text,
                 scaled_into(&o->plan.duration_ns, 1e9, 0.001, 3600, "a number of seconds"));
  command.option("--interval", "US", "Mean distance of two samples, us (100)", ValueKind::text,
                 scaled_into(&o->plan.interval_ns, 1e3, 1, 1e6, "a number of us"));
  command.option("--jitter", "PERCENT", "The distance is uniform within mean +- this (25)",
                 ValueKind::text, scaled_into(&o->plan.jitter_permille, 10, 0, 50, "a percentage"));
  command.choice("--mode", "pc, or callers: PC, link register and exception number (pc)",
                 {"pc", "callers"}, [o](const std::string& mode) {
                   o->plan.mode = mode == "callers" ? link::kSamplerCallers : link::kSamplerPc;
                 });
  command.option("--load", "LOAD",
                 "Work for the target: udp:BYTES@RATE, udp:BYTESxUNDER_WAY, serial:in|out|both, "
                 "none",
                 ValueKind::text, [o](const std::string& text) {
                   Result<RecordLoad> load = parse_load(text);
                   if (!load) return Status(load.error());
                   load->host_address = o->load.host_address;
                   load->device_address = o->load.device_address;
                   load->port = o->load.port;
                   o->load = std::move(*load);
                   return Status();
                 });
  command.text("--host-address", "ADDRESS/PREFIX",
               "board: the host's address, for firmware without a DHCP server", ValueKind::text,
               &o->load.host_address);
  command.text("--device-address", "ADDRESS", "board: the device's (its DHCP server)",
               ValueKind::text, &o->load.device_address);
  command.option("--port", "N", "board: UDP port of the load (7)", ValueKind::text,
                 [o](const std::string& text) {
                   o->has_port = true;
                   return number_into(&o->load.port, Scale::count, 1, UINT16_MAX)(text);
                 });
  command.option("--seed", "N", "Of the distances; 0: the target's own (board: 1)", ValueKind::text,
                 number_into(&o->plan.seed, Scale::count, 0, UINT32_MAX));
  command.text("--elf", "FILE", "What the target runs: named in the sample file, or refused",
               ValueKind::file, &o->elf);
  add_json_option(command, &o->outputs);
  command.action([options, &program] { return run(*options, program.invocation); });
}

}  // namespace millrace::cli
