// SPDX-License-Identifier: Apache-2.0
// The sampler under Zephyr on an i.MX RT106x: CONFIG_MILLRACE_SAMPLER.
#pragma once

#include <cstdint>

#include "firmware/app/sampler/sampler.h"

namespace millrace::firmware {

// `events`: SamplerPort::events(), called from the thread that asks for the status; nullptr: nobody
// counts. Call once, from a thread. Not sampling yet: until it is told to, it costs its memory.
Sampler& make_zephyr_sampler(uint32_t (*events)());

}  // namespace millrace::firmware
