// SPDX-License-Identifier: Apache-2.0
// The caches against two other implementations: a flat memory (with coherence maintained as a
// driver must, every value read has to be the same) and a slow cache model written here from the
// description alone (every hit, miss, eviction and write-back has to be the same).
#include <map>
#include <optional>
#include <random>

#include "memory/testing/test_memory.h"

namespace millrace::board {
namespace {

using CacheOp = MemorySystem::CacheOp;

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  uint32_t operator()() { return static_cast<uint32_t>(engine_()); }

 private:
  std::mt19937 engine_;
};

// A Galois LFSR bit by bit: x^32 + x^30 + x^26 + x^25 + 1, seeded and mixed as cache.h says.
class ModelLfsr {
 public:
  explicit ModelLfsr(uint64_t seed) {
    state_ = ((seed & 0xFFFFFFFF) ^ (seed >> 32)) * 2654435761u % (1ull << 32);
    if (state_ == 0) state_ = 1;
  }
  uint32_t next() {
    const bool out = state_ % 2 == 1;
    state_ /= 2;
    if (out) {
      for (const unsigned tap : {32u, 30u, 26u, 25u}) state_ ^= 1ull << (tap - 1);
    }
    return static_cast<uint32_t>(state_ * 0x9E3779B9u % (1ull << 32) >> 16);
  }

 private:
  uint64_t state_;
};

// Which lines a cache of `sets` x `ways` holds and which are dirty.
class ModelCache {
 public:
  ModelCache(uint32_t sets, uint32_t ways, uint64_t seed)
      : sets_(sets), ways_(ways), random_(seed) {}

  void access(uint32_t address, bool is_store) {
    const uint32_t line = address / 32;
    auto& set = content_[line % sets_];
    set.resize(ways_);
    for (auto& way : set) {
      if (way && way->line == line) {
        ++counts.hits;
        way->dirty |= is_store;
        return;
      }
    }
    ++counts.misses;
    for (auto& way : set) {
      if (!way) {
        way = Line{line, is_store};
        return;
      }
    }
    auto& victim = set[random_.next() % ways_];
    ++counts.evictions;
    if (victim->dirty) ++counts.writebacks;
    victim = Line{line, is_store};
  }
  void maintain(uint32_t address, bool clean, bool invalidate) {
    auto& set = content_[address / 32 % sets_];
    for (auto& way : set) {
      if (way && way->line == address / 32) maintain_way(way, clean, invalidate);
    }
  }
  void maintain_set_way(uint32_t set_number, uint32_t way, bool clean, bool invalidate) {
    auto& set = content_[set_number];
    set.resize(ways_);
    maintain_way(set[way], clean, invalidate);
  }

  CacheCounter counts;

