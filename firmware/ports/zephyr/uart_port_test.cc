// SPDX-License-Identifier: Apache-2.0
#include "firmware/ports/zephyr/uart_port.h"

#include <errno.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "firmware/app/link_device.h"
#include "firmware/ports/zephyr/fake_uart.h"
#include "millrace/link/link_peer.h"

namespace millrace::firmware {
namespace {

class UartPortTest : public testing::Test {
 protected:
  UartPortTest() { fake_uart = &uart_; }
  ~UartPortTest() override { fake_uart = nullptr; }

  UartPortOptions options() {
    UartPortOptions o;
    o.uart = &uart_;
    o.tx_memory = tx_;
    o.tx_bytes = sizeof(tx_);
    o.rx_memory = rx_;
    o.rx_bytes = sizeof(rx_);
    o.board = "fake";
    o.usb_speed_mbit = 480;
    return o;
  }
  size_t write(UartPort& port, const std::string& bytes) {
    return port.write(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  std::string read(UartPort& port, size_t most = 4096) {
    std::string bytes(most, '\0');
    bytes.resize(port.read(reinterpret_cast<uint8_t*>(bytes.data()), most));
    return bytes;
  }

  struct device uart_;
  uint8_t tx_[1000];
  uint8_t rx_[700];
};

// Byte i of a stream, so that what is missing or twice is seen.
std::string counted(size_t from, size_t bytes) {
  std::string text(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>((from + i) * 7 % 251);
  return text;
}

TEST_F(UartPortTest, StartSaysWhatTheDeviceLacks) {
  uart_.ready = false;
  EXPECT_EQ(UartPort(options()).start(), -ENODEV);
  uart_.ready = true;
  uart_.callback_error = -ENOSYS;
  EXPECT_EQ(UartPort(options()).start(), -ENOSYS);
  UartPortOptions none = options();
  none.uart = nullptr;
  EXPECT_EQ(UartPort(none).start(), -ENODEV);
}

TEST_F(UartPortTest, TakesWhatFitsIntoFifoAndRingAndGoesOnWhenTheHostReads) {
  UartPort port(options());
  ASSERT_EQ(port.start(), 0);
  // 512 bytes of fifo and 999 of the ring: the fifo empties the ring while write() runs once only.
  size_t offered = 0;
  std::string sent;
  while (true) {
    const size_t n = write(port, counted(offered, 300));
    offered += n;
    if (n < 300) break;
  }
  EXPECT_EQ(offered, 512u + 999u);
  EXPECT_EQ(write(port, "x"), 0u);
  while (sent.size() < 100'000) {
    sent += uart_.host_takes(1 + sent.size() % 97);
    offered += write(port, counted(offered, 1 + sent.size() % 501));
  }
  for (int i = 0; i < 3; ++i) sent += uart_.host_takes();
  EXPECT_EQ(sent, counted(0, offered));
  EXPECT_FALSE(uart_.tx_on) << "the interrupt stays on with nothing to send";
}

TEST_F(UartPortTest, ReceivesInPiecesAcrossTheEndOfTheRing) {
  UartPort port(options());
  ASSERT_EQ(port.start(), 0);
  std::string received;
  size_t sent = 0;
  while (sent < 50'000) {
    const size_t n = 1 + sent % 613;
    uart_.host_sends(counted(sent, n));
    sent += n;
    received += read(port, 1 + sent % 499);
    while (uart_.in.size() > 2000) received += read(port);
  }
  for (int i = 0; i < 20; ++i) received += read(port);
  EXPECT_EQ(received, counted(0, sent));
}

TEST_F(UartPortTest, FullRingStopsTheReceiverInsteadOfLosingBytes) {
  UartPort port(options());
  ASSERT_EQ(port.start(), 0);
  uart_.host_sends(counted(0, 2000));
  EXPECT_EQ(uart_.in.size(), 2000u - 699u);
  EXPECT_FALSE(uart_.rx_on);
  std::string received;
  for (int i = 0; i < 10; ++i) received += read(port);
  EXPECT_EQ(received, counted(0, 2000));
  EXPECT_TRUE(uart_.rx_on);
  EXPECT_EQ(read(port), "");
}

TEST_F(UartPortTest, LostLinkForgetsBothDirections) {
  UartPort port(options());
  ASSERT_EQ(port.start(), 0);
  EXPECT_FALSE(port.take_link_lost());
  while (write(port, counted(0, 300)) == 300) {
  }
  uart_.host_sends(counted(0, 2000));
  port.set_link_lost();
  EXPECT_TRUE(port.take_link_lost());
  EXPECT_FALSE(port.take_link_lost());
  uart_.in.clear();
  uart_.host_takes();  // what the driver had
  (void)read(port);
  EXPECT_EQ(write(port, "anew"), 4u);
  EXPECT_EQ(uart_.host_takes(), "anew");
  uart_.host_sends("anew");
  EXPECT_EQ(read(port), "anew");
}

TEST_F(UartPortTest, IdleEndsWhenSomethingComesElseWithTheTime) {
  UartPort port(options());
  ASSERT_EQ(port.start(), 0);
  const uint32_t start = port.now_us();
  port.idle(1000);
  EXPECT_EQ(port.now_us() - start, 1000u);
  uart_.host_sends("x");
  port.idle(1000);
  EXPECT_EQ(port.now_us() - start, 1000u);
  port.idle(1000);
  EXPECT_EQ(port.now_us() - start, 2000u);
}

TEST_F(UartPortTest, TimeWrapsAt32BitsOfMicroseconds) {
  UartPort port(options());
  uart_.ticks = (int64_t{1} << 32) / 100 + 1;  // 42,949,673 ticks of 100 us: 4,294,967,300 us
  EXPECT_EQ(port.now_us(), 4u);                // - 2^32
}

TEST_F(UartPortTest, InfoHasTheRealBuffers) {
  UartPort port(options());
  EXPECT_STREQ(port.info().board, "fake");
  EXPECT_EQ(port.info().usb_speed_mbit, 480u);
  EXPECT_EQ(port.info().tx_buffer_bytes, 999u);
  EXPECT_EQ(port.info().rx_buffer_bytes, 699u);
}

// The other end of the cable: a host with one stream each way.
struct HostEnd {
  HostEnd() {
    link::LinkOptions o;
    o.role = link::LinkRole::host;
    o.senders = senders;
    o.sender_count = 1;
    o.receivers = receivers;
    o.receiver_count = 1;
    o.random = [](void* state) { return *static_cast<uint32_t*>(state) += 0x9e3779b9u; };
    o.random_context = &seed;
    peer.emplace(o, scan, sizeof(scan));
  }
  uint32_t seed = 1;
  uint8_t out_ring[8192], in_ring[8192], scan[8192];
  link::SenderSlot out_slots[16];
  link::ReceiverSlot in_slots[64];
  link::StreamSender out{{out_ring, sizeof(out_ring), out_slots, 16}, link::SenderOptions()};
  link::StreamReceiver in{{in_ring, sizeof(in_ring), in_slots, 64}, kLinkData};
  link::StreamSender* senders[1] = {&out};
  link::StreamReceiver* receivers[1] = {&in};
  std::optional<link::LinkPeer> peer;
};

TEST_F(UartPortTest, LinkDeviceEchoesAStreamThroughIt) {
  UartPort port(options());
  ASSERT_EQ(port.start(), 0);
  static LinkMemory<16 * 1024, 32> memory{};
  LinkDevice device(port, link_options(memory));
  HostEnd host;
  host.peer->connect(0, 0, 1);
  constexpr size_t kBytes = 200'000;
  size_t written = 0;
  std::string echoed;
  // 30 s of ticks of 100 us; the cable is pulled once in between.
  for (int i = 0; i < 300'000 && echoed.size() < kBytes; ++i) {
    uart_.ticks += 1;
    const uint64_t now = static_cast<uint64_t>(uart_.ticks) * 100;
    if (i == 2000) {
      uart_.in.clear();
      uart_.out.clear();
      port.set_link_lost();
      host.peer->port_lost();
      host.peer->connect(host.peer->session(), host.peer->boot_id(), now);
    }
    if (port.take_link_lost()) device.link_lost();
    device.poll();
    const std::string wire = uart_.host_takes();
    for (size_t at = 0; at < wire.size();) {
      size_t room;
      uint8_t* const space = host.peer->space(&room);
      if (room > wire.size() - at) room = wire.size() - at;
      wire.copy(reinterpret_cast<char*>(space), room, at);
      host.peer->received(room, now);
      at += room;
    }
    const std::string piece = counted(written, std::min<size_t>(500, kBytes - written));
    written += host.out.write(reinterpret_cast<const uint8_t*>(piece.data()), piece.size(), now);
    host.peer->poll(now);
    for (auto bytes = host.peer->output(now); bytes.size > 0; bytes = host.peer->output(now)) {
      uart_.host_sends(std::string(reinterpret_cast<const char*>(bytes.data), bytes.size));
      host.peer->sent(bytes.size, now);
    }
    while (true) {
      const link::Chunk chunk = host.in.peek();
      if (chunk.kind != link::ChunkKind::data) break;
      echoed.append(reinterpret_cast<const char*>(chunk.data), chunk.size);
      host.in.consume(chunk.size);
    }
  }
  EXPECT_EQ(echoed.size(), kBytes);
  EXPECT_TRUE(echoed == counted(0, kBytes)) << "bytes differ";
}

}  // namespace
}  // namespace millrace::firmware
