// SPDX-License-Identifier: Apache-2.0
#include "cpu/schedule.h"

namespace millrace::board {

void schedule(const std::vector<Insn>& insns, const Timing* timing, Block* block) {
  static_cast<void>(timing);
  for (Op& op : block->ops) {
    op.cycle = op.index;
  }
  block->cycles = static_cast<uint16_t>(insns.size());
}

uint8_t wait_between(const Block& before, const Block& next) {
  int wait = 0;
  for (const LateResult& late : before.late) {
    const int need = next.first_use[late.reg];
    if (need != 255 && late.cycles - need > wait) {
      wait = late.cycles - need;
    }
  }
  return static_cast<uint8_t>(wait);
}

}  // namespace millrace::board
