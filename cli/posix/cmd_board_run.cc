// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/output_file.h"
#include "cli/outputs.h"
#include "cli/posix/board_image.h"
#include "cli/posix/board_options.h"
#include "cli/posix/board_report.h"
#include "cli/posix/gdb_listener.h"
#include "cli/posix/output_stream.h"
#include "cli/posix/uart_ports.h"
#include "cli/posix/usb_options.h"
#include "cli/posix/usb_run.h"
#include "cli/print.h"
#include "cli/result_json.h"
#include "cli/terminal.h"
#include "cli/values.h"
#include "millrace/board/board.h"

namespace millrace::cli {

using board::Board;
using board::StopInfo;
using board::StopReason;
using host::Error;
using host::ErrorCode;
using host::Result;
using host::Status;

namespace {

constexpr double kDefaultSeconds = 10;
constexpr double kMostSeconds = 1e6;
constexpr auto kPtyWait = std::chrono::milliseconds(5);
constexpr uint64_t kSliceNs = 1'000'000;    // between looks at Ctrl-C and PTYs
constexpr uint64_t kLiveSliceNs = 250'000;  // and at a serial port, for round trips
constexpr auto kMostBehind = std::chrono::milliseconds(100);

struct Options {
  ImageOptions image;
  std::optional<double> seconds;
  uint64_t cycles = 0;  // 0: not given
  std::string until;
  std::optional<uint64_t> gdb_port;
  std::vector<UartPlace> uarts;
  std::string itm, trace;
  BoardChoices board;
  UsbOptions usb;
  bool stats = false;
  OutputOptions outputs;
};

Result<double> parse_seconds(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value) || value < 0 || value > kMostSeconds) {
    return Error{ErrorCode::usage, "give simulated seconds, such as 0.25 or 10; 0 is without end"};
  }
  return value;
}

class Run {
 public:
  Run(const Options& options, const Invocation& invocation)
      : options_(options),
        invocation_(invocation),
        out_(report_file(options.outputs)),
        colour_(out_) {}

  int run();

 private:
  Status prepare();
  Status start_trace();
  StopInfo simulate();
  Result<StopInfo> debug();
  double seconds() const;
  uint64_t end_ns() const;
  bool time_is_up() const;
  StopInfo run_slice();
  bool exchange(bool is_asleep);
  bool is_live() const { return uarts_.has_pty() || usb_.is_live(); }
  void keep_pace(std::chrono::steady_clock::time_point* begun) const;
  bool is_over(std::chrono::steady_clock::time_point begun) const;
  int report(const StopInfo& stop);
  std::string sentence(const StopInfo& stop, int* code) const;
  int write_json(const StopInfo& stop, const std::string& text, int code);

  const Options& options_;
  const Invocation& invocation_;
  std::FILE* out_;
  Colour colour_;
  UartPorts uarts_;
  board::Image image_;
  UsbRun usb_;
  std::unique_ptr<Board> board_;
  OutputStream itm_, trace_file_;
  std::unique_ptr<board::TraceWriter> trace_;
};

Status Run::prepare() {
  Result<board::Image> image = load_image(options_.image);
  if (!image) return image.error();
  image_ = std::move(*image);
  BoardChoices choices = options_.board;
  if (Status loaded = load_timing_profile("--timing ", &choices); !loaded) return loaded;
  board::BoardOptions& board = choices.board;
  std::vector<UartPlace> places = options_.uarts;
  if (places.empty()) places.push_back({6, UartPlace::Kind::standard_output, ""});
  if (Status opened = uarts_.open(places, stderr, out_); !opened) return opened;
  uarts_.look_for(options_.until);
  board.uart_output = [this](unsigned uart, uint8_t byte) {
    uarts_.take(uart, byte);
    if (uarts_.found()) board_->request_stop();
  };
  board.semihosting_output = [this](uint8_t byte) {
    write_text(out_, std::string(1, static_cast<char>(byte)));
  };
  if (!options_.itm.empty()) {
    if (Status opened = itm_.open("--itm", options_.itm); !opened) return opened;
    board.itm_output = [this](uint8_t byte) { itm_.write({&byte, 1}); };
  }
  board.count_evictions_by_set = options_.stats;
  board::ImageError error;
  board_ = Board::create(image_, board, &error);
  if (board_ == nullptr) {
    return Error{error.bad_option ? ErrorCode::usage : ErrorCode::io, error.message};
  }
  if (Status started = usb_.start(options_.usb, *board_, stderr); !started) return started;
  if (options_.stats) board_->start_profile();
  return options_.trace.empty() ? Status() : start_trace();
}

