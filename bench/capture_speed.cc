// SPDX-License-Identifier: Apache-2.0
// How fast is a capture analysed, all of it: URBs paired, NTBs taken apart, every datagram keyed,
// every reply paired with its request? MB per second of CPU time, beside tcpdump, which copies the
// same file, and tshark, which reads it (of a part: it takes too long). Interleaved, on files that
// are written here: UDP echoes in NCM, one datagram an NTB, as usbmon records them: a submission
// and a completion each of OUT and IN. The number of pairs and every turnaround is checked. usage:
// capture_speed [MEGABYTES [RUNS]]
#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "millrace/capture/capture_analysis.h"
#include "testing/capture_builder.h"

namespace {

using namespace millrace::capture;

constexpr size_t kTsharkMegabytes = 20;
constexpr int64_t kTurnaroundUs = 42;

[[noreturn]] void fail(const std::string& what) {
  fmt::print(stderr, "error: {}\n", what);
  std::exit(1);
}

double seconds_of(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown CPU";
}

struct File {
  std::string path;
  size_t bytes = 0;
  uint64_t records = 0, echoes = 0;
};

File write_file(const std::string& folder, size_t payload, size_t megabytes) {
  File file{fmt::format("{}/echoes_{}_{}.pcap", folder, payload, megabytes), 0, 0, 0};
  std::ofstream out(file.path, std::ios::binary);
  Bytes piece = pcap_file(220, {});
  while (file.bytes + piece.size() < megabytes * 1'000'000) {
    const auto i = file.echoes++;
    const auto at = static_cast<int64_t>(i) * 50;
    Bytes data(payload);
    for (size_t k = 0; k < 4; ++k) data[k] = static_cast<uint8_t>(i >> 8 * k);
    std::vector<TestRecord> records;
    const auto sequence = static_cast<uint16_t>(i);
    add_transfer(&records, 0x100 + i % 8, 0x02, at, at + 5,
                 ntb(sequence, {udp_frame(false, 40000, 7, data)}));
    add_transfer(&records, 0x200 + i % 60, 0x82, at + 1, at + 5 + kTurnaroundUs,
                 ntb(sequence, {udp_frame(true, 40000, 7, data)}), 16384);
    std::swap(records[1], records[2]);  // by time
    file.records += records.size();
    const Bytes more = pcap_file(220, records);
    piece.insert(piece.end(), more.begin() + 24, more.end());
    if (piece.size() < 1'000'000) continue;
    out.write(reinterpret_cast<const char*>(piece.data()), static_cast<long>(piece.size()));
    file.bytes += piece.size();
    piece.clear();
  }
  out.write(reinterpret_cast<const char*>(piece.data()), static_cast<long>(piece.size()));
  file.bytes += piece.size();
  if (!out) fail("write " + file.path);
  return file;
}

double ours(const File& file) {
  const double start = seconds_of(RUSAGE_SELF);
  auto source = open_capture(file.path);
  if (!source) fail(source.error().message);
  const auto analysis = analyse(source->get(), file.path, {});
  if (!analysis) fail(analysis.error().message);
  const double seconds = seconds_of(RUSAGE_SELF) - start;
  const DeviceAnalysis* device = nullptr;
  const Turnaround* t = (*analysis)->headline(&device);
  if (t == nullptr || t->times.count() != file.echoes || t->times.min() != kTurnaroundUs * 1000 ||
      t->times.max() != kTurnaroundUs * 1000 || (*analysis)->file.records != file.records) {
    fail("the analysis does not give what was written");
  }
  return seconds;
}

// A negative time: not installed.
double peer(const std::string& command) {
  const double start = seconds_of(RUSAGE_CHILDREN);
  const int status = std::system((command + " >/dev/null 2>&1").c_str());
  if (WEXITSTATUS(status) == 127) return -1;
  if (status != 0) fail(command);
  return seconds_of(RUSAGE_CHILDREN) - start;
}

void print_rate(const char* what, const File& file, std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  if (seconds.front() < 0) {
    fmt::print("  {:<34} not installed\n", what);
    return;
  }
  const double median = seconds[seconds.size() / 2];
  const auto megabytes = static_cast<double>(file.bytes) / 1e6;
  fmt::print(
      "  {:<34} {:7.0f} MB per CPU second  {:7.1f} ns a record  (best {:.0f}, spread {:.0f} %)\n",
      what, megabytes / median, median * 1e9 / static_cast<double>(file.records),
      megabytes / seconds.front(), 100 * (seconds.back() - seconds.front()) / median);
}

}  // namespace

int main(int argc, char** argv) {
  const size_t megabytes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 300;
  const size_t runs = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 5;
  if (megabytes == 0 || runs == 0) fail("usage: capture_speed [MEGABYTES [RUNS]]");
  fmt::print("capture_speed: {} {}, {}\n", __VERSION__, MILLRACE_CXX_FLAGS, cpu_name());
#ifndef __OPTIMIZE__
  fmt::print("warning: not optimised\n");
#endif
  const std::string folder =
      (std::filesystem::temp_directory_path() / fmt::format("capture_speed.{}", getpid())).string();
  std::filesystem::create_directory(folder);
  // 32 bytes are the published ladder's; with 240 a record has the 235 bytes of a mixed capture.
  for (const size_t payload : {32u, 240u}) {
    const File file = write_file(folder, payload, megabytes);
    const File part = write_file(folder, payload, std::min(megabytes, kTsharkMegabytes));
    fmt::print("\nUDP echoes of {} bytes: {:.0f} MB, {} records of {:.0f} bytes, n = {}\n", payload,
               static_cast<double>(file.bytes) / 1e6, file.records,
               static_cast<double>(file.bytes) / static_cast<double>(file.records), runs);
    std::vector<double> analysed, copied, dissected;
    (void)ours(file);
    for (size_t i = 0; i < runs; ++i) {
      analysed.push_back(ours(file));
      copied.push_back(peer("tcpdump -r " + file.path + " -w /dev/null"));
      if (i < 3) dissected.push_back(peer("tshark -r " + part.path));
    }
    print_rate("millrace, full analysis", file, analysed);
    print_rate("tcpdump -r -w, copying", file, copied);
    print_rate("tshark -r, of 20 MB", part, dissected);
    std::filesystem::remove(file.path);
    std::filesystem::remove(part.path);
  }
  std::filesystem::remove_all(folder);
  return 0;
}
