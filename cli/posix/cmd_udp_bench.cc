// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <utility>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/outputs.h"
#include "cli/posix/udp_report.h"
#include "cli/posix/udp_target.h"
#include "cli/print.h"
#include "cli/result_json.h"
#include "cli/values.h"
#include "millrace/udp/ladder.h"
#include "millrace/udp/payload.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Result;
using host::Status;
using udp::LadderResult;
using udp::LadderSettings;

namespace {

constexpr size_t kMostOfOneFrame = 1472;
constexpr double kMostSteps = 10'000;

struct Options {
  UdpTarget target;
  std::vector<uint32_t> sizes = {32};
  LadderSettings ladder;
  std::optional<uint32_t> passes;
  bool no_aftermath = false;
  OutputOptions outputs;
};

// A positive number with decimals.
ValueParser decimal_into(double* target, double max, const char* example) {
  return [=](const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !std::isfinite(value) || value <= 0 || value > max) {
      return Status(
          Error{ErrorCode::usage,
                fmt::format("give a number above 0, at most {}, such as {}", whole(max), example)});
    }
    *target = value;
    return Status();
  };
}

Status check(const Options& o) {
  const LadderSettings& l = o.ladder;
  const auto usage = [](std::string text) {
    return Status(Error{ErrorCode::usage, std::move(text)});
  };
  for (const uint32_t bytes : o.sizes) {
    if (bytes < udp::kLeastPayload || bytes > udp::kMostPayload) {
      return usage(
          fmt::format("--size {}: give {} to {}; session, sequence, time stamp and check "
                      "take 28 bytes",
                      bytes, udp::kLeastPayload, udp::kMostPayload));
    }
    if (o.target.is_board() && bytes > kMostOfOneFrame) {
      return usage(
          fmt::format("--size {}: a virtual board takes {} at most, there are no fragments", bytes,
                      kMostOfOneFrame));
    }
  }
  if (l.first_per_s > l.top_per_s) return usage("--first is above --top");
  const double steps = (l.top_per_s - l.first_per_s) / l.width_per_s + 1;
  if (steps > kMostSteps) {
    return usage(fmt::format("{} steps are more than {} (a larger --width)",
                             steps < 1e15 ? whole(steps) : "so many", whole(kMostSteps)));
  }
  const double seconds = static_cast<double>(l.plan.duration_ns) / 1e9;
  if (l.top_per_s * seconds > static_cast<double>(udp::kMostDatagrams)) {
    return usage("--top and --step-ms make more than 100,000,000 datagrams a step");
  }
  if (Status target = o.target.check(); !target) return target;
  if (l.plan.in_flight != 0 && l.search != udp::SearchKind::none) {
    return usage("--in-flight has no rate to search for (leave --search out)");
  }
  return Status();
}

// 1: it answered nothing, or altered what it sent back, or did not come out of the overload.
int code_of(const LadderResult& r) {
  if (r.is_interrupted) return kInterrupted;
  if (r.trouble) return exit_code(*r.trouble);
  bool has_answer = false;
  for (const udp::Pass& pass : r.passes) {
    has_answer = has_answer || pass.peak_per_s > 0;
    for (const udp::StepResult& step : pass.steps) {
      if (step.altered != 0) return kFailed;
    }
  }
  if (!has_answer) return kFailed;
  if (!r.aftermath) return kOk;
  const bool is_deaf = r.aftermath->pings.sent != 0 && r.aftermath->pings.answered == 0;
  const bool is_lossy = !r.aftermath->recovery_ns && r.aftermath->recovery.is_valid();
  return is_deaf || is_lossy ? kFailed : kOk;
}

