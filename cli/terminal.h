// SPDX-License-Identifier: Apache-2.0
// What is different when a person looks: colour on stdout, a progress bar on stderr.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

#include "millrace/host/serial_run.h"

namespace millrace::cli {

// Colour for one output; passes text through when it is off.
class Colour {
 public:
  // On if `file` is a terminal and NO_COLOR is not set.
  explicit Colour(std::FILE* file);
  std::string good(const std::string& text) const { return paint("32", text); }
  std::string bad(const std::string& text) const { return paint("1;31", text); }
  std::string strong(const std::string& text) const { return paint("1", text); }
  std::string quiet(const std::string& text) const { return paint("2", text); }

 private:
  std::string paint(const char* code, const std::string& text) const;
  bool on_;
};

// A line on stderr that is rewritten; nothing at all if stderr is no terminal.
class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  // Put before the bar from now on, such as `512 B, ack each, run 2 of 3`.
  void set_label(const std::string& label) { label_ = label; }
  void show(const host::RunProgress& progress);
  // Something else than bytes: `text` behind the bar. May be called as often as one likes: drawn
  // ten times a second at most.
  void show_share(double done, double all, const std::string& text);
  void clear();
  // Hooks that show this bar and end at Ctrl-C. The bar must outlive them.
  host::RunHooks hooks();

 private:
  void draw(double part, const std::string& tail);

  bool on_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point drawn_;
  std::string label_;
  std::string warned_;
};

}  // namespace millrace::cli
