// SPDX-License-Identifier: Apache-2.0
// What does a UDP echo cost the device, and where does the time go? The echo firmware on the
// virtual board, a host that takes all that fits on the bus (profile `ideal`) with so many requests
// under way, every reply compared. All figures are simulated and the same in every run: core cycles
// an echo that the core was awake, those of them spent waiting for memory, and the distinct 32-byte
// lines of code that every echo runs.
// usage: echo_cycles [--most CYCLES] [--bytes N] [--in-flight N] [--trace FILE] [--samples FILE N]
// [IMAGE...]
//   --most: exit 1 if an image takes more for an echo. Without images, those of `make firmware`.
//   --trace: of the last image, 20 ms behind the measured time, as spec/trace.md.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "firmware/app/echo/checksum.h"
#include "firmware/app/echo/packet.h"
#include "millrace/board/board.h"
#include "millrace/board/trace.h"
#include "millrace/link/bytes.h"
#include "millrace/link/echo_counters.h"

namespace millrace::board {
namespace {

using namespace millrace::firmware;  // packets and their numbers

using Bytes = std::vector<uint8_t>;

constexpr uint64_t kStartNs = 1'000'000'000, kRunNs = 100'000'000;
constexpr uint64_t kTraceNs = 20'000'000;
constexpr uint16_t kOurPort = 50000;
constexpr uint32_t kOurAddress = ipv4(192, 168, 7, 2), kDeviceAddress = ipv4(192, 168, 7, 1);

// Keeps `in_flight` requests under way, from the carrier on.
class Requester final : public EthernetClient {
 public:
  Requester(EthernetPort& port, size_t bytes, unsigned in_flight)
      : port_(port), bytes_(bytes), in_flight_(in_flight) {
    port_.set_client(this);
  }
  ~Requester() { port_.set_client(nullptr); }
  Requester(const Requester&) = delete;
  Requester& operator=(const Requester&) = delete;

  void link_changed() override {
    if (!port_.has_carrier() || asked_) return;
    asked_ = true;
    ask_for_mac();
  }
  void received(std::span<const uint8_t> frame, uint64_t /*ns*/) override {
    if (frame.size() < kUdpPayload) return;
    if (load_be16(&frame[12]) == kTypeArp && frame[21] == 2) {
      std::copy_n(frame.begin() + 22, kMacBytes, device_.begin());
      for (unsigned i = 0; i < in_flight_; ++i) request();
    } else if (load_be16(&frame[12]) == kTypeIpv4 && load_be16(&frame[34]) == link::kEchoPort) {
      ++(is_right(frame) ? echoes_ : wrong_);
      request();
    }
  }
  void woken(uint64_t) override {}

  uint64_t echoes() const { return echoes_; }
  uint64_t wrong() const { return wrong_; }

 private:
  void ask_for_mac() {
    Bytes f(kEthernetBytes + kArpBytes);
    std::fill_n(f.begin(), kMacBytes, uint8_t{0xff});
    std::copy_n(port_.info().mac.begin(), kMacBytes, f.begin() + 6);
    constexpr uint8_t kRequest[] = {8, 6, 0, 1, 8, 0, 6, 4, 0, 1};
    std::copy_n(kRequest, sizeof kRequest, f.begin() + 12);
    std::copy_n(port_.info().mac.begin(), kMacBytes, f.begin() + 22);
    store_be32(&f[28], kOurAddress);
    store_be32(&f[38], kDeviceAddress);
    port_.send(f);
  }

  uint8_t byte_at(uint32_t number, size_t i) const {
    return static_cast<uint8_t>((number + i) * 0x9e3779b1u >> 24);
  }

  void request() {
    Bytes f(kUdpPayload + bytes_);
    std::copy_n(device_.begin(), kMacBytes, f.begin());
    std::copy_n(port_.info().mac.begin(), kMacBytes, f.begin() + 6);
    store_be16(&f[12], kTypeIpv4);
    uint8_t* ip = &f[kEthernetBytes];
    ip[0] = 0x45;
    store_be16(ip + 2, static_cast<uint32_t>(f.size() - kEthernetBytes));
    ip[8] = 64;
    ip[9] = kProtocolUdp;
    store_be32(ip + 12, kOurAddress);
    store_be32(ip + 16, kDeviceAddress);
    store_checksum(ip + 10, checksum_add(0, ip, kIpBytes));
    uint8_t* udp = ip + kIpBytes;
    const size_t size = kUdpBytes + bytes_;
    store_be16(udp, kOurPort);
    store_be16(udp + 2, link::kEchoPort);
    store_be16(udp + 4, static_cast<uint32_t>(size));
    link::store_le32(udp + 8, next_);
    for (size_t i = 4; i < bytes_; ++i) udp[8 + i] = byte_at(next_, i);
    ++next_;
    store_checksum(udp + 6, checksum_add(udp_pseudo_sum(ip + 12, size), udp, size));
    port_.send(f);
  }

