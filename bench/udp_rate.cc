// SPDX-License-Identifier: Apache-2.0
// How exactly do requests leave, and how many echoes a second can this host ask for? Over a veth
// pair between two network namespaces, against one echo server in this program that keeps the
// kernel's time stamp of every arrival: on a veth that is the moment of the sender's call.
//   pace   offered rate against that of the arrivals, and p99 of |gap - interval| between arrivals:
//          our engine, and `sockperf under-load` (Debian package sockperf) in turn with it, a slice
//          each, so that both see the same machine; figures are medians over the slices
//   peak   our closed loop with 64 under way, every reply verified, and a plain loop of sendto()
//   and
//          recvfrom(), which does not look at what comes back
// usage: udp_rate [-n ROUNDS] [--seconds S] [--rate R] [--no-peak] [--check]   (as root: it makes
//   the namespaces)   --rate: only this one, a second; a round is a slice of each
//   --check: exit 1 if a median rate error is above 0.05 %, our median p99 is above sockperf's, or
//   the peak is below twice that of the plain loop.
#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "millrace/udp/socket_port.h"
#include "millrace/udp/step.h"

namespace millrace::udp {
namespace {

constexpr uint16_t kPort = 4242;
constexpr const char* kServer = "10.77.0.2";
constexpr size_t kMostStamps = 4'000'000, kBatch = 64, kSlot = 2048;
const std::vector<uint32_t> kRates = {1000, 5000, 10'000, 20'000, 30'000};

// Shared with the server's process.
struct Stamps {
  std::atomic<uint64_t> count{0};
  std::atomic<bool> is_ready{false};
  std::array<int64_t, kMostStamps> ns;
};

int64_t stamp_of(msghdr* header) {
  for (cmsghdr* c = CMSG_FIRSTHDR(header); c != nullptr; c = CMSG_NXTHDR(header, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SO_TIMESTAMPNS) continue;
    timespec at{};
    std::memcpy(&at, CMSG_DATA(c), sizeof at);
    return at.tv_sec * 1'000'000'000 + at.tv_nsec;
  }
  return 0;
}

[[noreturn]] void serve(Stamps* stamps) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
  const int on = 1, buffer = 8 << 20;
  ::setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
  ::setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer);
  sockaddr_in local{};
  local.sin_family = AF_INET;
  local.sin_port = htons(kPort);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&local), sizeof local) != 0) std::_Exit(3);
  std::vector<uint8_t> bytes(kBatch * kSlot);
  std::array<mmsghdr, kBatch> headers{};
  std::array<iovec, kBatch> parts{};
  std::array<sockaddr_in, kBatch> senders{};
  alignas(cmsghdr) std::array<std::array<uint8_t, 64>, kBatch> control{};
  stamps->is_ready = true;
  for (;;) {
    for (size_t i = 0; i < kBatch; ++i) {
      parts[i] = {&bytes[i * kSlot], kSlot};
      headers[i].msg_hdr = {&senders[i], sizeof senders[i], &parts[i], 1, control[i].data(), 64, 0};
    }
    const int got = ::recvmmsg(fd, headers.data(), kBatch, MSG_WAITFORONE, nullptr);
    if (got <= 0) continue;
    const uint64_t count = stamps->count;
    for (size_t i = 0; i < static_cast<size_t>(got); ++i) {
      if (count + i < kMostStamps) stamps->ns[count + i] = stamp_of(&headers[i].msg_hdr);
      parts[i].iov_len = headers[i].msg_len;
      headers[i].msg_hdr.msg_control = nullptr;
      headers[i].msg_hdr.msg_controllen = 0;
    }
    stamps->count = std::min<uint64_t>(count + static_cast<uint64_t>(got), kMostStamps);
    ::sendmmsg(fd, headers.data(), static_cast<unsigned>(got), 0);
  }
}

struct Pace {
  double rate_error = 0;  // relative
  double p99_us = 0;      // |gap - interval|
};

Pace pace_of(const Stamps& stamps, size_t skip, double rate) {
  const size_t count = stamps.count;
  Pace pace;
  if (count < skip + 100) return {NAN, NAN};
  const double interval = 1e9 / rate;
  std::vector<double> off;
  for (size_t i = skip + 1; i < count; ++i) {
    off.push_back(std::abs(static_cast<double>(stamps.ns[i] - stamps.ns[i - 1]) - interval));
  }
  std::sort(off.begin(), off.end());
  pace.p99_us = off[off.size() * 99 / 100] / 1000;
  const auto span = static_cast<double>(stamps.ns[count - 1] - stamps.ns[skip]);
  pace.rate_error = static_cast<double>(count - 1 - skip) * 1e9 / span / rate - 1;
  return pace;
}

