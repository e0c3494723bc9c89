// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace millrace::cli {

// Times, in ns, as a line for each of up to sixteen equal spans from `least_ns` to `p99_ns`, and
// one for the rest, in us. `each` calls what it is given for every bucket: where it begins, how
// many. Spans are not shorter than `resolution_ns`, that of the buckets; they are round numbers of
// us.
using BucketVisitor = std::function<void(int64_t from_ns, uint64_t count)>;
std::string histogram_text(int64_t least_ns, int64_t p99_ns, int64_t resolution_ns,
                           const std::function<void(const BucketVisitor&)>& each);

}  // namespace millrace::cli
