// SPDX-License-Identifier: Apache-2.0
// The faults that a PC device commits on purpose, as written behind `pc:?`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::firmware {

// `LENGTH@OFFSET[+EVERY]`. Offsets count IN stream bytes from the start of each run; control
// messages do not count and are not altered.
struct FaultSpan {
  uint64_t length = 0;  // bytes; bits for flips; milliseconds for stalls
  uint64_t offset = 0;
  uint64_t every = 0;  // again at OFFSET + EVERY, OFFSET + 2 EVERY ...; 0: once a run
};

struct FaultInsert {
  std::string bytes;
  uint64_t offset = 0;
  uint64_t every = 0;
};

struct FaultStale {
  uint64_t lines = 0;   // of 32 bytes
  uint64_t offset = 0;  // multiple of 32
  uint64_t lag = 0;     // multiple of 32, bytes
};

enum class LinkEventKind {
  unplug,        // the port goes away and comes back under another name; the device keeps running
  reset,         // the same, and the device starts anew
  reset_silent,  // the device starts anew and the port stays
};

// Happens once in the life of a device, not once a run.
struct LinkEvent {
  LinkEventKind kind = LinkEventKind::unplug;
  uint32_t after_ms = 0;  // until the port is back
  uint64_t offset = 0;
};

struct ByteMangling {
  bool icrnl = false;   // 0x0d becomes 0x0a
  bool igncr = false;   // 0x0d vanishes
  bool ixon = false;    // 0x11 and 0x13 vanish
  bool istrip = false;  // the eighth bit is cleared
  bool any() const { return icrnl || igncr || ixon || istrip; }
};

struct FaultPlan {
  uint32_t split = 0;             // largest piece handed on at once; 0: whole pieces
  uint64_t rate_bytes_per_s = 0;  // 0: as fast as the port takes it
  std::vector<FaultSpan> stalls;
  std::vector<FaultSpan> drops;
  std::vector<FaultSpan> flips;
  std::vector<FaultSpan> dups;
  std::vector<FaultInsert> inserts;
  std::vector<FaultStale> stales;
  std::vector<LinkEvent> link_events;
  ByteMangling cooked;  // set on the real terminal when a run starts
  ByteMangling mangle;  // done to the bytes here
  bool mute = false;
  bool garbage = false;
  // How the application is configured.
  bool classic_only = false;
  uint32_t classic_seed = 42;
  uint32_t classic_discard_after_ms = 0;
};

struct ParsedFaultPlan {
  FaultPlan plan;
  std::string error;  // one sentence that names the key and what is allowed; empty: success
};

// Parses `key=value&key=value`; several values of a key are separated by commas. docs/porting.md
// lists the keys.
ParsedFaultPlan parse_fault_plan(std::string_view query);

}  // namespace millrace::firmware
