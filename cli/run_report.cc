// SPDX-License-Identifier: Apache-2.0
#include "cli/run_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "cli/exit_code.h"
#include "cli/fault_text.h"
#include "cli/print.h"
#include "cli/table.h"
#include "cli/values.h"

namespace millrace::cli {

using host::Histogram;
using host::RunResult;

namespace {

constexpr size_t kKeyWidth = 15;
constexpr KeyRow row(kKeyWidth);
constexpr size_t kFaultsShown = 20;

std::string device_line(const RunResult& result) {
  if (result.end == host::RunEnd::no_answer) return "it did not answer";
  if (!result.hello) return "classic protocol: it tells nothing about itself";
  const link::Hello& hello = *result.hello;
  std::string out =
      fmt::format("{} {} on {}", hello.firmware_name, hello.firmware_version, hello.board);
  if (hello.usb_speed_mbit != 0) {
    out += fmt::format(", {}USB {} Mbit/s", result.port.is_usb ? "" : "claims to be at ",
                       hello.usb_speed_mbit);
  }
  out += fmt::format(", transmit buffer {} B", grouped(hello.tx_buffer_bytes));
  if (hello.boot_counter != 0) out += fmt::format(", boot {}", hello.boot_counter);
  return out;
}

std::string run_line(const RunResult& result) {
  const host::RunSettings& settings = result.settings;
  std::string out = fmt::format(
      "{}, {} of {} B, acknowledge {}, seed {}, {} protocol", direction_name(settings.direction),
      plural(settings.frame_count, "frame"), grouped(settings.frame_size),
      ack_name(settings.window_frames), settings.seed, protocol_name(result.protocol));
  if (settings.discard_mode) {
    out += fmt::format(", discard mode after {} ms", settings.discard_after_ms);
  }
  return out;
}

std::string end_line(const RunResult& result) {
  const uint64_t frames_asked = uint64_t{result.settings.frame_count} *
                                (result.settings.direction == link::Direction::both ? 2U : 1U);
  std::string out = end_name(result.end);
  if (result.duration_ns > 0) {
    out += " after " + duration(static_cast<double>(result.duration_ns));
  }
  out += fmt::format(": {} of {}", grouped(result.frames), plural(frames_asked, "frame"));
  if (!result.end_detail.empty()) out += "; " + result.end_detail;
  return out;
}

double per_second(uint64_t count, int64_t ns) {
  return ns <= 0 ? 0 : static_cast<double>(count) * 1e9 / static_cast<double>(ns);
}

std::string times(const Histogram& ns) {
  const auto at = [&](double q) { return duration(static_cast<double>(ns.quantile(q))); };
  return fmt::format("min {}, mean {}, p50 {}, p99 {}, p99.9 {}, max {}",
                     duration(static_cast<double>(ns.min())), duration(ns.mean()), at(0.5),
                     at(0.99), at(0.999), duration(static_cast<double>(ns.max())));
}

// Octaves of bytes per read, with bars.
std::string read_histogram(const Histogram& sizes) {
  uint64_t counts[64] = {};
  sizes.for_each([&](const Histogram::Bucket& bucket) {
    size_t octave = 0;
    while (octave < 63 && (bucket.low >> (octave + 1)) != 0) ++octave;
    counts[octave] += bucket.count;
  });
  const uint64_t most = *std::max_element(std::begin(counts), std::end(counts));
  std::string out;
  for (size_t octave = 0; octave < 64; ++octave) {
    if (counts[octave] == 0) continue;
    const uint64_t low = uint64_t{1} << octave;
    const std::string range = fmt::format("{}..{} B", grouped(low), grouped(low * 2 - 1));
    const size_t bar = std::max<size_t>(1, static_cast<size_t>(counts[octave] * 40 / most));
    out += fmt::format("{:{}}{:>18}  {:<40} {}\n", "", kKeyWidth, range, std::string(bar, '#'),
                       grouped(counts[octave]));
  }
  return out;
}

std::string reader_rows(const RunResult& result) {
  const host::ReadStats& reads = result.reads;
  if (reads.reads == 0) return "";
  std::string out =
      row("reads/s",
          fmt::format("{}; {} in all, {} filled their {} B buffer; bytes per read "
                      "min {}, mean {}, max {}",
                      whole(per_second(reads.reads, result.duration_ns)), grouped(reads.reads),
                      grouped(reads.full_reads), grouped(result.settings.read_size),
                      grouped(reads.bytes_per_read.min()), whole(reads.bytes_per_read.mean()),
                      grouped(reads.bytes_per_read.max())));
  out += read_histogram(reads.bytes_per_read);
  out += row("silence", fmt::format("longest {}, after {}; a device buffer of {} would "
                                    "bridge it at this rate",
                                    duration(static_cast<double>(reads.longest_silence_ns)),
                                    plural(reads.longest_silence_offset, "byte"),
                                    human_bytes(result.bridge_buffer_bytes)));
  return out;
}

std::string counter_rows(const link::DeviceCounters& c, link::Direction direction) {
  std::string out;
  if (direction != link::Direction::out) {
    out += row("device sent",
               fmt::format("{} B offered, {} accepted, {} discarded; {}, {}; blocked {} in all, {} "
                           "at longest",
                           grouped(c.in_offered_bytes), grouped(c.in_accepted_bytes),
                           grouped(c.in_discarded_bytes), plural(c.short_writes, "short write"),
                           plural(c.discards, "discard"),
                           duration(static_cast<double>(c.total_blocked_us) * 1e3),
                           duration(static_cast<double>(c.longest_blocked_us) * 1e3)));
  }
  if (direction != link::Direction::in) {
    out += row("device got",
               fmt::format("{} B, {} verified, {} lost, {} duplicated, {} inserted, {} altered; {}",
                           grouped(c.out_received_bytes), grouped(c.out_verified_bytes),
                           grouped(c.out_lost_bytes), grouped(c.out_duplicated_bytes),
                           grouped(c.out_inserted_bytes), grouped(c.out_altered_bytes),
                           plural(c.out_faults, "fault")));
    if (c.out_faults != 0) {
      out += row("", fmt::format("the first: {} at offset {}",
                                 fault_kind_name(static_cast<link::FaultKind>(
                                     std::min<uint32_t>(c.out_first_fault_kind, 9))),
                                 grouped(c.out_first_fault_offset)));
    }
  }
  if (c.foreign_bytes != 0) {
    std::string text;
    const size_t kept = std::min<size_t>(c.foreign_bytes, sizeof c.first_foreign);
    for (size_t i = 0; i < kept; ++i) {
      const char byte = static_cast<char>(c.first_foreign[i]);
      text += byte >= 0x20 && byte < 0x7f ? byte : '.';
    }
    out += row("foreign", fmt::format("the device was sent {} that are no part of this protocol, "
                                      "first: \"{}\"",
                                      plural(c.foreign_bytes, "byte"), text));
  }
  return out;
}

std::string fault_rows(const RunResult& result, const Colour& colour) {
  const link::VerifierTotals& totals = result.in_totals;
  if (totals.faults == 0) return "";
  std::string kinds;
  for (size_t kind = 1; kind < std::size(totals.faults_of_kind); ++kind) {
    if (totals.faults_of_kind[kind] == 0) continue;
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", grouped(totals.faults_of_kind[kind]),
                         fault_kind_name(static_cast<link::FaultKind>(kind)));
  }
  std::string out =
      '\n' + row(colour.bad("faults"),
                 result.verdict.kind == host::VerdictKind::not_our_stream
                     ? fmt::format("{} ({}): this is not the stream that was asked for",
                                   grouped(totals.faults), kinds)
                     : fmt::format("{} ({}); {} B lost, {} duplicated, {} inserted, {} altered",
                                   grouped(totals.faults), kinds, grouped(totals.lost_bytes),
                                   grouped(totals.duplicated_bytes), grouped(totals.inserted_bytes),
                                   grouped(totals.altered_bytes)));
  const size_t shown = std::min(result.faults.size(), kFaultsShown);
  for (size_t i = 0; i < shown; ++i) {
    out +=
        wrap(fmt::format("{:>4}  {}", i + 1, fault_sentence(result.faults[i])), kWidth, 6) + '\n';
    out += fault_dump(result.faults[i], 6);
  }
  if (totals.faults > shown) {
    out += fmt::format("      and {} more (the result file keeps the first {})\n",
                       grouped(totals.faults - shown), RunResult::kMaxFaults);
  }
  return out;
}

std::string measured_rows(const RunResult& result) {
  std::string out;
  out += row("frames/s", whole(per_second(result.frames, result.duration_ns)));
  if (result.frame_delay_ns.count() != 0) out += row("frame delay", times(result.frame_delay_ns));
  if (result.ack_round_trip_ns.count() != 0) {
    out += row("ack round trip", times(result.ack_round_trip_ns));
  }
  out += reader_rows(result);
  out += row("CPU", fmt::format("read {:.1f} %, verify {:.1f} % of one core; {:.2f} ns per byte",
                                100 * result.cpu.read, 100 * result.cpu.verify,
                                result.cpu.total_ns_per_byte));
  return out;
}

}  // namespace

