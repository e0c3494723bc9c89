// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <vector>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/link_report.h"
#include "cli/link_text.h"
#include "cli/outputs.h"
#include "cli/pc_endpoint.h"
#include "cli/print.h"
#include "cli/result_json.h"
#include "cli/table.h"
#include "cli/values.h"
#include "millrace/link/stream_cursor.h"

namespace millrace::cli {

using host::Error;
using host::LinkItem;
using host::LinkItemKind;
using host::LinkSession;
using host::Result;
using host::Status;

namespace {

constexpr uint8_t kData = 0;
constexpr int64_t kWaitNs = 100'000'000;
constexpr int64_t kSilenceNs = 10'000'000'000;

struct Options {
  LinkPort link;
  OutputOptions outputs;
  uint64_t bytes = 64u << 20;
  uint32_t seed = 42;
  uint32_t repeat = 1;
  uint64_t rate = 0;
  bool drop = false;
  bool out = false;
  bool table = false;
};

// Columns of --table; the fault syntax is that of pc: ports, each repeated all over the stream.
constexpr const char* kDamages[] = {"",
                                    "flip=1@500000+1000000",
                                    "flip=1@50000+100000",
                                    "drop=200@500000+1000000",
                                    "drop=200@50000+100000",
                                    "stall=120@10000000"};

// One measurement: a session, a stream of known bytes, and what became of them.
class Bench {
 public:
  Bench(LinkSession& session, const Options& options)
      : session_(session), options_(options), cursor_({options.seed, 1u << 20, 0xFFFFFFFF}) {}

  Status run(LinkRun* run) {
    run->direction = options_.out ? "out" : "in";
    run->port = session_.port();
    run->is_predicted = session_.clock().is_virtual();
    run->device_buffer_bytes = options_.out ? 0 : session_.device_buffer_bytes(kData);
    const int64_t start = session_.clock().now_ns();
    const std::clock_t cpu = std::clock();
    Status status = options_.out ? send(run) : receive(run);
    run->seconds = static_cast<double>(session_.clock().now_ns() - start) / 1e9;
    run->statistics = session_.statistics();
    if (run->bytes > 0 && !session_.clock().is_virtual()) {
      run->cpu_ns_per_byte = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC * 1e9 /
                             static_cast<double>(run->bytes);
    }
    return status;
  }

 private:
  Status wait() {
    const int64_t now = session_.clock().now_ns();
    if (last_progress_ns_ == 0) last_progress_ns_ = now;
    if (now - last_progress_ns_ > kSilenceNs) {
      return Error{host::ErrorCode::timeout, options_.link.port + ": the stream stopped for 10 s"};
    }
    return session_.wait(now + kWaitNs);
  }
  void progress() { last_progress_ns_ = session_.clock().now_ns(); }

  Status refused(const std::string& line) const {
    return Error{host::ErrorCode::protocol,
                 fmt::format("{}: the device does not take bench commands: {}", options_.link.port,
                             host::printable(line))};
  }

  Status receive(LinkRun* run) {
    std::string line = fmt::format("source {} seed {}", options_.bytes, options_.seed);
    if (options_.rate != 0) line += fmt::format(" rate {}", options_.rate);
    if (options_.drop) line += " drop";
    say_line(session_, line);
    while (true) {
      if (Status status = wait(); !status) return status;
      for (std::string answer; lines_.next(session_, &answer);) {
        if (answer.rfind("error", 0) == 0) return refused(answer);
      }
      for (LinkItem item = session_.peek(kData); item.kind != LinkItemKind::nothing;
           item = session_.peek(kData)) {
        progress();
        if (item.kind == LinkItemKind::end) {
          session_.consume(kData, 0);
          if (run->bytes + session_.statistics().gap_bytes == options_.bytes) return {};
          return Error{host::ErrorCode::protocol,
                       fmt::format("{}: the stream ended after {} bytes", options_.link.port,
                                   grouped(run->bytes))};
        }
        if (item.kind == LinkItemKind::gap) {
          cursor_.skip(item.gap_bytes);
          session_.consume(kData, 0);
          continue;
        }
        verify(item.data, run);
        session_.consume(kData, item.data.size());
      }
    }
  }

  void verify(std::span<const uint8_t> data, LinkRun* run) {
    if (!run->wrong_bytes) run->wrong_bytes = 0;
    run->bytes += data.size();
    while (!data.empty()) {
      const size_t right = cursor_.match(data.data(), data.size());
      data = data.subspan(right);
      if (data.empty()) return;
      ++*run->wrong_bytes;
      cursor_.skip(1);
      data = data.subspan(1);
    }
  }

  Status send(LinkRun* run) {
    say_line(session_, fmt::format("sink seed {}", options_.seed));
    std::vector<uint8_t> block(65536);
    uint64_t left = options_.bytes;
    size_t at = block.size();
    bool started = false;
    bool ended = false;
    while (true) {
      if (Status status = wait(); !status) return status;
      for (std::string answer; lines_.next(session_, &answer);) {
        progress();
        if (answer.rfind("error", 0) == 0) return refused(answer);
        started = true;
        if (answer.rfind("sunk ", 0) == 0)
          run->bytes = std::strtoull(answer.c_str() + 5, nullptr, 10);
        if (answer.rfind("wrong ", 0) != 0) continue;
        run->wrong_bytes = std::strtoull(answer.c_str() + 6, nullptr, 10);
        if (run->bytes == options_.bytes) return {};
        return Error{host::ErrorCode::protocol,
                     fmt::format("{}: {} of {} bytes reached the device's application",
                                 options_.link.port, grouped(run->bytes), grouped(options_.bytes))};
      }
      while (started && left > 0) {
        if (at == block.size()) {
          cursor_.read(block.data(), block.size());
          at = 0;
        }
        const size_t size = static_cast<size_t>(std::min<uint64_t>(left, block.size() - at));
        const size_t taken = session_.write(kData, {block.data() + at, size});
        at += taken;
        left -= taken;
        if (taken > 0) progress();
        if (taken < size) break;
      }
      if (started && left == 0 && !ended) ended = session_.end(kData);
    }
  }

