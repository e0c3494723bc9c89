// SPDX-License-Identifier: Apache-2.0
// Blocks are never destroyed one by one: other blocks point at them as successors. When memory
// changes, the blocks of the page are marked, and a marked block is compared with memory when it is
// next executed and decoded again in place if it differs. Firmware that keeps variables beside its
// code therefore costs comparisons and not decoding.
#include "cpu/block.h"

#include <algorithm>

#include "cpu/decoder.h"
#include "cpu/exec.h"
#include "cpu/lower.h"
#include "cpu/schedule.h"

namespace millrace::board {
namespace {

constexpr uint32_t kLineBytes = 32;

BlockEnd kind_of_end(const Insn& i) {
  switch (i.kind) {
    case Kind::b:
      return i.cond < kAlways ? BlockEnd::conditional : BlockEnd::jump;
    case Kind::cbz:
      return BlockEnd::conditional;
    case Kind::bl:
      return BlockEnd::call;
    case Kind::blx:
      return BlockEnd::indirect_call;
    case Kind::bx:
      return i.rm == 14 ? BlockEnd::returns : BlockEnd::indirect;
    case Kind::ldm:
      return (i.list & 0x8000) != 0 ? BlockEnd::returns : BlockEnd::fall;
    case Kind::ldr:
      return i.rd != 15 ? BlockEnd::fall : i.rn == 13 ? BlockEnd::returns : BlockEnd::indirect;
    case Kind::mov_pc:
    case Kind::add_pc:
    case Kind::tbb:
      return BlockEnd::indirect;
    default:
      return BlockEnd::fall;
  }
}

// Whether a loop that waits may have it: what it does is undone or done again by every round.
bool may_wait(Kind k) {
  switch (k) {
    case Kind::svc:
    case Kind::bkpt:
    case Kind::wfe:
    case Kind::wfi:
    case Kind::sev:
      return false;
    default:
      return k > Kind::coprocessor && k < Kind::vldr;
  }
}

// Odd, so that a sum of products with times can be undone; SplitMix64's last steps.
uint64_t digest_factor(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return (x ^ (x >> 31)) | 1;
}

// A comparison and its branch become one call.
void join_branch(const std::vector<Insn>& insns, Block* block) {
  const size_t ops = block->ops.size();
  const size_t count = insns.size();
  if (count < 2 || ops < 3) {
    return;
  }
  Op& op = block->ops[ops - 3];  // before the branch and the end
  const Handler both = alu_and_branch_handler(insns[count - 2], insns[count - 1]);
  if (both != nullptr && op.ops == 1 && op.index + 2u == count) {
    block->joined = static_cast<uint8_t>(ops - 3);
    block->unjoined = op.handler;
    op.handler = both;
  }
}

}  // namespace

BlockCache::BlockCache(MemorySystem& memory, const Timing* timing)
    : memory_(memory), timing_(timing), recent_(kRecent, nullptr) {}

Block* BlockCache::find(uint32_t address, uint32_t itstate, bool privileged) {
  const uint64_t key = block_key(address, itstate, privileged);
  Block*& recent = recent_[recent_slot(key)];
  if (recent != nullptr && recent->key == key) [[likely]] {
    return recent;
  }
  const auto found = blocks_.find(key);
  if (found != blocks_.end()) {
    recent = found->second.get();
    return recent;
  }
  if (blocks_.size() >= kMaxBlocks) {
    clear();
  }
  auto made = std::make_unique<Block>();
  Block* block = made.get();
  block->key = key;
  block->address = address;
  blocks_.emplace(key, std::move(made));
  recent_[recent_slot(key)] = block;
  build(block);
  return block;
}

void BlockCache::clear() {
  std::fill(recent_.begin(), recent_.end(), nullptr);
  blocks_.clear();
  by_page_.clear();
  ++generation_;
}

void BlockCache::mark_all() {
  for (auto& [key, block] : blocks_) {
    block->flags |= Block::kVerify;
  }
}

void BlockCache::take_changes() {
  if (!memory_.code_changed()) {
    return;
  }
  bool everything = false;
  const std::vector<uint32_t> pages = memory_.take_changed_code_pages(&everything);
  if (everything) {
    mark_all();
    return;
  }
  for (const uint32_t page : pages) {
    const auto found = by_page_.find(page);
    if (found != by_page_.end()) {
      for (Block* block : found->second) {
        block->flags |= Block::kVerify;
      }
    }
  }
}

void BlockCache::verify(Block* block) {
  const bool privileged = (block->key >> 40) == 0;
  bool same = (block->flags & Block::kTransient) == 0;
  uint32_t address = block->address;
  for (size_t k = 0; same && k < block->code.size(); ++k, address += 2) {
    uint16_t half = 0;
    same = memory_.fetch(address, privileged, &half) == AccessFault::none && half == block->code[k];
  }
  if (!same) {
    build(block);
    return;
  }
  block->flags = static_cast<uint8_t>(block->flags & ~Block::kVerify);
  set_lines(block);
  memory_.watch_code_page(block->address & ~(kPageBytes - 1));
  memory_.watch_code_page((block->end - 1) & ~(kPageBytes - 1));
}

void BlockCache::set_breakpoint(uint32_t address, bool on) {
  const auto found = std::find(breakpoints_.begin(), breakpoints_.end(), address);
  if (on && found == breakpoints_.end()) {
    breakpoints_.push_back(address);
  } else if (!on && found != breakpoints_.end()) {
    breakpoints_.erase(found);
  }
  clear();
}

void BlockCache::fetch_failed(Block* block, AccessFault fault) {
  Op& op = block->ops.emplace_back();
  op.handler = fault == AccessFault::mpu_execute || fault == AccessFault::mpu_data ? &op_fetch_mpu
                                                                                   : &op_fetch_bus;
  op.imm = block->address;
  block->may_wait = false;
  op.itstate = static_cast<uint8_t>(block->key >> 32);
  block->count = 1;
  block->cycles = 1;
  block->end = block->address + 2;
  block->flags |= Block::kTransient | Block::kVerify;
}

void BlockCache::build(Block* block) {
  ++decoded_;
  const bool privileged = (block->key >> 40) == 0;
  uint32_t itstate = static_cast<uint32_t>(block->key >> 32) & 0xFF;
  block->ops.clear();
  block->code.clear();
  block->late_count = 0;
  block->next = {};
  block->flags = 0;
  block->leaves = BlockEnd::fall;
  block->first_use.fill(127);
  block->count = 0;
  block->line_count = 0;
  block->may_wait = true;
  block->joined = 0xFF;
  block->digest_factor = digest_factor(block->address);
  std::vector<Insn> insns;
  uint32_t address = block->address;
  // 0 for the last page of the address space, whose end does not fit.
  const uint32_t page_end = (address & ~(kPageBytes - 1)) + kPageBytes;
  if (std::find(breakpoints_.begin(), breakpoints_.end(), address) != breakpoints_.end()) {
    block->flags |= Block::kBreakpoint;
  }
  while (address - block->address < page_end - block->address) {
    if (insns.size() >= kMaxInstructions && (itstate & 15) == 0) {
      break;
    }
    if (address != block->address &&
        std::find(breakpoints_.begin(), breakpoints_.end(), address) != breakpoints_.end()) {
      break;
    }
    uint16_t first = 0;
    uint16_t second = 0;
    AccessFault fault = memory_.fetch(address, privileged, &first);
    if (fault == AccessFault::none && instruction_size(first) == 4) {
      fault = memory_.fetch(address + 2, privileged, &second);
    }
    if (fault != AccessFault::none) {
      if (insns.empty()) {
        fetch_failed(block, fault);
        return;
      }
      break;
    }
    const Insn i = decode(first, second, address, itstate);
    Op place;
    place.half = static_cast<uint8_t>((address - block->address) / 2);
    place.itstate = static_cast<uint8_t>(itstate);
    place.index = static_cast<uint8_t>(insns.size());
    insns.push_back(i);
    block->may_wait &= may_wait(i.kind);
    lower(i, place, &block->ops);
    block->code.push_back(first);
    if (i.size == 4) {
      block->code.push_back(second);
    }
    itstate = i.kind == Kind::it ? i.imm : advance_itstate(itstate);
    block->branch_pc = address;
    block->leaves = kind_of_end(i);
    address += i.size;
    if (ends_block(i)) {
      break;
    }
  }
  block->end = address;
  block->end_itstate = static_cast<uint8_t>(itstate);
  block->count = static_cast<uint8_t>(insns.size());
  Op& end = block->ops.emplace_back();
  end.handler = &op_fall;
  end.imm = address;
  end.half = static_cast<uint8_t>((address - block->address) / 2);
  end.itstate = block->end_itstate;
  end.index = block->count;
  join_branch(insns, block);
  schedule(insns, timing_, block);
  register_pages(block);
  set_lines(block);
}

void BlockCache::register_pages(Block* block) {
  const uint32_t first = block->address / kPageBytes;
  const uint32_t last = (block->end - 1) / kPageBytes;
  for (uint32_t page = first; page <= last; ++page) {
    memory_.watch_code_page(page * kPageBytes);
    std::vector<Block*>& list = by_page_[page];
    if (list.empty() || std::find(list.begin(), list.end(), block) == list.end()) {
      list.push_back(block);
    }
  }
}

void BlockCache::set_lines(Block* block) {
  block->line_count = 0;
  // Memory on the fast path has no wait states.
  const bool privileged = (block->key >> 40) == 0;
  if (timing_ == nullptr || memory_.fast_page(block->address, privileged) != nullptr) {
    return;
  }
  for (const Op& op : block->ops) {
    const uint32_t address = block->address + 2u * op.half;
    if (address >= block->end) {
      break;
    }
    const uint32_t line = address / kLineBytes;
    if (block->line_count > 0 && block->lines[block->line_count - 1u].first / kLineBytes == line) {
      continue;
    }
    if (block->line_count == block->lines.size()) {
      break;
    }
    block->lines[block->line_count++] = {address, address, op.cycle};
  }
  for (unsigned k = 0; k < block->line_count; ++k) {
    const uint32_t line_end = (block->lines[k].first | (kLineBytes - 1));
    block->lines[k].last = std::min(line_end, block->end - 1);
  }
}

}  // namespace millrace::board
