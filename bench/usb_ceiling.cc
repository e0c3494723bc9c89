// SPDX-License-Identifier: Apache-2.0
// How close does firmware come to what high-speed USB carries, and where does the rest go? Streams
// 2,048-byte frames from the virtual board to a host that takes all that fits, every byte compared,
// and accounts for the bus from the first quarter of the stream to its end. The ceiling beside it
// is 13 bulk packets of 512 bytes in each of 8,000 microframes a second, 53.248 MB/s (USB 2.0 table
// 5-10). Rates are simulated and the same in every run; the cost of simulating them is CPU time.
// usage: usb_ceiling [-n RUNS] [IMAGE...]    IMAGE: firmware with the nine-byte handshake
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "millrace/board/board.h"
#include "millrace/link/classic_stream.h"
#include "millrace/link/jsf32.h"

namespace millrace::board {
namespace {

constexpr uint32_t kFrame = 2048, kFrames = 8192;  // 16 MiB
constexpr uint64_t kTotal = uint64_t{kFrame} * kFrames;
constexpr uint64_t kDeadlineNs = 20'000'000'000;
constexpr double kCeiling = 13 * 512 * 8000;
// Byte times of a microframe and of what fills it (USB 2.0 5.8.4, 7.1.13.2): a transaction without
// its data, a token that is answered NAK, a start of frame.
constexpr double kMicroframe = 7500, kTransaction = 55, kNak = 36, kSof = 24;
constexpr double kTargetCpu = 15;

struct Run {
  std::string error;
  uint64_t bytes = 0;
  double seconds = 0;   // simulated
  UsbLinkCounts bus{};  // of that time
  double cpu = 0;       // seconds a simulated second
};

Run failure(std::string error) {
  Run run;
  run.error = std::move(error);
  return run;
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

UsbLinkCounts difference(const UsbLinkCounts& a, const UsbLinkCounts& b) {
  UsbLinkCounts d;
  d.microframes = a.microframes - b.microframes;
  d.packets_in = a.packets_in - b.packets_in;
  d.bytes_in = a.bytes_in - b.bytes_in;
  d.naks = a.naks - b.naks;
  return d;
}

// A stream over an open port.
class Reader {
 public:
  Reader(Board& board, UsbSerialPort& usb) : board_(board), usb_(usb) {}

  Run run() {
    Run result;
    uint8_t request[link::kHandshakeBytes];
    link::encode_handshake({.frame_size = kFrame, .frame_count = kFrames}, request);
    if (usb_.write(request) != sizeof request) return failure("the handshake was not taken");
    const double cpu = cpu_seconds();
    const uint64_t start = board_.ns();
    uint64_t quarter_ns = 0, quarter_bytes = 0;
    UsbLinkCounts quarter;
    while (got_ < kTotal) {
      if (!take()) return failure(fmt::format("byte {} is wrong", got_));
      if (quarter_ns == 0 && got_ >= kTotal / 4) {
        quarter_ns = board_.ns();
        quarter_bytes = got_;
        quarter = usb_.counts();
      }
      const uint64_t now = board_.ns();
      if (now - start > kDeadlineNs) return failure(fmt::format("{} bytes in 20 s", got_));
      const StopInfo stop = board_.run_until_ns(now + 1'000'000);
      if (stop.reason != StopReason::cycles && stop.reason != StopReason::requested) {
        return failure("the firmware stopped");
      }
    }
    const auto seconds = [](uint64_t ns) { return static_cast<double>(ns) * 1e-9; };
    result.cpu = (cpu_seconds() - cpu) / seconds(board_.ns() - start);
    result.bytes = got_ - quarter_bytes;
    result.seconds = seconds(last_ns_ - quarter_ns);
    result.bus = difference(usb_.counts(), quarter);
    return result;
  }

 private:
  // What there is, compared. False: a byte is wrong.
  bool take() {
    for (;;) {
      const size_t size = usb_.read(bytes_);
      if (size == 0) return true;
      for (size_t i = 0; i < size; ++i, ++got_) {
        word_ = got_ % 4 == 0 ? expected_.next() : word_ >> 8;
        if (bytes_[i] != static_cast<uint8_t>(word_)) return false;
      }
      last_ns_ = board_.ns();
    }
  }

  Board& board_;
  UsbSerialPort& usb_;
  link::Jsf32 expected_{link::kDefaultSeed};
  uint32_t word_ = 0;
  std::array<uint8_t, 65536> bytes_{};
  uint64_t got_ = 0, last_ns_ = 0;
};

Run run_image(const Image& image) {
  ImageError error;
  const std::unique_ptr<Board> board = Board::create(image, BoardOptions(), &error);
  if (board == nullptr) return failure(error.message);
  UsbHostOptions options;
  options.profile_name = "ideal";
  std::string problem;
  UsbSerialPort* const usb = board->connect_usb(options, &problem);
  if (usb == nullptr) return failure(problem);
  usb->set_changed([&board] { board->request_stop(); });
  usb->plug_in();
  while (!usb->is_ready()) {
    if (board->ns() > kDeadlineNs) return failure("no serial port");
    const StopInfo stop = board->run_until_ns(board->ns() + 1'000'000);
    if (stop.reason != StopReason::cycles && stop.reason != StopReason::requested) {
      return failure("the firmware stopped before it had a serial port");
    }
  }
  usb->open();
  board->run_until_ns(board->ns() + 1'000'000);  // DTR is there before the handshake
  board->run_until_ns(board->ns() + 1'000'000);
  return Reader(*board, *usb).run();
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

void print(const Run& run, const std::vector<double>& cpu) {
  const double rate = static_cast<double>(run.bytes) / run.seconds;
  const UsbLinkCounts& bus = run.bus;
  const auto microframes = static_cast<double>(bus.microframes);
  // All data packets are full: 2,048 is four of them.
  const double full = static_cast<double>(bus.bytes_in) / 512;
  const double empty = static_cast<double>(bus.packets_in) - full;
  const auto naks = static_cast<double>(bus.naks);
  const double time = microframes * kMicroframe;
  const double parts[] = {full * (512 + kTransaction) / time, empty * kTransaction / time,
                          naks * kNak / time, kSof * microframes / time};
  fmt::print("  {:.2f} MB/s of {:.3f} ({:.1f} %), {:.2f} of 13 packets a microframe\n", rate * 1e-6,
             kCeiling * 1e-6, 100 * rate / kCeiling, full / microframes);
  fmt::print(
      "  bus time: data {:.1f} %, {:.0f} empty packets {:.2f} %, {:.0f} NAKs {:.2f} %, starts of "
      "frame {:.2f} %, nothing {:.1f} %\n",
      100 * parts[0], empty, 100 * parts[1], naks, 100 * parts[2], 100 * parts[3],
      100 * (1 - parts[0] - parts[1] - parts[2] - parts[3]));
  fmt::print(
      "  CPU seconds a simulated second: min {:.2f}, median {:.2f}, max {:.2f} (target {:.0f})\n",
      cpu.front(), cpu[cpu.size() / 2], cpu.back(), kTargetCpu);
}

bool measure(const std::string& path, unsigned runs) {
  fmt::print("{}\n", path);
  Image image;
  ImageError error;
  if (!load_image(path, 0, &image, &error)) {
    fmt::print("  error: {}\n", error.message);
    return false;
  }
  std::vector<double> cpu;
  Run run;
  for (unsigned i = 0; i < runs; ++i) {
    run = run_image(image);
    if (!run.error.empty()) {
      fmt::print("  error: {}\n", run.error);
      return false;
    }
    cpu.push_back(run.cpu);
  }
  std::sort(cpu.begin(), cpu.end());
  print(run, cpu);
  return true;
}

int run(int argc, char** argv) {
  unsigned runs = 5;
  std::vector<std::string> images = {MILLRACE_SOURCE_DIR
                                     "/build/arm/firmware/ports/rt1062/usb_stream_itcm.hex"};
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "-n") == 0 && i + 1 < argc) {
      runs = static_cast<unsigned>(std::clamp(std::atoi(argv[++i]), 1, 1000));
    } else {
      images.emplace_back(argv[i]);
    }
  }
  fmt::print("usb_ceiling: compiler {} flags {} CPU {} N {}; {} frames of {} B, device to host\n",
             __VERSION__, MILLRACE_CXX_FLAGS, cpu_name(), runs, kFrames, kFrame);
#ifndef __OPTIMIZE__
  fmt::print("warning: not optimised\n");
#endif
  bool good = true;
  for (const std::string& image : images) good &= measure(image, runs);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace millrace::board

int main(int argc, char** argv) { return millrace::board::run(argc, argv); }
