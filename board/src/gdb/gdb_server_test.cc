// SPDX-License-Identifier: Apache-2.0
// Packets and replies of "Debugging with GDB", appendix E.
#include "millrace/board/gdb_server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "gdb/packet.h"
#include "gdb/testing/fake_gdb_board.h"

namespace millrace::board {
namespace {

using gdb::framed;
using gdb::to_hex;
using ::testing::ElementsAre;
using testing::FakeGdbBoard;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class GdbServerTest : public ::testing::Test {
 protected:
  GdbServerTest() { server.connect(); }

  // Bytes as they are; gives the bytes of the answer.
  std::string raw(std::string_view bytes) {
    server.receive(std::span(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
    return server.take_output();
  }
  // The payloads of all packets in `bytes`.
  static std::vector<std::string> payloads(std::string_view bytes) {
    gdb::PacketDecoder decoder;
    std::vector<std::string> all;
    for (const char c : bytes) {
      const gdb::PacketEvent event = decoder.put(static_cast<uint8_t>(c));
      EXPECT_NE(event, gdb::PacketEvent::damaged);
      if (event == gdb::PacketEvent::packet) all.push_back(decoder.payload());
    }
    return all;
  }
  std::vector<std::string> ask_all(std::string_view packet) {
    return payloads(raw(framed(packet)));
  }
  // The one reply.
  std::string ask(std::string_view packet) {
    const std::vector<std::string> all = ask_all(packet);
    return all.size() == 1 ? all[0] : std::to_string(all.size()) + " replies";
  }
  // Resumes with `packet` and runs until the board stops.
  std::vector<std::string> resume(std::string_view packet) {
    EXPECT_THAT(ask_all(packet), IsEmpty());
    for (int i = 0; i < 1000 && server.running(); ++i) server.run(100);
    return payloads(server.take_output());
  }
  static std::string text_of(std::string_view packet) {  // of an O packet
    EXPECT_THAT(packet, StartsWith("O"));
    return gdb::from_hex(packet.substr(1)).value_or("not hex");
  }

  FakeGdbBoard board;
  GdbServer server{board};
};

TEST_F(GdbServerTest, AcknowledgesUntilToldNotTo) {
  EXPECT_EQ(raw("$qC#b4"), "+$QC1#c5");  // 0x71 + 0x43; 0x51 + 0x43 + 0x31
  EXPECT_EQ(raw("$qC#b5"), "-");
  EXPECT_EQ(raw("-"), "$QC1#c5");
  EXPECT_EQ(raw("----+"), "$QC1#c5");
  EXPECT_EQ(raw(framed("QStartNoAckMode")), "+$OK#9a");
  EXPECT_EQ(raw("+$qC#b4"), "$QC1#c5");
  EXPECT_EQ(raw("-"), "");
  server.connect();
  EXPECT_EQ(raw("$qC#b4"), "+$QC1#c5");
}

TEST_F(GdbServerTest, ConnectingStopsAndAttaches) {
  EXPECT_TRUE(board.attached);
  EXPECT_EQ(server.state(), GdbState::stopped);
  EXPECT_EQ(ask("?"), "T05thread:1;");
  EXPECT_EQ(ask("qAttached"), "1");
  EXPECT_EQ(ask("qfThreadInfo"), "m1");
  EXPECT_EQ(ask("qsThreadInfo"), "l");
  EXPECT_EQ(ask("Hg0"), "OK");
  EXPECT_EQ(ask("T1"), "OK");
}

TEST_F(GdbServerTest, UnknownPacketsGetTheEmptyReply) {
  for (const char* packet : {"vMustReplyEmpty", "qTStatus", "jThreads", "Z9,0,0", ""}) {
    EXPECT_EQ(ask(packet), "") << packet;
  }
}

TEST_F(GdbServerTest, SaysWhatItCan) {
  const std::string can = ask("qSupported:multiprocess+;swbreak+;hwbreak+");
  for (const char* feature : {"PacketSize=4000;", "qXfer:features:read+", "qXfer:memory-map:read+",
                              "QStartNoAckMode+", "vContSupported+", "hwbreak+"}) {
    EXPECT_THAT(can, HasSubstr(feature));
  }
  EXPECT_EQ(ask("vCont?"), "vCont;c;C;s;S;r");
}

TEST_F(GdbServerTest, DescriptionComesInParts) {
  std::string text;
  for (;;) {
    const std::string part =
        ask("qXfer:features:read:target.xml:" + fmt::format("{:x}", text.size()) + ",100");
    ASSERT_FALSE(part.empty());
    text += part.substr(1);
    if (part[0] == 'l') break;
    ASSERT_EQ(part[0], 'm');
    ASSERT_EQ(part.size(), 0x101u);
  }
  EXPECT_THAT(text, StartsWith("<?xml"));
  EXPECT_THAT(text, HasSubstr("</target>"));
  for (const char* feature : {"org.gnu.gdb.arm.m-profile", "org.gnu.gdb.arm.m-system",
                              "org.gnu.gdb.arm.vfp", "\"xpsr\"", "\"faultmask\"", "\"d15\""}) {
    EXPECT_THAT(text, HasSubstr(feature));
  }
  EXPECT_EQ(ask("qXfer:features:read:target.xml:ffffff,100"), "l");
  EXPECT_EQ(ask("qXfer:features:read:other.xml:0,100"), "E00");
  EXPECT_EQ(ask("qXfer:features:read:target.xml"), "E16");
}

TEST_F(GdbServerTest, MemoryMapHasFlashAndRam) {
  const std::string map = ask("qXfer:memory-map:read::0,1000");
  EXPECT_THAT(map, StartsWith("l<?xml"));
  EXPECT_THAT(map, HasSubstr("type=\"flash\" start=\"0x60000000\" length=\"0x800000\""));
  EXPECT_THAT(map, HasSubstr("type=\"ram\" start=\"0x20000000\" length=\"0x80000\""));
  EXPECT_THAT(map, HasSubstr("type=\"ram\" start=\"0x70000000\" length=\"0x1000000\""));
}

TEST_F(GdbServerTest, RegistersGoLittleEndian) {
  board.registers[0] = 0x12345678;
  board.registers[23] = 0x03000000;  // fpscr
  board.registers[62] = 0x01020304;  // s30, s31: d15
  board.registers[63] = 0xA1A2A3A4;
  const std::string all = ask("g");
  EXPECT_EQ(all.size(), (24 * 4 + 16 * 8) * 2u);
  EXPECT_THAT(all, StartsWith("78563412"));
  EXPECT_EQ(all.substr(15 * 8, 8), "00000060");
  EXPECT_EQ(all.substr(23 * 8, 8), "00000003");
  EXPECT_EQ(all.substr(all.size() - 16), "04030201a4a3a2a1");
  EXPECT_EQ(ask("p0"), "78563412");
  EXPECT_EQ(ask("p27"), "04030201a4a3a2a1");  // 0x27 = 24 + 15
  EXPECT_EQ(ask("p28"), "E16");
  EXPECT_EQ(ask("px"), "E16");
}

TEST_F(GdbServerTest, RegistersAreWritten) {
  EXPECT_EQ(ask("P1=0df0adde"), "OK");
  EXPECT_EQ(board.registers[1], 0xDEADF00Du);
  EXPECT_EQ(ask("P18=0100000002000000"), "OK");  // d0
  EXPECT_EQ(board.registers[32], 1u);
  EXPECT_EQ(board.registers[33], 2u);
  for (const char* packet : {"P1=0df0ad", "P1=0df0addex", "P1=", "P1", "P28=00000000"}) {
    EXPECT_EQ(ask(packet), "E16") << packet;
  }
}

TEST_F(GdbServerTest, AllRegistersAtOnceControlFirst) {
  std::string digits;
  for (unsigned i = 0; i < 24 * 4 + 16 * 8; ++i) digits += fmt::format("{:02x}", i / 4);
  board.written.clear();
  EXPECT_EQ(ask("G" + digits), "OK");
  EXPECT_EQ(ask("g"), digits);
  EXPECT_EQ(board.registers[31 + 1], 24 * 0x01010101u);
  ASSERT_EQ(board.written.size(), 24u + 32u);
  EXPECT_EQ(board.written[0], 22u);  // control, before msp, psp and sp
  board.written.clear();
  EXPECT_EQ(ask("G" + digits.substr(2)), "E16");
  digits[100] = 'x';
  EXPECT_EQ(ask("G" + digits), "E16");
  EXPECT_THAT(board.written, IsEmpty());
}

TEST_F(GdbServerTest, MemoryIsReadUpToTheGap) {
  board.ram[0] = 0xAB;
  board.ram[1023] = 0xCD;
  EXPECT_EQ(ask("m20000000,2"), "ab00");
  EXPECT_EQ(ask("m200003ff,4"), "cd");
  EXPECT_EQ(ask("m20000400,4"), "E0e");
  EXPECT_EQ(ask("mffffffff,ffffffff"), "E0e");
  EXPECT_EQ(ask("m0,ffffffff"), "E0e");
  EXPECT_EQ(ask("me000ed00,8"), "0000000004040404");  // words of the system space
  EXPECT_EQ(ask("me000ed01,1"), "E0e");
  for (const char* packet :
       {"m", "m,", "m20000000", "m20000000,", "m20000000,1,", "m1ffffffff,1"}) {
    EXPECT_EQ(ask(packet), "E16") << packet;
  }
  EXPECT_EQ(ask("m60000000,ffffffff").size(), 0x4000u);
}

TEST_F(GdbServerTest, MemoryIsWritten) {
  EXPECT_EQ(ask("M20000001,2:0aff"), "OK");
  EXPECT_EQ(board.ram[1], 0x0A);
  EXPECT_EQ(board.ram[2], 0xFF);
  EXPECT_EQ(ask("X20000000,0:"), "OK");
  EXPECT_EQ(ask("X20000004,4:#$}*"), "OK");
  EXPECT_EQ(std::string(board.ram.begin() + 4, board.ram.begin() + 8), "#$}*");
  EXPECT_EQ(ask("M200003ff,2:0000"), "E0e");
  EXPECT_EQ(ask("Mffffffff,2:0000"), "E0e");
  for (const char* packet :
       {"M20000000,2:00", "M20000000,1:0", "M20000000,1:zz", "X20000000,2:a", "X20000000,2", "M"}) {
    EXPECT_EQ(ask(packet), "E16") << packet;
  }
}

TEST_F(GdbServerTest, FlashIsErasedBySectorsAndWritten) {
  board.flash.fill(0);
  EXPECT_EQ(ask("vFlashErase:60001000,1000"), "OK");
  EXPECT_EQ(board.flash[4095], 0);
  EXPECT_EQ(board.flash[4096], 0xFF);
  EXPECT_EQ(board.flash[8191], 0xFF);
  EXPECT_EQ(ask("vFlashWrite:60001002:abc"), "OK");
  EXPECT_EQ(board.flash[4098], 'a');
  EXPECT_EQ(ask("vFlashDone"), "OK");
  EXPECT_EQ(ask("vFlashErase:60001000,800"), "E16");
  EXPECT_EQ(ask("vFlashErase:20000000,1000"), "E.memtype");
  EXPECT_EQ(ask("vFlashErase:607ff000,2000"), "E.memtype");
  EXPECT_EQ(ask("vFlashErase:60000000,fffff000"), "E.memtype");
  EXPECT_EQ(ask("vFlashWrite:20000000:abc"), "E.memtype");
  EXPECT_EQ(ask("vFlashErase:60001000"), "E16");
}

TEST_F(GdbServerTest, BreakpointsStopWithTheReasonThatGdbKnows) {
  EXPECT_EQ(ask("Z0,60000010,2"), "OK");
  EXPECT_THAT(resume("c"), ElementsAre("T05thread:1;"));
  EXPECT_EQ(board.registers[15], 0x60000010u);
  ask("qSupported:hwbreak+");
  EXPECT_EQ(ask("Z1,60000020,2"), "OK");
  EXPECT_THAT(resume("vCont;c"), ElementsAre("T05thread:1;hwbreak:;"));
  EXPECT_EQ(ask("?"), "T05thread:1;hwbreak:;");
  EXPECT_EQ(ask("z0,60000010,2"), "OK");
  EXPECT_EQ(ask("z1,60000020,2"), "OK");
  EXPECT_THAT(board.breakpoints, IsEmpty());
  for (const char* packet : {"Z", "Z0", "Z0,", "Z0,60000000", "Z0,60000000,2;X1,00", "Z0,g,2"}) {
    EXPECT_EQ(ask(packet), "E16") << packet;
  }
}

TEST_F(GdbServerTest, WatchpointsNameTheAddress) {
  EXPECT_EQ(ask("Z2,20000010,4"), "OK");
  EXPECT_EQ(ask("Z3,20000020,4"), "OK");
  board.stop_at(5, StopReason::watchpoint).watch_address = 0x20000010;
  board.stop_at(9, StopReason::watchpoint).watch_address = 0x20000022;
  EXPECT_THAT(resume("c"), ElementsAre("T05thread:1;watch:20000010;"));
  EXPECT_THAT(resume("c"), ElementsAre("T05thread:1;rwatch:20000022;"));
  EXPECT_EQ(ask("Z4,20000010,0"), "E0e");
}

TEST_F(GdbServerTest, StepsAndRanges) {
  EXPECT_THAT(resume("s"), ElementsAre("T05thread:1;"));
  EXPECT_EQ(board.registers[15], 0x60000002u);
  EXPECT_THAT(resume("vCont;s:1;c"), ElementsAre("T05thread:1;"));
  EXPECT_EQ(board.registers[15], 0x60000004u);
  EXPECT_THAT(resume("vCont;r60000004,60000040:1;c"), ElementsAre("T05thread:1;"));
  EXPECT_EQ(board.registers[15], 0x60000040u);
  EXPECT_THAT(resume("s60000100"), ElementsAre("T05thread:1;"));
  EXPECT_EQ(board.registers[15], 0x60000102u);
  EXPECT_THAT(resume("S05;60000200"), ElementsAre("T05thread:1;"));
  EXPECT_EQ(board.registers[15], 0x60000202u);
  EXPECT_THAT(resume("vCont;S05:1"), ElementsAre("T05thread:1;"));
  for (const char* packet : {"sx", "c1g", "vCont;", "vCont;t", "vCont;c:2", "vCont;r5,4",
                             "vCont;r5", "vCont;rx", "Cxx"}) {
    EXPECT_EQ(ask(packet), "E16") << packet;
    EXPECT_EQ(server.state(), GdbState::stopped);
  }
}

TEST_F(GdbServerTest, CtrlCStopsARun) {
  EXPECT_THAT(ask_all("c"), IsEmpty());
  server.run(100);
  EXPECT_EQ(server.take_output(), "");
  EXPECT_TRUE(server.running());
  EXPECT_EQ(ask("g"), "E16");  // not while it runs
  EXPECT_EQ(payloads(raw("\x03")), std::vector<std::string>{"T02thread:1;"});
  EXPECT_EQ(server.state(), GdbState::stopped);
  EXPECT_EQ(raw("\x03"), "");
  EXPECT_EQ(board.now, 100u);
  server.run(100);
  EXPECT_EQ(board.now, 100u);
}

TEST_F(GdbServerTest, ACoreThatCannotGoOnIsASegmentationFaultWithText) {
  board.stop_at(5, StopReason::locked_up).detail = "a bus error\n  r0 0";
  board.stop_at(9, StopReason::fault_loop).detail = std::string(5000, 'x');
  board.stop_at(9, StopReason::asleep);
  std::vector<std::string> said = resume("c");
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(text_of(said[0]), "locked up: a bus error\n  r0 0\n");
  EXPECT_EQ(said[1], "T0bthread:1;");
  said = resume("c");
  ASSERT_EQ(said.size(), 4u);  // 2,000 characters a packet
  EXPECT_EQ(said[3], "T0bthread:1;");
  said = resume("c");
  ASSERT_EQ(said.size(), 2u);
  EXPECT_THAT(text_of(said[0]), StartsWith("asleep"));
  EXPECT_EQ(said[1], "T05thread:1;");
}

TEST_F(GdbServerTest, CtrlCInAFaultHandlerSaysWhatBroughtItThere) {
  board.fault = "a division by zero at main+0x12";
  ask_all("c");
  server.run(100);
  const std::vector<std::string> said = payloads(raw("\x03"));
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(text_of(said[0]), "in a fault handler: a division by zero at main+0x12\n");
  EXPECT_EQ(said[1], "T02thread:1;");
}

TEST_F(GdbServerTest, AnExitEndsWithItsCode) {
  board.stop_at(5, StopReason::exited).exit_code = 0x107;
  EXPECT_THAT(resume("c"), ElementsAre("W07"));
  EXPECT_EQ(server.state(), GdbState::exited);
  EXPECT_EQ(server.last_stop().exit_code, 0x107);
  EXPECT_EQ(ask("c"), "W07");
  EXPECT_FALSE(server.running());
  EXPECT_EQ(ask("?"), "W07");
  EXPECT_EQ(ask("D"), "OK");
  EXPECT_EQ(server.state(), GdbState::exited);
}

TEST_F(GdbServerTest, RestartLeavesAnExit) {
  board.stop_at(5, StopReason::exited);
  resume("c");
  EXPECT_EQ(ask("!"), "OK");
  EXPECT_THAT(ask_all("R00"), IsEmpty());
  EXPECT_EQ(board.resets, 1u);
  EXPECT_EQ(ask("?"), "T05thread:1;");
}

TEST_F(GdbServerTest, DetachingRemovesEverythingAndGoesOn) {
  ask("Z0,60000010,2");
  ask("Z2,20000010,4");
  EXPECT_EQ(ask("D;1"), "OK");
  EXPECT_EQ(server.state(), GdbState::detached);
  EXPECT_FALSE(board.attached);
  EXPECT_THAT(board.breakpoints, IsEmpty());
  EXPECT_THAT(board.watchpoints, IsEmpty());
  server.run(1000);
  EXPECT_EQ(board.now, 1000u);
  EXPECT_TRUE(server.running());
  EXPECT_EQ(raw(framed("g")), "+");  // nobody is there
  board.stop_at(1500, StopReason::locked_up).detail = "x";
  server.run(1000);
  EXPECT_EQ(server.state(), GdbState::ended);
  EXPECT_EQ(server.last_stop().reason, StopReason::locked_up);
  EXPECT_EQ(server.take_output(), "");
}

TEST_F(GdbServerTest, ALostDebuggerLeavesTheBoardStanding) {
  ask("Z0,60000010,2");
  ask_all("c");
  raw("$m2000");
  server.disconnect();
  EXPECT_EQ(server.state(), GdbState::idle);
  EXPECT_THAT(board.breakpoints, IsEmpty());
  EXPECT_FALSE(server.running());
  server.connect();
  EXPECT_EQ(ask("p1"), "00000000");
}

TEST_F(GdbServerTest, KillEndsTheRun) {
  EXPECT_THAT(ask_all("k"), IsEmpty());
  EXPECT_EQ(server.state(), GdbState::killed);
  EXPECT_FALSE(server.running());
  FakeGdbBoard other;
  GdbServer second(other);
  second.connect();
  const std::string kill = framed("vKill;1");
  second.receive(std::span(reinterpret_cast<const uint8_t*>(kill.data()), kill.size()));
  EXPECT_EQ(second.take_output(), "+$OK#9a");
  EXPECT_EQ(second.state(), GdbState::killed);
}

TEST_F(GdbServerTest, MonitorCommandsAnswerInText) {
  board.board_stats.instructions = 1234;
  board.board_stats.unknown.push_back({"LPSPI4+0x014", 0x403A0014, 3, 0, 0x60001234});
  const auto monitor = [&](const std::string& command) {
    const std::vector<std::string> said = ask_all("qRcmd," + to_hex(command));
    EXPECT_EQ(said.size(), 2u);
    EXPECT_EQ(said.back(), "OK");
    return text_of(said.front());
  };
  EXPECT_THAT(monitor("help"), HasSubstr("monitor stats"));
  EXPECT_EQ(monitor("cycles"), "0 cycles, 0 ns, core at 600000000 Hz\n");
  EXPECT_THAT(monitor("stats"), HasSubstr("1234 instructions"));
  EXPECT_THAT(monitor("stats"), HasSubstr("LPSPI4+0x014 (0x403a0014), 3 reads"));
  EXPECT_THAT(monitor(" reset halt"), HasSubstr("pc 0x60000000"));
  EXPECT_EQ(board.resets, 1u);
  EXPECT_EQ(monitor("fault"), "the firmware is in no fault handler\n");
  EXPECT_THAT(monitor("sesame"), StartsWith("there is no such command"));
  EXPECT_THAT(monitor(""), StartsWith("there is no such command"));
  EXPECT_EQ(ask("qRcmd,6"), "E16");
  EXPECT_EQ(ask("qRcmd,zz"), "E16");
}

TEST_F(GdbServerTest, AnOversizedPacketIsAnErrorAndTheNextOneIsRead) {
  EXPECT_EQ(ask("m20000000," + std::string(0x8000, '1')), "E1c");
  EXPECT_EQ(ask("qC"), "QC1");
}

}  // namespace
}  // namespace millrace::board
