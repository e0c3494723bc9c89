// SPDX-License-Identifier: Apache-2.0
// What does measuring cost? Several clients of one PC device on one PTY, in turns:
//   millrace     run_serial(): large reads on a thread, every byte verified
//   plain        a loop of 64 KiB read() calls that looks at nothing: the ceiling
//   per-frame    one read() a frame, verified: what most programs do
//   pyserial     one read a frame in Python, compared with bytes made beforehand
// and, acknowledged, millrace against the least a C++ program can do (read until the frame is
// whole, write one byte). CPU is the clients' threads only; the device and the kernel's flush
// worker run beside them. Rates on a shared machine scatter: look at the ratios, which are taken
// between neighbours, in many short pairs with either first.
//
// `plain`, the minimal loop and millrace hold the same conversation before the stream, the extended
// protocol's or, with `--classic`, the nine bytes: on two processors it decides where the kernel's
// flush worker starts, which costs a 12 MB run up to 17 ms. Time counts from the request for the
// stream (RUN, or the handshake) to its last byte.
//
// A real device takes no processor time of the host, so this one has processor 0 to itself and the
// clients have the others. `--size N` measures one frame size. `--shared` leaves all of them to the
// scheduler. On two processors that measures the scheduler: once the kernel's flush worker has one
// to itself, device and reader alternate on the other, never both runnable for long enough to be
// separated, and each 4 KB costs two wake-ups of a halted processor; the same plain loop then does
// 50 or 390 MB/s.
#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "firmware/ports/pc/pty_device.h"
#include "millrace/host/serial_run.h"
#include "millrace/link/classic_stream.h"
#include "millrace/link/control_message.h"
#include "millrace/link/stream_cursor.h"