Status Run::start_trace() {
  Status opened = trace_file_.open("--trace", options_.trace);
  if (!opened) return opened;
  trace_ = std::make_unique<board::TraceWriter>(
      trace_header(image_, *board_),
      [this](std::span<const uint8_t> bytes) { trace_file_.write(bytes); });
  board_->start_trace(trace_.get());
  return Status();
}

// Simulated; 0: without end.
double Run::seconds() const {
  return options_.seconds.value_or(usb_.is_paced() ? 0 : kDefaultSeconds);
}

// When --seconds end. Whole nanoseconds, as the board counts them: rounded up, so that the time
// asked for has passed by then.
uint64_t Run::end_ns() const {
  return seconds() > 0 ? static_cast<uint64_t>(std::ceil(seconds() * 1e9)) : UINT64_MAX;
}

bool Run::time_is_up() const {
  if (options_.cycles != 0) return board_->cycles() >= options_.cycles;
  return board_->ns() >= end_ns();
}

// Not ahead of the wall clock, where a person or a program looks on. A board that was stopped, or
// is too much for this machine, does not race to catch up.
void Run::keep_pace(std::chrono::steady_clock::time_point* begun) const {
  if (!is_live() || usb_.is_paced()) return;
  const auto due = *begun + std::chrono::nanoseconds(board_->ns());
  const auto now = std::chrono::steady_clock::now();
  if (due > now) std::this_thread::sleep_until(due);
  if (now - due > kMostBehind) *begun += now - due;
}

// --seconds by the wall clock: for a board that sleeps until somebody types.
bool Run::is_over(std::chrono::steady_clock::time_point begun) const {
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begun;
  return options_.cycles != 0 || (seconds() > 0 && passed.count() >= seconds());
}

StopInfo Run::run_slice() {
  const uint64_t now = board_->ns();
  const uint64_t slice = usb_.is_live() ? kLiveSliceNs : kSliceNs;
  const uint64_t end = std::min(now + slice, std::max(usb_.next_event_ns(), now + 1));
  if (options_.cycles != 0) {
    const double cycles = static_cast<double>(end - now) * static_cast<double>(board_->core_hz());
    const auto most = static_cast<uint64_t>(std::ceil(cycles * 1e-9));
    return board_->run_until(std::min(options_.cycles, board_->cycles() + most));
  }
  return board_->run_until_ns(std::min(end_ns(), end));
}

// True: something happened to the USB cable.
bool Run::exchange(bool is_asleep) {
  uarts_.exchange([this](unsigned uart, uint8_t byte) { return board_->uart_input(uart, byte); });
  return usb_.exchange(board_->ns(), is_asleep);
}

StopInfo Run::simulate() {
  catch_interrupt();
  const auto begun = std::chrono::steady_clock::now();
  auto pace = begun;
  for (;;) {
    StopInfo stop = run_slice();
    const bool is_asleep = stop.reason == StopReason::asleep;
    const bool is_event = exchange(is_asleep);
    if (interrupted() || uarts_.failed() || itm_.failed() || trace_file_.failed() ||
        usb_.failed()) {
      return stop;
    }
    if (is_asleep && is_event) continue;
    if (is_asleep && is_live() && !is_over(begun)) {
      std::this_thread::sleep_for(kPtyWait);  // somebody may still type
      continue;
    }
    if (stop.reason != StopReason::cycles || time_is_up()) return stop;
    keep_pace(&pace);
  }
}

Result<StopInfo> Run::debug() {
  catch_interrupt();
  GdbOptions gdb;
  gdb.port = static_cast<unsigned>(*options_.gdb_port);
  gdb.interrupted = &interrupted();
  gdb.on_listening = [](unsigned port) {
    write_now(stderr, fmt::format("millrace: waiting for gdb: target remote :{}\n", port));
  };
  gdb.between = [this] { exchange(false); };
  const Result<GdbOutcome> outcome = serve_gdb(*board_, gdb);
  if (!outcome) return outcome.error();
  return outcome->end == GdbEnd::stopped ? outcome->stop : StopInfo();
}

