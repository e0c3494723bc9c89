// SPDX-License-Identifier: Apache-2.0
// A round takes what the round before left to gain: its trace is that of the image that already has
// the list so far, so what has become resident in the cache is worth nothing any more, and the
// sizes are those that were really linked. The list only grows; a round that does not make the
// firmware faster is taken back and ends it.
#include "cli/posix/tune_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cli/interrupt.h"
#include "cli/output_file.h"
#include "cli/posix/board_datagrams.h"
#include "cli/posix/board_machine.h"
#include "cli/posix/run_command.h"
#include "cli/posix/work_folder.h"
#include "cli/print.h"
#include "cli/profile_options.h"
#include "cli/record_target.h"
#include "cli/values.h"
#include "millrace/placement/place.h"
#include "millrace/udp/step.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Result;
using host::Status;
namespace fs = std::filesystem;

namespace {

constexpr uint64_t kLeastBudget = 64;  // bytes that are still worth a round
constexpr unsigned kTrims = 3;
constexpr const char* kUnfit = ";\"$#&?\\\n";
constexpr uint32_t kSampleIntervalNs = 10'000;  // 16,384 samples in 0.16 s of the board's time

struct Program {
  profile::ElfIndex index;
  profile::Target target;
  std::vector<uint8_t> trace;
  profile::SampleSet samples;  // of its sampler
};

class Loop {
 public:
  Loop(const TuneSettings& settings, const TuneHooks& hooks) : s_(settings), hooks_(hooks) {}

  Result<TuneResult> run() {
    Status status = find_source();
    if (status) status = stock();
    for (unsigned number = 1; status && number <= s_.rounds && result_.stopped.empty(); ++number) {
      status = round(number);
    }
    if (!status) {
      if (result_.rounds.empty()) return status.error();
      result_.trouble = status.error();
      result_.stopped = status.error().message;
    }
    if (result_.stopped.empty()) result_.stopped = "after " + plural(s_.rounds, "round");
    return std::move(result_);
  }

 private:
  // The build's own record of where its source is.
  Status find_source() {
    std::error_code ignored;
    fs::path folder = fs::absolute(s_.folder, ignored).lexically_normal();
    if (!fs::is_directory(folder, ignored)) {
      return usage("is no folder (name the one of a firmware build, such as build/arm)");
    }
    for (; !fs::exists(folder / "CMakeCache.txt", ignored); folder = folder.parent_path()) {
      if (folder == folder.parent_path()) {
        return usage("is in no CMake build (name that of the firmware, as `make firmware` makes)");
      }
    }
    std::ifstream cache(folder / "CMakeCache.txt");
    for (std::string line; std::getline(cache, line);) {
      constexpr std::string_view kHome = "CMAKE_HOME_DIRECTORY:INTERNAL=";
      if (line.rfind(kHome, 0) == 0) source_ = line.substr(kHome.size());
    }
    if (!fs::exists(fs::path(source_) / "firmware/ports/rt1062/fast_list.cmake", ignored)) {
      return usage("is a build of something else than Millrace's firmware");
    }
    const bool has_program = fs::exists(
        fs::path(source_) / "firmware/ports/rt1062/programs" / (s_.program + ".cc"), ignored);
    if (!has_program) {
      return Error{ErrorCode::usage,
                   fmt::format("--program: there is no firmware/ports/rt1062/programs/{}.cc",
                               printable(s_.program))};
    }
    // What would else be found out after minutes of building.
    Status status = check_board_machine(board_name(s_.folder, ""));
    const std::string whole = fs::absolute(s_.work, ignored).string();
    const size_t odd = whole.find_first_of(kUnfit);
    if (status && odd != std::string::npos) {
      return Error{
          ErrorCode::usage,
          fmt::format("--work {}: CMake, Ninja and board: names cannot carry '{}' in a path "
                      "(give a folder without it)",
                      printable(s_.work), printable(whole.substr(odd, 1)))};
    }
    if (status) status = work_.open("--work", s_.work);
    return status;
  }

  Error usage(const std::string& what) const {
    return Error{ErrorCode::usage, fmt::format("board:{} {}", printable(s_.folder), what)};
  }

  std::string file(const std::string& name) const { return work_.path() + "/" + name; }
  // A port's name for the board, without the scheme.
  std::string board_name(const std::string& image, const std::string& more) const {
    std::string out = image;
    for (const std::string* part : {&more, &s_.query}) {
      if (!part->empty()) out += (out.size() == image.size() ? '?' : '&') + *part;
    }
    return out;
  }

