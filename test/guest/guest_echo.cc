// SPDX-License-Identifier: Apache-2.0
// In the guest: UDP echoes, every byte compared.  guest_echo ADDRESS PORT COUNT
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr size_t kLargest = 1472;  // of a frame
constexpr time_t kTimeoutS = 60;

int fail(const char* what) {
  std::perror(what);
  return 1;
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) {
    std::fputs("usage: guest_echo ADDRESS PORT COUNT\n", stderr);
    return 2;
  }
  const int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(std::atoi(words[2])));
  if (fd < 0 || ::inet_pton(AF_INET, words[1], &address.sin_addr) != 1) return fail("address");
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail("connect");
  }
  const timeval timeout{kTimeoutS, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  const auto echoes = static_cast<size_t>(std::atoi(words[3]));
  for (size_t number = 0; number < echoes; ++number) {
    std::vector<uint8_t> sent(number == 0 ? kLargest : 1 + number * 37 % kLargest);
    for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<uint8_t>((number + i) % 251);
    std::vector<uint8_t> got(2 * kLargest);
    if (::send(fd, sent.data(), sent.size(), 0) != static_cast<ssize_t>(sent.size())) {
      return fail("send");
    }
    const ssize_t size = ::recv(fd, got.data(), got.size(), 0);
    if (size < 0) return fail("receive");
    got.resize(static_cast<size_t>(size));
    if (got != sent) {
      std::fprintf(stderr, "echo %zu of %zu bytes differs\n", number, sent.size());
      return 1;
    }
  }
  std::printf("%zu echoes\n", echoes);
  return 0;
}
