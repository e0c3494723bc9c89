// SPDX-License-Identifier: Apache-2.0
// In the guest: what `usbip attach` does, with nothing around it.  guest_attach ADDRESS PORT BUS-ID
//
// The connection is made and the device imported here, then the socket goes to vhci_hcd, which
// speaks the rest itself (Linux Documentation/usb/usbip_protocol.rst).
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr size_t kRequestBytes = 40, kReplyBytes = 320;
constexpr size_t kBusAt = 8 + 256 + 32;  // of struct usbip_usb_device behind the operation's header
constexpr const char* kAttach = "/sys/devices/platform/vhci_hcd.0/attach";

int fail(const char* what) {
  std::perror(what);
  return 1;
}

uint32_t word(const std::array<uint8_t, kReplyBytes>& bytes, size_t at) {
  return uint32_t{bytes[at]} << 24 | uint32_t{bytes[at + 1]} << 16 | uint32_t{bytes[at + 2]} << 8 |
         bytes[at + 3];
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) {
    std::fputs("usage: guest_attach ADDRESS PORT BUS-ID\n", stderr);
    return 2;
  }
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(std::atoi(words[2])));
  if (fd < 0 || ::inet_pton(AF_INET, words[1], &address.sin_addr) != 1) return fail("address");
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail("connect");
  }
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  std::array<uint8_t, kRequestBytes> request{0x01, 0x11, 0x80, 0x03};  // OP_REQ_IMPORT
  std::strncpy(reinterpret_cast<char*>(&request[8]), words[3], 31);
  if (::send(fd, request.data(), request.size(), 0) != ssize_t{kRequestBytes}) return fail("send");
  std::array<uint8_t, kReplyBytes> reply{};
  const ssize_t got = ::recv(fd, reply.data(), reply.size(), MSG_WAITALL);
  if (got < 8) return fail("reply");
  if (word(reply, 4) != 0 || got != ssize_t{kReplyBytes}) {
    std::fprintf(stderr, "import of %s refused: status %u, %zd bytes\n", words[3], word(reply, 4),
                 got);
    return 1;
  }
  const uint32_t device = word(reply, kBusAt) << 16 | word(reply, kBusAt + 4);
  const uint32_t speed = word(reply, kBusAt + 8);
  // Port 0 is the first of the high-speed hub. The kernel keeps the socket when we end.
  const std::string line =
      "0 " + std::to_string(fd) + " " + std::to_string(device) + " " + std::to_string(speed);
  std::FILE* file = std::fopen(kAttach, "w");
  if (file == nullptr) return fail(kAttach);
  std::fputs(line.c_str(), file);
  if (std::fclose(file) != 0) return fail(kAttach);
  std::printf("attached: %s\n", line.c_str());
  return 0;
}
