// SPDX-License-Identifier: Apache-2.0
#include "firmware/ports/pc/fault_plan.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace::firmware {
namespace {

TEST(FaultPlan, EmptyIsNoFault) {
  const ParsedFaultPlan parsed = parse_fault_plan("");
  EXPECT_EQ(parsed.error, "");
  EXPECT_TRUE(parsed.plan.drops.empty());
  EXPECT_EQ(parsed.plan.classic_seed, 42u);
  EXPECT_EQ(parsed.plan.classic_discard_after_ms, 0u);
}

TEST(FaultPlan, ReadsEveryKey) {
  const ParsedFaultPlan parsed = parse_fault_plan(
      "split=13&rate=1000000&stall=300@5000,20@0+4096&drop=512@1000000&flip=3@77&dup=64@128+64"
      "&insert=AT@9,hex:0D0a@0+7&stale=2@320:64&unplug=250@1000&reset=0@2000&reset_silent=@3000"
      "&cooked&mangle=icrnl|istrip&mute&garbage&classic&seed=7&discard");
  ASSERT_EQ(parsed.error, "");
  const FaultPlan& plan = parsed.plan;
  EXPECT_EQ(plan.split, 13u);
  EXPECT_EQ(plan.rate_bytes_per_s, 1'000'000u);
  ASSERT_EQ(plan.stalls.size(), 2u);
  EXPECT_EQ(plan.stalls[0].length, 300u);
  EXPECT_EQ(plan.stalls[0].offset, 5000u);
  EXPECT_EQ(plan.stalls[0].every, 0u);
  EXPECT_EQ(plan.stalls[1].every, 4096u);
  EXPECT_EQ(plan.drops[0].length, 512u);
  EXPECT_EQ(plan.drops[0].offset, 1'000'000u);
  EXPECT_EQ(plan.flips[0].length, 3u);
  EXPECT_EQ(plan.dups[0].every, 64u);
  ASSERT_EQ(plan.inserts.size(), 2u);
  EXPECT_EQ(plan.inserts[0].bytes, "AT");
  EXPECT_EQ(plan.inserts[1].bytes, "\r\n");
  EXPECT_EQ(plan.inserts[1].every, 7u);
  EXPECT_EQ(plan.stales[0].lines, 2u);
  EXPECT_EQ(plan.stales[0].lag, 64u);
  ASSERT_EQ(plan.link_events.size(), 3u);
  EXPECT_EQ(plan.link_events[0].kind, LinkEventKind::unplug);
  EXPECT_EQ(plan.link_events[0].after_ms, 250u);
  EXPECT_EQ(plan.link_events[1].kind, LinkEventKind::reset);
  EXPECT_EQ(plan.link_events[2].kind, LinkEventKind::reset_silent);
  EXPECT_EQ(plan.link_events[2].offset, 3000u);
  EXPECT_TRUE(plan.cooked.icrnl && plan.cooked.ixon && !plan.cooked.istrip);
  EXPECT_TRUE(plan.mangle.icrnl && plan.mangle.istrip && !plan.mangle.ixon);
  EXPECT_TRUE(plan.mute && plan.garbage && plan.classic_only);
  EXPECT_EQ(plan.classic_seed, 7u);
  EXPECT_EQ(plan.classic_discard_after_ms, 120u);
}

TEST(FaultPlan, DiscardMayNameItsTime) {
  EXPECT_EQ(parse_fault_plan("discard=30").plan.classic_discard_after_ms, 30u);
}

TEST(FaultPlan, AnUnknownKeyIsNamedWithTheKnownOnes) {
  const std::string error = parse_fault_plan("split=1&drops=1@2").error;
  EXPECT_NE(error.find("`drops`"), std::string::npos);
  EXPECT_NE(error.find(" drop "), std::string::npos);
  EXPECT_NE(error.find("reset_silent"), std::string::npos);
}

TEST(FaultPlan, AWrongValueIsQuotedWithWhatIsAllowed) {
  EXPECT_EQ(parse_fault_plan("split=0").error,
            "fault `split=0`: the value must be a number of bytes, 1..65536");
  EXPECT_EQ(parse_fault_plan("drop=512").error,
            "fault `drop=512`: the value must be LEN@OFFSET[+EVERY] in bytes, EVERY not below LEN");
}

TEST(FaultPlan, RefusesValuesThatMakeNoSense) {
  for (const char* query : {"split",
                            "split=",
                            "split=x",
                            "split=-1",
                            "split=65537",
                            "split=1,2",
                            "rate=0",
                            "rate=1e6",
                            "stall=5",
                            "stall=5@",
                            "stall=@5",
                            "stall=0@5",
                            "stall=600001@0",
                            "stall=5@1+0",
                            "drop=0@1",
                            "drop=1@1+",
                            "drop=8@0+7",
                            "drop=1@2,",
                            "drop=1@99999999999999999999",
                            "flip=1",
                            "flip=9@0+8",
                            "dup=1048577@0",
                            "insert=@5",
                            "insert=hex:@5",
                            "insert=hex:1@5",
                            "insert=hex:zz@5",
                            "insert=AT",
                            "stale=1@32",
                            "stale=1@33:32",
                            "stale=1@64:31",
                            "stale=1@32:64",
                            "stale=0@64:32",
                            "unplug=5",
                            "unplug=@5",
                            "reset=1@x",
                            "reset_silent=5@1",
                            "reset_silent",
                            "cooked=",
                            "cooked=crlf",
                            "mangle",
                            "mangle=xon",
                            "mute=1",
                            "garbage=",
                            "classic=yes",
                            "seed=",
                            "seed=4294967296",
                            "discard=0",
                            "discard=",
                            "&",
                            "=",
                            "drop=1@1&"}) {
    EXPECT_NE(parse_fault_plan(query).error, "") << query;
  }
}

}  // namespace
}  // namespace millrace::firmware
