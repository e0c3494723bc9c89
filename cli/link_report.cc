// SPDX-License-Identifier: Apache-2.0
#include "cli/link_report.h"

#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/command_line.h"
#include "cli/link_options.h"
#include "cli/print.h"
#include "cli/result_json.h"
#include "cli/run_report.h"
#include "cli/table.h"
#include "cli/values.h"
#include "millrace/host/usb_ceiling.h"

namespace millrace::cli {

double LinkRun::wire_ratio() const {
  const uint64_t wire = direction == "out" ? statistics.wire_out_bytes - statistics.ack_out_bytes
                                           : statistics.wire_in_bytes - statistics.ack_in_bytes;
  return bytes == 0 ? 0 : static_cast<double>(wire) / static_cast<double>(bytes);
}

double LinkRun::ack_ratio() const {
  const uint64_t acks = direction == "out" ? statistics.ack_in_bytes : statistics.ack_out_bytes;
  return bytes == 0 ? 0 : static_cast<double>(acks) / static_cast<double>(bytes);
}

double LinkRun::ceiling_bytes_per_s() const {
  return port ? host::usb_ceiling_bytes_per_s(port->usb_speed_mbit) : 0;
}

namespace {

// Below this the frames that open and end a session are most of what is counted and timed: no
// rates.
constexpr uint64_t kRatioBytes = 65536;

std::string line(const std::string& text) { return wrap(text, kWidth, 2) + '\n'; }

std::string result_line(const LinkRun& run) {
  std::string out =
      fmt::format("{} {}", run.direction == "out" ? "sent" : "received", plural(run.bytes, "byte"));
  if (run.seconds > 0) out += " in " + duration(run.seconds * 1e9);
  if (run.seconds > 0 && run.bytes >= kRatioBytes) {
    out += fmt::format(": {} MB/s", megabytes_per_s(run.bytes_per_s()));
    if (const double ceiling = run.ceiling_bytes_per_s(); ceiling > 0) {
      out += fmt::format(" of {:.3f} MB/s ({:.1f} %)", ceiling / 1e6,
                         100 * run.bytes_per_s() / ceiling);
    }
  }
  if (run.is_predicted) out += ", predicted";
  if (run.wrong_bytes) out += fmt::format(", {} wrong", plural(*run.wrong_bytes, "byte"));
  if (run.port && is_pty(*run.port)) out += " (not USB: no ceiling)";
  return out;
}

std::string wire_line(const LinkRun& run) {
  if (run.bytes >= kRatioBytes) {
    return fmt::format("wire bytes per byte {:.4f}, acknowledgements {:.3f} %", run.wire_ratio(),
                       100 * run.ack_ratio());
  }
  const double bytes = static_cast<double>(run.bytes);
  return fmt::format("on the wire {}, acknowledgements {}",
                     plural(static_cast<uint64_t>(std::llround(run.wire_ratio() * bytes)), "byte"),
                     plural(static_cast<uint64_t>(std::llround(run.ack_ratio() * bytes)), "byte"));
}

}  // namespace

std::string link_report(const LinkRun& run) {
  const host::LinkStatistics& s = run.statistics;
  std::string out = line(result_line(run));
  if (run.port) out += line("port " + host::printable(port_line(*run.port)));
  for (const std::string& said : run.device_says) out += line("device: " + host::printable(said));
  out += line(wire_line(run));
  out += line(fmt::format(
      "damaged frames {}, skipped bytes {}, frames twice {}, sent again by us {}, probes {}",
      grouped(s.damaged_frames), grouped(s.skipped_bytes), grouped(s.duplicate_frames),
      grouped(s.resent_frames), grouped(s.probes)));
  out += line(fmt::format("gaps {} ({}), connections {}, replugs {}", grouped(s.gaps),
                          plural(s.gap_bytes, "byte"), grouped(s.connections), grouped(s.replugs)));
  const bool is_out = run.direction == "out";
  out += line(fmt::format("round trip {} (least {}), longest silence {}, window {} frames ({})",
                          duration(s.smoothed_rtt_us * 1000), duration(s.min_rtt_us * 1000),
                          duration(s.longest_silence_us * 1000),
                          grouped(is_out ? s.window_out_frames : s.window_in_frames),
                          human_bytes(is_out ? s.window_out_bytes : s.window_in_bytes)));
  if (run.device_buffer_bytes != 0 && run.bytes_per_s() > 0 && run.bytes >= kRatioBytes) {
    const double bridge = static_cast<double>(run.device_buffer_bytes) / run.bytes_per_s();
    out += line(fmt::format("the device keeps {}: a stall of {} at this rate",
                            human_bytes(run.device_buffer_bytes), duration(bridge * 1e9)));
  }
  if (run.cpu_ns_per_byte > 0 && run.bytes >= kRatioBytes) {
    out += fmt::format("CPU {:.2f} ns/B = {:.2f} s/GB\n", run.cpu_ns_per_byte, run.cpu_ns_per_byte);
  }
  return out;
}

Json to_json(const LinkRun& run) {
  const host::LinkStatistics& s = run.statistics;
  return {{"direction", run.direction},
          {"damage", run.damage},
          {"bytes", run.bytes},
          {"wrong_bytes", run.wrong_bytes ? Json(*run.wrong_bytes) : Json()},
          {"device_says", run.device_says},
          {"port", run.port ? to_json(*run.port) : Json()},
          {"is_predicted", run.is_predicted},
          {"ceiling_bytes_per_s", run.ceiling_bytes_per_s()},
          {"seconds", run.seconds},
          {"bytes_per_s", run.bytes_per_s()},
          {"wire_ratio", run.wire_ratio()},
          {"ack_ratio", run.ack_ratio()},
          {"cpu_ns_per_byte", run.cpu_ns_per_byte},
          {"device_buffer_bytes", run.device_buffer_bytes},
          {"error", run.error},
          {"statistics",
           {{"received_bytes", s.received_bytes},
            {"sent_bytes", s.sent_bytes},
            {"wire_in_bytes", s.wire_in_bytes},
            {"wire_out_bytes", s.wire_out_bytes},
            {"ack_in_bytes", s.ack_in_bytes},
            {"ack_out_bytes", s.ack_out_bytes},
            {"damaged_frames", s.damaged_frames},
            {"skipped_bytes", s.skipped_bytes},
            {"duplicate_frames", s.duplicate_frames},
            {"old_frames", s.old_frames},
            {"resent_frames", s.resent_frames},
            {"gaps", s.gaps},
            {"gap_bytes", s.gap_bytes},
            {"probes", s.probes},
            {"connections", s.connections},
            {"replugs", s.replugs},
            {"smoothed_rtt_us", s.smoothed_rtt_us},
            {"min_rtt_us", s.min_rtt_us},
            {"longest_silence_us", s.longest_silence_us},
            {"longest_reconnect_us", s.longest_reconnect_us},
            {"window_in_frames", s.window_in_frames},
            {"window_in_bytes", s.window_in_bytes},
            {"window_out_frames", s.window_out_frames},
            {"window_out_bytes", s.window_out_bytes}}}};
}

void add_link_port(Command& command, LinkPort* port) {
  command.positional("PORT", kPortHelp, ValueKind::port, true, &port->port);
  command.option("--timeout-ms", "MS", "How long to wait for an answer (3000)", ValueKind::text,
                 number_into(&port->settings.connect_timeout_ms, Scale::count, 1, 3600000));
  command.option(
      "--follow-ms", "MS", "How long to wait for a device that went away; 0: not at all (10000)",
      ValueKind::text, number_into(&port->settings.follow_replug_ms, Scale::count, 0, 3600000));
}

}  // namespace millrace::cli
