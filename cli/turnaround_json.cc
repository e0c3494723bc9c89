// SPDX-License-Identifier: Apache-2.0
// The members of the result file of `millrace turnaround` (spec/result.md).
#include <algorithm>
#include <cmath>

#include "cli/result_json.h"
#include "cli/turnaround_report.h"

namespace millrace::cli {

using capture::CaptureAnalysis;
using capture::DeviceAnalysis;
using capture::EndpointStatistics;
using capture::FrameStatistics;
using capture::TimeDistribution;
using capture::TimeSeries;
using capture::Turnaround;

namespace {

constexpr size_t kMaxBuckets = 256;

Json times_json(const TimeDistribution& times) {
  Json buckets = Json::array();
  // Neighbours are joined until there are few enough to look at.
  int64_t grain = 100;
  if (times.count() != 0) {
    const int64_t span = times.quantile(0.999) - times.min();
    while (span / grain > static_cast<int64_t>(kMaxBuckets)) grain *= 2;
  }
  int64_t from = 0, to = 0;
  uint64_t joined = 0;
  const auto put = [&] {
    if (joined != 0) buckets.push_back({from, to, joined});
    joined = 0;
  };
  times.for_each([&](int64_t low, int64_t high, uint64_t count) {
    if (joined == 0 || low / grain != from / grain) {
      put();
      from = low;
    }
    to = high;
    joined += count;
  });
  put();
  return {{"count", times.count()},         {"min_ns", times.min()},
          {"mean_ns", times.mean()},        {"deviation_ns", times.deviation()},
          {"p50_ns", times.quantile(0.5)},  {"p90_ns", times.quantile(0.9)},
          {"p99_ns", times.quantile(0.99)}, {"p999_ns", times.quantile(0.999)},
          {"max_ns", times.max()},          {"buckets", buckets}};
}

Json series_json(const TimeSeries& series, int64_t begin_ns) {
  Json spans = Json::array();
  for (const TimeSeries::Span& span : series.spans()) {
    spans.push_back({span.count, span.sum, span.max});
  }
  const bool is_empty = series.spans().empty();
  return {{"start_ns", is_empty ? 0 : series.start_ns() - begin_ns},
          {"span_ns", series.span_ns()},
          {"count_sum_max", spans}};
}

Json to_json(const Turnaround& t, int64_t begin_ns) {
  return {{"out_endpoint", t.out_endpoint},
          {"in_endpoint", t.in_endpoint},
          {"paired_by", capture::name_of(t.by)},
          {"median_of_first_ns", t.median_of_first_ns()},
          {"first_pairs", t.first_ns.size()},
          {"times", times_json(t.times)},
          {"from_submission", times_json(t.from_submit)},
          {"requests", t.requests},
          {"unanswered", t.unanswered},
          {"shut_out", t.shut_out},
          {"unrequested", t.unrequested},
          {"reply_first", t.reply_first},
          {"asked_late", times_json(t.asked_late)},
          {"ambiguous", t.ambiguous},
          {"of_several_transfers", t.of_several},
          {"series_ns", series_json(t.series, begin_ns)}};
}

Json to_json(const FrameStatistics& f) {
  const auto frame = static_cast<uint64_t>(std::llround(f.frame_bytes.mean()));
  Json sizes = Json::object();
  for (const uint64_t count : {1, 2, 4, 8, 16}) {
    sizes[std::to_string(count)] = capture::ntb_bytes_for(count, frame);
  }
  return {{"frames", f.frames},
          {"frame_bytes", histogram_json(f.frame_bytes)},
          {"frames_per_transfer", histogram_json(f.frames_per_transfer)},
          {"damaged_transfers", f.damaged},
          {"damage", f.first_damage == link::NtbStatus::end ? "" : link::describe(f.first_damage)},
          {"ntbs_missing", f.blocks_missing},
          {"largest_ntb_bytes", f.largest_block_bytes},
          {"ntb_bytes_for", sizes}};
}

const char* type_name(capture::TransferType type) {
  static constexpr const char* kNames[] = {"isochronous", "interrupt", "control", "bulk"};
  return kNames[static_cast<size_t>(type)];
}

Json to_json(const EndpointStatistics& s, const capture::EndpointInfo& info, int64_t begin_ns) {
  Json errors = Json::array();
  for (const auto& [status, count] : s.errors) {
    errors.push_back({{"status", status}, {"text", urb_status_name(status)}, {"count", count}});
  }
  return {{"endpoint", s.endpoint},
          {"type", type_name(s.type)},
          {"holds", capture::name_of(info.framing)},
          {"is_described", info.is_described},
          {"max_packet_bytes", info.max_packet},
          {"transfers", s.transfers},
          {"bytes", s.bytes},
          {"short_transfers", s.short_transfers},
          {"full_transfers", s.full_transfers},
          {"zero_length_transfers", s.zero_length},
          {"cut_transfers", s.cut},
          {"abandoned", s.abandoned},
          {"refused", s.refused},
          {"errors", errors},
          {"transfer_bytes", histogram_json(s.actual_bytes)},
          {"asked_bytes", histogram_json(s.asked_bytes)},
          {"queue_depth", histogram_json(s.queue_depth)},
          {"max_in_flight_bytes", s.max_bytes_in_flight},
          {"between_ends_ns", histogram_json(s.between_ends_ns)},
          {"transfer_ns", histogram_json(s.transfer_ns)},
          {"unqueued_ns", histogram_json(s.unqueued_ns)},
          {"unqueued_total_ns", s.unqueued_total_ns},
          {"packets", s.packets},
          {"naks", s.naks},
          {"packets_per_microframe", histogram_json(s.packets_per_microframe)},
          {"frames", s.frames == nullptr ? Json(nullptr) : to_json(*s.frames)},
          {"series_bytes", series_json(s.bandwidth, begin_ns)}};
}

Json ntb_json(const capture::DeviceInfo& info) {
  if (!info.ntb) return nullptr;
  return {{"in_max_bytes", info.ntb->in_max_bytes},
          {"out_max_bytes", info.ntb->out_max_bytes},
          {"out_max_datagrams", info.ntb->out_max_datagrams},
          {"input_bytes_set", info.ntb_input_bytes ? Json(*info.ntb_input_bytes) : Json(nullptr)}};
}

Json to_json(const DeviceAnalysis& device, int64_t begin_ns) {
  Json endpoints = Json::array();
  for (size_t i = 0; i < device.endpoints.size(); ++i) {
    if (device.endpoints[i] == nullptr) continue;
    endpoints.push_back(to_json(*device.endpoints[i], device.info.endpoints[i], begin_ns));
  }
  Json turnarounds = Json::array();
  for (const auto& t : device.turnarounds) turnarounds.push_back(to_json(*t, begin_ns));
  return {{"bus", capture::bus_of(device.key)},
          {"address", capture::address_of(device.key)},
          {"vid", device.info.has_descriptor ? Json(device.info.vid) : Json(nullptr)},
          {"pid", device.info.has_descriptor ? Json(device.info.pid) : Json(nullptr)},
          {"driver", device.info.driver},
          {"bytes", device.bytes},
          {"control_transfers", device.control_transfers},
          {"control_stalls", device.control_stalls},
          {"losses", device.losses},
          {"ntb", ntb_json(device.info)},
          {"endpoints", endpoints},
          {"turnarounds", turnarounds}};
}

Json capture_json(const CaptureAnalysis& a) {
  Json types = Json::array();
  for (const auto& [type, count] : a.link_types) {
    types.push_back({{"link_type", type}, {"records", count}});
  }
  return {{"format", capture::name_of(a.format)},
          {"link_types", types},
          {"bytes", a.file.bytes},
          {"records", a.file.records},
          {"duration_ns", a.last_ns - a.first_ns},
          {"start_unix_ns", a.first_ns},
          {"damage", a.file.damage},
          {"is_cut_short", a.file.cut_short},
          {"dropped", a.file.dropped},
          {"records_cut", a.file.records_cut},
          {"records_too_long", a.file.records_too_long},
          {"records_undecoded", a.undecoded},
          {"records_foreign", a.foreign_records},
          {"lines_bad", a.file.lines_bad},
          {"times_backwards", a.times_backwards},
          {"events_ignored", a.devices_ignored + a.urbs.untracked}};
}

Json urbs_json(const capture::UrbTotals& u) {
  return {{"submissions", u.submissions},
          {"completions", u.completions},
          {"refusals", u.refusals},
          {"without_submission", u.without_submission},
          {"submissions_missing", u.submissions_missing},
          {"completions_missing", u.completions_missing},
          {"without_completion", u.without_completion},
          {"open_at_end", u.open_at_end},
          {"data_cut", u.data_cut}};
}

Json packets_json(const capture::PacketTotals& p) {
  return {{"packets", p.packets},
          {"frames", p.frames},
          {"transactions", p.transactions},
          {"naks", p.naks},
          {"nyets", p.nyets},
          {"stalls", p.stalls},
          {"pings", p.pings},
          {"bad_crc", p.bad_crc},
          {"bad_pid", p.bad_pid},
          {"unanswered", p.unanswered},
          {"repeated", p.repeated},
          {"split", p.split},
          {"out_of_place", p.out_of_place}};
}

}  // namespace

Json pings_json(const capture::PingResult& pings) {
  return {{"address", pings.address},
          {"sent", pings.sent},
          {"answered", pings.answered},
          {"rtt", times_json(pings.rtt)}};
}

void add_turnaround_json(const CaptureAnalysis& a, Json* document) {
  Json& d = *document;
  d["capture"] = capture_json(a);
  d["urbs"] = urbs_json(a.urbs);
  d["packets"] = packets_json(a.packets);
  const DeviceAnalysis* device = nullptr;
  const Turnaround* first = a.headline(&device);
  d["turnaround"] = nullptr;
  if (first != nullptr) {
    d["turnaround"] = {
        {"bus", capture::bus_of(device->key)},      {"address", capture::address_of(device->key)},
        {"out_endpoint", first->out_endpoint},      {"in_endpoint", first->in_endpoint},
        {"paired_by", capture::name_of(first->by)}, {"pairs", first->first_ns.size()},
        {"median_ns", first->median_of_first_ns()}};
  }
  d["devices"] = Json::array();
  for (const auto& each : a.devices) d["devices"].push_back(to_json(*each, a.first_ns));
}

}  // namespace millrace::cli