int run(Options& options, const Invocation& invocation) {
  if (const Status sense = check(options); !sense) return fail(sense.error());
  if (const Status writable = check_outputs(options.outputs); !writable) {
    return fail_output(writable.error());
  }
  // Every pass on a virtual board is the same to the nanosecond.
  options.ladder.passes = options.passes.value_or(options.target.is_board() ? 1 : 3);
  options.ladder.has_aftermath = !options.no_aftermath;
  std::FILE* const out = report_file(options.outputs);
  const Colour colour(out);
  catch_interrupt();
  options.target.socket.keep_going = [] { return !interrupted(); };
  udp::LadderHooks hooks;
  hooks.keep_going = [] { return !interrupted(); };
  hooks.on_step = [&](const std::string& part, const udp::StepResult& step) {
    write_now(out, step_line(part, step, colour));
  };
  const uint32_t session = options.target.is_board() ? 1 : std::random_device()();
  Json document = result_document("udp bench", invocation);
  document["target"] = options.target.name;
  document["is_virtual"] = options.target.is_board();
  document["sizes"] = Json::array();
  Table table = step_table();
  int code = kOk;
  for (const uint32_t bytes : options.sizes) {
    options.ladder.plan.bytes = bytes;
    bool is_first = true;
    const udp::PortMaker make = [&]() -> Result<std::unique_ptr<udp::DatagramPort>> {
      Result<std::unique_ptr<udp::DatagramPort>> port = options.target.open(bytes);
      if (port && is_first) {
        write_text(out, ladder_heading(options.target.name, (*port)->info(), bytes,
                                       options.target.is_board()));
        write_now(out, step_heading());
        is_first = false;
      }
      return port;
    };
    const Result<LadderResult> result = udp::run_ladder(make, options.ladder, session, hooks);
    if (!result) {
      // What hinders it after Ctrl-C may be Ctrl-C.
      if (interrupted()) write_now(out, interrupted_before("the first step"));
      code = interrupted() ? int{kInterrupted} : worse(code, fail(result.error()));
      break;
    }
    write_now(out, ladder_report(*result, colour));
    document["sizes"].push_back(to_json(*result));
    add_steps(*result, &table);
    code = worse(code, code_of(*result));
    if (result->trouble) {
      document["error"] = result->trouble->message;
      fail(*result->trouble);
    }
    if (result->trouble || result->is_interrupted) break;
  }
  if (document["sizes"].empty()) return code;
  const Status written = write_outputs(options.outputs, document, table.csv(), table.markdown());
  return written ? code : worse(code, fail_output(written.error()));
}

