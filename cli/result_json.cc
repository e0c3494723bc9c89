// SPDX-License-Identifier: Apache-2.0
#include "cli/result_json.h"

#include <fmt/core.h>

#include "cli/fault_text.h"
#include "cli/machine.h"
#include "cli/run_report.h"
#include "cli/values.h"

namespace millrace::cli {

using host::Histogram;
using link::FaultKind;

Json histogram_json(const Histogram& histogram) {
  Json buckets = Json::array();
  histogram.for_each([&](const Histogram::Bucket& bucket) {
    buckets.push_back({bucket.low, bucket.high, bucket.count});
  });
  return {{"count", histogram.count()},
          {"min", histogram.min()},
          {"mean", histogram.mean()},
          {"p50", histogram.quantile(0.5)},
          {"p90", histogram.quantile(0.9)},
          {"p99", histogram.quantile(0.99)},
          {"p999", histogram.quantile(0.999)},
          {"max", histogram.max()},
          {"buckets", buckets}};
}

namespace {

constexpr int kSchemaVersion = 1;

std::string hex(const uint8_t* data, size_t size) {
  std::string out;
  for (size_t i = 0; i < size; ++i) out += fmt::format("{:02x}", data[i]);
  return out;
}

Json fault_json(const link::Fault& fault) {
  const size_t kept = std::min<size_t>(fault.sample_size, sizeof fault.received);
  const bool altered = fault.kind == FaultKind::flipped || fault.kind == FaultKind::replaced ||
                       fault.kind == FaultKind::stale_lines;
  return {{"kind", fault_kind_name(fault.kind)},
          {"sentence", fault_sentence(fault)},
          {"stream_offset", fault.stream_offset},
          {"wire_offset", fault.wire_offset},
          {"frame", fault.frame},
          {"word", fault.word},
          {"length_bytes", fault.length},
          {"received_length_bytes", fault.received_length},
          {"source_offset", fault.source_offset},
          {"flipped_bits", fault.flipped_bits},
          {"size_granule_bytes", static_cast<unsigned>(fault.size_granule)},
          {"start_granule_bytes", static_cast<unsigned>(fault.start_granule)},
          {"is_text", fault.is_text},
          {"received_hex", hex(fault.received, kept)},
          {"expected_hex", hex(fault.expected, altered ? kept : 0)}};
}

Json totals_json(const link::VerifierTotals& totals) {
  Json kinds = Json::object();
  for (size_t kind = 1; kind < std::size(totals.faults_of_kind); ++kind) {
    kinds[fault_kind_name(static_cast<FaultKind>(kind))] = totals.faults_of_kind[kind];
  }
  return {{"received_bytes", totals.received_bytes},
          {"verified_bytes", totals.verified_bytes},
          {"message_bytes", totals.message_bytes},
          {"lost_bytes", totals.lost_bytes},
          {"duplicated_bytes", totals.duplicated_bytes},
          {"inserted_bytes", totals.inserted_bytes},
          {"altered_bytes", totals.altered_bytes},
          {"flipped_bits", totals.flipped_bits},
          {"faults", totals.faults},
          {"faults_of_kind", kinds}};
}

Json counters_json(const link::DeviceCounters& c) {
  return {{"boot_counter", c.boot_counter},
          {"state", c.state},
          {"in_offered_bytes", c.in_offered_bytes},
          {"in_accepted_bytes", c.in_accepted_bytes},
          {"in_discarded_bytes", c.in_discarded_bytes},
          {"short_writes", c.short_writes},
          {"discards", c.discards},
          {"longest_blocked_us", c.longest_blocked_us},
          {"total_blocked_us", c.total_blocked_us},
          {"frames_sent", c.frames_sent},
          {"run_us", c.run_us},
          {"acks_received", c.acks_received},
          {"out_frames", c.out_frames},
          {"out_received_bytes", c.out_received_bytes},
          {"out_verified_bytes", c.out_verified_bytes},
          {"out_lost_bytes", c.out_lost_bytes},
          {"out_duplicated_bytes", c.out_duplicated_bytes},
          {"out_inserted_bytes", c.out_inserted_bytes},
          {"out_altered_bytes", c.out_altered_bytes},
          {"out_faults", c.out_faults},
          {"out_first_fault_kind", fault_kind_name(static_cast<FaultKind>(
                                       c.out_first_fault_kind > 9 ? 0 : c.out_first_fault_kind))},
          {"out_first_fault_offset", c.out_first_fault_offset},
          {"foreign_bytes", c.foreign_bytes},
          {"first_foreign_hex",
           hex(c.first_foreign, std::min<size_t>(c.foreign_bytes, sizeof c.first_foreign))},
          {"dropped_handshakes", c.dropped_handshakes}};
}

Json device_json(const host::RunResult& result) {
  Json device = {{"protocol", protocol_name(result.protocol)}};
  if (result.hello) {
    const link::Hello& hello = *result.hello;
    device["firmware_name"] = hello.firmware_name;
    device["firmware_version"] = hello.firmware_version;
    device["board"] = hello.board;
    device["boot_counter"] = hello.boot_counter;
    device["usb_speed_mbit"] = hello.usb_speed_mbit;
    device["tx_buffer_bytes"] = hello.tx_buffer_bytes;
    device["rx_buffer_bytes"] = hello.rx_buffer_bytes;
    device["max_frame_bytes"] = hello.max_frame_bytes;
    device["max_window_frames"] = hello.max_window_frames;
  }
  if (result.counters) device["counters"] = counters_json(*result.counters);
  if (!result.counters_during_run.empty()) {
    Json samples = Json::array();
    for (const auto& sample : result.counters_during_run) {
      samples.push_back({{"at_ns", sample.at_ns}, {"counters", counters_json(sample.counters)}});
    }
    device["counters_during_run"] = samples;
  }
  return device;
}

Json optional_flag(const std::optional<bool>& flag) { return flag ? Json(*flag) : Json(nullptr); }

const char* severity_name(host::Severity severity) {
  switch (severity) {
    case host::Severity::ok:
      return "ok";
    case host::Severity::note:
      return "note";
    case host::Severity::warning:
      return "warning";
    case host::Severity::problem:
      return "problem";
  }
  return "ok";
}

}  // namespace

Json result_document(const std::string& command, const Invocation& invocation) {
  const HostInfo host = host_info();
  return {{"schema_version", kSchemaVersion},
          {"tool", {{"name", "millrace"}, {"version", MILLRACE_VERSION}}},
          {"command", command},
          {"command_line", invocation.arguments},
          {"started_at", invocation.started_at},
          {"host",
           {{"os", host.os},
            {"kernel", host.kernel},
            {"cpu", host.cpu},
            {"logical_cpus", host.logical_cpus}}}};
}

Json to_json(const host::RunSettings& settings) {
  return {{"frame_size", settings.frame_size},
          {"frame_count", settings.frame_count},
          {"direction", direction_name(settings.direction)},
          {"ack", ack_name(settings.window_frames)},
          {"window_frames", settings.window_frames},
          {"seed", settings.seed},
          {"timeout_ms", settings.timeout_ms},
          {"protocol", protocol_name(settings.protocol)},
          {"read_size", settings.read_size},
          {"stop_on_error", settings.stop_on_error},
          {"counters_interval_ms", settings.counters_interval_ms},
          {"discard_mode", settings.discard_mode},
          {"discard_after_ms", settings.discard_after_ms},
          {"follow_replug_ms", settings.follow_replug_ms},
          {"dtr", optional_flag(settings.open.dtr)},
          {"rts", optional_flag(settings.open.rts)}};
}

Json to_json(const host::Verdict& verdict) {
  return {{"kind", verdict_name(verdict.kind)},
          {"failed", verdict.failed},
          {"sentence", verdict.sentence}};
}

Json to_json(const host::PortIdentity& port) {
  return {{"path", port.path},
          {"is_usb", port.is_usb},
          {"is_pty", is_pty(port)},
          {"vid", port.vid},
          {"pid", port.pid},
          {"serial_number", port.serial_number},
          {"manufacturer", port.manufacturer},
          {"description", port.description},
          {"driver", port.driver},
          {"usb_path", port.usb_path},
          {"usb_speed_mbit", port.usb_speed_mbit}};
}

Json to_json(const host::RunResult& result) {
  Json faults = Json::array();
  for (const link::Fault& fault : result.faults) faults.push_back(fault_json(fault));
  Json run = {{"settings", to_json(result.settings)},
              {"port", to_json(result.port)},
              {"transport_settings", result.transport_settings},
              {"other_holders", result.other_holders},
              {"end", end_name(result.end)},
              {"end_detail", result.end_detail},
              {"failed", result.failed()},
              {"verdict", to_json(result.verdict)},
              {"duration_ns", result.duration_ns},
              {"in_bytes", result.in_bytes},
              {"out_bytes", result.out_bytes},
              {"frames", result.frames},
              {"not_delivered_bytes", result.not_delivered_bytes},
              {"stale_input_bytes", result.stale_input_bytes},
              {"bytes_per_s", result.bytes_per_s},
              {"ceiling_bytes_per_s", result.ceiling_bytes_per_s},
              {"packets_per_microframe", result.packets_per_microframe},
              {"reads",
               {{"reads", result.reads.reads},
                {"full_reads", result.reads.full_reads},
                {"ring_full", result.reads.ring_full},
                {"bytes_per_read", histogram_json(result.reads.bytes_per_read)},
                {"longest_silence_ns", result.reads.longest_silence_ns},
                {"longest_silence_offset", result.reads.longest_silence_offset}}},
              {"frame_delay_ns", histogram_json(result.frame_delay_ns)},
              {"ack_round_trip_ns", histogram_json(result.ack_round_trip_ns)},
              {"out_write_ns", result.out_write_ns},
              {"bridge_buffer_bytes", result.bridge_buffer_bytes},
              {"cpu",
               {{"read", result.cpu.read},
                {"verify", result.cpu.verify},
                {"total_ns_per_byte", result.cpu.total_ns_per_byte}}},
              {"totals", totals_json(result.in_totals)},
              {"faults", faults},
              {"device", device_json(result)}};
  if (result.modem_lines) {
    run["modem_lines"] = {{"dtr", result.modem_lines->dtr}, {"rts", result.modem_lines->rts},
                          {"cts", result.modem_lines->cts}, {"dsr", result.modem_lines->dsr},
                          {"dcd", result.modem_lines->dcd}, {"ri", result.modem_lines->ri}};
  }
  if (result.replug_ns != 0) {
    run["replug"] = {{"away_ns", result.replug_ns}, {"path", result.replug_path}};
  }
  return run;
}

Json to_json(const host::DoctorReport& report) {
  Json findings = Json::array();
  for (const host::Finding& finding : report.findings) {
    findings.push_back({{"check", finding.check},
                        {"severity", severity_name(finding.severity)},
                        {"text", finding.text},
                        {"remedy", finding.remedy}});
  }
  Json out = {{"would_spoil", report.would_spoil()}, {"findings", findings}};
  out["port"] = report.port.path.empty() ? Json(nullptr) : to_json(report.port);
  return out;
}

Json to_json(const Statistics& statistics) {
  return {{"count", statistics.count},         {"mean", statistics.mean},
          {"deviation", statistics.deviation}, {"min", statistics.min},
          {"median", statistics.median},       {"max", statistics.max}};
}

std::string file_text(const Json& document) {
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace millrace::cli