  // Builds the stock image, or that with `list`, and copies it to `image`, with its map.
  Status build(const std::string& variant, const std::string& list, const std::string& image) {
    const std::string tree = file("build");
    std::string lines;
    Status status = run_command("configuring the firmware",
                                {"cmake", "-G", "Ninja", "-S", source_, "-B", tree,
                                 "-DCMAKE_TOOLCHAIN_FILE=" + source_ + "/cmake/arm-none-eabi.cmake",
                                 "-DCMAKE_BUILD_TYPE=Release", "-DMILLRACE_TESTS=OFF",
                                 "-DMILLRACE_FAST_LIST=" + list, "-DMILLRACE_VARIANTS=" + variant},
                                &lines);
    const std::string target = s_.program + "_" + variant;
    if (status) {
      status = run_command("building the firmware", {"cmake", "--build", tree, "--target", target},
                           &lines);
    }
    if (!status) {
      hooks_.on_output(lines);
      return status;
    }
    const std::string made = tree + "/firmware/ports/rt1062/" + target;
    std::error_code error;
    for (const char* kind : {".elf", ".map"}) {
      fs::copy_file(made + kind, image + kind, fs::copy_options::overwrite_existing, error);
      if (error) {
        return Error{ErrorCode::io, fmt::format("copy {}{}: {}", made, kind, error.message())};
      }
    }
    return Status();
  }

  Status load(const std::string& image, Program* out) {
    return load_program({image + ".elf", image + ".map", ""}, out);
  }
  static Status load_program(const ProgramOptions& options, Program* out) {
    LoadedProgram loaded;
    Status status = cli::load_program(options, &loaded);
    if (status) {
      out->index = std::move(loaded.index);
      out->target = std::move(loaded.target);
    }
    return status;
  }

  // Echoes as fast as they go, with a trace of it.
  Status measure(const std::string& image, Program* program, TuneRound* round) {
    round->image = image + ".elf";
    round->trace = image + ".trace";
    Result<std::unique_ptr<udp::DatagramPort>> port =
        make_board_datagrams(board_name(round->image, "trace=" + round->trace), {});
    if (!port) return port.error();
    udp::StepPlan plan;
    plan.bytes = s_.bytes;
    plan.in_flight = s_.in_flight;
    plan.duration_ns = int64_t{s_.step_ms} * 1'000'000;
    udp::Session session;
    session.keep_going = [] { return !interrupted(); };
    const udp::StepResult step = udp::run_step(**port, plan, session);
    const std::optional<Error> trouble = (*port)->trouble();
    Status finished = (*port)->finish();
    if (interrupted()) return Error{ErrorCode::interrupted, "measuring: interrupted"};
    if (trouble) return *trouble;
    if (!finished) return finished;
    if (step.answered == 0 || step.altered > 0) {
      return Error{ErrorCode::protocol,
                   fmt::format("{}: {} of {} datagrams were answered, {} of them altered",
                               round->image, step.answered, step.sent, step.altered)};
    }
    round->rate_per_s = step.answered_per_s;
    profile::Failure failure =
        profile::read_file(round->trace, profile::kMaxSampleFileBytes, &program->trace);
    placement::Prediction as_it_is;
    if (!failure) failure = predict(program, {}, &as_it_is);
    if (failure) return to_error(*failure);
    round->cycles = as_it_is.recorded.busy;
    return s_.by_samples ? sample(image, program, round) : Status();
  }

  // The sampler of the image itself, at the same work.
  Status sample(const std::string& image, Program* program, TuneRound* round) const {
    RecordLoad load;
    load.kind = LoadKind::udp;
    load.bytes = s_.bytes;
    load.in_flight = s_.in_flight;
    sampling::RecordPlan plan;
    plan.interval_ns = kSampleIntervalNs;
    sampling::RecordHooks hooks;
    hooks.keep_going = [] { return !interrupted(); };
    Result<RecordOutcome> taken =
        record_samples("board:" + board_name(round->image, ""), load, plan, round->image, hooks);
    if (interrupted()) return Error{ErrorCode::interrupted, "tune: interrupted"};
    if (!taken) return taken.error();
    if (taken->trouble) return *taken->trouble;
    program->samples = std::move(taken->samples);
    round->samples = image + ".samples";
    const std::vector<uint8_t> bytes = profile::sample_file(program->samples);
    return write_output(round->samples, {bytes.begin(), bytes.end()});
  }

  profile::Failure predict(Program* program, const placement::PlacementList& list,
                           placement::Prediction* out) const {
    placement::PredictOptions options;
    options.event = s_.event;
    return placement::predict(&program->index, program->target, program->trace, list, options, out);
  }

  Status stock() {
    hooks_.on_step("stock: building");
    TuneRound round;
    Status status = build("flash", "", file("stock"));
    if (status) status = load(file("stock"), &stock_);
    if (!status) return status;
    hooks_.on_step("stock: measuring on the virtual board");
    status = measure(file("stock"), &stock_, &round);
    if (!status) return status;
    hooks_.on_round(round);
    result_.rounds.push_back(std::move(round));
    return status;
  }