StepResult step_of(const StepPlan& plan) {
  SocketOptions options;
  options.target = fmt::format("{}:{}", kServer, kPort);
  options.probe_ms = 3000;
  auto port = open_socket_port(options);
  if (!port) {
    fmt::print(stderr, "udp_rate: {}\n", port.error().message);
    return {};
  }
  Session session{1, 0, [] { return true; }};
  return run_step(**port, plan, session);
}

Pace our_pace(Stamps* stamps, double rate, double seconds) {
  stamps->count = 0;
  StepPlan plan;
  plan.rate_per_s = rate;
  plan.duration_ns = static_cast<int64_t>(seconds * 1e9);
  step_of(plan);
  return pace_of(*stamps, 1, rate);  // the first is the probe
}

Pace sockperf_pace(Stamps* stamps, double rate, double seconds) {
  stamps->count = 0;
  const std::string command =
      fmt::format("sockperf under-load -i {} -p {} -m 32 --mps={:.0f} -t {:.0f} >/dev/null 2>&1",
                  kServer, kPort, rate, std::max(1.0, seconds));
  if (std::system(command.c_str()) != 0) return {NAN, NAN};
  return pace_of(*stamps, static_cast<size_t>(rate / 10), rate);  // its warm-up
}

double our_peak(double seconds) {
  StepPlan plan;
  plan.in_flight = 64;
  plan.duration_ns = static_cast<int64_t>(seconds * 1e9);
  const StepResult r = step_of(plan);
  return r.altered != 0 ? NAN : r.answered_per_s;
}

