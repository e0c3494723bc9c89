// SPDX-License-Identifier: Apache-2.0
// The decoder against an independent one, arm-none-eabi-objdump: every 16-bit encoding and a large
// seeded sample of the 32-bit ones. What must agree: whether an encoding is defined on ARMv7E-M,
// and which instruction it is. objdump knows all of the architecture, so its names for
// instructions of other profiles count as undefined; UNPREDICTABLE encodings are not compared.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cpu/decoder.h"

namespace millrace::board {
namespace {

struct Line {
  std::string mnemonic;
  std::string operands;
};

// Disassembles halfwords; one entry an instruction.
std::vector<Line> disassemble(const std::vector<uint16_t>& code) {
  const std::string path = ::testing::TempDir() + "decoder_objdump_" +
                           ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".bin";
  {
    std::ofstream out(path, std::ios::binary);
    for (const uint16_t h : code) {
      out.put(static_cast<char>(h & 0xFF)).put(static_cast<char>(h >> 8));
    }
  }
  const std::string command =
      "arm-none-eabi-objdump -D -z -b binary -m armv7e-m -M force-thumb --no-show-raw-insn " + path;
  std::vector<Line> lines;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) {
    return lines;
  }
  char buffer[512];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) {
    std::string text(buffer);
    const size_t colon = text.find(":\t");
    if (colon == std::string::npos) {
      continue;
    }
    text = text.substr(colon + 2);
    Line line;
    if (text.find("UNDEFINED") != std::string::npos ||
        text.find("<undefined>") != std::string::npos || text.find("??") != std::string::npos) {
      line.mnemonic = "undefined";
    } else {
      std::istringstream words(text);
      words >> line.mnemonic;
      std::getline(words, line.operands);
    }
    lines.push_back(line);
  }
  pclose(pipe);
  std::remove(path.c_str());
  return lines;
}

