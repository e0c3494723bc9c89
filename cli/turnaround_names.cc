// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>

#include "cli/turnaround_report.h"

namespace millrace::cli {

std::string device_name(capture::DeviceKey key) {
  return fmt::format("{}.{}", capture::bus_of(key), capture::address_of(key));
}

std::string endpoint_name(uint8_t endpoint) {
  return fmt::format("{} {}", capture::is_in(endpoint) ? "IN" : "OUT", endpoint & 0x0f);
}

std::string microseconds(double nanoseconds) {
  const auto tenths = static_cast<int64_t>(std::max(nanoseconds, 0.0)) / 100;
  return tenths % 10 == 0 ? fmt::format("{}", tenths / 10)
                          : fmt::format("{}.{}", tenths / 10, tenths % 10);
}

std::string urb_status_name(int32_t status) {
  struct Name {
    int32_t status;
    const char* text;
  };
  static constexpr Name kNames[] = {{-2, "ENOENT (unlinked)"},
                                    {-5, "EIO"},
                                    {-18, "EXDEV (isochronous)"},
                                    {-32, "EPIPE (stalled)"},
                                    {-62, "ETIME (no answer)"},
                                    {-71, "EPROTO (bus error)"},
                                    {-75, "EOVERFLOW (babble)"},
                                    {-84, "EILSEQ (CRC or no answer)"},
                                    {-104, "ECONNRESET (unlinked)"},
                                    {-108, "ESHUTDOWN (device gone)"},
                                    {-110, "ETIMEDOUT"},
                                    {-115, "EINPROGRESS"},
                                    {-121, "EREMOTEIO (short)"}};
  for (const Name& name : kNames) {
    if (name.status == status) return name.text;
  }
  return fmt::format("status {}", status);
}

}  // namespace millrace::cli
