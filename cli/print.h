// SPDX-License-Identifier: Apache-2.0
// Everything that the program prints. fmt::print() throws when a write fails; a full disk, a closed
// descriptor or a vanished terminal is no reason to lose a measurement.
#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <string>
#include <utility>

#include "millrace/host/text.h"

namespace millrace::cli {

// Writes `text`. A failure on stdout is remembered for stdout_error(); on stderr it is ignored,
// since there is no place left to say so.
void write_text(std::FILE* file, const std::string& text);
// As write_text(), and flushes.
void write_now(std::FILE* file, const std::string& text);

// Flushes stdout; 0, or the errno of the first write to it that failed.
int stdout_error();

template <class... Arguments>
void print(std::FILE* file, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_text(file, fmt::format(format, std::forward<Arguments>(arguments)...));
}

template <class... Arguments>
void print(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_text(stdout, fmt::format(format, std::forward<Arguments>(arguments)...));
}

// For every text that came from a device, the system or the command line, at the place where it is
// put among ours.
using host::printable;

// printable(), with the middle left out when it is long: the sentence of an error.
std::string printable_sentence(const std::string& text);

}  // namespace millrace::cli
