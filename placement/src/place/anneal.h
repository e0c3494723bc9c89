// SPDX-License-Identifier: Apache-2.0
// Improves a choice by random exchanges.
#pragma once

#include <cstdint>

#include "place/choose.h"

namespace millrace::placement {

// Never worse than `start`, by stall(), and within `budget`. `tries`: selections that are judged.
// Repeatable: the exchanges are pseudo-random, with a fixed seed.
Choice anneal(const Workspace& work, const Chosen& may, const Chosen& pinned, uint64_t budget,
              const Choice& start, uint64_t tries);

}  // namespace millrace::placement