// What ended the run, and its exit code.
std::string Run::sentence(const StopInfo& stop, int* code) const {
  *code = kOk;
  const std::string when =
      fmt::format("after {} simulated", duration(static_cast<double>(board_->ns())));
  if (uarts_.found()) return fmt::format("saw the text of --until {}", when);
  switch (stop.reason) {
    case StopReason::locked_up:
      *code = kFailed;
      return fmt::format("{}: the core locked up {}: {}", printable(image_.path), when,
                         stop.detail);
    case StopReason::fault_loop:
      *code = kFailed;
      return fmt::format("{}: does nothing but fault {}: {}", printable(image_.path), when,
                         stop.detail);
    case StopReason::reset_loop:
      *code = kFailed;
      return fmt::format("{}: does nothing but reset itself {}: {}", printable(image_.path), when,
                         stop.detail);
    case StopReason::exited:
      if (!stop.detail.empty()) {
        *code = kFailed;
        return fmt::format("does not start again after a reset {}: {}", when, stop.detail);
      }
      *code = stop.exit_code == 0 ? kOk : kFailed;
      return fmt::format("the firmware ended with code {} {}", stop.exit_code, when);
    case StopReason::asleep:
      *code = options_.until.empty() ? kOk : kFailed;
      return fmt::format("the core sleeps and nothing can wake it, {}{}{}", when,
                         stop.detail.empty() ? "" : ": ", stop.detail);
    default:
      break;
  }
  const std::string fault = board_->fault_state();
  if (!fault.empty()) {
    *code = kFailed;
    return fmt::format("{}: is in a fault handler {}: {}", printable(image_.path), when, fault);
  }
  if (!options_.until.empty()) {
    *code = kFailed;
    return fmt::format("the text of --until did not come {}", when);
  }
  return fmt::format("stopped {}", when);
}

int Run::write_json(const StopInfo& stop, const std::string& text, int code) {
  if (options_.outputs.json.empty()) return code;
  Json document = result_document("board run", invocation_);
  document["image_path"] = image_.path;
  const bool by_user = interrupted() && stop.reason == StopReason::cycles;
  document["stop"] = {{"reason", uarts_.found() ? "until"
                                 : by_user      ? "requested"
                                                : stop_name(stop.reason)},
                      {"pc", stop.pc},
                      {"exit_code", stop.exit_code},
                      {"text", text}};
  document["board"] =
      to_json(image_, board_->stats(),
              options_.stats ? board_->profile() : std::vector<board::ProfileEntry>());
  document["board"]["trace_digest"] = fmt::format("{:016x}", board_->trace_digest());
  document["board"]["uart_bytes"] = Json::object();
  for (unsigned uart = 1; uart <= kUarts; ++uart) {
    if (uarts_.sent(uart) != 0) {
      document["board"]["uart_bytes"][fmt::format("LPUART{}", uart)] = uarts_.sent(uart);
    }
  }
  if (usb_.is_there()) document["board"]["usb"] = usb_.to_json();
  const Status written = write_outputs(options_.outputs, document);
  return written ? code : worse(code, fail_output(written.error()));
}

int Run::report(const StopInfo& stop) {
  int code = kOk;
  const std::string text = sentence(stop, &code);
  if (interrupted()) code = kInterrupted;
  write_text(stderr, fmt::format("millrace: {}\n", text));
  // A run that ended at its --until may have been too short for it.
  if (const std::string trouble = usb_.trouble(); !trouble.empty() && !uarts_.found()) {
    write_text(stderr, fmt::format("millrace: {}\n", trouble));
    code = worse(code, kFailed);
  }
  write_text(stderr, usb_.summary());
  const board::BoardStats stats = board_->stats();
  if (options_.stats) {
    print(out_, "\n{}", stats_report(image_, stats, board_->profile(), colour_));
  }
  const std::string unknown = unknown_report(image_, stats);
  if (!unknown.empty()) write_text(stderr, "\n" + unknown);
  for (unsigned uart = 1; uart <= kUarts; ++uart) {
    if (uarts_.sent(uart) != 0 && !uarts_.connected(uart)) {
      write_text(stderr,
                 fmt::format("LPUART{} sent {} bytes that went nowhere (--uart {}=stdout)\n", uart,
                             uarts_.sent(uart), uart));
    }
  }
  return write_json(stop, text, code);
}