namespace {

using namespace millrace;  // NOLINT(google-build-using-namespace): a program, not a library

double seconds(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

struct Sample {
  bool ok = false;
  double wall_s = 0;
  double cpu_s = 0;
  uint64_t bytes = 0;
  uint64_t frames = 0;
  double mb_per_s() const { return wall_s > 0 ? static_cast<double>(bytes) / wall_s / 1e6 : 0; }
  double ns_per_byte() const { return bytes > 0 ? cpu_s * 1e9 / static_cast<double>(bytes) : 0; }
  double frames_per_s() const { return wall_s > 0 ? static_cast<double>(frames) / wall_s : 0; }
};

struct Job {
  std::string port;
  uint32_t frame_size = 0;
  uint32_t frame_count = 0;
  bool acknowledge = false;
  bool extended = false;
  uint64_t bytes() const { return uint64_t{frame_size} * frame_count; }
};

class RawPort {
 public:
  explicit RawPort(const std::string& path) : fd_(open(path.c_str(), O_RDWR | O_NOCTTY)) {
    termios t{};
    tcgetattr(fd_, &t);
    cfmakeraw(&t);
    t.c_cc[VMIN] = 1;
    t.c_cc[VTIME] = 0;
    tcsetattr(fd_, TCSANOW, &t);
  }
  ~RawPort() { close(fd_); }
  RawPort(const RawPort&) = delete;
  RawPort& operator=(const RawPort&) = delete;

  bool ask(const Job& job) { return job.extended ? run(job) : handshake(job); }
  // PROBE and HELLO, before the time counts.
  bool greet() {
    uint8_t probe[link::kProbeBytes];
    link::encode_probe(probe);
    if (!send({probe, sizeof(probe)})) return false;
    link::Message message;
    if (!await(link::MessageType::hello, &message)) return false;
    link::Hello hello;
    if (!link::decode(message.payload, message.payload_size, &hello)) return false;
    session_id_ = hello.session_id;
    return true;
  }
  int fd() const { return fd_; }
  // Bytes of the stream that were read together with the message before it.
  size_t rest() const { return rest_; }

 private:
  bool handshake(const Job& job) const {
    link::Handshake handshake;
    handshake.frame_size = job.frame_size;
    handshake.frame_count = job.frame_count;
    handshake.acknowledge = job.acknowledge ? 1 : 0;
    uint8_t bytes[link::kHandshakeBytes];
    link::encode_handshake(handshake, bytes);
    return send({bytes, sizeof(bytes)});
  }

  // RUN and STARTED, to the byte: what stands behind it is the stream.
  bool run(const Job& job) {
    link::RunRequest request;
    request.session_id = session_id_;
    request.run_id = 1;
    request.window_frames = job.acknowledge ? 1 : 0;
    request.frame_size = job.frame_size;
    request.frame_count = job.frame_count;
    request.seed = 42;
    uint8_t payload[link::RunRequest::kBytes];
    link::encode(request, payload);
    uint8_t wire[link::kMaxMessage];
    const size_t size =
        link::encode_message(link::MessageType::run, payload, sizeof(payload), wire, sizeof(wire));
    link::Message message;
    return send({wire, size}) && await(link::MessageType::started, &message);
  }

  bool send(std::span<const uint8_t> bytes) const {
    return write(fd_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  }

  // What stands before the message (the REPORT of an earlier run) is skipped, what stands behind it
  // is counted in rest().
  bool await(link::MessageType type, link::Message* message) {
    static uint8_t bytes[65536];
    for (size_t size = 0; size < sizeof(bytes);) {
      const ssize_t n = read(fd_, bytes + size, sizeof(bytes) - size);
      if (n <= 0) return false;
      size += static_cast<size_t>(n);
      for (size_t at = 0; at < size; ++at) {
        const auto status = link::parse_message(bytes + at, size - at, message);
        if (status != link::ParseStatus::complete || message->type != type) continue;
        rest_ = size - at - message->total_size;
        return true;
      }
    }
    return false;
  }

  int fd_;
  uint32_t session_id_ = 0;
  size_t rest_ = 0;
};

template <class Loop>
Sample timed(const Job& job, Loop loop) {
  RawPort port(job.port);
  Sample sample;
  if (job.extended && !port.greet()) return sample;
  const double cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
  const double start = seconds(CLOCK_MONOTONIC);
  sample.ok = port.ask(job) && loop(port.fd(), port.rest());
  sample.wall_s = seconds(CLOCK_MONOTONIC) - start;
  sample.cpu_s = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
  sample.bytes = job.bytes();
  sample.frames = job.frame_count;
  return sample;
}

Sample plain(const Job& job) {
  return timed(job, [&](int fd, size_t rest) {
    std::vector<uint8_t> buffer(65536);
    for (uint64_t got = rest; got < job.bytes();) {
      const ssize_t n = read(fd, buffer.data(), buffer.size());
      if (n <= 0) return false;
      got += static_cast<uint64_t>(n);
    }
    return true;
  });
}

Sample per_frame(const Job& job) {
  return timed(job, [&](int fd, size_t) {
    link::StreamShape shape;
    shape.frame_size = job.frame_size;
    shape.frame_count = job.frame_count;
    link::StreamCursor cursor(shape);
    std::vector<uint8_t> frame(job.frame_size);
    for (uint32_t k = 0; k < job.frame_count; ++k) {
      for (size_t got = 0; got < frame.size();) {
        const ssize_t n = read(fd, frame.data() + got, frame.size() - got);
        if (n <= 0) return false;
        got += static_cast<size_t>(n);
      }
      if (cursor.match(frame.data(), frame.size()) != frame.size()) return false;
    }
    return true;
  });
}

Sample minimal_ack(const Job& job) {
  return timed(job, [&](int fd, size_t rest) {
    std::vector<uint8_t> frame(job.frame_size);
    for (uint32_t k = 0; k < job.frame_count; ++k) {
      for (size_t got = std::exchange(rest, 0); got < frame.size();) {
        const ssize_t n = read(fd, frame.data() + got, frame.size() - got);
        if (n <= 0) return false;
        got += static_cast<size_t>(n);
      }
      if (write(fd, "\x06", 1) != 1) return false;
    }
    return true;
  });
}

Sample ours(const Job& job) {
  Sample sample;
  auto endpoint = host::make_endpoint(job.port, {});
  if (!endpoint) return sample;
  host::RunSettings settings;
  settings.frame_size = job.frame_size;
  settings.frame_count = job.frame_count;
  settings.window_frames = job.acknowledge ? 1 : 0;
  settings.timeout_ms = 5000;
  settings.protocol = job.extended ? host::Protocol::extended : host::Protocol::classic;
  const auto result = host::run_serial(**endpoint, settings, {});
  if (!result) return sample;
  const host::RunResult& r = result.value();
  if (r.failed()) fmt::print(stderr, "millrace: {}\n", r.verdict.sentence);
  sample.ok = !r.failed();
  sample.wall_s = static_cast<double>(r.duration_ns) * 1e-9;
  sample.cpu_s = r.cpu.total_ns_per_byte * static_cast<double>(r.in_bytes) * 1e-9;
  sample.bytes = r.in_bytes;
  sample.frames = r.frames;
  return sample;
}

std::string make_expected(const Job& job) {
  link::StreamShape shape;
  shape.frame_size = job.frame_size;
  shape.frame_count = job.frame_count;
  link::StreamCursor cursor(shape);
  std::vector<uint8_t> bytes(job.bytes());
  cursor.read(bytes.data(), bytes.size());
  char path[] = "/tmp/serial_clients_XXXXXX";
  const int fd = mkstemp(path);
  if (fd < 0) return "";
  const bool all = write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  close(fd);
  return all ? path : "";
}

Sample pyserial(const Job& job) {
  Sample sample;
  const std::string expected = make_expected(job);
  const std::string command = fmt::format(
      "/usr/bin/python3 {}/bench/pyserial_reader.py {} {} {} {} {}", MILLRACE_SOURCE_DIR, job.port,
      job.frame_size, job.frame_count, job.acknowledge ? 1 : 0, expected);
  FILE* pipe = popen(command.c_str(), "r");
  long wrong = -1;
  const bool parsed = pipe != nullptr &&
                      std::fscanf(pipe, "%lf %lf %ld", &sample.wall_s, &sample.cpu_s, &wrong) == 3;
  const bool exited = pipe != nullptr && pclose(pipe) == 0;
  unlink(expected.c_str());
  sample.ok = parsed && exited && wrong == 0;
  sample.bytes = job.bytes();
  sample.frames = job.frame_count;
  return sample;
}

// Each round.
constexpr int kStreamPairs = 6;
constexpr int kAckPairs = 10;
constexpr uint32_t kPairTrips = 2500;

// `other` and our reader in turns, with either first.
void in_pairs(int pairs, Sample (*other)(const Job&), const Job& job, std::vector<Sample>* theirs,
              std::vector<Sample>* mine) {
  for (int pair = 0; pair < pairs; ++pair) {
    if (pair % 2 == 0) theirs->push_back(other(job));
    mine->push_back(ours(job));
    if (pair % 2 != 0) theirs->push_back(other(job));
  }
}

// The kernel's threads are where they like; ours are kept off the device's processor.
void keep_on(const cpu_set_t& cpus) {
  if (sched_setaffinity(0, sizeof(cpus), &cpus) != 0) std::perror("sched_setaffinity");
}

double quantile(std::vector<double> v, double q) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  return v[static_cast<size_t>(std::lround(q * static_cast<double>(v.size() - 1)))];
}

double median(std::vector<double> v) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  return v.size() % 2 == 1 ? v[v.size() / 2] : (v[v.size() / 2 - 1] + v[v.size() / 2]) / 2;
}

using Series = std::map<std::string, std::vector<Sample>>;  // client -> one sample a round

template <class F>
std::vector<double> values(const std::vector<Sample>& samples, F f) {
  std::vector<double> out;
  out.reserve(samples.size());
  for (const Sample& s : samples) out.push_back(s.ok ? f(s) : 0);
  return out;
}

// Clients that did not run in pairs are compared by their medians.
std::vector<double> paired_ratios(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return {median(b) > 0 ? median(a) / median(b) : 0};
  std::vector<double> ratios;
  for (size_t i = 0; i < a.size(); ++i) {
    if (b[i] > 0) ratios.push_back(a[i] / b[i]);
  }
  return ratios;
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

void print_row(uint32_t size, const std::string& client, const std::vector<Sample>& samples,
               bool trips, const std::vector<double>& reference) {
  const auto rate =
      values(samples, [&](const Sample& s) { return trips ? s.frames_per_s() : s.mb_per_s(); });
  const auto cpu = values(samples, [](const Sample& s) { return s.ns_per_byte(); });
  const auto failed =
      std::count_if(samples.begin(), samples.end(), [](const Sample& s) { return !s.ok; });
  const auto ratios = paired_ratios(rate, reference);
  fmt::print("{:>6}  {:<10} {:>9.1f} {:>9.1f} {:>9.1f} {:>8.2f} {:>9.2f} {:>6.2f}..{:<6.2f} {}\n",
             size, client, median(rate), *std::min_element(rate.begin(), rate.end()),
             *std::max_element(rate.begin(), rate.end()), median(cpu), median(ratios),
             quantile(ratios, 0.25), quantile(ratios, 0.75),
             failed > 0 ? fmt::format("{} failed", failed) : "");
}

}  // namespace

int main(int argc, char** argv) {
  bool shared = false;
  bool extended = true;
  std::vector<uint32_t> sizes = {128, 512, 2048, 4096};
  std::vector<uint64_t> numbers;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--shared") {
      shared = true;
    } else if (std::string(argv[i]) == "--classic") {
      extended = false;
    } else if (std::string(argv[i]) == "--size" && i + 1 < argc) {
      sizes = {std::max(1u, static_cast<uint32_t>(std::strtoul(argv[++i], nullptr, 10)))};
    } else {
      numbers.push_back(std::strtoull(argv[i], nullptr, 10));
    }
  }
  const int rounds =
      numbers.empty() ? 5 : static_cast<int>(std::clamp<uint64_t>(numbers[0], 1, 1000));
  const uint64_t megabytes = numbers.size() > 1 ? std::max<uint64_t>(1, numbers[1]) : 12;

  cpu_set_t all;
  CPU_ZERO(&all);
  sched_getaffinity(0, sizeof(all), &all);
  cpu_set_t devices;
  CPU_ZERO(&devices);
  CPU_SET(0, &devices);
  cpu_set_t clients = all;
  CPU_CLR(0, &clients);
  if (CPU_ISSET(0, &all) == 0 || CPU_COUNT(&clients) == 0) shared = true;
  if (!shared) keep_on(devices);  // the device's thread inherits it
  auto created = firmware::PtyDevice::create({});
  if (!created.device) {
    fmt::print(stderr, "{}\n", created.error);
    return 1;
  }
  const std::string port = created.device->path();
  if (!shared) keep_on(clients);
  const bool python =
      std::system("/usr/bin/python3 -c 'import serial' 2>/dev/null") == 0;  // NOLINT(cert-env33-c)

  fmt::print(
      "serial_clients: compiler {}, flags {}, CPU {}, N = {} rounds, device to host on a PTY, {} "
      "protocol, {}, "
      "{} pairs of {} MB a round (pyserial: a quarter); acknowledged: {} pairs of {} trips a "
      "round\n",
      __VERSION__, MILLRACE_CXX_FLAGS, cpu_name(), rounds, extended ? "extended" : "classic",
      shared ? "processors shared by all" : "device on processor 0, clients on the others",
      kStreamPairs, megabytes, kAckPairs, kPairTrips);
