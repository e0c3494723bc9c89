// SPDX-License-Identifier: Apache-2.0
#include "millrace/placement/boot.h"

#include <fmt/format.h>

#include "testing/toolchain.h"

namespace millrace::placement {
namespace {

using profile::testing::Toolchain;

// Each function calls the next: followed by recursion it would take 15 MB of stack.
TEST(BootClosure, ChainOfAHundredThousandCallsIsFollowedToMain) {
  constexpr uint32_t kFunctions = 100'000;
  std::string source = ".syntax unified\n.text\n.thumb\n";
  for (uint32_t i = 0; i < kFunctions; ++i) {
    source +=
        fmt::format(".type f{0}, %function\n.globl f{0}\nf{0}: bl f{1}\n.size f{0}, 4\n", i, i + 1);
  }
  source += fmt::format(
      ".set f{}, main\n.type main, %function\n.globl main\nmain: b main\n.size main, 2\n",
      kFunctions);
  Toolchain tools;
  tools.write("chain.S", source);
  tools.compile("chain.S");
  tools.link("chain.o", "*(.none)", "-Wl,-e,f0");
  const profile::ElfIndex index = tools.index();
  const BootClosure closure = find_boot_closure(index, profile::CallGraph::build(index), {});
  EXPECT_TRUE(closure.end_is_known);
  EXPECT_EQ(closure.copy_end, index.function_named("main"));
  EXPECT_EQ(closure.functions.size(), kFunctions);
}

}  // namespace
}  // namespace millrace::placement