int Run::run() {
  if (const Status writable = check_outputs(options_.outputs); !writable) {
    return fail_output(writable.error());
  }
  if (options_.gdb_port && (options_.seconds || options_.cycles != 0 || !options_.until.empty())) {
    return fail(Error{ErrorCode::usage,
                      "--gdb does not go with --seconds, --cycles or --until: the debugger says "
                      "when the run ends"});
  }
  if (options_.seconds && options_.cycles != 0) {
    return fail(Error{ErrorCode::usage, "give --seconds or --cycles, not both"});
  }
  if (const Status ready = prepare(); !ready) {
    fail(ready.error());
    return ready.error().code == ErrorCode::usage ? kUsage : kFailed;
  }
  StopInfo stop;
  if (options_.gdb_port) {
    const Result<StopInfo> debugged = debug();
    if (!debugged) return fail(debugged.error());
    stop = *debugged;
  } else {
    stop = simulate();
  }
  const Status finished = uarts_.finish();
  int code = report(stop);
  if (!finished) code = worse(code, fail(finished.error()));
  if (trace_ != nullptr) trace_->finish();
  board_.reset();
  if (const Status written = usb_.finish(); !written) code = worse(code, fail(written.error()));
  for (OutputStream* stream : {&itm_, &trace_file_}) {
    if (const Status closed = stream->close(); !closed) code = worse(code, fail(closed.error()));
  }
  return code;
}

}  // namespace

void add_board_run(Command parent, const Program& program) {
  const auto options = std::make_shared<Options>();
  Command command = parent.add_command(
      "run", "Run a firmware image on the virtual Teensy 4.1",
      "Examples:\n"
      "  millrace board run blink.hex                     Serial1 (LPUART6) on stdout, 10 s\n"
      "  millrace board run app.elf --until ready --stats\n"
      "  millrace board run app.elf --seconds 0 --uart 6=pty:/tmp/serial1\n"
      "  millrace board run app.elf --cycles 6M --json run.json\n"
      "  millrace board run app.hex --usb pty=/tmp/teensy --seconds 0   a serial port for others\n"
      "  millrace board run net.hex --usb tap=teensy0 --seconds 0       a network interface\n"
      "  millrace board run app.hex --usb usbip           its USB device, for a real Linux\n"
      "  millrace board run app.hex --usb host --usb-at 1s=suspend,2s=resume --pcap usb.pcapng\n"
      "  millrace board run app.elf --gdb 3333            then: gdb-multiarch app.elf\n"
      "                                                         -ex 'target remote :3333'\n"
      "Seconds and cycles are simulated; every figure is predicted, not measured.\n"
      "Exit code 1 if the firmware faulted, did not boot, ended with an error or did not print\n"
      "the text of --until, and if it never showed what --usb pty or tap was to give.");
  add_image_options(command, &options->image);
  command.option("--seconds", "S", "Simulated seconds; 0 is without end (10; 0 with --usb usbip)",
                 ValueKind::text, [options](const std::string& text) {
                   const Result<double> seconds = parse_seconds(text);
                   if (!seconds) return Status(seconds.error());
                   options->seconds = *seconds;
                   return Status();
                 });
  command.option("--cycles", "N", "Core cycles instead of seconds; k, M = 1,000, 1,000,000",
                 ValueKind::text,
                 number_into(&options->cycles, Scale::count, 1, uint64_t{1} << 62));
  command.text("--until", "TEXT", "End when a UART has printed TEXT; else exit code 1",
               ValueKind::text, &options->until);
  command.option("--gdb", "PORT",
                 "Stand at the first instruction and wait for gdb on 127.0.0.1:PORT; 0: any port",
                 ValueKind::text, [options](const std::string& text) {
                   uint64_t port = 0;
                   Status status = number_into(&port, Scale::count, 0, 65535)(text);
                   if (status) options->gdb_port = port;
                   return status;
                 });
  command.option(
      "--uart", "N=PLACE",
      "LPUART1..8 to stdout, a file, pty or pty:LINK; may be repeated (6=stdout)",
      ValueKind::output,
      [options](const std::string& text) {
        const Result<UartPlace> place = parse_uart_place(text);
        if (!place) return Status(place.error());
        options->uarts.push_back(*place);
        return Status();
      },
      Repeats::yes, [](const std::string& text) { return parse_uart_place(text)->path; });
  add_usb_options(command, &options->usb);
  command.text("--itm", "FILE", "Write the bytes of ITM stimulus port 0", ValueKind::output,
               &options->itm);
  command.text("--trace", "FILE", "Write every block, miss and exception (spec/trace.md)",
               ValueKind::output, &options->trace);
  command.flag("--stats", "Print cycles, stalls by cause, caches and functions", &options->stats);
  add_board_options(command, &options->board);
  command.flag("--semihosting", "Answer BKPT 0xAB: console output and exit",
               &options->board.board.semihosting);
  add_json_option(command, &options->outputs);
  command.action([options, &program] { return Run(*options, program.invocation).run(); });
}

}  // namespace millrace::cli
