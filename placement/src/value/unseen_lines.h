// SPDX-License-Identifier: Apache-2.0
// Lines of code that run but have no sample: where they probably are.
#pragma once

#include "value/fetch_input.h"

namespace millrace::placement {

// `unseen`: how many there are, by estimate. Adds spots without weight for lines of the units that
// have samples, each with the chance that it runs; what these cannot hold is left in
// input->unseen_lines. The spots of `input` need no order; they have none afterwards.
void add_unseen_lines(const Units& units, uint32_t line_bytes, double unseen, FetchInput* input);

}  // namespace millrace::placement
