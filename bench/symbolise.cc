// SPDX-License-Identifier: Apache-2.0
// How long do an ELF with 20,000 functions and debug information and 1,000,000 samples take, on one
// core and in how much memory? The same addresses go to addr2line and llvm-symbolizer; names are
// compared.  usage: symbolise [N] [ELF]   N: runs (5); ELF: another program than the one made here
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "millrace/profile/attribution.h"

using namespace millrace::profile;

namespace {

constexpr uint32_t kFiles = 100, kFunctionsOfFile = 200;
constexpr size_t kSamples = 1'000'000;
constexpr size_t kShownDifferences = 5;
constexpr size_t kPeerAddresses = 100'000;

double cpu_seconds(int who) {
  rusage use{};
  getrusage(who, &use);
  return static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

double own_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Peak memory since the last reset, in MB (Linux, /proc/self/status).
void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }
double peak_mb() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word == "VmHWM:" && status >> word) return std::stod(word) / 1024;
  }
  return 0;
}

// Functions of some 30 lines that inline two of three helpers and call one another.
std::string make_program(const std::string& folder) {
  const std::string elf = folder + "/many.elf";
  std::ofstream header(folder + "/h.h");
  header << "extern volatile unsigned port[64];\n";
  for (int h = 0; h < 40; ++h) {
    header << fmt::format(
        "static inline unsigned in{0}(unsigned x) {{ port[{0}] = x; return (x << {1}) ^ "
        "port[{0}]; }}\n",
        h, h % 13 + 1);
  }
  header.close();
  std::ofstream list(folder + "/build.sh");
  list << "cd " << folder << "\n";
  for (uint32_t f = 0; f < kFiles; ++f) {
    std::ofstream file(fmt::format("{}/f{}.c", folder, f));
    file << "#include \"h.h\"\n";
    for (uint32_t n = 0; n < kFunctionsOfFile; ++n) {
      file << fmt::format(
          "struct s{0}_{1} {{ int a[{2}]; struct s{0}_{1} *next; }};\n"
          "unsigned f{0}_{1}(unsigned x, struct s{0}_{1} *p) {{\n  for (unsigned i = 0; i < x; "
          "++i) {{\n    x += in{3}(i);\n    if (x & {2}) x ^= in{4}(x + i);\n    p->a[i % {2}] = "
          "(int)in{5}(x);\n  }}\n  return x * {6}u + p->next->a[0];\n}}\n",
          f, n, n % 7 + 2, n % 40, (n + 7) % 40, (n + f) % 40, n + 3);
    }
    list << fmt::format(
        "arm-none-eabi-gcc -mcpu=cortex-m7 -mthumb -O1 -g -ffunction-sections -c f{0}.c -o f{0}.o "
        "|| exit 1\n",
        f);
  }
  std::ofstream main(folder + "/main.c");
  main << "volatile unsigned port[64]; int main(void) { return 0; }\n";
  main.close();
  list << "arm-none-eabi-gcc -mcpu=cortex-m7 -mthumb -nostdlib -g -Wl,--no-gc-sections "
          "-Wl,-Ttext=0x60002000 -Wl,-e,main main.c f*.o -o many.elf\n";
  list.close();
  return std::system(("sh " + folder + "/build.sh >/dev/null 2>&1").c_str()) == 0 ? elf : "";
}

struct Peer {
  const char* name;
  std::string command;  // reads addresses from stdin
};

// CPU seconds of a peer on the addresses in `folder`/addresses; its output in `folder`/out.
double run_peer(const Peer& peer, const std::string& folder) {
  const double before = cpu_seconds(RUSAGE_CHILDREN);
  const std::string command =
      fmt::format("{} <{}/addresses >{}/out 2>/dev/null", peer.command, folder, folder);
  if (std::system(command.c_str()) != 0) return -1;
  return cpu_seconds(RUSAGE_CHILDREN) - before;
}

}  // namespace

