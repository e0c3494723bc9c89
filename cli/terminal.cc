// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "cli/interrupt.h"
#include "cli/machine.h"
#include "cli/print.h"
#include "cli/values.h"

namespace millrace::cli {

namespace {

// A terminal that knows no control sequences.
bool is_dumb() {
  const char* term = std::getenv("TERM");
  return term != nullptr && std::string(term) == "dumb";
}

}  // namespace

Colour::Colour(std::FILE* file)
    : on_((file == stdout ? stdout_is_terminal() : stderr_is_terminal()) &&
          std::getenv("NO_COLOR") == nullptr && !is_dumb()) {}

std::string Colour::paint(const char* code, const std::string& text) const {
  return on_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
}

ProgressBar::ProgressBar() : on_(stderr_is_terminal() && !is_dumb()) {}

void ProgressBar::show(const host::RunProgress& progress) {
  if (!on_) return;
  const double part = progress.total_bytes == 0
                          ? 0
                          : std::min(1.0, static_cast<double>(progress.bytes) /
                                              static_cast<double>(progress.total_bytes));
  std::string tail =
      fmt::format(" {:3.0f} %  {} MB/s", 100 * part, megabytes_per_s(progress.bytes_per_s));
  if (progress.faults != 0) tail += "  " + plural(progress.faults, "fault");
  draw(part, tail);
}

void ProgressBar::show_share(double done, double all, const std::string& text) {
  constexpr std::chrono::milliseconds kBetween(100);
  if (!on_) return;
  const auto now = std::chrono::steady_clock::now();
  if (shown_ && now - drawn_ < kBetween) return;
  drawn_ = now;
  const double part = all <= 0 ? 0 : std::min(1.0, done / all);
  draw(part, fmt::format(" {:3.0f} %  {}", 100 * part, text));
}

void ProgressBar::draw(double part, const std::string& tail) {
  const int room = terminal_columns() - 4 - static_cast<int>(label_.size() + tail.size());
  const size_t width = static_cast<size_t>(std::clamp(room, 0, 40));
  const size_t filled = static_cast<size_t>(part * static_cast<double>(width));
  std::string bar;
  if (width != 0) bar = " [" + std::string(filled, '#') + std::string(width - filled, ' ') + "]";
  // Whatever a narrow terminal has no room for would stay on a line of its own each time.
  const auto most = static_cast<size_t>(std::max(terminal_columns() - 1, 1));
  write_now(stderr, "\r\x1b[K" + (label_ + bar + tail).substr(0, most));
  shown_ = true;
}

void ProgressBar::clear() {
  if (!shown_) return;
  write_now(stderr, "\r\x1b[K");
  shown_ = false;
}

host::RunHooks ProgressBar::hooks() {
  host::RunHooks hooks;
  if (on_) hooks.progress = [this](const host::RunProgress& progress) { show(progress); };
  hooks.interrupted = &interrupted();
  hooks.warning = [this](const std::string& text) {
    if (text == warned_) return;  // once a series
    warned_ = text;
    clear();
    print(stderr, "millrace: warning: {}\n", printable_sentence(text));
  };
  return hooks;
}

}  // namespace millrace::cli
