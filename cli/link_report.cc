// SPDX-License-Identifier: Apache-2.0
#include "cli/link_report.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "cli/command_line.h"
#include "cli/link_options.h"
#include "cli/values.h"

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

std::string link_report(const LinkRun& run) {
  const host::LinkStatistics& s = run.statistics;
  std::string out = fmt::format("{} {} bytes in {}: {} MB/s, {} wrong\n",
                                run.direction == "out" ? "sent" : "received", grouped(run.bytes),
                                duration(run.seconds * 1e9), megabytes_per_s(run.bytes_per_s()),
                                plural(run.wrong_bytes, "byte"));
  out += fmt::format("wire bytes per byte {:.4f}, acknowledgements {:.3f} %\n", run.wire_ratio(),
                     100 * run.ack_ratio());
  out += fmt::format(
      "damaged frames {}, skipped bytes {}, frames twice {}, sent again by us {}, probes {}\n",
      grouped(s.damaged_frames), grouped(s.skipped_bytes), grouped(s.duplicate_frames),
      grouped(s.resent_frames), grouped(s.probes));
  out += fmt::format("gaps {} ({} bytes), connections {}, replugs {}\n", grouped(s.gaps),
                     grouped(s.gap_bytes), grouped(s.connections), grouped(s.replugs));
  out += fmt::format("round trip {} (least {}), longest silence {}",
                     duration(s.smoothed_rtt_us * 1000), duration(s.min_rtt_us * 1000),
                     duration(s.longest_silence_us * 1000));
  if (run.device_buffer_bytes != 0 && run.bytes_per_s() > 0) {
    const double bridge = static_cast<double>(run.device_buffer_bytes) / run.bytes_per_s();
    out += fmt::format("; the device keeps {}: a stall of {} at this rate",
                       human_bytes(run.device_buffer_bytes), duration(bridge * 1e9));
  }
  out += '\n';
  if (run.cpu_ns_per_byte > 0) {
    out += fmt::format("CPU {:.2f} ns/B = {:.2f} s/GB\n", run.cpu_ns_per_byte, run.cpu_ns_per_byte);
  }
  return out;
}

Json to_json(const LinkRun& run) {
  const host::LinkStatistics& s = run.statistics;
  return {{"direction", run.direction},
          {"damage", run.damage},
          {"bytes", run.bytes},
          {"wrong_bytes", run.wrong_bytes},
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
            {"longest_reconnect_us", s.longest_reconnect_us}}}};
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
