// SPDX-License-Identifier: Apache-2.0
#include "memory/page_table.h"

#include "memory/default_map.h"

namespace millrace::board {
namespace {

constexpr uint32_t kPpbBase = 0xE0000000;
constexpr uint32_t kPpbBytes = 0x00100000;
constexpr unsigned kMaxChunks = 255;

uint16_t flags_of(const MemoryAttributes& a) {
  unsigned flags = 0;
  if (a.readable) flags |= kReadable;
  if (a.writable) flags |= kWritable;
  if (a.executable) flags |= kExecutable;
  if (a.cacheable && !a.device) flags |= kCacheable;
  if (a.write_back) flags |= kWriteBack;
  if (a.write_allocate) flags |= kWriteAllocate;
  if (a.device) flags |= kDeviceType;
  return static_cast<uint16_t>(flags);
}

bool is_tcm(Memory memory) { return memory == Memory::itcm || memory == Memory::dtcm; }

}  // namespace

PageTable::PageTable(PhysicalMemory& memory, const PageTableOptions& options)
    : memory_(memory), options_(options) {
  for (std::vector<Page>& pages : pages_) {
    pages.reserve(kMaxChunks * kPagesPerChunk);  // pages never move: the CPU points at them
    pages.resize(kPagesPerChunk);
  }
  watch_.resize(kPagesPerChunk);
  add_chunk(0x00000000);
  add_chunk(0x00200000);
  add_chunk(0x20000000);
  add_chunk(0x20200000);
  for (uint32_t at = 0; at < kFlashBytes; at += 1u << 20) add_chunk(kFlashBase + at);
  for (uint32_t at = 0; at < options.psram_bytes; at += 1u << 20) add_chunk(kPsramBase + at);
}

void PageTable::add_chunk(uint32_t address) {
  uint8_t& chunk = chunk_[address >> 20];
  if (chunk != 0 || chunks_ >= kMaxChunks) return;
  chunk = static_cast<uint8_t>(chunks_++);
  for (std::vector<Page>& pages : pages_) pages.resize(chunks_ * kPagesPerChunk);
  watch_.resize(chunks_ * kPagesPerChunk);
  ++changes_;
}

void PageTable::add_device_chunk(uint32_t address) { add_chunk(address); }

void PageTable::forget_all() {
  ++changes_;
  if (++generation_ != 0) return;
  generation_ = 1;  // after 2^32 changes: no page may seem known by accident
  for (std::vector<Page>& pages : pages_) {
    for (Page& page : pages) page.generation = 0;
  }
}

void PageTable::forget(uint32_t first, uint32_t last) {
  const uint32_t first_page = first / kPageBytes;
  const uint32_t last_page = last / kPageBytes;
  if (last_page < first_page || last_page - first_page > 64) return forget_all();
  for (uint32_t n = first_page; n <= last_page; ++n) {
    for (std::vector<Page>& pages : pages_) pages[index(n * kPageBytes)].generation = 0;
  }
  ++changes_;
}

MemoryAttributes PageTable::attributes(uint32_t address, bool privileged) const {
  return source_ != nullptr ? source_->attributes(address, privileged)
                            : default_attributes(address);
}

bool PageTable::uniform(uint32_t page_address, bool privileged, MemoryAttributes* out) const {
  if (source_ != nullptr) return source_->uniform_page(page_address, privileged, out);
  *out = default_attributes(page_address);
  return true;
}

Page& PageTable::learn(uint32_t address, bool privileged) {
  const bool somewhere = chunk_[address >> 20] != 0;
  Page& page = somewhere ? pages_[privileged][index(address)] : nowhere_[privileged];
  const uint32_t base = address & ~(kPageBytes - 1);
  page = Page();
  page.generation = somewhere ? generation_ : 0;
  if (base - kPpbBase < kPpbBytes) {
    // The system region is not the MPU's. Unprivileged code reaches the ITM stimulus ports only.
    page.memory = privileged || base == kPpbBase ? Memory::ppb : Memory::none;
    page.flags = kReadable | kWritable | kDeviceType;
    return page;
  }
  const PhysicalMemory::Place place = memory_.find(base);
  page.host = place.host;
  page.memory = place.memory;
  if (place.memory == Memory::none && somewhere) page.memory = Memory::device;
  MemoryAttributes attributes;
  if (!uniform(base, privileged, &attributes)) {
    page.flags = kMixed;
    page.mixed = static_cast<uint8_t>(next_mixed_);
    mixed_[next_mixed_] = MixedPage();
    mixed_[next_mixed_].owner = &page;
    next_mixed_ = (next_mixed_ + 1) % kMixedPages;
    return page;
  }
  page.flags = flags_of(attributes);
  if (page.host == nullptr || attributes.device) return page;
  if (is_tcm(page.memory) || !options_.timing) {
    if (attributes.readable) page.fast.read = page.host;
    if (attributes.writable && !watched(base) && page.memory != Memory::flash &&
        page.memory != Memory::rom) {
      page.fast.write = page.host;
    }
    return page;
  }
  if ((page.flags & kCacheable) == 0) return page;
  unsigned fast = 0;
  if (dcache_on_ && attributes.readable) fast |= kFastLoad;
  if (dcache_on_ && attributes.writable && attributes.write_back && page.memory != Memory::flash &&
      page.memory != Memory::rom) {
    fast |= kFastStore;
  }
  if (icache_on_ && attributes.readable && attributes.executable) fast |= kFastFetch;
  page.flags = static_cast<uint16_t>(page.flags | fast);
  return page;
}

uint16_t PageTable::mixed_flags(const Page& page, uint32_t address, bool privileged) {
  MixedPage& mixed = mixed_[page.mixed];
  if (mixed.owner != &page || page.generation == 0) {
    return flags_of(attributes(address, privileged));  // its place went to another page
  }
  uint8_t& flags = mixed.flags[(address % kPageBytes) / 32];
  if ((flags & kKnown) == 0) {
    flags = static_cast<uint8_t>(flags_of(attributes(address, privileged)) | kKnown);
  }
  return flags;
}

uint16_t PageTable::code_flags(uint32_t page_address, bool privileged) const {
  MemoryAttributes attributes;
  if (!uniform(page_address, privileged, &attributes)) return kMixed;
  return flags_of(attributes) & (kReadable | kExecutable | kCacheable);
}

void PageTable::watch(uint32_t address) {
  if (chunk_[address >> 20] == 0) return;
  Watch& watch = watch_[index(address)];
  if (watch.on) return;
  const uint32_t base = address & ~(kPageBytes - 1);
  watch.on = true;
  watch.flags[0] = code_flags(base, false);
  watch.flags[1] = code_flags(base, true);
  watched_pages_.push_back(base / kPageBytes);
  for (std::vector<Page>& pages : pages_) {
    Page& page = pages[index(address)];
    if (page.fast.write == nullptr) continue;
    page.fast.write = nullptr;
    ++changes_;
  }
}

void PageTable::unwatch(uint32_t address) {
  Watch& watch = watch_[index(address)];
  if (!watch.on) return;
  watch = Watch();
  std::erase(watched_pages_, address / kPageBytes);
  for (std::vector<Page>& pages : pages_) pages[index(address)].generation = 0;
  ++changes_;
}

void PageTable::unwatch_all() {
  for (const uint32_t page : watched_pages_) watch_[index(page * kPageBytes)] = Watch();
  watched_pages_.clear();
  forget_all();
}

std::vector<uint32_t> PageTable::take_changed_permissions(uint32_t first, uint32_t last) {
  std::vector<uint32_t> changed;
  for (const uint32_t page : watched_pages_) {
    if (page < first / kPageBytes || page > last / kPageBytes) continue;
    const Watch& watch = watch_[index(page * kPageBytes)];
    const uint16_t now[2] = {code_flags(page * kPageBytes, false),
                             code_flags(page * kPageBytes, true)};
    // A page that is mixed before and after may have changed anywhere in it.
    if (now[0] == watch.flags[0] && now[1] == watch.flags[1] && ((now[0] | now[1]) & kMixed) == 0) {
      continue;
    }
    changed.push_back(page);
  }
  for (const uint32_t page : changed) unwatch(page * kPageBytes);
  return changed;
}

}  // namespace millrace::board
