// SPDX-License-Identifier: Apache-2.0
#include "cli/short_name.h"

#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

TEST(ShortName, ParametersGoWhateverIsInThem) {
  for (const char* parameters :
       {"()", "(int)", "(unsigned char (&) [168])", "(int (*)(char [4]), std::array<int, 3>)",
        "(void (*(&) [2])(int)) const"}) {
    EXPECT_EQ(short_name(std::string("a::f") + parameters, 40), "a::f") << parameters;
    EXPECT_EQ(short_name(std::string("a::f") + parameters + " [main.c]", 40), "a::f [main.c]");
    EXPECT_EQ(short_name(std::string("a::S::operator()") + parameters, 40), "a::S::operator()");
  }
}

TEST(ShortName, WhatHasNoParametersStays) {
  EXPECT_EQ(short_name("memcpy", 40), "memcpy");
  EXPECT_EQ(short_name("memcpy [string.c]", 40), "memcpy [string.c]");
  EXPECT_EQ(short_name("(.text without a symbol)", 40), "(.text without a symbol)");
  EXPECT_EQ(short_name("(anonymous namespace)::f(int)", 40), "f");
}

}  // namespace
}  // namespace millrace::cli
