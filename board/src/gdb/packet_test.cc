// SPDX-License-Identifier: Apache-2.0
#include "gdb/packet.h"

#include <gtest/gtest.h>

#include <vector>

namespace millrace::board::gdb {
namespace {

// Every event but `none`.
std::vector<PacketEvent> put(PacketDecoder* decoder, std::string_view bytes) {
  std::vector<PacketEvent> events;
  for (const char c : bytes) {
    const PacketEvent event = decoder->put(static_cast<uint8_t>(c));
    if (event != PacketEvent::none) events.push_back(event);
  }
  return events;
}

using Events = std::vector<PacketEvent>;

TEST(PacketDecoder, TakesAPacketBetweenAcknowledgements) {
  PacketDecoder decoder;
  // 'O' + 'K' = 0x4F + 0x4B = 0x9A.
  EXPECT_EQ(put(&decoder, "+$OK#9a-"),
            (Events{PacketEvent::ack, PacketEvent::packet, PacketEvent::nak}));
  EXPECT_EQ(decoder.payload(), "OK");
  EXPECT_EQ(put(&decoder, "$OK#9A"), Events{PacketEvent::packet});
}

TEST(PacketDecoder, UndoesEscapes) {
  PacketDecoder decoder;
  // "}\x03" stands for '#' (0x23); 0x7D + 0x03 = 0x80.
  EXPECT_EQ(put(&decoder, "$}\x03#80"), Events{PacketEvent::packet});
  EXPECT_EQ(decoder.payload(), "#");
}

TEST(PacketDecoder, AWrongChecksumIsDamage) {
  PacketDecoder decoder;
  EXPECT_EQ(put(&decoder, "$OK#9b$OK#zz$OK#9z"),
            (Events{PacketEvent::damaged, PacketEvent::damaged, PacketEvent::damaged}));
  decoder.ignore_checksums(true);
  EXPECT_EQ(put(&decoder, "$OK#00"), Events{PacketEvent::packet});
}

TEST(PacketDecoder, ADollarBeginsAnew) {
  PacketDecoder decoder;
  EXPECT_EQ(put(&decoder, "$m0,1$OK#9a"), Events{PacketEvent::packet});
  EXPECT_EQ(decoder.payload(), "OK");
}

TEST(PacketDecoder, CtrlCCountsOutsideOfPacketsOnly) {
  PacketDecoder decoder;
  EXPECT_EQ(put(&decoder, "\x03"), Events{PacketEvent::interrupt});
  EXPECT_EQ(put(&decoder, "$\x03#03"), Events{PacketEvent::packet});
  EXPECT_EQ(decoder.payload(), "\x03");
}

TEST(PacketDecoder, TheLongestPacketFitsAndALongerOneIsNamed) {
  for (const size_t size : {kMaxPacket, kMaxPacket + 1, 5 * kMaxPacket}) {
    PacketDecoder decoder;
    const Events events = put(&decoder, framed(std::string(size, 'a')));
    EXPECT_EQ(events, Events{size <= kMaxPacket ? PacketEvent::packet : PacketEvent::oversized});
    EXPECT_LE(decoder.payload().size(), kMaxPacket);
  }
}

TEST(PacketDecoder, EveryBitFlipIsNoticedOrLeavesThePayloadAlone) {
  const std::string whole = framed("m20000000,40");
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ 1 << bit);
      PacketDecoder decoder;
      for (const PacketEvent event : put(&decoder, bytes)) {
        if (event != PacketEvent::packet) continue;
        EXPECT_EQ(decoder.payload(), "m20000000,40");
      }
    }
  }
}

TEST(PacketDecoder, EveryTruncationAsksForMore) {
  const std::string whole = framed("g");
  for (size_t size = 0; size < whole.size(); ++size) {
    PacketDecoder decoder;
    EXPECT_TRUE(put(&decoder, whole.substr(0, size)).empty());
    EXPECT_EQ(put(&decoder, whole.substr(size)), Events{PacketEvent::packet});
  }
}

TEST(Framed, EveryByteComesBack) {
  std::string payload;
  for (int i = 0; i < 256; ++i) payload += static_cast<char>(i);
  PacketDecoder decoder;
  EXPECT_EQ(put(&decoder, framed(payload)), Events{PacketEvent::packet});
  EXPECT_EQ(decoder.payload(), payload);
  EXPECT_EQ(framed(""), "$#00");
  EXPECT_EQ(framed("}"), "$}]#da");  // 0x7D + (0x7D ^ 0x20 = 0x5D) = 0xDA
}

TEST(Hex, WrittenAndRead) {
  EXPECT_EQ(to_hex(std::string_view("\x01\xFE", 2)), "01fe");
  EXPECT_EQ(from_hex("01fE"), std::string("\x01\xFE"));
  EXPECT_EQ(from_hex(""), "");
  EXPECT_FALSE(from_hex("0"));
  EXPECT_FALSE(from_hex("0g"));
}

TEST(Arguments, TakenLeftToRight) {
  Arguments arguments("20000000,4:ab");
  EXPECT_EQ(arguments.hex32(), 0x20000000u);
  arguments.expect(',');
  EXPECT_EQ(arguments.hex32(), 4u);
  arguments.expect(':');
  EXPECT_EQ(arguments.rest(), "ab");
  EXPECT_TRUE(arguments.ok());
  EXPECT_FALSE(arguments.complete());
}

TEST(Arguments, ABadOneFailsTheRest) {
  Arguments wide("100000000,1");  // 33 bits
  EXPECT_EQ(wide.hex32(), 0u);
  EXPECT_FALSE(wide.ok());
  EXPECT_EQ(wide.hex32(), 0u);
  Arguments missing(",1");
  missing.hex32();
  EXPECT_FALSE(missing.complete());
  Arguments other("1;2");
  EXPECT_EQ(other.hex32(), 1u);
  other.expect(',');
  EXPECT_FALSE(other.ok());
  Arguments zeros("0000000000000012");
  EXPECT_EQ(zeros.hex32(), 0x12u);
}

}  // namespace
}  // namespace millrace::board::gdb