// What objdump may call the instruction, without S and width suffix.
std::set<std::string> names(const Insn& i) {
  const auto sized = [&i](const char* base) {
    const std::string unprivileged = std::string(base) + "t";
    if (i.literal) {  // objdump looks at the bits of LDRT first
      return std::set<std::string>{base, unprivileged};
    }
    return std::set<std::string>{i.unprivileged ? unprivileged : base};
  };
  switch (i.kind) {
    case Kind::and_op:
      return {"and"};
    case Kind::bic:
      return {"bic"};
    case Kind::orr:
      return {"orr"};
    case Kind::orn:
      return {"orn"};
    case Kind::eor:
      return {"eor"};
    case Kind::mov:
      if (i.immediate) return {"mov", "movw"};
      switch (i.shift) {
        case Shift::lsl:
          return {"lsl", "mov", "nop"};  // MOV r8, r8 is an old NOP
        case Shift::lsr:
          return {"lsr", "mov"};
        case Shift::asr:
          return {"asr", "mov"};
        case Shift::ror:
          return {"ror", "mov"};
        default:
          return {"rrx", "mov"};
      }
    case Kind::mvn:
      return {"mvn"};
    case Kind::tst:
      return {"tst"};
    case Kind::teq:
      return {"teq"};
    case Kind::add:
      return {"add", "addw"};
    case Kind::adc:
      return {"adc"};
    case Kind::sub:
      return {"sub", "subw"};
    case Kind::sbc:
      return {"sbc"};
    case Kind::rsb:
      return {"rsb", "neg"};
    case Kind::cmp:
      return {"cmp"};
    case Kind::cmn:
      return {"cmn"};
    case Kind::adr:
      return {"add", "addw", "sub", "subw", "mov", "adr"};
    case Kind::movt:
      return {"movt"};
    case Kind::mov_pc:
      return {"mov"};
    case Kind::add_pc:
      return {"add"};
    case Kind::shift_register:
      switch (i.shift) {
        case Shift::lsl:
          return {"lsl"};
        case Shift::lsr:
          return {"lsr"};
        case Shift::asr:
          return {"asr"};
        default:
          return {"ror"};
      }
    case Kind::mul:
      return {"mul"};
    case Kind::mla:
      return {"mla"};
    case Kind::mls:
      return {"mls"};
    case Kind::smull:
      return {"smull"};
    case Kind::umull:
      return {"umull"};
    case Kind::smlal:
      return {"smlal"};
    case Kind::umlal:
      return {"umlal"};
    case Kind::umaal:
      return {"umaal"};
    case Kind::sdiv:
      return {"sdiv"};
    case Kind::udiv:
      return {"udiv"};
    case Kind::smla_half: {
      const std::string xy =
          std::string((i.imm & 1) != 0 ? "t" : "b") + ((i.imm & 2) != 0 ? "t" : "b");
      return {(i.ra == 15 ? "smul" : "smla") + xy};
    }
    case Kind::smla_wide:
      return {std::string(i.ra == 15 ? "smulw" : "smlaw") + ((i.imm & 2) != 0 ? "t" : "b")};
    case Kind::smlal_half:
      return {std::string("smlal") + ((i.imm & 1) != 0 ? "t" : "b") +
              ((i.imm & 2) != 0 ? "t" : "b")};
    case Kind::smlad:
      return {std::string(i.ra == 15 ? "smuad" : "smlad") + ((i.imm & 1) != 0 ? "x" : "")};
    case Kind::smlsd:
      return {std::string(i.ra == 15 ? "smusd" : "smlsd") + ((i.imm & 1) != 0 ? "x" : "")};
    case Kind::smlald:
      return {(i.imm & 1) != 0 ? "smlaldx" : "smlald"};
    case Kind::smlsld:
      return {(i.imm & 1) != 0 ? "smlsldx" : "smlsld"};
    case Kind::smmla:
      return {std::string(i.ra == 15 ? "smmul" : "smmla") + ((i.imm & 1) != 0 ? "r" : "")};
    case Kind::smmls:
      return {(i.imm & 1) != 0 ? "smmlsr" : "smmls"};
    case Kind::usada8:
      return {i.ra == 15 ? "usad8" : "usada8"};
    case Kind::bfi:
      return {i.rn == 15 ? "bfc" : "bfi"};
    case Kind::sbfx:
      return {"sbfx"};
    case Kind::ubfx:
      return {"ubfx"};
    case Kind::ssat:
      return {"ssat"};
    case Kind::usat:
      return {"usat"};
    case Kind::ssat16:
      return {"ssat16"};
    case Kind::usat16:
      return {"usat16"};
    case Kind::sxtb:
      return {i.rn == 15 ? "sxtb" : "sxtab"};
    case Kind::sxth:
      return {i.rn == 15 ? "sxth" : "sxtah"};
    case Kind::sxtb16:
      return {i.rn == 15 ? "sxtb16" : "sxtab16"};
    case Kind::uxtb:
      return {i.rn == 15 ? "uxtb" : "uxtab"};
    case Kind::uxth:
      return {i.rn == 15 ? "uxth" : "uxtah"};
    case Kind::uxtb16:
      return {i.rn == 15 ? "uxtb16" : "uxtab16"};
    case Kind::clz:
      return {"clz"};
    case Kind::rev:
      return {"rev"};
    case Kind::rev16:
      return {"rev16"};
    case Kind::revsh:
      return {"revsh"};
    case Kind::rbit:
      return {"rbit"};
    case Kind::pkh:
      return {(i.imm & 1) != 0 ? "pkhtb" : "pkhbt"};
    case Kind::sel:
      return {"sel"};
    case Kind::parallel: {
      const char* prefix[] = {"s", "q", "sh", "", "u", "uq", "uh", ""};
      const char* operation[] = {"add8", "add16", "asx", "", "sub8", "sub16", "sax", ""};
      return {std::string(prefix[i.imm & 7]) + operation[i.imm >> 3]};
    }
    case Kind::qadd: {
      const char* n[] = {"qadd", "qdadd", "qsub", "qdsub"};
      return {n[i.imm]};
    }
    case Kind::ldr:
      return i.rn == 13 && i.writeback ? std::set<std::string>{"ldr", "pop"} : sized("ldr");
    case Kind::ldrb:
      return sized("ldrb");
    case Kind::ldrh:
      return sized("ldrh");
    case Kind::ldrsb:
      return sized("ldrsb");
    case Kind::ldrsh:
      return sized("ldrsh");
    case Kind::str:
      return i.rn == 13 && i.writeback ? std::set<std::string>{"str", "push"} : sized("str");
    case Kind::strb:
      return sized("strb");
    case Kind::strh:
      return sized("strh");
    case Kind::ldrd:
      return {"ldrd"};
    case Kind::strd:
      return {"strd"};
    case Kind::ldm:
      return i.add ? std::set<std::string>{"ldmia", "pop"} : std::set<std::string>{"ldmdb"};
    case Kind::stm:
      return i.add ? std::set<std::string>{"stmia"} : std::set<std::string>{"stmdb", "push"};
    case Kind::ldrex:
      return {"ldrex"};
    case Kind::ldrexb:
      return {"ldrexb"};
    case Kind::ldrexh:
      return {"ldrexh"};
    case Kind::strex:
      return {"strex"};
    case Kind::strexb:
      return {"strexb"};
    case Kind::strexh:
      return {"strexh"};
    case Kind::clrex:
      return {"clrex"};
    case Kind::preload:
      return {"pld", "pli", "pldw"};
    case Kind::b: {
      const char* c[] = {"beq", "bne", "bcs", "bcc", "bmi", "bpl", "bvs", "bvc",
                         "bhi", "bls", "bge", "blt", "bgt", "ble", "b",   "b"};
      return {c[i.cond]};
    }
    case Kind::bl:
      return {"bl"};
    case Kind::bx:
      return {"bx"};
    case Kind::blx:
      return {"blx"};
    case Kind::cbz:
      return {i.ra != 0 ? "cbnz" : "cbz"};
    case Kind::tbb:
      return {i.ra != 0 ? "tbh" : "tbb"};
    case Kind::it:
      return {"it"};
    case Kind::svc:
      return {"svc"};
    case Kind::bkpt:
      return {"bkpt"};
    case Kind::cps:
      return {(i.imm & 16) != 0 ? "cpsid" : "cpsie"};
    case Kind::mrs:
      return {"mrs"};
    case Kind::msr:
      return {"msr"};
    case Kind::nop:
      return {"nop",    "yield", "dbg", "sevl", "esb", "psb", "csdb", "pldw", "bti",
              "pacbti", "pac",   "aut", "tsb",  "pld", "pli", "ldrh", "ldrsh"};
    case Kind::wfe:
      return {"wfe"};
    case Kind::wfi:
      return {"wfi"};
    case Kind::sev:
      return {"sev"};
    case Kind::dmb:
      return {"dmb"};
    case Kind::dsb:
      return {"dsb", "ssbb", "pssbb", "dfb"};
    case Kind::isb:
      return {"isb"};
    default:
      return {};
  }
}

