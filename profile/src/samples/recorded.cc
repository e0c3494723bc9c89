// SPDX-License-Identifier: Apache-2.0
#include "millrace/profile/recorded.h"

#include <algorithm>

namespace millrace::profile {

SampleSet recorded_samples(const std::string& path, const link::SamplerStatus& status,
                           std::span<const uint32_t> words) {
  SampleSet set;
  set.path = path;
  set.format = "sample file";
  set.has_lr = set.has_exception = status.mode == link::kSamplerCallers;
  set.core_khz = status.core_khz;
  set.interval_cycles = status.interval_cycles;
  set.jitter_permille = status.jitter_permille;
  set.lost = status.lost;
  set.overruns = status.overruns;
  set.run_cycles = status.run_cycles;
  set.handler_cycles = status.handler_cycles;
  set.events = status.events;
  if (status.identity_bytes > 0) {
    set.identity.kind = IdentityKind::build_id;
    set.identity.bytes.assign(
        status.identity,
        status.identity + std::min<size_t>(status.identity_bytes, link::kSamplerIdentityBytes));
  }
  const size_t record_words = std::max<size_t>(1, link::sampler_record_words(status.mode));
  set.samples.reserve(words.size() / record_words);
  for (size_t at = 0; at + record_words <= words.size(); at += record_words) {
    Sample sample;
    sample.pc = words[at] & ~1u;
    if (set.has_lr) {
      sample.lr = words[at + 1];
      sample.exception = static_cast<uint16_t>(words[at + 2] & 0x1FFu);
    }
    set.samples.push_back(sample);
  }
  return set;
}

}  // namespace millrace::profile