  LinkSession& session_;
  const Options& options_;
  link::StreamCursor cursor_;
  DeviceLines lines_;
  int64_t last_progress_ns_ = 0;
};

// Opens `port` anew, so that every run has a device without a past.
Status run_once(const Options& options, const std::string& port, LinkRun* run) {
  Result<std::unique_ptr<host::Endpoint>> endpoint = host::make_endpoint(port, endpoint_schemes());
  if (!endpoint) return endpoint.error();
  host::LinkSettings settings = options.link.settings;
  settings.stop = &interrupted();
  Result<std::unique_ptr<LinkSession>> session = LinkSession::open(**endpoint, settings);
  if (!session) return session.error();
  Status status = Bench(**session, options).run(run);
  if (!status) run->error = status.error().message;
  (*session)->close(true);
  return status;
}

std::string table_text(const std::vector<LinkRun>& runs) {
  Table table({"<damage", "MB/s", "of clean", "wire/byte", "acks", "damaged", "wrong", "CPU ns/B"});
  for (const LinkRun& run : runs) {
    table.add({run.damage.empty() ? "none" : run.damage, megabytes_per_s(run.bytes_per_s()),
               fmt::format("{:.1f} %", 100 * run.bytes_per_s() / runs.front().bytes_per_s()),
               fmt::format("{:.4f}", run.wire_ratio()),
               fmt::format("{:.3f} %", 100 * run.ack_ratio()),
               grouped(run.statistics.damaged_frames), grouped(run.wrong_bytes.value_or(0)),
               fmt::format("{:.2f}", run.cpu_ns_per_byte)});
  }
  return table.text();
}

int run(const Options& options, const Invocation& invocation) {
  if (const Status writable = check_outputs(options.outputs); !writable) {
    return fail_output(writable.error());
  }
  const bool is_pc = options.link.port.rfind("pc:link", 0) == 0;
  if (options.table && (!is_pc || options.out)) {
    return fail(Error{host::ErrorCode::usage,
                      "--table needs the port pc:link and the direction in: only there the program "
                      "can damage the stream"});
  }
  std::FILE* out = report_file(options.outputs);
  catch_interrupt();
  std::vector<LinkRun> runs;
  int code = kOk;
  Json list = Json::array();
  const size_t rows = options.table ? std::size(kDamages) : options.repeat;
  for (size_t i = 0; i < rows; ++i) {
    LinkRun run;
    run.damage = options.table ? kDamages[i] : "";
    const std::string port =
        run.damage.empty() ? options.link.port : with_fault(options.link.port, run.damage);
    const Status status = run_once(options, port, &run);
    if (!status) code = worse(code, fail(status.error()));
    if (!status && run.direction.empty()) return code;  // never got so far
    if (run.wrong_bytes.value_or(0) != 0 || run.statistics.gaps != 0) code = worse(code, kFailed);
    list.push_back(to_json(run));
    runs.push_back(run);
    if (!options.table) print(out, "{}", link_report(run));
    if (code == kInterrupted || code == kGone) break;
  }
  if (options.table) print(out, "{}", table_text(runs));
  Json document = result_document("link bench", invocation);
  document["port_name"] = options.link.port;
  document["failed"] = code != kOk;
  document["runs"] = list;
  const Status written = write_outputs(options.outputs, document);
  return written ? code : worse(code, fail_output(written.error()));
}

}  // namespace

void add_link_bench(Command parent, const Program& program) {
  const auto options = std::make_shared<Options>();
  Command command = parent.add_command(
      "bench", "Goodput of a reliable stream, every byte verified",
      "Examples:\n"
      "  millrace link bench pc:link\n"
      "  millrace link bench /dev/ttyACM0 --bytes 1G --direction out\n"
      "  millrace link bench pc:link --table              under damage of several kinds\n"
      "  millrace link bench 'pc:link?drop=200@0+100000'  a chunk lost every 100,000 bytes\n"
      "  millrace link bench pc:link --rate 4000000 --drop  a producer that does not wait\n"
      "Rates are in MB/s (10^6 bytes a second). Exit code 1 if a byte was wrong or missing (a "
      "gap).");
  add_link_port(command, &options->link);
  command.option("--bytes", "BYTES", "Payload of a run; K, M, G = powers of 1,024 (64M)",
                 ValueKind::text, number_into(&options->bytes, Scale::bytes, 1, uint64_t{1} << 50));
  command.option("--seed", "N", "Seed of the stream (42)", ValueKind::text,
                 number_into(&options->seed, Scale::count, 0, UINT32_MAX));
  command.option("--rate", "BYTES_PER_S", "The device makes so much; 0: what the link takes (0)",
                 ValueKind::text, number_into(&options->rate, Scale::count, 0, UINT32_MAX));
  command.flag("--drop",
               "The device's producer does not wait: what does not fit becomes a gap, "
               "and the exit code 1",
               &options->drop);
  command.choice("--direction", "in: device to PC; out: PC to device (in)", {"in", "out"},
                 [options](const std::string& value) { options->out = value == "out"; });
  command.option("--repeat", "N", "Runs, one after the other (1)", ValueKind::text,
                 number_into(&options->repeat, Scale::count, 1, 10000));
  command.flag("--table", "One row for each kind of damage; port pc:link only", &options->table);
  add_json_option(command, &options->outputs);
  command.action([options, &program] { return run(*options, program.invocation); });
}

}  // namespace millrace::cli