bool is_pty(const host::PortIdentity& port) {
  return !port.is_usb && (port.path.rfind("/dev/pts/", 0) == 0 || port.driver == "pty");
}

std::string port_line(const host::PortIdentity& port) {
  std::vector<std::string> parts = {port.path};
  if (is_pty(port)) parts.emplace_back("a PTY on this machine, not USB");
  if (!port.description.empty()) parts.push_back(port.description);
  if (port.usb_speed_mbit > 0) parts.push_back(fmt::format("USB {:g} Mbit/s", port.usb_speed_mbit));
  if (port.is_usb) parts.push_back(fmt::format("{:04x}:{:04x}", port.vid, port.pid));
  if (!port.serial_number.empty()) parts.push_back("serial number " + port.serial_number);
  if (!port.driver.empty()) parts.push_back("driver " + port.driver);
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

std::string rate_sentence(const RunResult& result) {
  if (result.in_bytes + result.out_bytes == 0) return "nothing was measured";
  std::string out = megabytes_per_s(result.bytes_per_s) + " MB/s";
  if (result.ceiling_bytes_per_s > 0) {
    out += fmt::format(" of {:.3f} MB/s ({:.1f} %)", result.ceiling_bytes_per_s / 1e6,
                       100 * result.bytes_per_s / result.ceiling_bytes_per_s);
  }
  if (result.packets_per_microframe > 0) {
    out += fmt::format(", {:.1f} of 13 packets per microframe", result.packets_per_microframe);
  }
  if (is_pty(result.port)) out += " on a PTY of this machine, not USB: no ceiling";
  return out;
}

std::string run_report(const RunResult& result, const Colour& colour) {
  const uint64_t verified = result.in_bytes + result.out_bytes;
  std::string out = colour.strong(rate_sentence(result)) + '\n';
  const std::string verdict = wrap(fmt::format("{}{}",
                                               cut_short(result) ? ""  // its sentence says so
                                               : result.failed() ? "FAILED: "
                                                                 : "ok: ",
                                               printable(result.verdict.sentence)),
                                   kWidth, 0);
  out += (result.failed() ? colour.bad(verdict) : colour.good(verdict)) + "\n\n";
  out += row("port", port_line(result.port));
  if (!result.transport_settings.empty()) out += row("", result.transport_settings);
  for (const std::string& holder : result.other_holders) out += row("also held by", holder);
  out += row("device", device_line(result));
  out += row("run", run_line(result));
  out += row("end", end_line(result));
  out += row("verified", fmt::format("{} B", grouped(verified)));
  if (result.not_delivered_bytes != 0) {
    out += row("not delivered",
               fmt::format("{} B: still to come when {}", grouped(result.not_delivered_bytes),
                           result.end == host::RunEnd::gone        ? "the device went away"
                           : result.end == host::RunEnd::reset     ? "the device started anew"
                           : result.end == host::RunEnd::no_answer ? "it was given up"
                                                                   : "the run was stopped"));
  }
  if (result.replug_ns != 0) {
    out += row("replug", fmt::format("back as {} after {}", result.replug_path,
                                     duration(static_cast<double>(result.replug_ns))));
  }
  if (result.stale_input_bytes != 0) {
    out += row("stale input", fmt::format("{} thrown away before the run",
                                          plural(result.stale_input_bytes, "byte")));
  }
  if (result.modem_lines) {
    out += row("modem lines",
               fmt::format(
                   "DTR {}, RTS {}, CTS {}, DSR {}, DCD {}", result.modem_lines->dtr ? "on" : "off",
                   result.modem_lines->rts ? "on" : "off", result.modem_lines->cts ? "on" : "off",
                   result.modem_lines->dsr ? "on" : "off", result.modem_lines->dcd ? "on" : "off"));
  }
  if (verified != 0) out += measured_rows(result);
  if (result.counters) out += counter_rows(*result.counters, result.settings.direction);
  return out + fault_rows(result, colour);
}

}  // namespace millrace::cli