  // `list` with what `program` is best given besides.
  static profile::Failure grow(Program* program, bool by_samples, uint64_t budget,
                               placement::PlacementList* list) {
    profile::SampleSet of_trace;
    profile::Failure failure;
    if (!by_samples) {
      failure =
          profile::parse_samples("the trace", program->trace, profile::ReadOptions(), &of_trace);
    }
    placement::PlaceOptions options;
    options.budget = budget;
    placement::Placement placed;
    if (!failure) {
      failure = by_samples ? placement::place(&program->index, program->samples, {},
                                              program->target, options, &placed)
                           : placement::place(&program->index, of_trace, program->trace,
                                              program->target, options, &placed);
    }
    if (failure) return failure;
    for (const placement::Entry& entry : placed.list.entries) {
      if (std::find(list->entries.begin(), list->entries.end(), entry) == list->entries.end()) {
        list->entries.push_back(entry);
      }
    }
    return {};
  }

  profile::Failure check(Program* program, const placement::PlacementList& list,
                         placement::CheckReport* out) {
    placement::CheckOptions options;
    options.list = &list;
    options.budget = s_.budget;
    options.before = &stock_.index;
    return placement::check(&program->index, program->target, options, out);
  }

  // Builds and checks `list`; one that takes more than the budget is made anew with less.
  Status realise(Program* from, uint64_t budget, const std::string& image,
                 placement::PlacementList* list, Program* out, TuneRound* round) {
    const placement::PlacementList before = *list;
    for (unsigned trim = 0; trim < kTrims; ++trim) {
      *list = before;
      profile::Failure failure = grow(from, s_.by_samples, budget, list);
      if (failure) return to_error(*failure);
      if (list->entries.size() == before.entries.size()) return Status();
      Status status = write_output(
          image + ".list",
          list_text(*list, {fmt::format("millrace tune, budget {} bytes", s_.budget)}));
      if (status) status = build("placed", image + ".list", image);
      if (status) status = load(image, out);
      if (!status) return status;
      failure = check(out, *list, &round->check);
      if (failure) return to_error(*failure);
      round->fast_bytes =
          round->check.fast.bytes - std::min(round->check.fast.bytes, round->check.fast.before);
      if (round->fast_bytes <= s_.budget) return Status();
      const uint64_t over = round->fast_bytes - s_.budget;
      if (budget <= over + kLeastBudget) break;
      budget -= over;
    }
    *list = before;
    return Status();
  }

  Status round(unsigned number) {
    TuneRound round;
    round.number = number;
    const TuneRound& last = result_.rounds.back();
    Program& from = number == 1 ? stock_ : placed_;
    const uint64_t left = s_.budget - std::min(s_.budget, last.fast_bytes);
    if (left < kLeastBudget) {
      result_.stopped = "the budget is spent";
      return Status();
    }
    hooks_.on_step(fmt::format("round {}: placing and building", number));
    placement::PlacementList list = list_;
    const std::string image = file(fmt::format("round{}", number));
    Program made;
    Status status = realise(&from, left, image, &list, &made, &round);
    if (!status) return status;
    if (list.entries.size() == list_.entries.size()) {
      result_.stopped = "nothing more is worth moving within the budget";
      return status;
    }
    placement::Prediction predicted;
    profile::Failure failure = predict(&from, list, &predicted);
    if (!failure && s_.by_samples) {
      placement::PlacementList other = list_;
      failure = grow(&from, false, left, &other);
      placement::Prediction by_trace;
      if (!failure) failure = predict(&from, other, &by_trace);
      if (!failure && by_trace.is_usable) round.predicted_by_trace = std::move(by_trace);
    }
    if (failure) return to_error(*failure);
    if (number > 1 && predicted.is_usable &&
        predicted.predicted.busy > (1 - s_.least_gain) * last.cycles) {
      result_.stopped = fmt::format(
          "another round would gain {:.1f} % of what an event takes, "
          "less than {:.0f} %",
          100 * (1 - predicted.predicted.busy / last.cycles), 100 * s_.least_gain);
      return status;
    }
    round.list = image + ".list";
    round.entries = list.entries.size();
    round.predicted = predicted;
    if (predicted.is_usable && predicted.predicted.busy > 0) {
      round.predicted_per_s = last.rate_per_s * last.cycles / predicted.predicted.busy;
    }
    hooks_.on_step(fmt::format("round {}: measuring on the virtual board", number));
    status = measure(image, &made, &round);
    if (!status) return status;
    hooks_.on_round(round);
    const bool is_better = round.cycles < result_.rounds[result_.best].cycles;
    result_.rounds.push_back(std::move(round));
    if (!is_better) {
      result_.stopped = "the last round did not make it faster";
      return status;
    }
    result_.best = result_.rounds.size() - 1;
    if (result_.rounds.back().check.worst() == placement::CheckStatus::failed) {
      result_.stopped = "a check failed";
    }
    list_ = std::move(list);
    placed_ = std::move(made);
    return status;
  }

  const TuneSettings& s_;
  const TuneHooks& hooks_;
  std::string source_;
  WorkFolder work_;
  Program stock_, placed_;
  placement::PlacementList list_;
  TuneResult result_;
};

}  // namespace

Result<TuneResult> tune(const TuneSettings& settings, const TuneHooks& hooks) {
  return Loop(settings, hooks).run();
}

}  // namespace millrace::cli
