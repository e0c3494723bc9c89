// SPDX-License-Identifier: Apache-2.0
// What the device says on its text stream, line by line.
#pragma once

#include <string>

#include "millrace/host/link_session.h"

namespace millrace::cli {

inline constexpr uint8_t kLinkTextStream = 1;

class DeviceLines {
 public:
  // Takes what has come; true: *line is the next line that is not empty, as sent, without its end.
  // A message ends a line too, and so do 1,024 bytes.
  bool next(host::LinkSession& session, std::string* line);

 private:
  std::string text_;
};

// Says `line` to the device as one message.
void say_line(host::LinkSession& session, const std::string& line);

}  // namespace millrace::cli
