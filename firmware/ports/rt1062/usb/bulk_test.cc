// SPDX-License-Identifier: Apache-2.0
// The two byte streams.
#include <random>

#include "firmware/ports/rt1062/usb/testing/usb_fixture.h"

namespace millrace::rt1062 {
namespace {

class BulkInTest : public UsbFixture {
 protected:
  BulkInTest() { enumerate(); }
  size_t write(const Bytes& bytes) { return bulk_in.write(bytes.data(), bytes.size()); }
  static std::vector<size_t> sizes(const std::vector<Bytes>& packets) {
    std::vector<size_t> result;
    for (const Bytes& packet : packets) result.push_back(packet.size());
    return result;
  }
};

TEST_F(BulkInTest, WholePacketsLeaveAtOnceTheRestAtTheEnd) {
  EXPECT_EQ(write(pattern(1300)), 1300u);
  EXPECT_EQ(sizes(drain()), (std::vector<size_t>{512, 512}));
  EXPECT_EQ(bulk_in.waiting(), 276u);
  bulk_in.end_transfer();
  EXPECT_EQ(sizes(drain()), (std::vector<size_t>{276}));
}

// USB 2.0 5.8.3: a transfer ends with a short packet, which an exact multiple has to be given.
TEST_F(BulkInTest, ExactMultiplesEndWithAnEmptyPacket) {
  const size_t cases[] = {1, 511, 512, 513, 1024, 16384, 16896, 40000, 65536};
  for (const size_t size : cases) {
    const Bytes bytes = pattern(size);
    EXPECT_EQ(write(bytes), size);
    bulk_in.end_transfer();
    const std::vector<Bytes> packets = drain();
    EXPECT_EQ(joined(packets), bytes) << size;
    EXPECT_EQ(packets.back().size(), size % 512) << size;
    EXPECT_EQ(packets.size(), size / 512 + 1) << size;
  }
  bulk_in.end_transfer();  // nothing was written since
  EXPECT_TRUE(drain().empty());
}

TEST_F(BulkInTest, FullSpeedPacketsAreSmall) {
  chip.bus_reset(false);
  EXPECT_EQ(control_out(0x00, 9, 1, 0), Handshake::ack);
  port.take_link_lost();
  EXPECT_EQ(write(pattern(128)), 128u);
  bulk_in.end_transfer();
  EXPECT_EQ(sizes(drain()), (std::vector<size_t>{64, 64, 0}));
}

// A stream is only full packets, whatever the sizes of the writes; and the ring comes round.
TEST_F(BulkInTest, StreamHasNoShortPackets) {
  std::mt19937 random(1);
  Bytes received;
  uint32_t written = 0;
  while (received.size() < 3 * UsbMemory::kInBytes) {
    const Bytes bytes = pattern(1 + random() % 9000, written);
    written += static_cast<uint32_t>(write(bytes));
    for (size_t tokens = random() % 20; tokens > 0; --tokens) {
      Bytes packet;
      if (chip.in(4, &packet) != Handshake::ack) continue;
      EXPECT_EQ(packet.size(), 512u);
      received.insert(received.end(), packet.begin(), packet.end());
    }
  }
  EXPECT_EQ(received, pattern(received.size()));
}

TEST_F(BulkInTest, TakesWhatFitsAndNoMore) {
  const Bytes bytes = pattern(UsbMemory::kInBytes + 1000);
  EXPECT_EQ(write(bytes), UsbMemory::kInBytes);
  EXPECT_EQ(bulk_in.room(), 0u);
  EXPECT_EQ(write(bytes), 0u);
  const size_t sent = joined(drain()).size();
  EXPECT_GT(sent, UsbMemory::kInBytes - 512u);
  bulk_in.service();
  EXPECT_EQ(bulk_in.room(), sent);
}

// Pieces grow with what waits: 128 KB written in 512 B need far fewer than 256 descriptors, and an
// interrupt only for each large piece: 128 / 16 = 8.
TEST_F(BulkInTest, InterruptsAreFew) {
  for (uint32_t i = 0; i < UsbMemory::kInBytes / 512; ++i) write(pattern(512, 512 * i));
  const uint32_t before = chip.interrupts;
  EXPECT_EQ(joined(drain()), pattern(UsbMemory::kInBytes));
  EXPECT_LE(chip.interrupts - before, 8u);
  EXPECT_GE(chip.interrupts - before, 7u);
}

TEST_F(BulkInTest, WrittenInPlace) {
  size_t size = 0;
  uint8_t* to = bulk_in.reserve(&size);
  EXPECT_EQ(size, UsbMemory::kInBytes);
  const Bytes bytes = pattern(700);
  std::copy(bytes.begin(), bytes.end(), to);
  bulk_in.commit(700);
  EXPECT_EQ(bulk_in.reserve(&size), to + 700);
  EXPECT_EQ(size, UsbMemory::kInBytes - 700u);
  bulk_in.end_transfer();
  EXPECT_EQ(joined(drain()), bytes);
}

// Many short messages at once: more transfers than there are descriptors.
TEST_F(BulkInTest, MessagesWaitForDescriptors) {
  Bytes all;
  for (uint32_t i = 0; i < 100; ++i) {
    const Bytes message = pattern(10, 10 * i);
    EXPECT_EQ(write(message), 10u);
    bulk_in.end_transfer();
    all.insert(all.end(), message.begin(), message.end());
  }
  EXPECT_EQ(joined(drain()), all);
}

TEST_F(BulkInTest, DiscardForgetsWhatIsNotSent) {
  write(pattern(5000));
  bulk_in.discard();
  EXPECT_TRUE(drain().empty());
  write(pattern(20, 77));
  bulk_in.end_transfer();
  EXPECT_EQ(joined(drain()), pattern(20, 77));
}

TEST_F(BulkInTest, NoSessionTakesNothing) {
  chip.bus_reset(true);
  EXPECT_EQ(write(pattern(100)), 0u);
  bulk_in.end_transfer();
  port.take_link_lost();
  EXPECT_EQ(write(pattern(100)), 0u);
}

TEST_F(BulkInTest, AnErrorLosesOneTransferOnly) {
  write(pattern(512));
  write(pattern(512, 512));
  chip.corrupt_next = 1;
  EXPECT_EQ(joined(drain()), pattern(512, 512));
  EXPECT_EQ(bulk_in.room(), UsbMemory::kInBytes);
}

class BulkOutTest : public UsbFixture {
 protected:
  BulkOutTest() { enumerate(); }
  Bytes read(size_t size) {
    Bytes bytes(size);
    bytes.resize(bulk_out.read(bytes.data(), size));
    return bytes;
  }
  Handshake send(const Bytes& packet) { return chip.out(3, packet); }
};

// A full packet with nothing behind it, as Linux leaves it.
TEST_F(BulkOutTest, FullPacketIsReadAtOnce) {
  EXPECT_FALSE(bulk_out.readable());
  EXPECT_EQ(send(pattern(512)), Handshake::ack);
  EXPECT_TRUE(bulk_out.readable());
  EXPECT_EQ(read(2048), pattern(512));
  EXPECT_FALSE(bulk_out.readable());
}

TEST_F(BulkOutTest, PiecesOfAnySizeInOrder) {
  std::mt19937 random(2);
  Bytes sent, received;
  uint32_t refused = 0;
  while (sent.size() < 100'000) {
    const Bytes packet = pattern(random() % 513, static_cast<uint32_t>(sent.size()));
    if (send(packet) == Handshake::ack) {
      sent.insert(sent.end(), packet.begin(), packet.end());
    } else {
      ++refused;
    }
    if (random() % 3 != 0) continue;
    const Bytes piece = read(1 + random() % 3000);
    received.insert(received.end(), piece.begin(), piece.end());
  }
  while (bulk_out.readable()) {
    const Bytes piece = read(999);
    received.insert(received.end(), piece.begin(), piece.end());
  }
  EXPECT_EQ(received, sent);
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(bulk_out.failures(), 0u);
}

TEST_F(BulkOutTest, BuffersFillAndTheHostWaits) {
  uint32_t packets = 0;
  while (packets < 100 && send(pattern(512, 512 * packets)) == Handshake::ack) ++packets;
  EXPECT_EQ(packets, UsbMemory::kOutPackets);
  EXPECT_EQ(read(512 * packets), pattern(512 * packets));
  EXPECT_EQ(send(pattern(1)), Handshake::ack);
}

TEST_F(BulkOutTest, EmptyPacketsAreNothing) {
  EXPECT_EQ(send({}), Handshake::ack);
  EXPECT_TRUE(read(10).empty());
  EXPECT_EQ(send(pattern(3)), Handshake::ack);
  EXPECT_EQ(read(10), pattern(3));
}

TEST_F(BulkOutTest, FailedPacketIsCountedAndLeftOut) {
  chip.corrupt_next = 1;
  EXPECT_EQ(send(pattern(100)), Handshake::nak);
  EXPECT_TRUE(read(10).empty());
  EXPECT_EQ(bulk_out.failures(), 1u);
  EXPECT_EQ(send(pattern(5)), Handshake::ack);
  EXPECT_EQ(read(10), pattern(5));
}

// A line that the cache holds of a buffer could be written back over a received packet.
TEST_F(BulkOutTest, BuffersLeaveTheCacheBeforeTheyAreQueued) {
  const uint32_t last = sizeof(memory->out_buffers) - 1;
  memory->out_buffers[0] = memory->out_buffers[last] = 0x12;
  chip.bus_reset(true);
  EXPECT_EQ(control_out(0x00, 9, 1, 0), Handshake::ack);
  port.take_link_lost();
  EXPECT_EQ(memory->out_buffers[0], FakeUsbChip::kMemoryFill);
  EXPECT_EQ(memory->out_buffers[last], FakeUsbChip::kMemoryFill);
}

TEST_F(BulkOutTest, NewSessionBeginsEmpty) {
  EXPECT_EQ(send(pattern(100)), Handshake::ack);
  EXPECT_EQ(read(10), pattern(10));
  chip.bus_reset(false);
  EXPECT_EQ(control_out(0x00, 9, 1, 0), Handshake::ack);
  EXPECT_TRUE(port.take_link_lost());
  EXPECT_TRUE(read(10).empty());
  EXPECT_EQ(send(pattern(64)), Handshake::ack);
  EXPECT_EQ(send(pattern(10, 64)), Handshake::ack);
  EXPECT_EQ(read(100), pattern(74));
}

// Every packet wakes a device that sleeps.
TEST_F(BulkOutTest, EveryPacketInterrupts) {
  const uint32_t before = chip.interrupts;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(send(pattern(20)), Handshake::ack);
  EXPECT_EQ(chip.interrupts - before, 3u);
}

}  // namespace
}  // namespace millrace::rt1062
