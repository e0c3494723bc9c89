// SPDX-License-Identifier: Apache-2.0
// Both kinds of breakpoint are the board's own: nothing is written into memory, there is no limit
// of eight comparators, and code in flash can have as many as code in RAM.
#include "gdb/stop_points.h"

#include <fmt/format.h>

#include <algorithm>

namespace millrace::board::gdb {
namespace {

constexpr uint32_t kLongestAccess = 8;  // LDRD, STRD, VLDR

const char* watch_name(PointKind kind) {
  return kind == PointKind::write ? "watch" : kind == PointKind::read ? "rwatch" : "awatch";
}

}  // namespace

StopPoints::Change StopPoints::insert(PointKind kind, uint32_t address, uint32_t size) {
  if (kind <= PointKind::hardware) return change_breakpoint(kind, address & ~1u, true);
  return change_watch({kind, address, size}, true);
}

StopPoints::Change StopPoints::remove(PointKind kind, uint32_t address, uint32_t size) {
  if (kind <= PointKind::hardware) return change_breakpoint(kind, address & ~1u, false);
  return change_watch({kind, address, size}, false);
}

StopPoints::Change StopPoints::change_breakpoint(PointKind kind, uint32_t address, bool on) {
  std::set<uint32_t>& points = kind == PointKind::software ? software_ : hardware_;
  if (points.contains(address) == on) return Change::done;
  if (on && points.size() == kMaxBreakpoints) return Change::too_many;
  const bool before = has_breakpoint(address);
  if (on) {
    points.insert(address);
  } else {
    points.erase(address);
  }
  if (has_breakpoint(address) != before) board_.set_breakpoint(address, on);
  return Change::done;
}

StopPoints::Change StopPoints::change_watch(const Watch& watch, bool on) {
  if (watch.size == 0 || watch.address + (watch.size - 1) < watch.address) return Change::bad_range;
  const auto found = std::find(watches_.begin(), watches_.end(), watch);
  if ((found != watches_.end()) == on) return Change::done;
  if (on && watches_.size() == kMaxWatchpoints) return Change::too_many;
  if (on) {
    watches_.push_back(watch);
  } else {
    watches_.erase(found);
  }
  tell(watch, on);
  return Change::done;
}

void StopPoints::tell(const Watch& watch, bool on) {
  board_.set_watchpoint(watch.address, watch.size, watch.kind != PointKind::write,
                        watch.kind != PointKind::read, on);
}

void StopPoints::clear() {
  std::set<uint32_t> addresses = software_;
  addresses.insert(hardware_.begin(), hardware_.end());
  for (const uint32_t address : addresses) board_.set_breakpoint(address, false);
  for (const Watch& watch : watches_) tell(watch, false);
  software_.clear();
  hardware_.clear();
  watches_.clear();
}

bool StopPoints::has_breakpoint(uint32_t pc) const {
  return software_.contains(pc) || hardware_.contains(pc);
}

std::string StopPoints::watch_text(uint32_t access_address) const {
  const auto text = [](const Watch& watch, uint32_t address) {
    return fmt::format("{}:{:x};", watch_name(watch.kind), address);
  };
  for (const Watch& watch : watches_) {
    if (access_address - watch.address < watch.size) return text(watch, access_address);
  }
  for (const Watch& watch : watches_) {
    if (watch.address - access_address < kLongestAccess) return text(watch, watch.address);
  }
  return {};
}

}  // namespace millrace::board::gdb
