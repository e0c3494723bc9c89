// SPDX-License-Identifier: Apache-2.0
// The queue against a controller that is caught at every stage of its work.
#include "firmware/ports/rt1062/usb/usb_queue.h"

#include <random>

#include "firmware/ports/rt1062/usb/testing/usb_fixture.h"

namespace millrace::rt1062 {
namespace {

class UsbQueueTest : public UsbFixture {
 protected:
  UsbQueueTest() { enumerate(); }
  // One byte from place `value` of the ring, which holds `value` there.
  void stage(uint8_t value, bool interrupt = false) {
    memory->in_ring[value] = value;
    chip.clean(&memory->in_ring[value], 1);
    const uint32_t first = chip.bus_address(&memory->in_ring[value]);
    const uint32_t page[5] = {first, 0, 0, 0, 0};
    in_queue.stage(page, 1, interrupt);
  }
  int next_value() {
    Bytes packet;
    return chip.in(4, &packet) == Handshake::ack && packet.size() == 1 ? packet[0] : -1;
  }
};

TEST_F(UsbQueueTest, WorksThroughWhatWasCommitted) {
  stage(1);
  stage(2);
  EXPECT_EQ(next_value(), -1);  // not handed over yet
  EXPECT_TRUE(in_queue.commit());
  stage(3);
  EXPECT_TRUE(in_queue.commit());
  EXPECT_EQ(next_value(), 1);
  EXPECT_EQ(next_value(), 2);
  EXPECT_EQ(next_value(), 3);
  EXPECT_EQ(next_value(), -1);
  UsbCompletion completion;
  for (uint32_t slot = 0; slot < 3; ++slot) {
    EXPECT_TRUE(in_queue.has_completed());
    ASSERT_TRUE(in_queue.retire(&completion));
    EXPECT_EQ(completion.slot, slot);
    EXPECT_EQ(completion.bytes, 1u);
    EXPECT_FALSE(completion.failed);
  }
  EXPECT_FALSE(in_queue.retire(&completion));
}

TEST_F(UsbQueueTest, HasRoomForAsManyAsTheRing) {
  for (uint32_t i = 0; i < UsbMemory::kInTransfers; ++i) {
    EXPECT_EQ(in_queue.room(), UsbMemory::kInTransfers - i);
    stage(static_cast<uint8_t>(i));
  }
  EXPECT_EQ(in_queue.room(), 0u);
  EXPECT_TRUE(in_queue.commit());
  for (int i = 0; i < 16; ++i) EXPECT_EQ(next_value(), i);
}

// Each order of appending, sending and retiring, with a controller that is slow to prime and slow
// to let go: everything is sent once, in order, and nobody has to prime twice.
TEST_F(UsbQueueTest, AppendingAtAnyMomentLosesNothing) {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    chip.prime_accesses = static_cast<uint32_t>(random() % 8);
    chip.close_accesses = static_cast<uint32_t>(random() % 12);
    uint8_t appended = 0, sent = 0;
    Bytes packet;
    // The cable works while the driver does: a packet between any two register accesses.
    bool inside = false;
    chip.before_access = [&] {
      if (inside || random() % 4 != 0) return;
      inside = true;
      const int value = next_value();
      if (value >= 0) {
        EXPECT_EQ(value, sent++) << seed;
      }
      inside = false;
    };
    UsbCompletion completion;
    for (int step = 0; step < 60; ++step) {
      const size_t action = random() % 8;
      if (action < 3 && appended < 200) {
        const size_t count = 1 + random() % 3;
        for (size_t i = 0; i < count && in_queue.room() > 0; ++i) stage(appended++);
        EXPECT_TRUE(in_queue.commit());
      } else if (action < 6) {
        const int value = next_value();
        if (value >= 0) {
          EXPECT_EQ(value, sent++) << seed;
        }
      } else {
        while (in_queue.retire(&completion)) {
        }
      }
    }
    chip.before_access = nullptr;
    for (int silent = 0; silent < 4;) {
      const int value = next_value();
      if (value < 0) {
        ++silent;
      } else {
        EXPECT_EQ(value, sent++) << seed;
      }
    }
    ASSERT_EQ(sent, appended) << seed;
    while (in_queue.retire(&completion)) {
    }
    EXPECT_EQ(in_queue.in_flight(), 0u);
    EXPECT_FALSE(in_queue.revive());
  }
}

TEST_F(UsbQueueTest, GoesOnBehindAnError) {
  for (uint8_t value = 1; value <= 3; ++value) stage(value);
  EXPECT_TRUE(in_queue.commit());
  chip.corrupt_next = 1;
  EXPECT_EQ(next_value(), -1);
  EXPECT_EQ(next_value(), -1);  // halted
  UsbCompletion completion;
  ASSERT_TRUE(in_queue.retire(&completion));
  EXPECT_TRUE(completion.failed);
  EXPECT_EQ(completion.asked, 1u);
  EXPECT_EQ(completion.bytes, 0u);
  EXPECT_EQ(next_value(), 2);
  EXPECT_EQ(next_value(), 3);
  EXPECT_EQ(device.events().errors, 1u);
}

TEST_F(UsbQueueTest, CancelTakesEverythingBack) {
  stage(1);
  stage(2);
  EXPECT_TRUE(in_queue.commit());
  EXPECT_EQ(next_value(), 1);
  in_queue.cancel();
  EXPECT_EQ(in_queue.in_flight(), 0u);
  EXPECT_EQ(next_value(), -1);
  stage(3);
  EXPECT_TRUE(in_queue.commit());
  EXPECT_EQ(next_value(), 3);
}

TEST_F(UsbQueueTest, AfterTheSessionNothingIsHandedOver) {
  stage(1);
  EXPECT_TRUE(in_queue.commit());
  chip.bus_reset(true);
  EXPECT_FALSE(in_queue.usable());
  stage(2);
  EXPECT_FALSE(in_queue.commit());
  EXPECT_FALSE(in_queue.revive());
  EXPECT_FALSE(chip.primed(0x84));
  // A new session begins with an empty queue.
  EXPECT_EQ(control_out(0x00, 9, 1, 0), Handshake::ack);
  EXPECT_FALSE(in_queue.usable());
  in_queue.restart();
  EXPECT_EQ(next_value(), -1);
  stage(3);
  EXPECT_TRUE(in_queue.commit());
  EXPECT_EQ(next_value(), 3);
}

TEST_F(UsbQueueTest, RevivesWhatTheControllerHasMissed) {
  chip.lose_primes = true;
  stage(1);
  EXPECT_TRUE(in_queue.commit());
  EXPECT_EQ(next_value(), -1);
  chip.lose_primes = false;
  EXPECT_TRUE(in_queue.revive());
  EXPECT_EQ(next_value(), 1);
  EXPECT_FALSE(in_queue.revive());
}

}  // namespace
}  // namespace millrace::rt1062
