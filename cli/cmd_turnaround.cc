// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <cmath>
#include <cstdlib>
#include <optional>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/output_file.h"
#include "cli/outputs.h"
#include "cli/pair_csv.h"
#include "cli/print.h"
#include "cli/result_json.h"
#include "cli/terminal.h"
#include "cli/turnaround_live.h"
#include "cli/turnaround_report.h"
#include "cli/values.h"
#include "millrace/capture/capture_analysis.h"
#include "millrace/capture/live.h"

namespace millrace::cli {

using capture::ByteSource;
using capture::CaptureAnalysis;
using host::Error;
using host::ErrorCode;
using host::Result;
using host::Status;

namespace {

struct Options {
  TurnaroundView view;
  capture::AnalysisOptions analysis;
  OutputOptions outputs;
  LiveRun live;
};

// B.D as in Wireshark's addresses and `lsusb`.
Status parse_device(const std::string& text, std::optional<capture::DeviceKey>* device) {
  const size_t dot = text.find('.');
  const Error wrong{ErrorCode::usage, "give bus and address, such as 1.5"};
  if (dot == std::string::npos) return wrong;
  const Result<uint64_t> bus = parse_number(text.substr(0, dot), Scale::count, 0, 65535);
  const Result<uint64_t> address = parse_number(text.substr(dot + 1), Scale::count, 0, 65535);
  if (!bus || !address) return wrong;
  *device = capture::device_key(static_cast<uint16_t>(*bus), static_cast<uint16_t>(*address));
  return Status();
}

// 2 or, as descriptors have it, 0x82.
ValueParser endpoint_into(std::optional<uint8_t>* target, bool is_in) {
  return [target, is_in](const std::string& text) {
    char* end = nullptr;
    const unsigned long value = std::strtoul(text.c_str(), &end, 0);
    const bool is_number = !text.empty() && text[0] != '-' && *end == '\0';
    const bool fits = value <= 15 || (is_in && value >= 0x80 && value <= 0x8f);
    if (!is_number || !fits) {
      return Status(Error{ErrorCode::usage, is_in ? "give an endpoint, such as 2 or 0x82"
                                                  : "give an endpoint, such as 2"});
    }
    *target = static_cast<uint8_t>((value & 0x0f) | (is_in ? 0x80 : 0));
    return Status();
  };
}

int fail_input(const Error& error, const std::string& name) {
  const int code = fail(error);
  // A file is no device: what cannot be read is a name that cannot be right. A bus is.
  return code == kGone && !LiveRun::is_live(name) ? kUsage : code;
}

bool is_cut_short(const CaptureAnalysis& analysis) {
  return interrupted() || (analysis.error && analysis.error->code == ErrorCode::interrupted);
}

int code_of(const CaptureAnalysis& analysis) {
  if (is_cut_short(analysis)) return kInterrupted;
  if (analysis.error) return kFailed;
  const capture::DeviceAnalysis* device = nullptr;
  if (analysis.headline(&device) == nullptr || !analysis.file.damage.empty()) return kFailed;
  return kOk;
}

// What stands in the way of an answer, when there is nothing at all to report on.
Status usable(const CaptureAnalysis& a, const Options& options) {
  const std::string name = printable(options.view.name);
  if (a.error && !is_cut_short(a)) return *a.error;
  if (!a.devices.empty() || a.error) return Status();
  if (options.analysis.device) {
    return Error{ErrorCode::usage,
                 fmt::format("{}: has no device {} (without --device all are shown)", name,
                             device_name(*options.analysis.device))};
  }
  if (a.foreign_records != 0 && a.foreign_records == a.file.records) {
    return Error{ErrorCode::usage,
                 fmt::format("{}: is no capture of USB but of link type {} (capture usbmon1, not a "
                             "network interface)",
                             name, a.link_types.begin()->first)};
  }
  std::string why = "has no USB traffic";
  if (a.has_packets()) {
    why = fmt::format("has {} but no transfer that was acknowledged",
                      plural(a.packets.packets, "packet"));
    if (a.packets.split != 0) {
      return Error{ErrorCode::usage,
                   fmt::format("{}: {}: its {}, by which a fast hub serves a slower device, {} not "
                               "put together (capture between the hub and the device)",
                               name, why, plural(a.packets.split, "split transaction"),
                               a.packets.split == 1 ? "is" : "are")};
    }
  }
  if (a.file.records == 0 && a.file.cut_short) why = "ends within its first record";
  if (!a.file.damage.empty()) why += ": " + a.file.damage;
  if (a.undecoded != 0)
    why = fmt::format("has {} that {} no sense", plural(a.undecoded, "record"),
                      a.undecoded == 1 ? "makes" : "make");
  return Error{ErrorCode::usage, fmt::format("{}: {} (was anything captured?)", name, why)};
}

// The pings as this program saw them: the turnaround and what the host adds to it.
std::string ping_report(const capture::PingResult& pings) {
  const auto us = [&](double share) {
    return microseconds(static_cast<double>(pings.rtt.quantile(share)));
  };
  std::string out = fmt::format(
      "pings          {} sent, {} answered, round trip p50 {}, p99 {}, max "
      "{} us\n",
      grouped(pings.sent), grouped(pings.answered), us(0.5), us(0.99), us(1));
  if (!pings.trouble.empty()) out += printable(pings.trouble) + '\n';
  return out;
}

int report(const Options& options, const CaptureAnalysis& analysis,
           const std::optional<capture::PingResult>& pings, const Invocation& invocation) {
  std::FILE* out = report_file(options.outputs);
  if (is_cut_short(analysis) && analysis.devices.empty()) {
    print(out, "{}", interrupted_before("the first transfer"));
    return kInterrupted;
  }
  if (const Status sense = usable(analysis, options); !sense)
    return fail_input(sense.error(), options.view.name);
  print(out, "{}", turnaround_report(analysis, options.view, Colour(out)));
  if (pings) print(out, "\n{}", ping_report(*pings));
  if (is_cut_short(analysis)) print(out, "\ninterrupted: this is what came until then\n");
  const int code = code_of(analysis);
  Json document = result_document("turnaround", invocation);
  document["source"] = options.view.name;
  add_turnaround_json(analysis, &document);
  if (pings) document["pings"] = pings_json(*pings);
  OutputOptions json_only = options.outputs;
  json_only.csv.clear();
  const Status written = write_outputs(json_only, document);
  return written ? code : worse(code, fail_output(written.error()));
}

int run(Options& options, const Invocation& invocation) {
  if (const Status sense = options.live.check(options.view.name); !sense) {
    return fail_input(sense.error(), options.view.name);
  }
  for (const Status& writable : {check_outputs(options.outputs), options.live.check_save()}) {
    if (!writable) return fail_output(writable.error());
  }
  catch_interrupt();
  const auto goes_on = [] { return !interrupted(); };
  Result<std::unique_ptr<ByteSource>> source =
      LiveRun::is_live(options.view.name) ? options.live.open(options.view.name)
                                          : capture::open_capture(options.view.name, goes_on);
  if (!source) return fail_input(source.error(), options.view.name);
  PairCsv csv;
  if (!options.outputs.csv.empty()) {
    if (const Status opened = csv.open(options.outputs.csv); !opened) {
      return fail_output(opened.error());
    }
    options.analysis.on_pair = [&csv](const capture::Pair& pair) { csv.write(pair); };
  }
  // A live capture ends by itself, with what it has.
  if (!LiveRun::is_live(options.view.name)) options.analysis.keep_going = goes_on;
  const Result<std::unique_ptr<CaptureAnalysis>> analysis =
      capture::analyse(source->get(), printable(options.view.name), options.analysis);
  if (!analysis) return fail_input(analysis.error(), options.view.name);
  const Status saved = options.live.close();
  int code = report(options, **analysis, options.live.pings(), invocation);
  for (const Status& closed : {saved, csv.close()}) {
    if (!closed) code = worse(code, fail_output(closed.error()));
  }
  return code;
}

}  // namespace

void add_turnaround(Command parent, const Program& program) {
  const auto options = std::make_shared<Options>();
  capture::AnalysisOptions& a = options->analysis;
  Command command = parent.add_command(
      "turnaround", "How long a device takes to answer, from a capture of USB traffic",
      "Examples:\n"
      "  millrace turnaround usb.pcapng\n"
      "  millrace turnaround usb.pcap --device 1.5 --out 2 --in 2 --json result.json\n"
      "  zcat usb.pcap.gz | millrace turnaround - --csv pairs.csv\n"
      "  millrace turnaround usbmon1 --ping 300 --to 192.168.7.1 --save pings.pcapng\n"
      "Reads pcap and pcapng with usbmon (189, 220), USBPcap (249) or packets of a bus analyser\n"
      "(288, 293, 294, 295), and the text of usbmon. Turnaround is the time from the end of an "
      "OUT\n"
      "transfer to the end of the IN transfer that answers it, in us; the first figure is the\n"
      "median of the first 300 pairs. Exit code 1 if nothing is answered or the file is damaged.");
  command.positional("CAPTURE",
                     "A file, - for standard input, or usbmonN to capture bus N (usbmon0: all) now",
                     ValueKind::file, true, &options->view.name);
  command.option("--device", "BUS.ADDRESS", "This device alone (1.5)", ValueKind::text,
                 [&a](const std::string& text) { return parse_device(text, &a.device); });
  command.option("--out", "ENDPOINT", "Requests of this OUT endpoint alone", ValueKind::text,
                 endpoint_into(&a.out_endpoint, false));
  command.option("--in", "ENDPOINT", "Replies of this IN endpoint alone", ValueKind::text,
                 endpoint_into(&a.in_endpoint, true));
  command.option("--timeout-ms", "MS", "A reply that takes longer is none (1000)", ValueKind::text,
                 [&a](const std::string& text) {
                   const Result<uint64_t> ms = parse_number(text, Scale::count, 1, 3'600'000);
                   if (!ms) return Status(ms.error());
                   a.timeout_ns = static_cast<int64_t>(*ms) * 1'000'000;
                   return Status();
                 });
  command.flag("--all", "Details of every device, not of the first alone",
               &options->view.all_devices);
  add_json_option(command, &options->outputs);
  command.text("--csv", "FILE", "Write every pair as a line of CSV; - is stdout", ValueKind::output,
               &options->outputs.csv);
  options->live.add_options(command);
  command.action([options, &program] { return run(*options, program.invocation); });
}

}  // namespace millrace::cli
