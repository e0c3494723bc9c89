// SPDX-License-Identifier: Apache-2.0
// The binary interface of usbmon, Documentation/usb/usbmon.rst; its ioctls stand in no header of
// the system.
#include "linux/usbmon_port.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace millrace::capture {

using host::Error;
using host::ErrorCode;
using host::Result;

namespace {

struct GetArgument {
  void* header;
  void* data;
  size_t capacity;
};
struct Statistics {
  uint32_t queued;
  uint32_t dropped;
};

constexpr unsigned kMagic = 0x92;
constexpr unsigned long kStatistics = _IOR(kMagic, 3, Statistics);
constexpr unsigned long kSetRing = _IO(kMagic, 4);
constexpr unsigned long kGetX = _IOW(kMagic, 10, GetArgument);
constexpr int kWaitMs = 100;

class KernelPort final : public UsbmonPort {
 public:
  explicit KernelPort(int descriptor) : descriptor_(descriptor) {
    // The largest ring that this kernel grants; the default of 300 KB holds 10 ms of a busy bus.
    for (const unsigned long bytes : {1228800ul, 614400ul}) {
      if (ioctl(descriptor_, kSetRing, bytes) == 0) break;
    }
  }
  ~KernelPort() override { close(descriptor_); }
  KernelPort(const KernelPort&) = delete;
  KernelPort& operator=(const KernelPort&) = delete;

  Got get(uint8_t* header, uint8_t* data, size_t capacity) override {
    pollfd ready{descriptor_, POLLIN, 0};
    const int count = poll(&ready, 1, kWaitMs);
    if (count == 0 || (count < 0 && errno == EINTR)) return Got::nothing;
    if (count < 0) return Got::end;
    GetArgument argument{header, data, capacity};
    if (ioctl(descriptor_, kGetX, &argument) == 0) return Got::event;
    return errno == EAGAIN || errno == EINTR ? Got::nothing : Got::end;
  }

  uint64_t dropped() override {
    Statistics statistics{};
    // Events lost since it was last asked.
    if (ioctl(descriptor_, kStatistics, &statistics) == 0) dropped_ += statistics.dropped;
    return dropped_;
  }

 private:
  int descriptor_;
  uint64_t dropped_ = 0;
};

}  // namespace

bool is_usbmon_name(const std::string& name) {
  constexpr size_t kPrefix = 6, kMostDigits = 4;
  return name.rfind("usbmon", 0) == 0 && name.size() > kPrefix &&
         name.size() <= kPrefix + kMostDigits &&
         std::all_of(name.begin() + kPrefix, name.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

Result<std::unique_ptr<ByteSource>> open_usbmon(const LiveOptions& options) {
  const std::string path = "/dev/" + options.name;
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor >= 0) {
    return make_usbmon_source(std::make_unique<KernelPort>(descriptor), options);
  }
  switch (errno) {
    case ENOENT:
    case ENXIO:
    case ENODEV:
      if (access("/dev/usbmon0", F_OK) == 0) {
        return Error{ErrorCode::not_found,
                     fmt::format("open {}: no such bus (lsusb shows the buses; usbmon0 is all of "
                                 "them)",
                                 path)};
      }
      return Error{ErrorCode::not_found,
                   fmt::format("open {}: usbmon is not loaded (run: sudo modprobe usbmon)", path)};
    case EACCES:
    case EPERM:
      return Error{
          ErrorCode::permission,
          fmt::format("open {0}: permission denied (run: sudo setfacl -m u:$USER:r {0}, or "
                      "as root)",
                      path)};
    default:
      return Error{ErrorCode::io, fmt::format("open {}: {}", path, std::strerror(errno))};
  }
}

}  // namespace millrace::capture
