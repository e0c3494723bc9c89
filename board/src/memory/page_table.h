// SPDX-License-Identifier: Apache-2.0
// What the memory system knows of each 4 KB page: where its bytes are, its attributes, and whether
// the core holds decoded code of it. Filled on demand from the MPU (or the default map); a page is
// known as long as its generation is the table's, so that forgetting everything costs one addition.
//
// Two levels without search: 4,096 chunks of 1 MB, of which only those with memory or devices have
// pages of their own. A page whose attributes are not the same everywhere (a stack guard in it) is
// kept by 32-byte line, the finest that MPU regions divide.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "memory/memory_system.h"
#include "memory/physical_memory.h"

namespace millrace::board {

// Flags of a page or line.
enum PageFlag : uint16_t {
  kReadable = 1,
  kWritable = 2,
  kExecutable = 4,
  kCacheable = 8,
  kWriteBack = 16,
  kWriteAllocate = 32,
  kDeviceType = 64,
  kKnown = 128,       // in a mixed page's lines
  kMixed = 256,       // the flags above are by line
  kFastLoad = 512,    // loads that hit the D-cache need no more checks
  kFastStore = 1024,  // stores likewise: writable, write-back
  kFastFetch = 2048,  // fetches that hit the I-cache likewise
};

struct Page {
  FastPage fast;
  uint8_t* host = nullptr;
  uint32_t generation = 0;  // 0: unknown
  uint16_t flags = 0;
  Memory memory = Memory::none;
  uint8_t mixed = 0;  // which MixedPage, if kMixed
};

struct PageTableOptions {
  bool timing = true;  // false: fast pointers into every memory
  uint32_t psram_bytes = 0;
};

class PageTable {
 public:
  PageTable(PhysicalMemory& memory, const PageTableOptions& options);

  // The page of `address`, known. Cheap when it was known before.
  Page& page(uint32_t address, bool privileged) {
    Page& page = pages_[privileged][index(address)];
    if (page.generation == generation_) return page;
    return learn(address, privileged);
  }
  uint16_t flags(const Page& page, uint32_t address, bool privileged) {
    if ((page.flags & kMixed) == 0) return page.flags;
    return mixed_flags(page, address, privileged);
  }

  void set_source(const AttributeSource* source) {
    source_ = source;
    forget_all();
  }
  void set_caches(bool icache, bool dcache) {
    icache_on_ = icache;
    dcache_on_ = dcache;
    forget_all();
  }
  // There is a device in the 1 MB around `address`.
  void add_device_chunk(uint32_t address);
  void forget_all();
  void forget(uint32_t first, uint32_t last);
  uint32_t changes() const { return changes_; }  // of anything that fast pages depend on

  // Decoded code. A line is decoded once mark_decoded() was called; it matters while its page is
  // watched.
  void watch(uint32_t address);
  void unwatch(uint32_t address);
  void unwatch_all();
  bool watched(uint32_t address) const { return watch_[index(address)].on; }
  bool decoded(uint32_t address) const {
    const Watch& watch = watch_[index(address)];
    return watch.on && ((watch.lines[(address >> 11) & 1] >> ((address >> 5) & 63)) & 1) != 0;
  }
  void mark_decoded(uint32_t address) {
    watch_[index(address)].lines[(address >> 11) & 1] |= uint64_t{1} << ((address >> 5) & 63);
  }
  // Watched pages among first..last (addresses) in which execution or caching is not as it was when
  // the watch was set; they are unwatched.
  std::vector<uint32_t> take_changed_permissions(uint32_t first, uint32_t last);

 private:
  static constexpr uint32_t kPagesPerChunk = 256;
  static constexpr unsigned kMixedPages = 64;

  struct Watch {
    bool on = false;
    uint16_t flags[2] = {0, 0};  // kExecutable and kCacheable by privilege, and kMixed
    std::array<uint64_t, 2> lines{};
  };
  struct MixedPage {
    const Page* owner = nullptr;
    std::array<uint8_t, kPageBytes / 32> flags{};
  };

  uint32_t index(uint32_t address) const {
    return chunk_[address >> 20] * kPagesPerChunk + ((address >> 12) & (kPagesPerChunk - 1));
  }
  void add_chunk(uint32_t address);
  Page& learn(uint32_t address, bool privileged);
  uint16_t mixed_flags(const Page& page, uint32_t address, bool privileged);
  MemoryAttributes attributes(uint32_t address, bool privileged) const;
  bool uniform(uint32_t page_address, bool privileged, MemoryAttributes* out) const;
  uint16_t code_flags(uint32_t page_address, bool privileged) const;

  PhysicalMemory& memory_;
  PageTableOptions options_;
  const AttributeSource* source_ = nullptr;
  bool icache_on_ = false;
  bool dcache_on_ = false;
  uint32_t generation_ = 1;
  uint32_t changes_ = 0;
  std::array<uint8_t, 4096> chunk_{};  // chunk 0 stands for all that is nowhere
  unsigned chunks_ = 1;
  std::array<std::vector<Page>, 2> pages_;  // by privilege
  std::array<Page, 2> nowhere_{};           // what page() gives in chunk 0
  std::vector<Watch> watch_;
  std::vector<uint32_t> watched_pages_;  // may hold pages that are watched no more
  std::array<MixedPage, kMixedPages> mixed_{};
  unsigned next_mixed_ = 0;
};

}  // namespace millrace::board
