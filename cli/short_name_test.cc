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

TEST(ShortName, LosesParametersAndKeepsTheFile) {
  EXPECT_EQ(short_name("a::(anonymous namespace)::f(int)", 40), "a::f");
  EXPECT_EQ(short_name("f(int) [console.cc]", 40), "f [console.cc]");
  EXPECT_EQ(short_name("memcpy [newlib (nano)/memcpy.c]", 40), "memcpy [newlib (nano)/memcpy.c]");
}

TEST(ShortName, OperatorsLoseTheirParametersToo) {
  EXPECT_EQ(short_name("a::S::operator()(int) const", 40), "a::S::operator()");
  EXPECT_EQ(short_name("a::S::operator[](unsigned int)", 40), "a::S::operator[]");
}

TEST(ShortName, LosesItsMiddleWhereItIsTooLong) {
  // 10 columns: 4 of the start, `..`, 4 of the end would be 10; three fifths of 8 are 4.
  EXPECT_EQ(short_name("abcdefghijklmnop(int)", 10), "abcd..mnop");
}

}  // namespace
}  // namespace millrace::cli
