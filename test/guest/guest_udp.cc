// SPDX-License-Identifier: Apache-2.0
// In the guest: echoes of every length over UDP, each byte compared, and what the device has
// counted.  guest_udp ADDRESS
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "millrace/link/echo_counters.h"

namespace {

using namespace millrace::link;

constexpr int kTimeoutMs = 5000;
constexpr size_t kLongest = 1472;  // 1,500 less the IP and the UDP header
constexpr unsigned kBurst = 16;

int fail(const char* what) {
  std::perror(what);
  return 1;
}

int connect_to(const char* address, uint16_t port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  if (::inet_pton(AF_INET, address, &to.sin_addr) != 1) return -1;
  const int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
  if (fd < 0 || ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return -1;
  return fd;
}

ssize_t receive(int fd, std::array<uint8_t, 2048>* out) {
  pollfd waiting{fd, POLLIN, 0};
  if (::poll(&waiting, 1, kTimeoutMs) != 1) return -1;
  return ::recv(fd, out->data(), out->size(), 0);
}

std::vector<uint8_t> payload(size_t size, unsigned seed) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<uint8_t>(i * 31 + size + size_t{seed} * 7);
  return bytes;
}

// `count` datagrams of `size` bytes at once; they come back in order.
bool echo(int fd, size_t size, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    const std::vector<uint8_t> bytes = payload(size, i);
    if (::send(fd, bytes.data(), size, 0) != static_cast<ssize_t>(size)) return false;
  }
  std::array<uint8_t, 2048> got{};
  for (unsigned i = 0; i < count; ++i) {
    const ssize_t bytes = receive(fd, &got);
    if (bytes < 0 || std::vector<uint8_t>(got.begin(), got.begin() + bytes) != payload(size, i)) {
      std::printf("datagram %u of %u with %zu bytes: %zd bytes came back\n", i, count, size, bytes);
      return false;
    }
  }
  return true;
}

bool print_counters(int fd) {
  uint8_t request[kEchoCountersRequestBytes];
  encode_counters_request(0x1234, request);
  if (::send(fd, request, sizeof request, 0) != ssize_t{sizeof request}) return false;
  std::array<uint8_t, 2048> got{};
  const ssize_t bytes = receive(fd, &got);
  uint32_t tag = 0;
  EchoCounters counters;
  size_t known = 0;
  if (bytes < 0 ||
      !decode_counters_reply(got.data(), static_cast<size_t>(bytes), &tag, &counters, &known)) {
    return false;
  }
  for (size_t i = 0; i < known; ++i) {
    std::printf("%s %u\n", name_of(static_cast<EchoCounter>(i)), counters.values[i]);
  }
  return tag == 0x1234;
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    std::fputs("usage: guest_udp ADDRESS\n", stderr);
    return 2;
  }
  const int echo_fd = connect_to(words[1], kEchoPort);
  const int counters_fd = connect_to(words[1], kEchoCountersPort);
  if (echo_fd < 0 || counters_fd < 0) return fail("connect");
  unsigned echoes = 0;
  for (size_t size = 0; size <= kLongest; size += size < 600 ? 1 : 109, ++echoes) {
    if (!echo(echo_fd, size, 1)) return 1;
  }
  for (size_t size : {size_t{32}, size_t{1000}, kLongest}) {
    if (!echo(echo_fd, size, kBurst)) return 1;
    echoes += kBurst;
  }
  std::printf("echoes %u\n", echoes);
  if (!print_counters(counters_fd)) return fail("counters");
  return 0;
}