void add_ladder_options(Command& command, Options* o) {
  LadderSettings& l = o->ladder;
  constexpr double kMostRate = 1e8;
  command.option("--size", "BYTES,...", "UDP payload; a ladder for each (32)", ValueKind::text,
                 [o](const std::string& text) {
                   Result<std::vector<uint32_t>> sizes = parse_sizes(text);
                   if (!sizes) return Status(sizes.error());
                   o->sizes = std::move(*sizes);
                   return Status();
                 });
  command.option("--first", "RATE", "First step, datagrams/s (500)", ValueKind::text,
                 decimal_into(&l.first_per_s, kMostRate, "500"));
  command.option("--width", "RATE", "From step to step, datagrams/s (500)", ValueKind::text,
                 decimal_into(&l.width_per_s, kMostRate, "500"));
  command.option("--top", "RATE", "Last step, datagrams/s (30000)", ValueKind::text,
                 decimal_into(&l.top_per_s, kMostRate, "30000"));
  command.option("--step-ms", "MS", "Length of a step (2000)", ValueKind::text,
                 [&l](const std::string& text) {
                   const Result<uint64_t> ms = parse_number(text, Scale::count, 1, 3'600'000);
                   if (!ms) return Status(ms.error());
                   l.plan.duration_ns = static_cast<int64_t>(*ms) * 1'000'000;
                   return Status();
                 });
  command.option("--passes", "N", "Ladders, one after the other (3; board: 1, all are equal)",
                 ValueKind::text, [o](const std::string& text) {
                   const Result<uint64_t> n = parse_number(text, Scale::count, 1, 1000);
                   if (!n) return Status(n.error());
                   o->passes = static_cast<uint32_t>(*n);
                   return Status();
                 });
  command.option("--in-flight", "N",
                 "Closed loop instead of rates: N requests under way, one step a pass",
                 ValueKind::text, number_into(&l.plan.in_flight, Scale::count, 1, 65'536));
  command.option("--late-ms", "MS", "A reply that takes longer is late, and none (100)",
                 ValueKind::text, [&l](const std::string& text) {
                   const Result<uint64_t> ms = parse_number(text, Scale::count, 1, 60'000);
                   if (!ms) return Status(ms.error());
                   l.plan.late_ns = static_cast<int64_t>(*ms) * 1'000'000;
                   l.plan.settle_ns = 2 * l.plan.late_ns;
                   return Status();
                 });
  command.option("--lossless", "PERCENT", "Answered by a step that counts as lossless (99)",
                 ValueKind::text, [&l](const std::string& text) {
                   double percent = 0;
                   Status status = decimal_into(&percent, 100, "99")(text);
                   l.lossless_share = percent / 100;
                   return status;
                 });
}

void add_search_options(Command& command, Options* o) {
  LadderSettings& l = o->ladder;
  command.choice("--search",
                 "After the ladder: the highest rate without loss (ndr), or with --pdr-loss, by "
                 "bisection between --first and --top",
                 {"ndr", "pdr"}, [&l](const std::string& kind) {
                   l.search = kind == "ndr" ? udp::SearchKind::ndr : udp::SearchKind::pdr;
                 });
  command.option("--pdr-loss", "PERCENT", "Loss that a PDR allows (0.1)", ValueKind::text,
                 [&l](const std::string& text) {
                   double percent = 0;
                   Status status = decimal_into(&percent, 99, "0.1")(text);
                   l.pdr_loss = percent / 100;
                   return status;
                 });
  command.option("--resolution", "RATE", "The search ends within this, datagrams/s (50)",
                 ValueKind::text, decimal_into(&l.resolution_per_s, 1e8, "50"));
  command.option("--confirm", "N", "Further trials in a row that the rate found must pass (2)",
                 ValueKind::text, number_into(&l.confirmations, Scale::count, 0, 20));
  command.flag("--no-aftermath", "No overload at twice the peak, recovery and pings at the end",
               &o->no_aftermath);
}

}  // namespace

void add_udp_bench(Command parent, const Program& program) {
  const auto options = std::make_shared<Options>();
  Command command = parent.add_command(
      "bench", "How many UDP echoes a second a device answers, and up to which rate it loses none",
      "Examples:\n"
      "  millrace udp bench 192.168.7.1\n"
      "  millrace udp bench 192.168.7.1:4242 --size 32,1000 --passes 1 --json result.json\n"
      "  millrace udp bench 192.168.7.1 --in-flight 64\n"
      "  millrace udp bench 192.168.7.1 --top 30000 --search ndr\n"
      "  millrace udp bench 'board:echo.elf?host=xhci-laptop' --step-ms 100 --width 2500\n"
      "Without options the published ladder: 32 B, steps of 2 s, 500/s apart up to 30,000/s, "
      "three\n"
      "passes (6 minutes). Rates are datagrams a second, round trips us. Every reply is verified.\n"
      "Steps in which this host did not keep its pace are INVALID and count for nothing. Exit "
      "code\n"
      "1 if nothing was answered, replies were altered, or the device did not come out of the\n"
      "overload; 3 if it cannot be reached or went away.");
  options->target.add_to(command);
  command.option("--port", "N", "UDP port of a target that names none (7)", ValueKind::text,
                 [o = options.get()](const std::string& text) {
                   const Result<uint64_t> port = parse_number(text, Scale::count, 1, 65535);
                   if (!port) return Status(port.error());
                   o->target.socket.port = o->target.board.port = static_cast<uint16_t>(*port);
                   return Status();
                 });
  add_ladder_options(command, options.get());
  add_search_options(command, options.get());
  command.option("--receive-buffer", "BYTES", "Of the socket; K, M = 1,024, 1,048,576 (4M)",
                 ValueKind::text,
                 number_into(&options->target.socket.receive_buffer, Scale::bytes, 4096, 1 << 29));
  command.option("--probe-ms", "MS", "How long the first echo may take, ahead of the ladder (1000)",
                 ValueKind::text,
                 number_into(&options->target.socket.probe_ms, Scale::count, 1, 60'000));
  command.flag("--allow-fragments", "Send what is larger than the MTU in fragments",
               &options->target.socket.allow_fragments);
  add_json_option(command, &options->outputs);
  add_table_options(command, &options->outputs);
  command.action([options, &program] { return run(*options, program.invocation); });
}

}  // namespace millrace::cli
