// SPDX-License-Identifier: Apache-2.0
#include "cli/link_text.h"

#include <algorithm>
#include <utility>

namespace millrace::cli {

using host::LinkItem;
using host::LinkItemKind;

namespace {

constexpr size_t kLineBytes = 1024;

}  // namespace

bool DeviceLines::next(host::LinkSession& session, std::string* line) {
  while (true) {
    const LinkItem item = session.peek(kLinkTextStream);
    if (item.kind == LinkItemKind::nothing) return false;
    if (item.kind != LinkItemKind::data) {
      session.consume(kLinkTextStream, 0);
      continue;
    }
    const auto end = std::find(item.data.begin(), item.data.end(), '\n');
    const size_t before = static_cast<size_t>(end - item.data.begin());
    const size_t taken = std::min(before, kLineBytes - text_.size());
    text_.append(item.data.begin(), item.data.begin() + static_cast<std::ptrdiff_t>(taken));
    const bool newline = taken == before && end != item.data.end();
    const size_t used = taken + (newline ? 1 : 0);
    const bool message = used == item.data.size() && item.end_of_message;
    session.consume(kLinkTextStream, used);
    if (!newline && !message && text_.size() < kLineBytes) continue;
    if (text_.empty()) continue;
    *line = std::exchange(text_, {});
    return true;
  }
}

void say_line(host::LinkSession& session, const std::string& line) {
  const std::string text = line + '\n';
  (void)session.write(kLinkTextStream,
                      {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  session.end_of_message(kLinkTextStream);
}

}  // namespace millrace::cli
