// SPDX-License-Identifier: Apache-2.0
// The figure first, then how it came about, then what the capture cannot tell.
#include "cli/turnaround_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "cli/histogram_text.h"
#include "cli/print.h"
#include "cli/short_name.h"
#include "cli/table.h"
#include "cli/values.h"

namespace millrace::cli {

using capture::CaptureAnalysis;
using capture::DeviceAnalysis;
using capture::EndpointStatistics;
using capture::PairedBy;
using capture::Turnaround;

namespace {

constexpr KeyRow row(15);
constexpr size_t kNameWidth = 80;  // of a capture: fits a line behind its key
constexpr uint64_t kPairsForHistogram = 8;
constexpr size_t kTablesShown = 8;

std::string link_type_name(uint16_t type) {
  switch (type) {
    case capture::kLinkUsbmon48:
      return "usbmon (189)";
    case capture::kLinkUsbmon64:
      return "usbmon (220)";
    case capture::kLinkUsbPcap:
      return "USBPcap (249)";
    case capture::kLinkUsb20:
      return "USB packets (288)";
    case capture::kLinkUsb20Low:
      return "USB packets, low speed (293)";
    case capture::kLinkUsb20Full:
      return "USB packets, full speed (294)";
    case capture::kLinkUsb20High:
      return "USB packets, high speed (295)";
    default:
      return fmt::format("link type {}", type);
  }
}

std::string capture_line(const CaptureAnalysis& a) {
  std::string out = capture::name_of(a.format);
  for (const auto& [type, count] : a.link_types) {
    if (type != capture::kLinkUsbmonText)
      out += ", " + link_type_name(type);  // a format of its own
  }
  out += fmt::format(", {} in {}", plural(a.file.records, "record"), human_bytes(a.file.bytes));
  if (a.last_ns > a.first_ns) out += ", " + duration(static_cast<double>(a.last_ns - a.first_ns));
  return out;
}

std::string device_line(const DeviceAnalysis& device) {
  std::string out = "device " + device_name(device.key);
  if (device.info.has_descriptor) {
    out += fmt::format(", {:04x}:{:04x}", device.info.vid, device.info.pid);
  }
  if (!device.info.driver.empty()) {
    out += ", " + device.info.driver;
  } else {
    for (const auto& endpoint : device.info.endpoints) {
      if (!endpoint.framing_is_guess) continue;
      out += fmt::format(", {} by its data", capture::name_of(endpoint.framing));
      break;
    }
  }
  return out;
}

const char* what_was_paired(PairedBy by) {
  switch (by) {
    case PairedBy::icmp_echo:
      return "pings";
    case PairedBy::udp:
    case PairedBy::udp_flow:
      return "UDP requests";
    case PairedBy::arp:
      return "ARP requests";
    case PairedBy::echo:
      return "echoed transfers";
    case PairedBy::order:
      return "requests, by order";
  }
  return "";
}

std::string headline(const DeviceAnalysis& device, const Turnaround& t) {
  const uint64_t count = t.times.count();
  const size_t first = t.first_ns.size();
  const std::string of = count > first
                             ? fmt::format("the first {} {}", first, what_was_paired(t.by))
                             : fmt::format("{} {}", grouped(count), what_was_paired(t.by));
  return fmt::format("turnaround {} us: median of {}, {} to {} of {}",
                     microseconds(static_cast<double>(t.median_of_first_ns())), of,
                     endpoint_name(t.out_endpoint), endpoint_name(t.in_endpoint),
                     device_line(device));
}

std::string turnaround_table(const CaptureAnalysis& a) {
  Table table({"<device", "<from", "<to", "<paired by", "pairs", "min", "p50", "p90", "p99",
               "p99.9", "max", "from submit p50"});
  size_t rows = 0;
  for (const auto& device : a.devices) {
    for (const auto& t : device->turnarounds) {
      if (rows++ == kTablesShown) break;
      const auto us = [](int64_t ns) { return microseconds(static_cast<double>(ns)); };
      table.add({device_name(device->key), endpoint_name(t->out_endpoint),
                 endpoint_name(t->in_endpoint), capture::name_of(t->by), grouped(t->times.count()),
                 us(t->times.min()), us(t->times.quantile(0.5)), us(t->times.quantile(0.9)),
                 us(t->times.quantile(0.99)), us(t->times.quantile(0.999)), us(t->times.max()),
                 us(t->from_submit.quantile(0.5))});
    }
  }
  return table.empty() ? "" : "end of OUT to end of IN, us\n" + table.text();
}

std::string histogram(const Turnaround& t) {
  return histogram_text(t.times.min(), t.times.quantile(0.99), 0, [&t](const BucketVisitor& add) {
    t.times.for_each([&add](int64_t from, int64_t, uint64_t count) { add(from, count); });
  });
}

std::string fates(const Turnaround& t) {
  std::string out =
      fmt::format("{} sent, {} answered", grouped(t.requests), grouped(t.times.count()));
  const auto add = [&](uint64_t count, const char* text) {
    if (count != 0) out += fmt::format(", {} {}", grouped(count), text);
  };
  add(t.unanswered, "without an answer in time");
  add(t.shut_out, "left out (open at a loss of the capture, or at its end)");
  add(t.unrequested, "answers or data without a request here");
  add(t.reply_first, "answers reported before the request's end, counted as 0");
  add(t.ambiguous, "times equal requests were open, the oldest was taken");
  add(t.of_several, "requests of several transfers, counted from the last");
  if (t.asked_late.count() != 0) {
    out += fmt::format(
        "; in {} the host asked for the reply (IN submitted) only after the end of the request, by "
        "{} us (median): so much is the host's",
        grouped(t.asked_late.count()),
        microseconds(static_cast<double>(t.asked_late.quantile(0.5))));
  }
  return out;
}

std::string errors_of(const EndpointStatistics& s) {
  std::string out;
  for (const auto& [status, count] : s.errors) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", grouped(count), urb_status_name(status));
  }
  if (s.other_errors != 0) out += fmt::format(", {} others", grouped(s.other_errors));
  return out;
}

const char* type_name(capture::TransferType type) {
  switch (type) {
    case capture::TransferType::isochronous:
      return "iso";
    case capture::TransferType::interrupt:
      return "interrupt";
    case capture::TransferType::control:
      return "control";
    case capture::TransferType::bulk:
      return "bulk";
  }
  return "";
}

// Histograms know nanoseconds to 3 %.
std::string whole_microseconds(uint64_t ns) { return fmt::format("{}", ns / 1000); }

// Two tables, of what was moved and of how it was queued, so that both fit 100 columns.
std::string endpoint_table(const DeviceAnalysis& device) {
  Table moved({"<endpoint", "<type", "<holds", "transfers", "bytes", "kB/s", "mean B", "max B",
               "asked B", "short", "ZLP"});
  Table queued({"<endpoint", "queued", "in flight B", "between us", "unqueued us"});
  for (size_t i = 0; i < device.endpoints.size(); ++i) {
    const EndpointStatistics* s = device.endpoints[i].get();
    if (s == nullptr || (s->transfers == 0 && s->naks == 0 && s->queue_depth.count() == 0))
      continue;
    const double seconds = static_cast<double>(s->last_ns - s->first_ns) / 1e9;
    const bool has_urbs = s->queue_depth.count() != 0;
    const bool asked = s->asked_bytes.count() != 0;
    moved.add(
        {endpoint_name(s->endpoint), type_name(s->type),
         capture::name_of(device.info.endpoints[i].framing), grouped(s->transfers),
         grouped(s->bytes),
         seconds > 0 ? fmt::format("{:.1f}", static_cast<double>(s->bytes) / seconds / 1e3) : "-",
         fmt::format("{:.1f}", s->actual_bytes.mean()), grouped(s->actual_bytes.max()),
         asked ? grouped(s->asked_bytes.max()) : "-", asked ? grouped(s->short_transfers) : "-",
         grouped(s->zero_length)});
    queued.add(
        {endpoint_name(s->endpoint),
         has_urbs ? fmt::format("{}/{}", s->queue_depth.quantile(0.5), s->queue_depth.max()) : "-",
         asked ? grouped(s->max_bytes_in_flight) : "-",
         whole_microseconds(s->between_ends_ns.quantile(0.5)),
         has_urbs ? whole_microseconds(s->unqueued_ns.quantile(0.5)) : "-"});
  }
  return moved.empty() ? "" : moved.text() + '\n' + queued.text();
}

std::string endpoint_notes(const DeviceAnalysis& device) {
  std::string out;
  for (size_t i = 0; i < device.endpoints.size(); ++i) {
    const EndpointStatistics* s = device.endpoints[i].get();
    if (s == nullptr) continue;
    const std::string name = endpoint_name(s->endpoint);
    if (s->frames != nullptr && s->frames->frames != 0) {
      const auto& f = *s->frames;
      std::string text = fmt::format("{} frames of {:.1f} B; a transfer holds {:.2f} (max {})",
                                     grouped(f.frames), f.frame_bytes.mean(),
                                     f.frames_per_transfer.mean(), f.frames_per_transfer.max());
      if (f.largest_block_bytes != 0) {
        const auto frame = static_cast<uint64_t>(std::llround(f.frame_bytes.mean()));
        text +=
            fmt::format("; NTBs up to {} B, 8 such frames would take {} B",
                        grouped(f.largest_block_bytes), grouped(capture::ntb_bytes_for(8, frame)));
        if (f.frames_per_transfer.max() == 1 && f.frames > 16) {
          text += "; never more than one datagram an NTB";
        }
      }
      if (f.blocks_missing != 0)
        text += fmt::format("; {} NTBs missing", grouped(f.blocks_missing));
      if (f.damaged != 0) {
        text += fmt::format("; {} damaged", plural(f.damaged, "transfer"));
        if (f.first_damage != link::NtbStatus::end) {
          text += fmt::format(" ({})", link::describe(f.first_damage));
        }
      }
      out += row(name, text);
    }
    if (s->packets != 0 || s->naks != 0) {
      out += row(name, fmt::format("{} packets, {} NAKs; a microframe with any holds {} (max {})",
                                   grouped(s->packets), grouped(s->naks),
                                   s->packets_per_microframe.quantile(0.5),
                                   s->packets_per_microframe.max()));
    }
    const std::string errors = errors_of(*s);
    if (!errors.empty()) out += row(name, "ended with " + errors);
    if (s->refused != 0) out += row(name, plural(s->refused, "submission") + " refused");
  }
  if (device.info.ntb) {
    const auto& ntb = *device.info.ntb;
    out +=
        row("NTB parameters",
            fmt::format("IN at most {} B{}, OUT at most {} B, {} datagrams an OUT NTB",
                        grouped(ntb.in_max_bytes),
                        device.info.ntb_input_bytes
                            ? fmt::format(" (host set {})", grouped(*device.info.ntb_input_bytes))
                            : "",
                        grouped(ntb.out_max_bytes),
                        ntb.out_max_datagrams == 0 ? "any number of"
                                                   : "up to " + grouped(ntb.out_max_datagrams)));
  }
  return out;
}

std::string trouble(const CaptureAnalysis& a) {
  std::string out;
  const auto say = [&](uint64_t count, const std::string& text) {
    if (count != 0) out += row("", fmt::format("{} {}", grouped(count), text));
  };
  if (!a.file.damage.empty())
    out += row("", "damaged: " + a.file.damage + "; the rest was not read");
  if (a.file.cut_short) out += row("", "cut short: the file ends within a record");
  say(a.file.dropped, "events dropped while capturing, as the file says");
  say(a.urbs.completions_missing, "URBs whose completion is missing (dropped while capturing)");
  say(a.urbs.submissions_missing, "URBs whose submission is missing (dropped while capturing)");
  say(a.file.records_cut, "records cut by the snap length: capture with -s 262144");
  say(a.urbs.data_cut > a.file.records_cut ? a.urbs.data_cut - a.file.records_cut : 0,
      "events with part of their data (usbmon keeps a fifth of its buffer at most, its text 32 B)");
  say(a.file.records_too_long, "records beyond 512 KiB, looked at in part");
  say(a.undecoded, "records whose header makes no sense");
  say(a.file.lines_bad, "lines that are no event of usbmon");
  say(a.foreign_records, "records that are not USB");
  say(a.times_backwards, "records with a time before that of an earlier one");
  say(a.packets.bad_crc, "packets with a wrong CRC");
  say(a.packets.bad_pid, "packets with an impossible PID");
  say(a.packets.split, "split transactions (a hub in between), not put together");
  say(a.packets.repeated, "packets repeated after a lost handshake");
  say(a.urbs.untracked + a.devices_ignored,
      "events of more URBs, devices or endpoints than are followed");
  return out.empty() ? "" : "of the capture\n" + out;
}

std::string unknowns(const CaptureAnalysis& a) {
  if (a.has_urbs() && !a.has_packets()) {
    return row(
        "not in it",
        "NAKs, microframes and the moment at which data was on the bus: a capture of URBs "
        "shows when the driver was told, interrupt included, so a turnaround is an upper bound");
  }
  if (a.has_packets() && !a.has_urbs()) {
    return row("not in it",
               "what the driver queued, and when it was told: packets show the bus alone");
  }
  return "";
}

std::string device_part(const DeviceAnalysis& device) {
  std::string out = device_line(device) + '\n';
  out += endpoint_table(device);
  out += endpoint_notes(device);
  if (device.losses != 0) {
    out += row("", fmt::format("{} of losses in its traffic: what was open then is left out",
                               plural(device.losses, "sign")));
  }
  return out;
}

}  // namespace

