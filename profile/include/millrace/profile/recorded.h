// SPDX-License-Identifier: Apache-2.0
// Samples as they were read out of a sampler (spec/sampler_control.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "millrace/link/sampler_control.h"
#include "millrace/profile/samples.h"

namespace millrace::profile {

// `words`: whole records of the mode that `status` names; a part of one at the end is left out.
// `path` only names them in sentences.
SampleSet recorded_samples(const std::string& path, const link::SamplerStatus& status,
                           std::span<const uint32_t> words);

}  // namespace millrace::profile
