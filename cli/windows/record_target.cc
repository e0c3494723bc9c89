// SPDX-License-Identifier: Apache-2.0
#include "cli/record_target.h"

#include "cli/print.h"

namespace millrace::cli {

host::Result<std::unique_ptr<RecordTarget>> open_network_target(const std::string& name,
                                                                const RecordLoad&) {
  return host::Error{host::ErrorCode::unsupported,
                     printable(name) + ": network targets need Linux (give a serial port)"};
}

host::Result<std::unique_ptr<RecordTarget>> open_record_target(const std::string& name,
                                                               const RecordLoad& load) {
  if (name.rfind("udp:", 0) == 0) return open_network_target(name, load);
  return open_serial_target(name, load);
}

}  // namespace millrace::cli
