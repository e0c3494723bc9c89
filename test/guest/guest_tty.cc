// SPDX-License-Identifier: Apache-2.0
// In the guest: bytes that come back from a serial port, every one compared.  guest_tty PATH
//
// First pieces around the sizes of packets, transfers and buffers, each awaited before the next,
// then 256 KiB with as much under way as the port takes. Exit code 1: a byte is wrong, missing or
// too many.
#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr int kTimeoutMs = 60'000, kQuietMs = 300;
constexpr size_t kStream = size_t{256} << 10;
constexpr std::array<size_t, 15> kPieces = {1,   2,    63,   64,   65,   511,  512, 513,
                                            575, 1023, 1024, 1025, 2047, 2048, 4099};

int fail(const char* what) {
  std::perror(what);
  return 1;
}

uint8_t byte_at(size_t position) {
  return static_cast<uint8_t>((position * 2654435761u) >> 13 ^ position);
}

// Sends positions `begin`..`end` and takes them back. 0: all is right.
int echo(int fd, size_t begin, size_t end) {
  size_t sent = begin, back = begin;
  std::vector<uint8_t> out, in(16384);
  while (back != end) {
    const auto wanted = static_cast<short>(sent != end ? POLLIN | POLLOUT : POLLIN);
    pollfd ready{fd, wanted, 0};
    const int count = ::poll(&ready, 1, kTimeoutMs);
    if (count < 0) return fail("poll");
    if (count == 0) {
      std::fprintf(stderr, "silence: %zu sent, %zu back\n", sent, back);
      return 1;
    }
    if ((ready.revents & POLLIN) != 0) {
      const ssize_t got = ::read(fd, in.data(), in.size());
      if (got < 0 && errno != EAGAIN) return fail("read");
      if (got == 0) {
        std::fputs("the port is gone\n", stderr);
        return 1;
      }
      for (ssize_t i = 0; i < got; ++i, ++back) {
        if (back == sent || in[static_cast<size_t>(i)] != byte_at(back)) {
          std::fprintf(stderr, "byte %zu is wrong, %zu sent\n", back, sent);
          return 1;
        }
      }
    } else if ((ready.revents & (POLLHUP | POLLERR)) != 0) {
      std::fputs("the port is gone\n", stderr);
      return 1;
    }
    if ((ready.revents & POLLOUT) != 0) {
      out.clear();
      for (size_t i = sent; i != end && out.size() < 3000; ++i) out.push_back(byte_at(i));
      const ssize_t taken = ::write(fd, out.data(), out.size());
      if (taken < 0 && errno != EAGAIN) return fail("write");
      if (taken > 0) sent += static_cast<size_t>(taken);
    }
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    std::fputs("usage: guest_tty PATH\n", stderr);
    return 2;
  }
  const int fd = ::open(words[1], O_RDWR | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return fail(words[1]);
  termios settings{};
  if (::tcgetattr(fd, &settings) != 0) return fail(words[1]);
  ::cfmakeraw(&settings);
  if (::tcsetattr(fd, TCSANOW, &settings) != 0) return fail(words[1]);
  size_t at = 0;
  for (const size_t piece : kPieces) {
    if (const int code = echo(fd, at, at + piece); code != 0) return code;
    at += piece;
  }
  if (const int code = echo(fd, at, at + kStream); code != 0) return code;
  at += kStream;
  pollfd ready{fd, POLLIN, 0};
  if (::poll(&ready, 1, kQuietMs) != 0) {
    std::fprintf(stderr, "more than the %zu bytes that were sent\n", at);
    return 1;
  }
  std::printf("%zu bytes came back\n", at);
  return 0;
}