int main(int argc, char** argv) {
  const int runs = argc > 1 ? std::max(1, std::atoi(argv[1])) : 5;
  fmt::print("symbolise: {}, flags {}, {} samples, {} runs, CPU time, one thread\n",
             "compiler " __VERSION__, MILLRACE_CXX_FLAGS, kSamples, runs);
#ifndef __OPTIMIZE__
  fmt::print("WARNING: built without optimisation\n");
#endif
  std::string name = std::filesystem::temp_directory_path() / "millrace-symbolise-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) return 1;
  const std::string folder = name;
  const std::string elf = argc > 2 ? argv[2] : make_program(folder);
  ElfIndex index;
  const Failure unreadable = ElfIndex::read(elf, {}, &index);
  if (unreadable || index.functions().empty()) {
    fmt::print("no program: {}\n", unreadable ? unreadable->message : "no functions");
    std::filesystem::remove_all(folder);
    return 1;
  }

  // Hot functions are sampled more often, as in life: the square of a uniform number.
  std::mt19937 random(1);
  SampleSet samples;
  std::vector<uint32_t> addresses;
  for (size_t i = 0; i < kSamples; ++i) {
    const double u = static_cast<double>(random()) / 4294967296.0;
    const auto& functions = index.functions();
    const Function& function =
        functions[static_cast<size_t>(u * u * static_cast<double>(functions.size()))];
    Sample sample;
    sample.pc =
        function.start + static_cast<uint32_t>(random() % std::max(function.size, 2u)) / 2 * 2;
    samples.samples.push_back(sample);
    addresses.push_back(sample.pc);
  }
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  fmt::print("{}: {} functions, {:.1f} MB, {} different addresses\n", argc > 2 ? elf : "made here",
             index.functions().size(), static_cast<double>(std::filesystem::file_size(elf)) / 1e6,
             addresses.size());

  std::vector<double> reads, attributions;
  Target target;
  if (find_target("teensy41", index, &target)) return 1;
  index = ElfIndex();
  double peak = 0;
  uint64_t seen = 0;
  for (int i = 0; i < runs; ++i) {
    reset_peak();
    const double start = own_seconds();
    ElfIndex one;
    if (ElfIndex::read(elf, {}, &one)) return 1;
    const double middle = own_seconds();
    Profile profile;
    if (attribute(&one, samples, target, {}, &profile)) return 1;
    reads.push_back(middle - start);
    attributions.push_back(own_seconds() - middle);
    peak = std::max(peak, peak_mb());
    seen = profile.idle;
    for (const FunctionRow& row : profile.functions) seen += row.weight;
  }
  std::sort(reads.begin(), reads.end());
  std::sort(attributions.begin(), attributions.end());
  const auto middle = static_cast<size_t>(runs) / 2;
  fmt::print(
      "millrace          index {:.3f} s, attribute {:.3f} s (min), {:.3f} + {:.3f} s "
      "(median), peak {:.0f} MB; {} of {} samples attributed\n",
      reads[0], attributions[0], reads[middle], attributions[middle], peak, seen, kSamples);

  // The peers, on evenly spread addresses.
  std::vector<uint32_t> some;
  const size_t step = std::max<size_t>(1, addresses.size() / kPeerAddresses);
  for (size_t i = 0; i < addresses.size(); i += step) some.push_back(addresses[i]);
  std::ofstream list(folder + "/addresses");
  for (const uint32_t address : some) list << fmt::format("0x{:x}\n", address);
  list.close();
  ElfIndex one;
  if (ElfIndex::read(elf, {}, &one)) return 1;
  double start = own_seconds();
  for (const uint32_t address : some) one.locate(address);
  const double ours = own_seconds() - start;
  fmt::print("{} addresses with lines and inlined calls:\n", some.size());
  fmt::print("  millrace        {:.3f} s\n", ours);
  const Peer peers[] = {
      {"addr2line", "arm-none-eabi-addr2line -C -f -i -a -e " + elf},
      {"llvm-symbolizer", "llvm-symbolizer --output-style=GNU -i -a --obj=" + elf},
  };
  int result = 0;
  for (const Peer& peer : peers) {
    const double seconds = run_peer(peer, folder);
    if (seconds < 0) {
      fmt::print("  {:<15} is not here\n", peer.name);
      continue;
    }
    // `0xaddress`, then name and place of each frame, innermost first.
    std::ifstream out(folder + "/out");
    std::string line;
    size_t at = 0, agree = 0, compared = 0;
    bool expects_name = false;
    while (std::getline(out, line)) {
      if (line.starts_with("0x")) {
        expects_name = true;
      } else if (expects_name) {
        expects_name = false;
        if (at == some.size()) break;
        const Location location = one.locate(some[at++]);
        if (location.frames.empty()) continue;
        ++compared;
        const std::string& here = one.names()[location.frames[0].name];
        if (here == line) {
          ++agree;
        } else if (compared - agree <= kShownDifferences) {
          fmt::print("  {:<15} at 0x{:x}: {}, here: {}\n", peer.name, some[at - 1], line, here);
        }
      }
    }
    fmt::print("  {:<15} {:.3f} s; the innermost name agrees at {} of {}\n", peer.name, seconds,
               agree, compared);
  }
  std::filesystem::remove_all(folder);
  return result;
}