// Instructions of other profiles and versions, and coprocessors that a Cortex-M7 lacks.
bool is_foreign(const Line& l) {
  static const std::set<std::string> kNames = {
      "hlt",    "setend", "setpan", "bxj",    "smc",    "hvc",    "eret",
      "dcps1",  "dcps2",  "dcps3",  "lda",    "ldab",   "ldah",   "ldaex",
      "stl",    "stlb",   "stlh",   "stlex",  "ldaexb", "ldaexh", "ldaexd",
      "stlexb", "stlexh", "stlexd", "ldrexd", "strexd", "cps",    "subs"};
  const std::string& m = l.mnemonic;
  if (m == "subs") {
    return l.operands.find("pc, lr") != std::string::npos;  // exception return of A profile
  }
  return kNames.contains(m) || m.starts_with("crc32") || m.starts_with("srs") ||
         m.starts_with("rfe") || m.starts_with("udf") || m == "sb" || m.starts_with("vld") ||
         m.starts_with("vst");
}

std::string without_width(std::string m) {
  for (const char* suffix : {".w", ".n"}) {
    if (m.size() > 2 && m.ends_with(suffix)) {
      m.resize(m.size() - 2);
    }
  }
  return m;
}

std::string describe(uint16_t a, uint16_t b, const Line& l, const Insn& i) {
  char text[160];
  std::snprintf(text, sizeof text, "%04x %04x objdump: %s%s, decoded as kind %d", a, b,
                l.mnemonic.c_str(), l.operands.c_str(), static_cast<int>(i.kind));
  return text;
}