std::string turnaround_report(const CaptureAnalysis& a, const TurnaroundView& view,
                              const Colour& colour) {
  std::string out =
      row("capture", cut_middle(printable(view.name), kNameWidth) + ": " + capture_line(a));
  const DeviceAnalysis* device = nullptr;
  const Turnaround* first = a.headline(&device);
  if (first != nullptr) {
    out += colour.good(wrap(headline(*device, *first), kWidth, 2)) + '\n';
    out += '\n' + turnaround_table(a);
    out += row(capture::name_of(first->by), fates(*first));
    if (first->times.count() >= kPairsForHistogram) {
      out += '\n';
      out += histogram(*first);
    }
  } else {
    out +=
        colour.bad("no turnaround: no IN transfer answers an OUT transfer in this capture") + '\n';
  }
  for (const auto& candidate : a.devices) {
    const bool is_shown = view.all_devices || candidate.get() == device ||
                          (device == nullptr && candidate == a.devices.front());
    if (is_shown) out += '\n' + device_part(*candidate);
  }
  if (a.devices.size() > 1 && !view.all_devices) {
    out += row("others", fmt::format("{} (--all shows them, --device chooses one)",
                                     plural(a.devices.size() - 1, "device")));
  }
  const std::string said = trouble(a) + unknowns(a);
  if (!said.empty()) out += '\n' + said;
  return out;
}

}  // namespace millrace::cli
