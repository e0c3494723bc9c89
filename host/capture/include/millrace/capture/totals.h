// SPDX-License-Identifier: Apache-2.0
// What was counted while URB events, or packets, were put together to transfers.
#pragma once

#include <cstdint>

namespace millrace::capture {

struct UrbTotals {
  uint64_t submissions = 0, completions = 0, refusals = 0;
  // Completions of URBs that were never submitted within the capture: queued before it began, or
  // their submission was dropped.
  uint64_t without_submission = 0;
  // Of those, completions of a URB whose earlier end is in the capture: something was dropped.
  uint64_t submissions_missing = 0;
  // URBs that were submitted again before their completion: that was dropped.
  uint64_t completions_missing = 0;
  uint64_t without_completion = 0;  // USBPcap: it need not write them
  uint64_t open_at_end = 0;
  uint64_t untracked = 0;  // more than 16,384 under way at once
  uint64_t data_cut = 0;   // events with less data than was transferred
};

struct PacketTotals {
  uint64_t packets = 0, frames = 0;  // frames: SOF
  uint64_t transactions = 0, naks = 0, nyets = 0, stalls = 0, pings = 0;
  uint64_t bad_crc = 0, bad_pid = 0;
  uint64_t unanswered = 0;    // tokens after which no handshake came: isochronous, or nobody there
  uint64_t repeated = 0;      // data of a sequence bit that was there already
  uint64_t split = 0;         // transactions through a hub: not put together
  uint64_t out_of_place = 0;  // data and handshakes that follow nothing
};

}  // namespace millrace::capture
