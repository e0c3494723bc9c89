// SPDX-License-Identifier: Apache-2.0
#include "millrace/capture/live.h"
#include "millrace/capture/pinger.h"

namespace millrace::capture {

using host::Error;
using host::ErrorCode;
using host::Result;

bool is_usbmon_name(const std::string&) { return false; }

Result<std::unique_ptr<ByteSource>> open_usbmon(const LiveOptions& options) {
  return Error{
      ErrorCode::unsupported,
      options.name + ": live captures need Linux (capture with USBPcap and name its file)"};
}

Result<std::unique_ptr<Pinger>> open_pinger(const PingOptions& options) {
  return Error{ErrorCode::unsupported,
               "ping " + options.address + ": needs Linux (run ping while USBPcap captures)"};
}

}  // namespace millrace::capture