double plain_peak(double seconds) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(kPort);
  ::inet_pton(AF_INET, kServer, &to.sin_addr);
  const timeval patience{0, 100'000};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  uint8_t bytes[32] = {};
  uint64_t echoes = 0;
  const auto now = [] {
    timespec at{};
    ::clock_gettime(CLOCK_MONOTONIC, &at);
    return static_cast<double>(at.tv_sec) + static_cast<double>(at.tv_nsec) / 1e9;
  };
  const double begin = now();
  double end = begin;
  while (end - begin < seconds) {
    ::sendto(fd, bytes, sizeof bytes, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    if (::recvfrom(fd, bytes, sizeof bytes, 0, nullptr, nullptr) > 0) ++echoes;
    end = now();
  }
  ::close(fd);
  return static_cast<double>(echoes) / (end - begin);
}

struct Spread {
  double min = NAN, median = NAN, max = NAN;
};

Spread spread_of(std::vector<double> values) {
  values.erase(std::remove_if(values.begin(), values.end(), [](double v) { return std::isnan(v); }),
               values.end());
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {values.front(), values[values.size() / 2], values.back()};
}

bool shell(const std::string& command) { return std::system(command.c_str()) == 0; }

// The server in a namespace of its own, at the other end of a veth pair.
pid_t start_server(Stamps* stamps) {
  if (::unshare(CLONE_NEWNET) != 0) return -1;
  int gate[2];
  if (::pipe(gate) != 0) return -1;
  const pid_t server = ::fork();
  if (server == 0) {
    char byte = 0;
    if (::unshare(CLONE_NEWNET) != 0) std::_Exit(1);
    stamps->is_ready = true;
    if (::read(gate[0], &byte, 1) != 1) std::_Exit(2);
    stamps->is_ready = false;
    shell("ip addr add 10.77.0.2/24 dev mr1 && ip link set mr1 up && ip link set lo up");
    serve(stamps);
  }
  while (!stamps->is_ready) ::usleep(1000);
  const bool good = shell("ip link add mr0 type veth peer name mr1") &&
                    shell(fmt::format("ip link set mr1 netns {}", server)) &&
                    shell("ip addr add 10.77.0.1/24 dev mr0 && ip link set mr0 up") &&
                    ::write(gate[1], "g", 1) == 1;
  if (!good) {
    ::kill(server, SIGKILL);
    return -1;
  }
  do ::usleep(10'000);
  while (!stamps->is_ready);
  ::usleep(300'000);  // addresses settle
  return server;
}

int run(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  int rounds = 5;
  double seconds = 1;
  bool check = false, has_peak = true;
  std::vector<uint32_t> rates = kRates;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "-n") == 0 && i + 1 < argc) {
      rounds = std::clamp(std::atoi(argv[++i]), 1, 1000);
    } else if (std::strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
      seconds = std::clamp(std::atof(argv[++i]), 0.1, 60.0);
    } else if (std::strcmp(argv[i], "--rate") == 0 && i + 1 < argc) {
      rates = {static_cast<uint32_t>(std::clamp(std::atoi(argv[++i]), 100, 1'000'000))};
    } else if (std::strcmp(argv[i], "--no-peak") == 0) {
      has_peak = false;
    } else if (std::strcmp(argv[i], "--check") == 0) {
      check = true;
    } else {
      fmt::print(stderr,
                 "usage: udp_rate [-n ROUNDS] [--seconds S] [--rate R] [--no-peak] [--check]\n");
      return 2;
    }
  }
  void* const memory = ::mmap(nullptr, sizeof(Stamps), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return 1;
  auto* const stamps = new (memory) Stamps;
  const pid_t server = start_server(stamps);
  if (server < 0) {
    fmt::print(stderr, "udp_rate: needs root, for two network namespaces and a veth pair\n");
    return 3;
  }
  const bool has_sockperf = shell("sockperf --version >/dev/null 2>&1");
  fmt::print("udp_rate: {}, {}, 32 B, veth, {} rounds of {:g} s; min, median, max\n", __VERSION__,
             MILLRACE_CXX_FLAGS, rounds, seconds);
  if (!has_sockperf) fmt::print("sockperf is not there: apt-get install sockperf\n");
  bool good = true;
  for (const double rate : rates) {
    std::vector<double> error, jitter, their_error, their_jitter, ratio;
    for (int i = 0; i < rounds; ++i) {
      const Pace ours = our_pace(stamps, rate, seconds);
      error.push_back(ours.rate_error * 100);
      jitter.push_back(ours.p99_us);
      if (!has_sockperf) continue;
      const Pace theirs = sockperf_pace(stamps, rate, seconds);
      their_error.push_back(theirs.rate_error * 100);
      their_jitter.push_back(theirs.p99_us);
      ratio.push_back(ours.p99_us / theirs.p99_us);
    }
    const auto show = [rate](const char* who, const Spread& e, const Spread& j) {
      fmt::print(
          "{:6.0f}/s {:9} rate error {:8.4f} {:8.4f} {:8.4f} %   p99 jitter {:7.1f} {:7.1f} "
          "{:7.1f} us\n",
          rate, who, e.min, e.median, e.max, j.min, j.median, j.max);
    };
    const Spread ours = spread_of(jitter), theirs = spread_of(their_jitter);
    show("millrace", spread_of(error), ours);
    if (has_sockperf) {
      show("sockperf", spread_of(their_error), theirs);
      const Spread r = spread_of(ratio);
      fmt::print(
          "         p99 jitter, ours / sockperf of neighbouring slices {:.2f} {:.2f} {:.2f}\n",
          r.min, r.median, r.max);
    }
    good = good && std::abs(spread_of(error).median) <= 0.05;
    good = good && (!has_sockperf || ours.median <= theirs.median);
  }
  std::vector<double> peaks, plain, ratio;
  for (int i = 0; i < rounds && has_peak; ++i) {
    peaks.push_back(our_peak(seconds));
    plain.push_back(plain_peak(seconds));
    ratio.push_back(peaks.back() / plain.back());
  }
  const auto show = [](const char* who, const Spread& s) {
    fmt::print("peak {:28} {:9.0f} {:9.0f} {:9.0f} echoes/s\n", who, s.min, s.median, s.max);
  };
  if (has_peak) {
    show("millrace, 64 under way", spread_of(peaks));
    show("sendto and recvfrom", spread_of(plain));
    const Spread r = spread_of(ratio);
    fmt::print("ratio {:.2f} {:.2f} {:.2f}\n", r.min, r.median, r.max);
    good = good && r.median >= 2;
  }
  ::kill(server, SIGKILL);
  ::waitpid(server, nullptr, 0);
  return check && !good ? 1 : 0;
}

}  // namespace
}  // namespace millrace::udp

int main(int argc, char** argv) { return millrace::udp::run(argc, argv); }
