// SPDX-License-Identifier: Apache-2.0
// The names that result files use. spec/result.schema.json lists the same ones.
#include "cli/run_report.h"

namespace millrace::cli {

using host::Protocol;
using host::RunEnd;
using host::VerdictKind;

const char* verdict_name(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::device_bound:
      return "device_bound";
    case VerdictKind::link_bound:
      return "link_bound";
    case VerdictKind::device_or_link_bound:
      return "device_or_link_bound";
    case VerdictKind::call_bound:
      return "call_bound";
    case VerdictKind::host_cpu:
      return "host_cpu";
    case VerdictKind::ack_bound:
      return "ack_bound";
    case VerdictKind::device_discarded:
      return "device_discarded";
    case VerdictKind::lost_behind_device:
      return "lost_behind_device";
    case VerdictKind::lost_unattributed:
      return "lost_unattributed";
    case VerdictKind::device_ended_early:
      return "device_ended_early";
    case VerdictKind::tty_mangling:
      return "tty_mangling";
    case VerdictKind::foreign_writer:
      return "foreign_writer";
    case VerdictKind::cache_coherency:
      return "cache_coherency";
    case VerdictKind::bit_errors:
      return "bit_errors";
    case VerdictKind::duplicated:
      return "duplicated";
    case VerdictKind::stale_bytes:
      return "stale_bytes";
    case VerdictKind::reordered:
      return "reordered";
    case VerdictKind::device_reset:
      return "device_reset";
    case VerdictKind::replugged:
      return "replugged";
    case VerdictKind::device_gone:
      return "device_gone";
    case VerdictKind::no_answer:
      return "no_answer";
    case VerdictKind::not_our_stream:
      return "not_our_stream";
    case VerdictKind::timed_out:
      return "timed_out";
    case VerdictKind::interrupted:
      return "interrupted";
    case VerdictKind::refused:
      return "refused";
  }
  return "unknown";
}

const char* end_name(RunEnd end) {
  switch (end) {
    case RunEnd::complete:
      return "complete";
    case RunEnd::timed_out:
      return "timed_out";
    case RunEnd::gone:
      return "gone";
    case RunEnd::reset:
      return "reset";
    case RunEnd::stopped:
      return "stopped";
    case RunEnd::interrupted:
      return "interrupted";
    case RunEnd::refused:
      return "refused";
    case RunEnd::no_answer:
      return "no_answer";
  }
  return "unknown";
}

const char* protocol_name(Protocol protocol) {
  switch (protocol) {
    case Protocol::automatic:
      return "auto";
    case Protocol::classic:
      return "classic";
    case Protocol::extended:
      return "extended";
  }
  return "auto";
}

}  // namespace millrace::cli
