// SPDX-License-Identifier: Apache-2.0
#include "firmware/app/command_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "firmware/app/device_fixture.h"

namespace millrace::firmware {
namespace {

struct Parsed {
  CommandParser parser;
  uint64_t now_us = 0;
  std::string log;  // one word a command
  std::vector<link::Handshake> handshakes;

  void drain() {
    Command command;
    while (parser.next(&command, now_us)) {
      switch (command.kind) {
        case Command::Kind::probe:
          log += "probe ";
          break;
        case Command::Kind::message:
          log += "message" + std::to_string(static_cast<int>(command.message.type)) + " ";
          break;
        case Command::Kind::handshake:
          log += "handshake ";
          handshakes.push_back(command.handshake);
          break;
        case Command::Kind::ack:
          log += "ack ";
          break;
      }
    }
  }
  void feed(const std::string& bytes) {
    for (const char c : bytes) {
      parser.push(static_cast<uint8_t>(c), now_us);
      drain();
    }
  }
  void wait_ms(uint64_t ms) {
    now_us += ms * 1000;
    parser.tick(now_us);
    drain();
  }
  std::string first_foreign() const {
    return {reinterpret_cast<const char*>(parser.first_foreign()), CommandParser::kKeptForeign};
  }
};

TEST(CommandParser, TakesAHandshake) {
  Parsed p;
  p.feed(handshake_bytes(2048, 131072, 0));
  ASSERT_EQ(p.log, "handshake ");
  EXPECT_EQ(p.handshakes[0].frame_size, 2048u);
  EXPECT_EQ(p.handshakes[0].frame_count, 131072u);
  EXPECT_EQ(p.handshakes[0].acknowledge, 0);
  EXPECT_EQ(p.parser.foreign_bytes(), 0u);
}

TEST(CommandParser, IgnoresHandshakesThatAskForNothing) {
  Parsed p;
  p.feed(handshake_bytes(2048, 0, 0) + handshake_bytes(0, 5, 1) +
         handshake_bytes(0xffffffff, 0, 1));
  EXPECT_EQ(p.log, "");
  p.feed(handshake_bytes(1, 1, 1));
  EXPECT_EQ(p.log, "handshake ");
  EXPECT_EQ(p.parser.foreign_bytes(), 0u);
}

// Nine bytes of a modem probe are no handshake, and nothing behind them is read as one.
TEST(CommandParser, TakesNoTextForAHandshake) {
  const std::string text = "AT+GCAP\r\nAT+CGMI\r\nATI1\r\n~x~\x01\x02\x03 some more";
  for (size_t size = 1; size <= text.size(); ++size) {
    Parsed p;
    p.feed(text.substr(0, size));
    p.wait_ms(60);
    EXPECT_EQ(p.log, "") << size;
    p.wait_ms(500);
    EXPECT_EQ(p.log, "") << size;
    EXPECT_EQ(p.parser.foreign_bytes(), size);
    p.feed(handshake_bytes(128, 3, 0));
    EXPECT_EQ(p.log, "handshake ") << size;
  }
}

TEST(CommandParser, FindsTheProbeAtEveryAlignment) {
  for (int before = 0; before < 40; ++before) {
    for (const char filler : {'A', 'M', '\xf1', '\0', '\x06'}) {
      Parsed p;
      p.feed(std::string(static_cast<size_t>(before), filler) + probe_bytes());
      EXPECT_EQ(p.log, "probe ") << before << " of " << static_cast<int>(filler);
    }
  }
}

TEST(CommandParser, ForeignBytesBeforeAProbeAreCountedAndShiftNothing) {
  Parsed p;
  p.feed("AT\r" + probe_bytes() + handshake_bytes(512, 2, 1));
  EXPECT_EQ(p.log, "probe handshake ");
  EXPECT_EQ(p.handshakes[0].frame_size, 512u);
  EXPECT_EQ(p.parser.foreign_bytes(), 3u);
  EXPECT_EQ(p.first_foreign(), std::string("AT\r", 3) + std::string(13, '\0'));
  EXPECT_EQ(p.parser.dropped_handshakes(), 0u);
}

TEST(CommandParser, KeepsTheFirst16ForeignBytesOnly) {
  Parsed p;
  p.feed("0123456789ABCDEFGHIJ");
  p.wait_ms(500);
  p.feed("xyz");
  p.wait_ms(500);
  EXPECT_EQ(p.parser.foreign_bytes(), 23u);
  EXPECT_EQ(p.first_foreign(), "0123456789ABCDEF");
}

TEST(CommandParser, DropsAnIncompleteHandshakeAfter500MsOfSilence) {
  for (size_t size = 1; size < link::kHandshakeBytes; ++size) {
    Parsed p;
    p.feed(handshake_bytes(128, 3, 0).substr(0, size));
    p.wait_ms(499);
    EXPECT_EQ(p.parser.dropped_handshakes(), 0u);
    p.wait_ms(1);
    EXPECT_EQ(p.parser.dropped_handshakes(), 1u) << size;
    EXPECT_EQ(p.parser.foreign_bytes(), size);
    p.feed(handshake_bytes(128, 3, 0));
    EXPECT_EQ(p.log, "handshake ") << size;
  }
}

TEST(CommandParser, AHandshakeInSlowPiecesIsTaken) {
  Parsed p;
  for (const char c : handshake_bytes(128, 3, 0)) {
    p.feed(std::string(1, c));
    p.wait_ms(400);
  }
  EXPECT_EQ(p.log, "handshake ");
}

// Acknowledge byte 'M' could be the start of a probe, 0xf1 that of a message.
TEST(CommandParser, HoldsAHandshakeThatMayBeTheStartOfSomethingElse) {
  for (const uint8_t acknowledge : {uint8_t{0x4d}, uint8_t{0xf1}}) {
    Parsed p;
    p.feed(handshake_bytes(128, 3, acknowledge));
    p.wait_ms(49);
    EXPECT_EQ(p.log, "");
    p.wait_ms(1);
    ASSERT_EQ(p.log, "handshake ");
    EXPECT_EQ(p.handshakes[0].acknowledge, acknowledge);
  }
}

TEST(CommandParser, AHeldHandshakeIsTakenEvenIfNothingPolledForASecond) {
  Parsed p;
  p.feed(handshake_bytes(128, 3, 0x4d));
  p.wait_ms(1000);
  EXPECT_EQ(p.log, "handshake ");
  EXPECT_EQ(p.parser.foreign_bytes(), 0u);
}

TEST(CommandParser, TakesEveryFrameSizeThatLooksLikeAProbeOrAMessage) {
  for (const uint32_t frame_size : {0x4du, 0xf1u, 0x4df1u, 0x524df1u, 0x4d4du}) {
    Parsed p;
    p.feed(handshake_bytes(frame_size, 3, 0));
    ASSERT_EQ(p.log, "handshake ") << frame_size;
    EXPECT_EQ(p.handshakes[0].frame_size, frame_size);
  }
}

TEST(CommandParser, TakesMessagesAndCutsWhatStandsBefore) {
  Parsed p;
  const std::string stop = message_bytes(link::MessageType::stop);
  p.feed(stop + "abc" + stop + stop);
  EXPECT_EQ(p.log, "message7 message7 message7 ");
  EXPECT_EQ(p.parser.foreign_bytes(), 3u);
}

TEST(CommandParser, ABadMessageIsForeignAndNoHandshake) {
  link::RunRequest request;
  request.frame_size = 512;
  request.frame_count = 3;
  const std::string good = run_bytes(request);
  for (size_t byte = 0; byte < good.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[byte] = static_cast<char>(bad[byte] ^ (1 << bit));
      Parsed p;
      p.feed(bad);
      p.wait_ms(60);
      // A flip in the sync or the length may leave something else, but never the RUN.
      EXPECT_EQ(p.log.find("message2"), std::string::npos) << byte << "." << bit;
      if (byte >= 4) {
        EXPECT_EQ(p.log, "") << byte << "." << bit;
      }
      p.wait_ms(500);
      p.log.clear();
      p.feed(good);
      EXPECT_EQ(p.log, "message2 ") << byte << "." << bit;
    }
  }
}

TEST(CommandParser, ATruncatedMessageLosesOnlyItself) {
  const std::string stop = message_bytes(link::MessageType::stop);
  for (size_t size = 1; size < stop.size(); ++size) {
    Parsed p;
    p.feed(stop.substr(0, size));
    p.wait_ms(500);
    p.feed(stop);
    EXPECT_EQ(p.log, "message7 ") << size;
    Parsed q;
    q.feed(stop.substr(0, size) + probe_bytes());
    EXPECT_EQ(q.log, "probe ") << size;
    EXPECT_EQ(q.parser.foreign_bytes(), size);
  }
}

TEST(CommandParser, EveryByteIsAnAcknowledgementInAClassicRun) {
  Parsed p;
  p.parser.set_mode(ParseMode::classic_ack, 0);
  p.feed(std::string("\x06\x00M\xf1", 4));
  EXPECT_EQ(p.log, "ack ack ack ack ");
  p.log.clear();
  p.feed(probe_bytes());
  EXPECT_EQ(p.log.substr(p.log.size() - 6), "probe ");
}

TEST(CommandParser, CountsAcknowledgementsOnlyWhileTheyAreOutstanding) {
  Parsed p;
  p.parser.set_mode(ParseMode::run, 0);
  p.parser.set_expected_acks(2);
  p.feed("\x06\x06\x06" + message_bytes(link::MessageType::stop) + "x\x06");
  EXPECT_EQ(p.log, "ack ack message7 ");
  EXPECT_EQ(p.parser.foreign_bytes(), 3u);
}

TEST(CommandParser, LateAcknowledgementsDoNotShiftWhatFollows) {
  Parsed p;
  p.parser.set_mode(ParseMode::idle, 3);
  p.feed("\x06\x06" + handshake_bytes(128, 3, 0));
  EXPECT_EQ(p.log, "ack ack handshake ");
  EXPECT_EQ(p.parser.foreign_bytes(), 0u);
}

TEST(CommandParser, AClassicRunKeepsOneHandshakeForLater) {
  Parsed p;
  p.parser.set_mode(ParseMode::classic_run, 0);
  p.feed(handshake_bytes(128, 3, 0));
  p.wait_ms(5000);
  EXPECT_EQ(p.log, "");
  p.parser.set_mode(ParseMode::idle, 0);
  p.drain();
  EXPECT_EQ(p.log, "handshake ");
}

TEST(CommandParser, AFloodDuringAClassicRunIsForeignAndDoesNotHideTheProbe) {
  Parsed p;
  p.parser.set_mode(ParseMode::classic_run, 0);
  p.feed(std::string(5000, 'x'));
  EXPECT_EQ(p.log, "");
  EXPECT_GT(p.parser.foreign_bytes(), 4900u);
  p.feed(probe_bytes());
  EXPECT_EQ(p.log, "probe ");
}

// Every distance from the start of a piece, behind bytes that are one bit from its first letter.
TEST(CommandParser, ScansForTheProbeAtEveryAlignment) {
  for (size_t before = 0; before < 40; ++before) {
    for (const char near : {'L', 'O', 'I', 'E', ']', 'm', '\x0d', '\xcd', '\0', '\xff', 'M'}) {
      const std::string bytes = std::string(before, near) + probe_bytes();
      CommandParser parser;
      EXPECT_EQ(parser.scan_for_probe(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()),
                bytes.size())
          << before << ' ' << near;
    }
  }
}

TEST(CommandParser, FindsTheProbeInAnOutStreamAcrossPieces) {
  const std::string bytes = "stream M MM" + probe_bytes() + "rest";
  for (size_t at = 0; at <= bytes.size(); ++at) {
    CommandParser parser;
    const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
    const size_t probe_end = 11 + link::kProbeBytes;
    const size_t first = parser.scan_for_probe(data, at);
    EXPECT_EQ(first, at >= probe_end ? probe_end : 0u);
    if (first == 0) {
      EXPECT_EQ(parser.scan_for_probe(data + at, bytes.size() - at), probe_end - at);
    }
    Command command;
    ASSERT_TRUE(parser.next(&command, 0));
    EXPECT_EQ(command.kind, Command::Kind::probe);
    EXPECT_FALSE(parser.next(&command, 0));
  }
}

}  // namespace
}  // namespace millrace::firmware
