// SPDX-License-Identifier: Apache-2.0
// The sampler on this chip: channel 3 of the PIT, at the highest priority.
#pragma once

#include <cstdint>

#include "firmware/app/sampler/sampler.h"

// The records; their address is in the sampler's memory too.
extern "C" uint32_t millrace_sampler_buffer[];

namespace millrace::rt1062 {

// `events`: SamplerPort::events(); nullptr: nobody counts. Call once. Not sampling yet: until it
// is told to, it costs nothing but its memory.
firmware::Sampler& make_sampler(uint32_t (*events)());

}  // namespace millrace::rt1062