#ifndef __OPTIMIZE__
  fmt::print("WARNING: built without optimisation\n");
#endif
  if (!python) fmt::print("pyserial: python3-serial is not installed\n");

  std::map<uint32_t, Series> stream, acknowledged;
  for (int round = 0; round < rounds; ++round) {
    for (const uint32_t size : sizes) {
      Job job{port, size, static_cast<uint32_t>(megabytes * 1000000 / size), false, extended};
      Series& s = stream[size];
      in_pairs(kStreamPairs, plain, job, &s["plain"], &s["millrace"]);
      Job others = job;  // know the classic protocol only
      others.extended = false;
      s["per-frame"].push_back(per_frame(others));
      if (python) {
        Job less = others;
        less.frame_count = std::max(1u, job.frame_count / 4);
        s["pyserial"].push_back(pyserial(less));
      }
      Job ack{port, size, kPairTrips, true, extended};
      Series& a = acknowledged[size];
      in_pairs(kAckPairs, minimal_ack, ack, &a["minimal"], &a["millrace"]);
      if (python) {
        ack.frame_count = 5000;
        ack.extended = false;
        a["pyserial"].push_back(pyserial(ack));
      }
    }
  }

  fmt::print("\n{:>6}  {:<10} {:>9} {:>9} {:>9} {:>8} {:>9}  {}\n", "frame", "client", "MB/s med",
             "min", "max", "ns/B", "/ plain", "quartiles");
  for (const uint32_t size : sizes) {
    const auto reference =
        values(stream[size]["plain"], [](const Sample& s) { return s.mb_per_s(); });
    for (const char* client : {"plain", "millrace", "per-frame", "pyserial"}) {
      if (stream[size].count(client) > 0) {
        print_row(size, client, stream[size][client], false, reference);
      }
    }
  }
  fmt::print("\n{:>6}  {:<10} {:>9} {:>9} {:>9} {:>8} {:>9}  {}\n", "frame", "client", "trips/s",
             "min", "max", "ns/B", "/ minimal", "quartiles");
  for (const uint32_t size : sizes) {
    const auto reference =
        values(acknowledged[size]["minimal"], [](const Sample& s) { return s.frames_per_s(); });
    for (const char* client : {"minimal", "millrace", "pyserial"}) {
      if (acknowledged[size].count(client) > 0) {
        print_row(size, client, acknowledged[size][client], true, reference);
      }
    }
  }
  return 0;
}