 private:
  struct Line {
    uint32_t line;
    bool dirty;
  };
  void maintain_way(std::optional<Line>& way, bool clean, bool invalidate) {
    if (!way) return;
    if (clean && way->dirty) {
      way->dirty = false;
      ++counts.writebacks;
    }
    if (invalidate) way.reset();
  }
  uint32_t sets_, ways_;
  ModelLfsr random_;
  std::map<uint32_t, std::vector<std::optional<Line>>> content_;
};

void expect_equal(const CacheCounter& a, const CacheCounter& b, int step) {
  ASSERT_EQ(a.hits, b.hits) << "step " << step;
  ASSERT_EQ(a.misses, b.misses) << "step " << step;
  ASSERT_EQ(a.evictions, b.evictions) << "step " << step;
  ASSERT_EQ(a.writebacks, b.writebacks) << "step " << step;
}

TEST(CacheModel, DataCacheCountsAreThoseOfTheModel) {
  for (const uint64_t seed : {1ull, 7ull, 0x123456789ull}) {
    MemoryOptions options;
    options.seed = seed;
    TestMemory t(options);
    t.memory.enable_dcache(true);
    t.memory.disable_read_allocate(true);
    ModelCache model(256, 4, seed);
    Random random(static_cast<uint32_t>(seed));
    for (int step = 0; step < 40000; ++step) {
      // Mostly a region of 40 KB, so that sets overflow now and then.
      const uint32_t span = random() % 8 == 0 ? 0x80000 : 0xA000;
      const uint32_t address = kOcram + random() % span / 4 * 4;
      switch (random() % 32) {
        case 0:
          t.op(CacheOp::dcache_clean_line, address);
          model.maintain(address, true, false);
          break;
        case 1:
          t.op(CacheOp::dcache_invalidate_line, address);
          model.maintain(address, false, true);
          break;
        case 2:
          t.op(CacheOp::dcache_clean_invalidate_line, address);
          model.maintain(address, true, true);
          break;
        case 3: {
          const uint32_t way = random() % 4;
          const uint32_t set = random() % 256;
          t.op(CacheOp::dcache_clean_invalidate_set_way, way << 30 | set << 5);
          model.maintain_set_way(set, way, true, true);
          break;
        }
        default:
          if (random() % 3 == 0) {
            t.store(address, random());
            model.access(address, true);
          } else {
            t.load(address);
            model.access(address, false);
          }
      }
      if (step % 100 == 0) expect_equal(t.memory.counts().dcache, model.counts, step);
      if (::testing::Test::HasFatalFailure()) return;
    }
    EXPECT_GT(model.counts.evictions, 1000u);
    EXPECT_GT(model.counts.writebacks, 500u);
  }
}

TEST(CacheModel, InstructionCacheCountsAreThoseOfTheModel) {
  MemoryOptions options;
  options.seed = 5;
  TestMemory t(options);
  t.memory.enable_icache(true);
  ModelCache model(512, 2, ~uint64_t{5});
  Random random(5);
  for (int step = 0; step < 40000; ++step) {
    const uint32_t span = random() % 8 == 0 ? 0x100000 : 0xA000;
    const uint32_t address = kFlash + random() % span / 2 * 2;
    if (random() % 64 == 0) {
      t.op(CacheOp::icache_line, address);
      model.maintain(address, false, true);
    } else {
      t.execute(address, address + 1);
      model.access(address, false);
    }
    if (step % 100 == 0) expect_equal(t.memory.counts().icache, model.counts, step);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(model.counts.evictions, 1000u);
}

TEST(CacheModel, WorkingSetOfTheCachesSizeMissesOnceOnly) {
  TestMemory t;
  t.memory.enable_dcache(true);
  t.memory.enable_icache(true);
  for (int round = 0; round < 3; ++round) {
    for (uint32_t i = 0; i < 32768; i += 32) {
      t.load(kOcram + i);
      t.execute(kFlash + i, kFlash + i);
    }
  }
  EXPECT_EQ(t.memory.counts().dcache.misses, 1024u);
  EXPECT_EQ(t.memory.counts().icache.misses, 1024u);
  EXPECT_EQ(t.memory.counts().dcache.evictions + t.memory.counts().icache.evictions, 0u);
}

TEST(CacheModel, EvictionsBySetAddUp) {
  TestMemory t;
  t.memory.enable_dcache(true);
  t.memory.enable_icache(true);
  t.memory.count_evictions_by_set(true);
  for (uint32_t i = 0; i < 10; ++i) t.load(kOcram + 8192 * i + 7 * 32);  // set 7, 4 ways
  for (uint32_t i = 0; i < 5; ++i)
    t.execute(kFlash + 16384 * i + 300 * 32, kFlash + 16384 * i + 300 * 32);
  ASSERT_EQ(t.memory.dcache_evictions_by_set().size(), 256u);
  ASSERT_EQ(t.memory.icache_evictions_by_set().size(), 512u);
  EXPECT_EQ(t.memory.dcache_evictions_by_set()[7], 6u);
  EXPECT_EQ(t.memory.dcache_evictions_by_set()[8], 0u);
  EXPECT_EQ(t.memory.icache_evictions_by_set()[300], 3u);
  t.memory.count_evictions_by_set(false);
  EXPECT_TRUE(t.memory.dcache_evictions_by_set().empty());
}

// A board in use: random accesses; returns the time at the end and a digest of what was seen.
std::pair<Cycles, uint32_t> run_steps(TestMemory& t, uint32_t seed, int steps) {
  Random random(seed);
  uint32_t digest = 1;
  for (int step = 0; step < steps; ++step) {
    const uint32_t address = kOcram + random() % 0x14000;
    const uint32_t code = kFlash + random() % 0x14000 / 2 * 2;
    t.execute(code, code + random() % 16);
    if (random() % 2 == 0) {
      t.store(address, random());
    } else {
      digest = digest * 31 + t.load(address);
    }
  }
  return {t.now, digest};
}

TEST(Determinism, EqualSeedsGiveEqualTimesOthersDoNot) {
  const auto with_seed = [](uint64_t seed) {
    MemoryOptions options;
    options.seed = seed;
    TestMemory t(options);
    t.memory.enable_dcache(true);
    t.memory.enable_icache(true);
    return run_steps(t, 3, 20000);
  };
  const auto first = with_seed(1);
  EXPECT_EQ(with_seed(1), first);
  EXPECT_NE(with_seed(2).first, first.first);
  EXPECT_EQ(with_seed(2).second, first.second);  // replacement changes time, not data
}

TEST(Determinism, SnapshotResumesBitIdentically) {
  TestMemory t;
  t.memory.enable_dcache(true);
  t.memory.enable_icache(true);
  t.program(kFlash + 100, 0x12345678);
  run_steps(t, 1, 5000);
  Snapshot save;
  t.memory.snapshot(save);
  const std::vector<uint8_t> bytes = save.take();

  TestMemory other;
  Snapshot restore(bytes);
  other.memory.snapshot(restore);
  ASSERT_TRUE(restore.ok()) << restore.error();
  other.now = t.now;
  EXPECT_EQ(other.load(kFlash + 100), t.load(kFlash + 100));
  EXPECT_EQ(run_steps(other, 2, 5000), run_steps(t, 2, 5000));
  EXPECT_EQ(other.memory.counts().dcache.hits, t.memory.counts().dcache.hits);
  EXPECT_EQ(other.memory.counts().icache_stalls, t.memory.counts().icache_stalls);

  MemoryOptions with_psram;
  with_psram.psram_bytes = 8u << 20;
  TestMemory different(with_psram);
  Snapshot wrong(bytes);
  different.memory.snapshot(wrong);
  EXPECT_FALSE(wrong.ok());
}

// Regions of several kinds, a flat array beside them.
struct Flat : ::testing::TestWithParam<uint32_t> {
  static constexpr uint32_t kBytes = 0xC000;  // more than the cache

  Flat() : t({.psram_bytes = 8u << 20, .seed = GetParam()}) {
    mpu.add(kOcram + 0x4000, 0x2000, write_through());
    mpu.add(kOcram + 0x6000, 0x2000, normal_uncached());
    mpu.add(kOcram + 0x8000, 0x1020, write_back_no_allocate());  // ends inside a page
    t.memory.set_attributes_source(&mpu);
    t.memory.enable_dcache(true);
  }
  ~Flat() override { t.memory.set_attributes_source(nullptr); }
  void maintain(CacheOp operation, uint32_t address, uint32_t size) {
    for (uint32_t line = address & ~31u; line < address + size; line += 32) t.op(operation, line);
  }
  void clean_invalidate_all() {
    for (uint32_t set = 0; set < 256; ++set) {
      for (uint32_t way = 0; way < 4; ++way) {
        t.op(CacheOp::dcache_clean_invalidate_set_way, way << 30 | set << 5);
      }
    }
  }
  TestMpu mpu;
  TestMemory t;
};

TEST_P(Flat, MaintainedCoherenceReadsWhatWasWritten) {
  Random random(GetParam());
  struct Region {
    uint32_t base;
    std::vector<uint8_t> flat;
  };
  std::vector<Region> regions;
  for (const uint32_t base : {kOcram, kPsram, kDtcm}) {
    regions.push_back({base, std::vector<uint8_t>(kBytes)});
  }
  bool dcache = true;
  for (int step = 0; step < 60000; ++step) {
    Region& region = regions[random() % regions.size()];
    const unsigned size = 1u << (random() % 3);
    const uint32_t offset = random() % (kBytes - 4);
    const uint32_t what = random() % 64;
    if (what < 28) {
      const uint32_t value = t.load(region.base + offset, size);
      ASSERT_EQ(value, load_le(&region.flat[offset], size)) << "step " << step;
    } else if (what < 54) {
      const uint32_t value = random();
      t.store(region.base + offset, value, size);
      store_le(&region.flat[offset], size, value);
    } else if (what < 56) {  // memset-like: enters read-allocate mode
      const uint32_t start = offset / 32 * 32;
      const uint32_t bytes = std::min<uint32_t>(random() % 512 / 4 * 4, kBytes - start);
      for (uint32_t i = 0; i < bytes; i += 4) {
        t.store(region.base + start + i, static_cast<uint32_t>(step) + i);
        store_le(&region.flat[start + i], 4, static_cast<uint32_t>(step) + i);
      }
    } else if (what < 59) {  // a device reads a buffer: clean it first
      std::vector<uint8_t> buffer(1 + random() % 100);
      const uint32_t from = std::min<uint32_t>(offset, kBytes - 100);
      maintain(
          random() % 2 == 0 ? CacheOp::dcache_clean_line : CacheOp::dcache_clean_invalidate_line,
          region.base + from, static_cast<uint32_t>(buffer.size()));
      ASSERT_TRUE(t.memory.dma_read(region.base + from, buffer.data(),
                                    static_cast<uint32_t>(buffer.size())));
      ASSERT_TRUE(std::equal(buffer.begin(), buffer.end(), region.flat.begin() + from));
    } else if (what < 62) {  // a device writes whole lines: the core drops its copies
      std::vector<uint8_t> buffer(32 * (1 + random() % 4));
      for (uint8_t& byte : buffer) byte = static_cast<uint8_t>(random());
      const uint32_t to = std::min<uint32_t>(offset, kBytes - 128) / 32 * 32;
      const auto bytes = static_cast<uint32_t>(buffer.size());
      if (random() % 2 == 0) {
        maintain(CacheOp::dcache_clean_invalidate_line, region.base + to, bytes);
        ASSERT_TRUE(t.memory.dma_write(region.base + to, buffer.data(), bytes));
      } else {
        ASSERT_TRUE(t.memory.dma_write(region.base + to, buffer.data(), bytes));
        maintain(CacheOp::dcache_invalidate_line, region.base + to, bytes);
      }
      std::copy(buffer.begin(), buffer.end(), region.flat.begin() + to);
    } else if (step % 16 == 0) {  // as CMSIS: switch off, then clean and invalidate; and back
      dcache = !dcache;
      t.memory.enable_dcache(dcache);
      if (!dcache) clean_invalidate_all();
    }
  }
  clean_invalidate_all();
  for (const Region& region : regions) {
    std::vector<uint8_t> bytes(kBytes);
    ASSERT_TRUE(t.memory.dma_read(region.base, bytes.data(), kBytes));
    EXPECT_EQ(bytes, region.flat) << std::hex << region.base;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Flat, ::testing::Values(1u, 2u, 3u, 4u));

}  // namespace
}  // namespace millrace::board
