// SPDX-License-Identifier: Apache-2.0
// Against arm-none-eabi-objdump: every 16-bit instruction and 200,000 wide ones.
#include "code/thumb_flow.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "testing/toolchain.h"

namespace millrace::profile {
namespace {

using testing::Toolchain;

struct Expected {
  FlowKind kind = FlowKind::next;
  uint32_t target = 0;
};

bool is_condition(const std::string& text) {
  static const char* const kAll[] = {"eq", "ne", "cs", "cc", "mi", "pl", "vs",
                                     "vc", "hi", "ls", "ge", "lt", "gt", "le"};
  return std::any_of(std::begin(kAll), std::end(kAll), [&](const char* c) { return text == c; });
}

// What a line of objdump's says about where the instruction goes.
Expected expected_of(std::string mnemonic, const std::string& operands) {
  if (mnemonic.ends_with(".w") || mnemonic.ends_with(".n")) mnemonic.resize(mnemonic.size() - 2);
  const auto number = [&](size_t at) {
    return static_cast<uint32_t>(std::stoul(operands.substr(at), nullptr, 16));
  };
  const size_t target = operands.find("0x");
  const bool loads_pc = operands.starts_with("pc,");
  const bool lists_pc = operands.find("pc}") != std::string::npos;
  if (mnemonic == "b") return {FlowKind::jump, number(target)};
  if (mnemonic == "bl") return {FlowKind::call, number(target)};
  if (mnemonic.size() == 3 && mnemonic[0] == 'b' && is_condition(mnemonic.substr(1))) {
    return {FlowKind::branch, number(target)};
  }
  if (mnemonic == "cbz" || mnemonic == "cbnz") return {FlowKind::branch, number(target)};
  if (mnemonic == "bx" || mnemonic == "bxns") {
    return {operands.starts_with("lr") ? FlowKind::returns : FlowKind::indirect_jump, 0};
  }
  if (mnemonic == "blx" || mnemonic == "blxns") return {FlowKind::indirect_call, 0};
  if (mnemonic == "mov" && loads_pc) {
    return {operands == "pc, lr" ? FlowKind::returns : FlowKind::indirect_jump, 0};
  }
  if (mnemonic == "add" && loads_pc) return {FlowKind::indirect_jump, 0};
  if (mnemonic == "tbb" || mnemonic == "tbh") return {FlowKind::table_jump, 0};
  if (mnemonic == "udf") return {FlowKind::trap, 0};
  if ((mnemonic == "pop" || mnemonic == "ldmia" || mnemonic == "ldmdb") && lists_pc) {
    const bool is_stack = mnemonic == "pop" || operands.starts_with("sp");
    return {is_stack ? FlowKind::returns : FlowKind::indirect_jump, 0};
  }
  if (mnemonic == "ldr" && loads_pc) {
    if (operands.find("[pc") != std::string::npos) return {FlowKind::literal_jump, 0};
    return {operands.find("[sp") != std::string::npos ? FlowKind::returns : FlowKind::indirect_jump,
            0};
  }
  return {};
}

struct Line {
  uint32_t at = 0;
  std::string mnemonic, operands;
};

std::vector<Line> disassemble(const Toolchain& tools, const std::vector<uint16_t>& code) {
  std::string bytes;
  for (const uint16_t half : code) {
    bytes += static_cast<char>(half & 0xFF);
    bytes += static_cast<char>(half >> 8);
  }
  tools.write("code.bin", bytes);
  tools.run(
      "(arm-none-eabi-objdump -D -b binary -m armv8.1-m.main -M force-thumb code.bin > text)");
  std::ifstream file(tools.path("text"));
  std::vector<Line> out;
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(":\t");
    const size_t tab = colon == std::string::npos ? colon : line.find('\t', colon + 2);
    if (tab == std::string::npos) continue;
    Line one;
    one.at = static_cast<uint32_t>(std::stoul(line, nullptr, 16));
    const size_t next = line.find('\t', tab + 1);
    one.mnemonic = line.substr(tab + 1, next == std::string::npos ? next : next - tab - 1);
    while (one.mnemonic.ends_with(' ')) one.mnemonic.pop_back();
    one.operands = next == std::string::npos ? "" : line.substr(next + 1);
    out.push_back(one);
  }
  return out;
}

// Compares everything that objdump takes for a valid instruction of Armv7-M; returns how many.
size_t compare(const std::vector<uint16_t>& code) {
  const Toolchain tools;
  size_t compared = 0, differ = 0;
  for (const Line& line : disassemble(tools, code)) {
    const size_t i = line.at / 2;
    // IT makes what follows conditional, and objdump then writes it with a condition.
    if (i >= code.size() || line.mnemonic.starts_with("it")) continue;
    if (line.operands.find("UNPREDICTABLE") != std::string::npos) continue;
    if (line.operands.find("undefined") != std::string::npos || line.mnemonic[0] == '.') continue;
    if (line.mnemonic.starts_with("<") || line.mnemonic.starts_with("bf")) continue;
    if (line.mnemonic == "blx" && line.operands[0] == '0') continue;  // no Armv7-M: to Arm code
    // Unpredictable, which objdump does not say.
    const bool is_arithmetic = line.mnemonic.starts_with("add") || line.mnemonic.starts_with("mov");
    const bool is_wide_pc = is_wide(code[i]) && line.operands.starts_with("pc");
    if (is_wide_pc && line.mnemonic.starts_with("ldm")) continue;
    if (is_wide_pc && (is_arithmetic || line.mnemonic == "ldrt")) continue;
    if ((code[i] & 0xFF00) == 0x4700 && (code[i] & 3) != 0) continue;
    const Flow flow = decode_flow(line.at, code[i], i + 1 < code.size() ? code[i + 1] : 0);
    if (flow.kind == FlowKind::branch && line.mnemonic.starts_with("wls")) continue;
    if (line.mnemonic.starts_with("le") || line.mnemonic.starts_with("wls")) continue;
    const Expected wanted = expected_of(line.mnemonic, line.operands);
    ++compared;
    const bool same =
        flow.kind == wanted.kind && (wanted.target == 0 || flow.target == wanted.target);
    if (same || ++differ > 20) continue;
    ADD_FAILURE() << std::hex << code[i] << " " << (is_wide(code[i]) ? code[i + 1] : 0) << " at "
                  << line.at << ": " << line.mnemonic << " " << line.operands << ": kind "
                  << static_cast<int>(flow.kind) << " target " << flow.target;
  }
  return compared;
}

TEST(ThumbFlow, EveryNarrowInstructionGoesWhereObjdumpSays) {
  std::vector<uint16_t> code(0x8000, 0xBF00);  // so that backward targets are not negative
  for (uint32_t op = 0; op < 0xE800; ++op) {
    if ((op & 0xFF00) == 0xBF00 && (op & 15) != 0) continue;  // IT
    code.push_back(static_cast<uint16_t>(op));
  }
  EXPECT_GT(compare(code), 55000u);
}

TEST(ThumbFlow, WideInstructionsGoWhereObjdumpSays) {
  std::vector<uint16_t> code(0x8000, 0xBF00);
  std::mt19937 random(1);
  // Branches most of all; then every first halfword with second ones of every kind.
  for (int i = 0; i < 60000; ++i) {
    code.push_back(static_cast<uint16_t>(0xF000 | (random() & 0x7FF)));
    code.push_back(static_cast<uint16_t>(0x8000 | random()));
  }
  for (uint32_t first = 0xE800; first <= 0xFFFF; ++first) {
    for (int i = 0; i < 20; ++i) {
      const auto second = static_cast<uint32_t>(random());
      code.push_back(static_cast<uint16_t>(first));
      code.push_back(static_cast<uint16_t>(i % 4 == 0   ? second | 0xF000
                                           : i % 4 == 1 ? (second & 0xFFF) | 0xF000
                                                        : second));
    }
  }
  EXPECT_GT(compare(code), 60000u);
}

TEST(ThumbFlow, ConstantsAreThoseOfTheManual) {
  // A7.7.44: LDR r3, [pc, #8] at 0x102: Align(0x106, 4) + 8.
  Flow flow = decode_flow(0x102, 0x4B02, 0);
  EXPECT_EQ(flow.constant, ConstantKind::literal);
  EXPECT_EQ(flow.reg, 3);
  EXPECT_EQ(flow.value, 0x10Cu);
  // A7.7.76 T3: MOVW r1, #0xABCD is F64A 31CD: imm4 A, i 1, imm3 3, imm8 CD.
  flow = decode_flow(0, 0xF64A, 0x31CD);
  EXPECT_EQ(flow.constant, ConstantKind::low);
  EXPECT_EQ(flow.reg, 1);
  EXPECT_EQ(flow.value, 0xABCDu);
  flow = decode_flow(0, 0xF6C2, 0x0100);  // MOVT r1, #0x2800
  EXPECT_EQ(flow.constant, ConstantKind::high);
  EXPECT_EQ(flow.value, 0x2800u);
  flow = decode_flow(0x200, 0xF2AF, 0x0104);  // ADR.W r1, .-4: Align(0x204, 4) - 4
  EXPECT_EQ(flow.constant, ConstantKind::address);
  EXPECT_EQ(flow.value, 0x200u);
  EXPECT_EQ(decode_flow(0, 0xBF18, 0).conditional_after, 1);  // IT NE
  EXPECT_EQ(decode_flow(0, 0xBF01, 0).conditional_after, 4);  // ITTTT EQ
}

// Armv8.1-M C2.4.103: LE lr, to four bytes before it; WLS lr, r0 over eight.
TEST(ThumbFlow, LowOverheadLoops) {
  const Flow le = decode_flow(0x100, 0xF00F, 0xC005);
  EXPECT_EQ(le.kind, FlowKind::branch);
  EXPECT_EQ(le.target, 0x104u - 8);
  const Flow wls = decode_flow(0x100, 0xF040, 0xC005);
  EXPECT_EQ(wls.kind, FlowKind::branch);
  EXPECT_EQ(wls.target, 0x104u + 8);
}

}  // namespace
}  // namespace millrace::profile