  bool is_right(std::span<const uint8_t> frame) const {
    const size_t size = kUdpBytes + bytes_;
    if (frame.size() != kEthernetBytes + kIpBytes + size) return false;
    const uint8_t* ip = &frame[kEthernetBytes];
    const uint8_t* udp = ip + kIpBytes;
    if (checksum_add(0, ip, kIpBytes) != 0xffff) return false;
    if (checksum_add(udp_pseudo_sum(ip + 12, size), udp, size) != 0xffff) return false;
    const uint32_t number = link::load_le32(udp + 8);
    for (size_t i = 4; i < bytes_; ++i) {
      if (udp[8 + i] != byte_at(number, i)) return false;
    }
    return load_be16(udp + 2) == kOurPort && number < next_;
  }

  EthernetPort& port_;
  size_t bytes_;
  unsigned in_flight_;
  bool asked_ = false;
  std::array<uint8_t, kMacBytes> device_{};
  uint32_t next_ = 0;
  uint64_t echoes_ = 0, wrong_ = 0;
};

// Lines of the code that ran for at least every second echo.
size_t lines_of(Board& board, uint64_t echoes) {
  std::set<uint32_t> lines;
  for (const ProfileEntry& entry : board.profile()) {
    if (entry.executions < echoes / 2) continue;
    uint32_t at = entry.address;
    for (uint64_t i = 0; i < entry.instructions / entry.executions; ++i) {
      uint8_t half[2] = {};
      board.read_memory(at, half, sizeof half);
      const uint32_t size = half[1] >= 0xe8 ? 4 : 2;  // v7-M A5.1
      lines.insert(at / 32);
      lines.insert((at + size - 1) / 32);
      at += size;
    }
  }
  return lines.size();
}

struct Cost {
  std::string error;
  double echoes_per_s = 0;
  double cycles = 0, instructions = 0;                    // an echo
  double code_flash = 0, data_memory = 0, registers = 0;  // cycles of these
  double frames_in_transfer = 0;
  size_t lines = 0;
};

Cost failure(std::string error) {
  Cost cost;
  cost.error = std::move(error);
  return cost;
}

void record(Board& board, const Requester& requester, const std::string& path,
            std::unique_ptr<TraceWriter>* writer) {
  const auto file = std::make_shared<std::ofstream>(path, std::ios::binary);
  const TraceHeader header{static_cast<uint32_t>(board.core_hz() / 1000), board.cycles(), {}};
  *writer = std::make_unique<TraceWriter>(header, [file](std::span<const uint8_t> piece) {
    file->write(reinterpret_cast<const char*>(piece.data()),
                static_cast<std::streamsize>(piece.size()));
  });
  const uint64_t echoes = requester.echoes();
  board.start_trace(writer->get());
  board.run_until_ns(board.ns() + kTraceNs);
  (*writer)->finish();
  fmt::print("trace: {} echoes\n", requester.echoes() - echoes);
}

Cost measure(const std::string& path, size_t bytes, unsigned in_flight, const std::string& trace) {
  std::unique_ptr<TraceWriter> writer;  // outlives the board
  Image image;
  ImageError error;
  if (!load_image(path, 0, &image, &error)) return failure(error.message);
  const std::unique_ptr<Board> board = Board::create(image, BoardOptions(), &error);
  if (board == nullptr) return failure(error.message);
  UsbHostOptions options;
  options.profile_name = "ideal";
  std::string problem;
  UsbSerialPort* const usb = board->connect_usb(options, &problem);
  if (usb == nullptr) return failure(problem);
  Requester requester(usb->ethernet(), bytes, in_flight);
  usb->plug_in();
  board->run_until_ns(kStartNs);
  if (requester.echoes() == 0) return failure("no echoes; " + usb->ethernet().problem());
  const BoardStats a = board->stats();
  const uint64_t echoes_before = requester.echoes();
  const EthernetCounts in_before = usb->ethernet().counts();
  board->start_profile();
  board->run_until_ns(kStartNs + kRunNs);
  const BoardStats b = board->stats();
  const uint64_t echoes = requester.echoes() - echoes_before;
  if (requester.wrong() > 0) return failure(fmt::format("{} wrong replies", requester.wrong()));
  if (echoes == 0) return failure("the echoes ended");
  const auto each = [echoes](uint64_t after, uint64_t before) {
    return static_cast<double>(after - before) / static_cast<double>(echoes);
  };
  const StallCounts &s = b.stalls, &t = a.stalls;
  const EthernetCounts& in = usb->ethernet().counts();
  Cost cost;
  cost.echoes_per_s = static_cast<double>(echoes) * 1e9 / kRunNs;
  cost.cycles = each(b.cycles, a.cycles) - each(s.asleep, t.asleep);
  cost.instructions = each(b.instructions, a.instructions);
  cost.code_flash = each(s.icache_flash, t.icache_flash);
  cost.data_memory = each(s.dcache_flash + s.dcache_ocram + s.store_buffer,
                          t.dcache_flash + t.dcache_ocram + t.store_buffer);
  cost.registers = each(s.peripheral, t.peripheral);
  cost.frames_in_transfer = static_cast<double>(in.frames_in - in_before.frames_in) /
                            static_cast<double>(in.transfers_in - in_before.transfers_in);
  cost.lines = lines_of(*board, echoes);
  if (!trace.empty()) record(*board, requester, trace, &writer);
  return cost;
}

int run(int argc, char** argv) {
  double most = 0;
  size_t bytes = 32;
  unsigned only = 0;
  std::string trace;
  std::vector<std::string> images;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--most") == 0 && i + 1 < argc) {
      most = std::atof(argv[++i]);
    } else if (std::strcmp(argv[i], "--bytes") == 0 && i + 1 < argc) {
      bytes = static_cast<size_t>(std::clamp(std::atoi(argv[++i]), 4, 1472));
    } else if (std::strcmp(argv[i], "--in-flight") == 0 && i + 1 < argc) {
      only = static_cast<unsigned>(std::clamp(std::atoi(argv[++i]), 1, 256));
    } else if (std::strcmp(argv[i], "--trace") == 0 && i + 1 < argc) {
      trace = argv[++i];
    } else {
      images.emplace_back(argv[i]);
    }
  }
  if (images.empty()) {
    const std::string folder = MILLRACE_SOURCE_DIR "/build/arm/firmware/ports/rt1062/usb_echo_";
    for (const char* name : {"ecm", "ncm", "heavy_ecm", "heavy_ncm"}) {
      for (const char* variant : {"itcm", "flash"}) {
        images.push_back(fmt::format("{}{}_{}.elf", folder, name, variant));
      }
    }
  }
  fmt::print("echo_cycles: simulated; {} B echoed, host profile ideal, {} ms\n", bytes,
             kRunNs / 1'000'000);
  fmt::print("{:28} {:>9} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>6}\n", "image", "in flight",
             "echoes/s", "cycles", "instr", "code", "data", "regs", "frames/tr", "lines");
  bool good = true;
  for (const std::string& image : images) {
    for (const unsigned in_flight : {1u, 64u}) {
      if (only != 0 && in_flight != (only == 1 ? 1u : 64u)) continue;
      const unsigned under_way = only != 0 ? only : in_flight;
      const bool is_last = image == images.back() && (only != 0 || in_flight != 1);
      const Cost c = measure(image, bytes, under_way, is_last ? trace : "");
      const std::string name = std::filesystem::path(image).stem().string();
      if (!c.error.empty()) {
        fmt::print("{:28} error: {}\n", name, c.error);
        good = false;
        continue;
      }
      fmt::print("{:28} {:9} {:9.0f} {:8.0f} {:8.0f} {:8.0f} {:8.0f} {:8.0f} {:9.1f} {:6}\n", name,
                 under_way, c.echoes_per_s, c.cycles, c.instructions, c.code_flash, c.data_memory,
                 c.registers, c.frames_in_transfer, c.lines);
      if (most > 0 && c.cycles > most) {
        fmt::print("{}: {:.0f} cycles an echo, more than {:.0f}\n", name, c.cycles, most);
        good = false;
      }
    }
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace millrace::board

int main(int argc, char** argv) { return millrace::board::run(argc, argv); }
