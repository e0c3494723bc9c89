// SPDX-License-Identifier: Apache-2.0
#include "usb/ncm_bundle.h"

#include <gtest/gtest.h>

#include <random>

#include "core/bytes.h"
#include "millrace/link/ntb16.h"

namespace millrace::board {
namespace {

using Bytes = std::vector<uint8_t>;

link::NtbParameters parameters(uint32_t out_max) {
  link::NtbParameters p;
  p.in_max_bytes = 2048;
  p.out_max_bytes = out_max;
  return p;
}

// What link's reader, which was written for the device, finds in a block.
std::vector<Bytes> read_back(const Bytes& block) {
  std::vector<Bytes> list;
  link::Ntb16Reader reader(block.data(), block.size());
  link::NtbDatagram d;
  link::NtbStatus status = reader.next(&d);
  for (; status == link::NtbStatus::datagram; status = reader.next(&d)) {
    list.emplace_back(block.begin() + static_cast<std::ptrdiff_t>(d.offset),
                      block.begin() + static_cast<std::ptrdiff_t>(d.offset + d.length));
  }
  EXPECT_EQ(status, link::NtbStatus::end) << link::describe(status);
  return list;
}

TEST(NcmLayout, ABlockIsNoLongerThanEitherSideWants) {
  EXPECT_EQ(make_ncm_layout(parameters(8192), 16384, 512).block_bytes, 8192u);
  // Not the device's limit: a byte more, so that a full block ends with a short packet.
  EXPECT_EQ(make_ncm_layout(parameters(65536), 16384, 512).block_bytes, 16385u);
  EXPECT_EQ(make_ncm_layout(parameters(0), 4000, 512).block_bytes, 4000u);
  EXPECT_EQ(make_ncm_layout(parameters(8192), 16384, 512).full_from, 8192u - 3 * 512);
}

TEST(NcmLayout, NonsenseGivesTheDefaults) {
  link::NtbParameters p = parameters(4096);
  p.out_divisor = 6;
  p.out_payload_remainder = 5;
  p.out_ndp_alignment = 3;
  p.out_max_datagrams = 1000;
  const NcmLayout layout = make_ncm_layout(p, 16384, 512);
  EXPECT_EQ(layout.modulus, 4u);
  EXPECT_EQ(layout.remainder, 2u);  // -14 modulo 4
  EXPECT_EQ(layout.ndp_modulus, 4u);
  EXPECT_EQ(layout.datagrams, 40u);
}

TEST(NcmBundle, PayloadsStandWhereTheDeviceWantsThem) {
  link::NtbParameters p = parameters(8192);
  p.out_divisor = 64;
  p.out_payload_remainder = 20;
  p.out_ndp_alignment = 32;
  NcmBundle bundle;
  bundle.configure(make_ncm_layout(p, 16384, 512));
  ASSERT_TRUE(bundle.add(Bytes(60, 1)));
  ASSERT_TRUE(bundle.add(Bytes(61, 2)));
  const Bytes block = bundle.finish();
  const uint32_t ndp = load_le(&block[10], 2);
  EXPECT_EQ(ndp % 32, 0u);
  for (const uint32_t entry : {ndp + 8, ndp + 12}) {
    EXPECT_EQ((load_le(&block[entry], 2) + 14) % 64, 20u);  // behind the Ethernet header
  }
  EXPECT_EQ(read_back(block).size(), 2u);
}

TEST(NcmBundle, CountsItsBlocks) {
  NcmBundle bundle;
  bundle.configure(make_ncm_layout(parameters(4096), 16384, 512));
  for (unsigned i = 0; i < 3; ++i) {
    ASSERT_TRUE(bundle.add(Bytes(60)));
    EXPECT_EQ(load_le(&bundle.finish()[6], 2), i);
    EXPECT_TRUE(bundle.is_empty());
  }
}

TEST(NcmBundle, TakesAsManyAsTheDeviceAllows) {
  link::NtbParameters p = parameters(8192);
  p.out_max_datagrams = 3;
  NcmBundle bundle;
  bundle.configure(make_ncm_layout(p, 16384, 512));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bundle.add(Bytes(60)));
  EXPECT_TRUE(bundle.is_full());
  EXPECT_FALSE(bundle.add(Bytes(60)));
  EXPECT_EQ(read_back(bundle.finish()).size(), 3u);
}

TEST(NcmBundle, AnyLayoutGivesBlocksThatTheDevicesReaderTakes) {
  std::mt19937 random(1);
  const auto below = [&random](uint32_t end) { return static_cast<uint32_t>(random() % end); };
  for (int round = 0; round < 2000; ++round) {
    link::NtbParameters p = parameters(below(4) == 0 ? below(3000) : 512 * below(64));
    p.out_divisor = static_cast<uint16_t>(below(2) == 0 ? 1u << below(12) : below(65536));
    p.out_payload_remainder = static_cast<uint16_t>(below(300));
    p.out_ndp_alignment = static_cast<uint16_t>(below(2) == 0 ? 1u << below(12) : below(65536));
    p.out_max_datagrams = static_cast<uint16_t>(below(60));
    const uint32_t packet = below(2) == 0 ? 512 : 64;
    const NcmLayout layout = make_ncm_layout(p, 2048 + below(30000), packet);
    NcmBundle bundle;
    bundle.configure(layout);
    std::vector<Bytes> sent;
    for (;;) {
      const Bytes frame(14 + below(1501), static_cast<uint8_t>(random()));
      if (!bundle.add(frame)) break;
      sent.push_back(frame);
    }
    if (bundle.is_empty()) continue;  // a block of a few bytes
    const Bytes block = bundle.finish();
    ASSERT_LE(block.size(), layout.block_bytes);
    if (block.size() % packet == 0) {
      ASSERT_EQ(block.size(), p.out_max_bytes);
    }
    ASSERT_EQ(read_back(block), sent);
  }
}

}  // namespace
}  // namespace millrace::board
