// SPDX-License-Identifier: Apache-2.0
// Frames of the kernel wait in the TAP's own queue (500 or 1,000 frames, txqueuelen) until the
// board's interface has room, and are dropped there, as they would be before a real interface that
// is slow. So nothing here holds a frame, and what is dropped here is counted.
//
// Linux lets who owns a TAP use it without privileges. For that one (`ip tuntap add`) what needs
// them, address and state, is left to whoever made it.
#include "cli/posix/usb_tap.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>

#include "cli/print.h"

namespace millrace::cli {

using board::MacAddress;
using host::Error;
using host::ErrorCode;
using host::Status;

namespace {

constexpr const char* kDevice = "/dev/net/tun";
constexpr size_t kMostQueued = 64;        // frames at the device; the rest waits in the kernel
constexpr size_t kMostAtOnce = 256;       // whatever comes, the board gets on
constexpr size_t kTapFrameBytes = 65536;  // of any interface

ifreq request_for(const std::string& name) {
  ifreq request{};
  std::copy_n(name.begin(), std::min(name.size(), sizeof request.ifr_name - 1), request.ifr_name);
  return request;
}

// An ioctl that any socket takes.
bool control(unsigned long code, ifreq* request) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const bool is_good = ::ioctl(fd, code, request) == 0;
  const int error = errno;
  ::close(fd);
  errno = error;
  return is_good;
}

Error open_error(int code) {
  if (code == ENOENT || code == ENODEV || code == ENXIO) {
    return {ErrorCode::not_found,
            fmt::format("open {}: there is no such device (run: sudo modprobe tun; in a container, "
                        "give it --device {})",
                        kDevice, kDevice)};
  }
  if (code == EACCES || code == EPERM) {
    return {ErrorCode::permission,
            fmt::format("open {}: permission denied (run it with sudo)", kDevice)};
  }
  return {ErrorCode::io, fmt::format("open {}: {}", kDevice, std::strerror(code))};
}

Error create_error(const std::string& name, int code) {
  const std::string what =
      name.empty() ? "create a TAP interface" : fmt::format("TAP interface {}", printable(name));
  switch (code) {
    case EPERM:
      return {ErrorCode::permission,
              fmt::format("{}: not permitted (run it with sudo, or give the program CAP_NET_ADMIN: "
                          "sudo setcap cap_net_admin+ep PATH/millrace)",
                          what)};
    case EBUSY:
      return {ErrorCode::busy,
              fmt::format("{}: another program holds it (give another name)", what)};
    case EINVAL:
      return {
          ErrorCode::busy,
          fmt::format("{}: an interface of that name is there and is no TAP (give another name)",
                      what)};
    default:
      return {ErrorCode::io, fmt::format("{}: {}", what, std::strerror(code))};
  }
}

}  // namespace

Status check_interface_name(const std::string& name) {
  const bool is_odd = std::any_of(name.begin(), name.end(), [](char c) {
    return c <= ' ' || c >= 0x7F || c == '/' || c == ':' || c == '%';
  });
  if (!name.empty() && name.size() < IFNAMSIZ && !is_odd && name != "." && name != "..") {
    return Status();
  }
  return Error{ErrorCode::usage,
               fmt::format("\"{}\" cannot be the name of an interface (1 to {} characters without "
                           "spaces, / : and %)",
                           printable(name), IFNAMSIZ - 1)};
}

UsbTap::~UsbTap() {
  if (fd_ >= 0) ::close(fd_);
}

Status UsbTap::open(const std::string& name) {
  const int fd = ::open(kDevice, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return open_error(errno);
  ifreq request = request_for(name);
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (::ioctl(fd, TUNSETIFF, &request) != 0) {
    const Error error = create_error(name, errno);
    ::close(fd);
    return error;
  }
  fd_ = fd;
  name_ = request.ifr_name;
  int carrier = 0;
  ::ioctl(fd_, TUNSETCARRIER, &carrier);  // Linux 5.0; before, it is always on
  port_.set_client(this);
  return bring_up();
}

Status UsbTap::bring_up() {
  ifreq request = request_for(name_);
  if (!control(SIOCGIFFLAGS, &request)) {
    return Error{ErrorCode::io,
                 fmt::format("TAP interface {}: {}", printable(name_), std::strerror(errno))};
  }
  const bool is_up = (request.ifr_flags & IFF_UP) != 0;
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  if (!is_up && !control(SIOCSIFFLAGS, &request)) {
    write_now(report_, fmt::format("millrace: interface {} is down (run: sudo ip link set {} up)\n",
                                   printable(name_), printable(name_)));
  }
  return Status();
}

// Address and MTU are the device's; they stay when it goes.
void UsbTap::follow_device() {
  was_there_ = was_there_ || port_.is_configured();
  const bool carrier = port_.has_carrier();
  if (carrier != carrier_) {
    carrier_ = carrier;
    if (carrier) {
      const board::EthernetInfo& info = port_.info();
      ifreq request = request_for(name_);
      request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
      std::copy(info.mac.begin(), info.mac.end(), request.ifr_hwaddr.sa_data);
      const bool has_mac = info.mac == mac_ || control(SIOCSIFHWADDR, &request);
      if (has_mac) mac_ = info.mac;
      request = request_for(name_);
      request.ifr_mtu = static_cast<int>(info.mtu);
      control(SIOCSIFMTU, &request);
      write_now(report_, fmt::format("USB network interface is {}: {}, {}, MAC address {}{}\n",
                                     name_, board::to_string(info.kind),
                                     printable(info.description), board::to_string(info.mac),
                                     has_mac ? "" : ", which the interface could not be given"));
    } else {
      write_now(report_, fmt::format("USB network interface {} is not connected\n", name_));
    }
    int on = carrier ? 1 : 0;
    ::ioctl(fd_, TUNSETCARRIER, &on);
  }
  const std::string problem = port_.problem();
  if (problem != problem_ && !problem.empty()) {
    write_now(report_, fmt::format("millrace: USB: {}\n", printable(problem)));
  }
  problem_ = problem;
}

void UsbTap::received(std::span<const uint8_t> frame, uint64_t) {
  const bool taken = ::write(fd_, frame.data(), frame.size()) == static_cast<ssize_t>(frame.size());
  ++(taken ? counts_.to_kernel : counts_.dropped_to_kernel);
}

void UsbTap::exchange() {
  if (std::exchange(is_changed_, false)) follow_device();
  std::array<uint8_t, kTapFrameBytes> frame;
  for (size_t i = 0; i < kMostAtOnce && port_.queued() < kMostQueued; ++i) {
    const ssize_t size = ::read(fd_, frame.data(), frame.size());
    if (size < 0 && errno == EBADFD) is_deleted_ = true;
    if (size <= 0) return;
    const bool taken = port_.send({frame.data(), static_cast<size_t>(size)});
    ++(taken ? counts_.to_device : counts_.dropped_to_device);
  }
}

Json UsbTap::to_json() const {
  return {{"interface", name_},
          {"to_kernel_frames", counts_.to_kernel},
          {"to_device_frames", counts_.to_device},
          {"dropped_to_kernel", counts_.dropped_to_kernel},
          {"dropped_to_device", counts_.dropped_to_device}};
}

}  // namespace millrace::cli
