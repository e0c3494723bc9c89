// SPDX-License-Identifier: Apache-2.0
// Any bytes as a trace of a program that has nothing but a few sections' worth of addresses.
#include "millrace/placement/predict.h"

#include <cmath>
#include <cstdlib>

namespace {

// The smallest ELF that is a program: one section of code at 0x60000000.
std::vector<uint8_t> small_elf() {
  std::vector<uint8_t> out(52 + 3 * 40 + 32 + 64);
  const auto half = [&](size_t at, uint32_t value) {
    out[at] = static_cast<uint8_t>(value);
    out[at + 1] = static_cast<uint8_t>(value >> 8);
  };
  const auto word = [&](size_t at, uint32_t value) {
    half(at, value & 0xFFFF);
    half(at + 2, value >> 16);
  };
  const uint8_t magic[] = {0x7F, 'E', 'L', 'F', 1, 1, 1};
  std::copy(std::begin(magic), std::end(magic), out.begin());
  half(16, 2);   // ET_EXEC
  half(18, 40);  // EM_ARM
  word(20, 1);   // version
  word(32, 52);  // section headers
  half(40, 52);  // size of this header
  half(46, 40);  // of a section header
  half(48, 3);   // number
  half(50, 2);   // names
  const size_t text = 52 + 40, names = 52 + 80;
  word(text, 1), word(text + 4, 1), word(text + 8, 6), word(text + 12, 0x60000000);
  word(text + 16, 52 + 120), word(text + 20, 64), word(text + 32, 4);
  word(names, 7), word(names + 4, 3), word(names + 16, 52 + 120 + 64), word(names + 20, 32);
  const char strings[] = "\0.text\0.names";
  std::copy(std::begin(strings), std::end(strings), out.begin() + 52 + 120 + 64);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millrace::profile;
  using namespace millrace::placement;
  static ElfIndex* const index = [] {
    auto* const made = new ElfIndex;
    if (ElfIndex::parse("small", small_elf(), "", "", made)) std::abort();
    return made;
  }();
  Target target;
  if (find_target("teensy41", *index, &target)) std::abort();
  PredictOptions options;
  options.seeds = 1;
  Prediction out;
  const Failure failure = predict(index, target, {data, size}, PlacementList(), options, &out);
  if (failure) {
    if (failure->message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  if (!std::isfinite(out.predicted.busy) || out.predicted.fetch < -1e18) std::abort();
  return 0;
}