// Empty: they agree, or there is nothing to compare.
std::string compare(uint16_t a, uint16_t b, const Line& l) {
  const Insn i = decode(a, b, 0x1000, 0);
  if (i.kind == Kind::unpredictable) {
    return {};
  }
  const bool fp_space = i.size == 4 && (a & 0xEC00) == 0xEC00;
  if (fp_space) {
    // objdump accepts D16-D31, the Advanced SIMD space and every coprocessor number; the
    // floating-point instructions themselves are compared by FpEncodings.
    return {};
  }
  // BLX (immediate) and the loops of Armv8.1-M share a space that is UNDEFINED on Armv7-M.
  const bool blx_space = (a & 0xF800) == 0xF000 && (b & 0xD000) == 0xC000;
  // Register offsets: objdump ignores bits 7:6, A5.3.7 .. A5.3.10 want 0.
  const bool bad_offset =
      (a & 0xFE80) == 0xF800 && (b & 0x0F00) == 0 && (b & 0x00C0) != 0 && (a & 0xF) != 15;
  // Stores with Rn = 15 are UNDEFINED (A7.7.158 and others); objdump prints them.
  const bool store_to_pc = (a & 0xFF1F) == 0xF80F;
  const bool undefined =
      l.mnemonic == "undefined" || blx_space || bad_offset || store_to_pc || is_foreign(l);
  if (undefined != (i.kind == Kind::undefined)) {
    return describe(a, b, l, i);
  }
  if (undefined) {
    return {};
  }
  const std::string m = without_width(l.mnemonic);
  for (const std::string& name : names(i)) {
    const bool compare_kind =
        i.kind == Kind::tst || i.kind == Kind::teq || i.kind == Kind::cmp || i.kind == Kind::cmn;
    const std::string with_s = i.set_flags && !compare_kind ? name + "s" : name;
    if (m == with_s || (i.kind == Kind::it && m.starts_with("it"))) {
      return {};
    }
  }
  return describe(a, b, l, i);
}

void report(const std::vector<std::string>& differences) {
  for (size_t k = 0; k < differences.size() && k < 20; ++k) {
    ADD_FAILURE() << differences[k];
  }
  EXPECT_EQ(differences.size(), 0u);
}

TEST(Decoder, AgreesWithObjdumpOnEvery16BitEncoding) {
  std::vector<uint16_t> code;
  for (uint32_t h = 0; h < 0xE800; ++h) {
    const bool it = (h & 0xFF00) == 0xBF00 && (h & 15) != 0;
    if (!it) {  // objdump would apply the conditions to what follows
      code.push_back(static_cast<uint16_t>(h));
    }
  }
  const std::vector<Line> lines = disassemble(code);
  ASSERT_EQ(lines.size(), code.size());
  std::vector<std::string> differences;
  for (size_t k = 0; k < code.size(); ++k) {
    if (std::string d = compare(code[k], 0, lines[k]); !d.empty()) {
      differences.push_back(d);
    }
  }
  report(differences);
}

TEST(Decoder, AgreesWithObjdumpOn32BitEncodings) {
  std::mt19937 random(20240229);
  std::vector<uint16_t> code;
  // Every first halfword with several second ones, and the reserved bit patterns often.
  constexpr uint16_t kOr[] = {0, 0, 0, 0xF000, 0x8000, 0xF0F0, 0x0F00};
  constexpr uint16_t kAnd[] = {0xFFFF, 0xFFFF, 0x7FFF, 0xFFFF, 0xAFFF, 0xFFFF, 0xFF0F};
  for (uint32_t first = 0xE800; first <= 0xFFFF; ++first) {
    for (unsigned k = 0; k < 42; ++k) {
      code.push_back(static_cast<uint16_t>(first));
      code.push_back(static_cast<uint16_t>((random() & kAnd[k % 7]) | kOr[k % 7]));
    }
  }
  const std::vector<Line> lines = disassemble(code);
  ASSERT_EQ(lines.size(), code.size() / 2);
  std::vector<std::string> differences;
  for (size_t k = 0; k < lines.size(); ++k) {
    if (std::string d = compare(code[2 * k], code[2 * k + 1], lines[k]); !d.empty()) {
      differences.push_back(d);
    }
  }
  report(differences);
}

}  // namespace
}  // namespace millrace::board
