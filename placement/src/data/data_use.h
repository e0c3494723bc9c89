// SPDX-License-Identifier: Apache-2.0
// How much is waited for which data: measured by a trace, or guessed from what hot code refers to.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/data_run.h"
#include "millrace/placement/units.h"
#include "millrace/profile/attribution.h"

namespace millrace::placement {

struct ObjectUse {
  double stall = 0;                       // cycles
  double stall_alone = 0;                 // of these, for lines that touch no other unit
  double use = 0;                         // of the weight of the code that refers to it
  uint32_t users = 0;                     // functions that refer to it
  uint32_t user = profile::kNone;         // the busiest
  uint32_t device_user = profile::kNone;  // one that also makes a device's address
};

struct DataUse {
  struct Part {
    uint32_t unit, bytes;
  };
  std::vector<ObjectUse> by_unit;
  double stall = 0;      // all waiting for data
  double elsewhere = 0;  // of this, for lines that no unit of data touches
  bool is_measured = false;
  std::optional<DataRun> run;            // measured
  std::vector<std::vector<Part>> parts;  // by the lines of `run`

  // What is still waited for data, all of it, when these units have moved. REQUIRES: is_measured.
  // A line of several objects moves with the larger part of it.
  double stall_without(const std::vector<bool>& moved) const;
};

DataUse read_data_use(const profile::Profile& profile, const Units& units, const ElfIndex& index,
                      std::span<const uint8_t> trace);

}  // namespace millrace::placement
