// SPDX-License-Identifier: Apache-2.0
// In the guest: /dev/usbmonN as a pcap file, until SIGTERM.  guest_usbmon /dev/usbmon0 FILE
//
// The binary interface of Linux Documentation/usb/usbmon.rst; pcap link type 220
// (LINKTYPE_USB_LINUX_MMAPPED) is its 64-byte header as it is, with the data behind it.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

constexpr uint32_t kHeaderBytes = 64;
constexpr uint32_t kMostData = 65536;
constexpr int kRingBytes = 1200 * 1024;  // the most that the kernel gives

struct Get {  // struct mon_bin_get
  uint8_t* header;
  void* data;
  size_t size;
};
struct Stats {
  uint32_t queued, dropped;
};
constexpr unsigned long kGetX = _IOW(0x92, 10, Get);
constexpr unsigned long kRingSize = _IO(0x92, 4);
constexpr unsigned long kStats = _IOR(0x92, 3, Stats);

volatile std::sig_atomic_t ended = 0;
void end(int) { ended = 1; }

uint32_t load_le32(const uint8_t* bytes) {
  return bytes[0] | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 | uint32_t{bytes[3]} << 24;
}

int fail(const char* what) {
  std::perror(what);
  return 1;
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) {
    std::fputs("usage: guest_usbmon /dev/usbmonN FILE\n", stderr);
    return 2;
  }
  struct sigaction action {};
  action.sa_handler = end;  // no SA_RESTART: the ioctl that waits comes back
  ::sigaction(SIGTERM, &action, nullptr);
  const int fd = ::open(words[1], O_RDONLY);
  if (fd < 0) return fail(words[1]);
  if (::ioctl(fd, kRingSize, kRingBytes) != 0) return fail("MON_IOCT_RING_SIZE");
  std::FILE* out = std::fopen(words[2], "wb");
  if (out == nullptr) return fail(words[2]);
  const std::array<uint32_t, 6> file_header = {
      0xA1B2C3D4, 0x00040002, 0, 0, kHeaderBytes + kMostData, 220};
  std::fwrite(file_header.data(), 1, sizeof file_header, out);
  std::array<uint8_t, kHeaderBytes> header{};
  std::vector<uint8_t> data(kMostData);
  uint64_t events = 0;
  std::puts("capturing");
  std::fflush(stdout);
  while (ended == 0) {
    Get get{header.data(), data.data(), data.size()};
    if (::ioctl(fd, kGetX, &get) != 0) {
      if (errno == EINTR) continue;
      return fail("MON_IOCX_GETX");
    }
    // ts_sec at 16 (64 bits), ts_usec at 24, len_cap at 36.
    const uint32_t captured = load_le32(&header[36]);
    const uint32_t size = kHeaderBytes + captured;
    const std::array<uint32_t, 4> record = {load_le32(&header[16]), load_le32(&header[24]), size,
                                            size};
    std::fwrite(record.data(), 1, sizeof record, out);
    std::fwrite(header.data(), 1, header.size(), out);
    std::fwrite(data.data(), 1, captured, out);
    ++events;
  }
  Stats stats{};
  if (::ioctl(fd, kStats, &stats) != 0) return fail("MON_IOCG_STATS");
  if (std::fclose(out) != 0) return fail(words[2]);
  std::printf("%llu events, %u dropped\n", static_cast<unsigned long long>(events), stats.dropped);
  return stats.dropped == 0 ? 0 : 1;
}
