// SPDX-License-Identifier: Apache-2.0
// The binary interface of usbmon, Documentation/usb/usbmon.rst; its ioctls stand in no header of
// the system. The ring is mapped: one visit takes all the events that are there, where
// MON_IOCX_GETX costs a call an event.
#include "linux/usbmon_port.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "millrace/link/bytes.h"

namespace millrace::capture {

using host::Error;
using host::ErrorCode;
using host::Result;

namespace {

struct FetchArgument {  // struct mon_bin_mfetch
  uint32_t* offsets;
  uint32_t fetch;  // how many there is room for; how many were stored
  uint32_t flush;
};
struct Statistics {
  uint32_t queued;
  uint32_t dropped;
};

constexpr unsigned kMagic = 0x92;
constexpr unsigned long kStatistics = _IOR(kMagic, 3, Statistics);
constexpr unsigned long kSetRing = _IO(kMagic, 4);
constexpr unsigned long kGetRing = _IO(kMagic, 5);
constexpr unsigned long kFetch = _IOWR(kMagic, 7, FetchArgument);
constexpr int kWaitMs = 100;
constexpr size_t kRingHeaderBytes = 64;
constexpr uint32_t kMostEvents = 20'000;  // a visit: the whole ring, of 1,200 KB
constexpr uint8_t kFiller = '@';          // up to the end of the ring, where an event did not fit

int64_t now_us() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);  // as the kernel stamps events
  return int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

class KernelPort final : public UsbmonPort {
 public:
  explicit KernelPort(int descriptor) : descriptor_(descriptor), offsets_(kMostEvents) {}
  ~KernelPort() override {
    if (ring_ != nullptr) munmap(ring_, size_);
    close(descriptor_);
  }
  KernelPort(const KernelPort&) = delete;
  KernelPort& operator=(const KernelPort&) = delete;

  // False: errno says why.
  bool map() {
    // The largest ring that this kernel grants; the default of 300 KB holds 10 ms of a busy bus.
    for (const unsigned long bytes : {1228800ul, 614400ul}) {
      if (ioctl(descriptor_, kSetRing, bytes) == 0) break;
    }
    const int size = ioctl(descriptor_, kGetRing);
    if (size <= 0) return false;
    size_ = static_cast<size_t>(size);
    void* ring = mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor_, 0);
    if (ring == MAP_FAILED) return false;
    ring_ = static_cast<uint8_t*>(ring);
    return true;
  }

  Got fetch(UsbmonBatch* batch) override {
    batch->events.clear();
    FetchArgument argument{offsets_.data(), kMostEvents, taken_};
    // What was taken is given back whatever comes of the rest.
    taken_ = 0;
    batch->room_since_us = now_us();
    const bool is_fetched = ioctl(descriptor_, kFetch, &argument) == 0;
    const int number = errno;
    Statistics statistics{};
    // Lost since it was last asked.
    const bool is_counted = ioctl(descriptor_, kStatistics, &statistics) == 0;
    batch->dropped = is_counted ? statistics.dropped : 0;
    if (!is_fetched) {
      if (number != EAGAIN && number != EINTR) return Got::end;
      return wait();
    }
    taken_ = argument.fetch;
    for (size_t i = 0; i < std::min(taken_, kMostEvents); ++i) add(offsets_[i], batch);
    return Got::events;
  }

 private:
  Got wait() const {
    pollfd ready{descriptor_, POLLIN, 0};
    return poll(&ready, 1, kWaitMs) < 0 && errno != EINTR ? Got::end : Got::nothing;
  }

  void add(uint32_t offset, UsbmonBatch* batch) const {
    if (offset > size_ - kRingHeaderBytes) return;
    const uint8_t* event = ring_ + offset;
    if (event[8] == kFiller) return;
    const size_t data =
        std::min<size_t>(link::load_le32(event + 36), size_ - kRingHeaderBytes - offset);
    batch->events.emplace_back(event, kRingHeaderBytes + data);
  }

  int descriptor_;
  uint8_t* ring_ = nullptr;
  size_t size_ = 0;
  std::vector<uint32_t> offsets_;
  uint32_t taken_ = 0;  // of the ring, to be given back
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
    auto port = std::make_unique<KernelPort>(descriptor);
    if (port->map()) return make_usbmon_source(std::move(port), options);
    return Error{ErrorCode::io,
                 fmt::format("open {}: its ring cannot be mapped: {} (is it usbmon's device?)",
                             path, std::strerror(errno))};
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
                   fmt::format("open {0}: usbmon is not loaded (run: sudo modprobe usbmon; then as "
                               "root, or sudo setfacl -m u:$USER:r {0})",
                               path)};
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
