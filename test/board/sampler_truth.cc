// SPDX-License-Identifier: Apache-2.0
// Does the sampler tell the truth? The echo firmware with its load on the virtual board: the host
// starts the sampler over UDP as it would on a real board, keeps one request under way, and the
// board counts every core cycle by function meanwhile. Shares of samples against shares of cycles:
// Pearson's chi-square over the functions, those of fewer than five expected samples pooled. The
// samples are no nearer to each other's than independent ones would be, so its distribution is that
// of k - 1 degrees of freedom or narrower; a fair sampler is above the limit with p = 1e-6.
//
// Further: built in but not sampling it must not cost an echo more than 0.1 %; and while it samples
// code that has everything in TCM nothing may go past the TCMs for its sake.
//
// usage: sampler_truth FOLDER_OF_IMAGES
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "millrace/board/board.h"
#include "millrace/board/net_host.h"
#include "millrace/link/bytes.h"
#include "millrace/link/echo_counters.h"
#include "millrace/link/sampler_control.h"

namespace millrace::board {
namespace {

using link::SamplerCommand;
using link::SamplerRequest;

constexpr uint16_t kEchoPort = 40'000, kAskPort = 40'001;
constexpr uint64_t kMs = 1'000'000;

bool failed = false;

void expect(bool is_right, const std::string& what) {
  fmt::print("{} {}\n", is_right ? "ok  " : "FAIL", what);
  if (!is_right) failed = true;
}

// P(chi-square of `degrees` > x): the regularised upper gamma function Q(degrees / 2, x / 2), by
// its series or its continued fraction (Abramowitz and Stegun 6.5.29, 6.5.31).
double tail(unsigned degrees, double x) {
  const double a = degrees / 2.0;
  x /= 2;
  const double front = std::exp(-x + a * std::log(x) - std::lgamma(a));
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (int n = 1; n < 10'000; ++n) sum += term *= x / (a + n);
    return 1 - sum * front;
  }
  double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
  for (int i = 1; i < 10'000; ++i) {
    const double an = -i * (i - a);
    b += 2;
    d = 1 / (an * d + b);
    c = b + an / c;
    h *= d * c;
  }
  return h * front;
}

// Function of an address; 0: none.
class Functions {
 public:
  explicit Functions(const Image& image) {
    for (const Symbol& symbol : image.symbols) {
      if (symbol.is_function && symbol.size > 0) by_end_[symbol.address + symbol.size] = symbol;
    }
  }
  const Symbol* at(uint32_t address) const {
    const auto found = by_end_.upper_bound(address);
    return found != by_end_.end() && found->second.address <= address ? &found->second : nullptr;
  }
  std::string name(uint32_t address) const {
    const Symbol* symbol = at(address);
    return symbol != nullptr ? symbol->name : "?";
  }

 private:
  std::map<uint32_t, Symbol> by_end_;
};

// Cycles by function; those asleep and those of the sampler apart.
class CycleCount final : public TraceSink {
 public:
  explicit CycleCount(const Functions& functions) : functions_(functions) {}

  void block(const TracedBlock& block, uint64_t at) override {
    charge(at);
    if (block.address < cached_begin_ || block.address >= cached_end_) {
      const Symbol* symbol = functions_.at(block.address);
      cached_begin_ = symbol != nullptr ? symbol->address : block.address;
      cached_end_ = symbol != nullptr ? symbol->address + symbol->size : block.address + 2;
      counter_ = &cycles[symbol != nullptr ? symbol->name : "?"];
    }
    current_ = counter_;
  }
  void wait(const TracedWait&, uint64_t) override {}
  void stop() { is_over_ = true; }
  void event(TraceEvent event, uint32_t, uint64_t at) override {
    if (event == TraceEvent::sleep) {
      charge(at);
      current_ = &asleep;
    } else if (event == TraceEvent::wake) {
      charge(at);
      current_ = counter_;
    }
  }

  std::map<std::string, uint64_t> cycles;
  uint64_t asleep = 0;

 private:
  void charge(uint64_t at) {
    if (current_ != nullptr && !is_over_) *current_ += at - last_;
    last_ = at;
  }

  const Functions& functions_;
  uint32_t cached_begin_ = 1, cached_end_ = 0;
  uint64_t* counter_ = nullptr;
  uint64_t* current_ = nullptr;
  uint64_t last_ = 0;
  bool is_over_ = false;
};

// A board, its host with an address, and one echo after the other while `is_busy`.
class Rig {
 public:
  explicit Rig(const std::string& path) {
    ImageError error;
    if (!load_image(path, 0, &image_, &error)) fatal(error.message);
    board_ = Board::create(image_, BoardOptions(), &error);
    if (board_ == nullptr) fatal(error.message);
    UsbHostOptions usb;
    usb.profile_name = "ideal";
    std::string problem;
    UsbSerialPort* port = board_->connect_usb(usb, &problem);
    if (port == nullptr) fatal(problem);
    host_ = std::make_unique<NetHost>(port->ethernet());
    host_->set_on_udp([this](const UdpArrival& a) { take(a); });
    host_->start_dhcp();
    port->plug_in();
    run_until([this] { return host_->address().has_value(); });
    device_ = host_->lease()->server;
  }

  void busy(bool on) {
    is_busy_ = on;
    if (on) request();
  }
  void run(uint64_t ns) { board_->run_until_ns(board_->ns() + ns); }
  std::vector<uint8_t> ask(const SamplerRequest& request) {
    uint8_t wire[link::kSamplerRequestBytes];
    const size_t size = link::encode_sampler_request(request, wire);
    reply_.clear();
    host_->send_udp({device_, link::kSamplerPort}, kAskPort, {wire, size});
    run_until([this] { return !reply_.empty(); });
    return reply_;
  }
  link::SamplerStatus status(SamplerCommand command, uint32_t interval_ns = 0) {
    SamplerRequest request;
    request.command = command;
    request.interval_ns = interval_ns;
    request.seed = 7;
    const std::vector<uint8_t> bytes = ask(request);
    link::SamplerReply reply;
    link::SamplerStatus status;
    if (!link::decode_sampler_reply(bytes.data(), bytes.size(), &reply) ||
        !link::decode_sampler_status(reply, &status)) {
      fatal("the sampler's reply makes no sense");
    }
    return status;
  }
  std::vector<uint32_t> read(uint32_t words) {
    std::vector<uint32_t> out;
    while (out.size() < words) {
      SamplerRequest request;
      request.command = SamplerCommand::read;
      request.first_word = static_cast<uint32_t>(out.size());
      request.words = link::kSamplerReadWords;
      const std::vector<uint8_t> bytes = ask(request);
      link::SamplerReply reply;
      link::SamplerWords got;
      if (!link::decode_sampler_reply(bytes.data(), bytes.size(), &reply) ||
          !link::decode_sampler_words(reply, &got) || got.words == 0) {
        fatal("READ fails");
      }
      for (size_t i = 0; i < got.words; ++i) out.push_back(link::load_le32(got.data + 4 * i));
    }
    return out;
  }
  // Cycles awake of an echo, of 5,000: from the arrival of one reply to that of another.
  double cycles_per_echo() {
    constexpr uint64_t kEchoes = 5'000;
    const uint64_t before = awake_at(echoes_ + 1);
    return static_cast<double>(awake_at(echoes_ + kEchoes) - before) / kEchoes;
  }

  Board& board() { return *board_; }
  const Image& image() const { return image_; }
  uint64_t echoes() const { return echoes_; }

  [[noreturn]] static void fatal(const std::string& text) {
    fmt::print(stderr, "sampler_truth: {}\n", text);
    std::exit(2);
  }

 private:
  template <class F>
  void run_until(F is_done) {
    const uint64_t limit = board_->ns() + 10'000 * kMs;
    while (!is_done()) {
      if (board_->ns() >= limit) fatal("nothing comes of it in ten seconds");
      run(kMs / 10);
    }
  }
  uint64_t awake_at(uint64_t echo) {
    stop_at_ = echo;
    while (echoes_ < echo) run(1000 * kMs);
    const BoardStats stats = board_->stats();
    return stats.cycles - stats.stalls.asleep;
  }
  void request() {
    const uint8_t payload[32] = {};
    host_->send_udp({device_, link::kEchoPort}, kEchoPort, payload);
  }
  void take(const UdpArrival& arrival) {
    if (arrival.destination.port == kAskPort) {
      reply_.assign(arrival.payload.begin(), arrival.payload.end());
    } else if (arrival.destination.port == kEchoPort) {
      if (++echoes_ == stop_at_) board_->request_stop();
      if (is_busy_) request();
    }
  }

  Image image_;
  std::unique_ptr<Board> board_;
  std::unique_ptr<NetHost> host_;
  Ipv4Address device_ = 0;
  bool is_busy_ = false;
  uint64_t echoes_ = 0, stop_at_ = 0;
  std::vector<uint8_t> reply_;
};

bool is_sampler(const std::string& name) {
  return name == "millrace_sampler_interrupt" || name == "pit_handler";
}

void compare_shares(const std::string& path, uint32_t interval_ns, uint64_t run_ns) {
  Rig rig(path);
  rig.busy(true);
  rig.run(20 * kMs);
  rig.busy(false);
  rig.run(5 * kMs);
  const Functions functions(rig.image());
  CycleCount truth(functions);
  rig.status(SamplerCommand::start, interval_ns);
  rig.board().start_trace(&truth);
  rig.busy(true);
  rig.run(run_ns);
  rig.busy(false);
  const link::SamplerStatus status = rig.status(SamplerCommand::stop);
  truth.stop();
  const std::vector<uint32_t> samples = rig.read(status.stored_words);

  // Where the core sleeps is idle, in both.
  std::map<std::string, double> got;
  double busy_samples = 0;
  for (const uint32_t pc : samples) {
    const std::string name = functions.name(pc);
    if (name.find("UsbChip5sleep") != std::string::npos) continue;
    got[name] += 1;
    busy_samples += 1;
  }
  double busy_cycles = 0;
  for (const auto& [name, cycles] : truth.cycles) {
    if (is_sampler(name) || name.find("UsbChip5sleep") != std::string::npos) continue;
    busy_cycles += static_cast<double>(cycles);
  }
  double chi_square = 0, rest_expected = 0, rest_got = 0;
  unsigned parts = 0;
  std::string worst;
  double worst_part = 0;
  for (const auto& [name, cycles] : truth.cycles) {
    if (is_sampler(name) || name.find("UsbChip5sleep") != std::string::npos) continue;
    const double expected = busy_samples * static_cast<double>(cycles) / busy_cycles;
    if (expected < 5) {
      rest_expected += expected;
      rest_got += got[name];
      continue;
    }
    const double part = (got[name] - expected) * (got[name] - expected) / expected;
    if (part > worst_part) {
      worst_part = part;
      worst = fmt::format("{}: {} samples, {:.1f} expected", name, got[name], expected);
    }
    chi_square += part;
    ++parts;
  }
  if (rest_expected >= 5) {
    chi_square += (rest_got - rest_expected) * (rest_got - rest_expected) / rest_expected;
    ++parts;
  }
  const double p = tail(parts - 1, chi_square);
  const std::string name = path.substr(path.rfind('/') + 1);
  fmt::print("{}: {} samples, {} lost, {} overruns, {:.0f} busy; handler {:.0f} cycles a sample\n",
             name, samples.size(), status.lost, status.overruns, busy_samples,
             static_cast<double>(status.handler_cycles) / static_cast<double>(samples.size()));
  fmt::print("  furthest off: {}\n", worst);
  expect(p > 1e-6 && parts > 10, fmt::format("{}: chi-square {:.1f} of {} degrees, p = {:.2g}",
                                             name, chi_square, parts - 1, p));
  expect(status.lost == 0 && status.overruns == 0, name + ": no sample lost, none overrun");
  // The device counts an echo when it sends it, the host when it has come.
  expect(status.events > 50, fmt::format("{}: {} events", name, status.events));
}

// What an echo costs before the sampler ever ran, and when it has run and stopped. The program
// without one is another program: its functions lie elsewhere, which by itself is worth some tenths
// of a per cent either way.
void compare_cost(const std::string& folder) {
  Rig without(folder + "/usb_echo_ecm_unsampled_itcm.elf");
  without.busy(true);
  without.run(20 * kMs);
  const double plain = without.cycles_per_echo();
  Rig with(folder + "/usb_echo_ecm_itcm.elf");
  with.busy(true);
  with.run(20 * kMs);
  const double before = with.cycles_per_echo();
  with.status(SamplerCommand::start, 20'000);
  const double sampling = with.cycles_per_echo();
  with.status(SamplerCommand::stop);
  const double after = with.cycles_per_echo();
  fmt::print(
      "cycles an echo: {:.2f} before, {:.2f} at 50,000 samples a second, {:.2f} behind; {:.2f} "
      "in a program without a sampler\n",
      before, sampling, after, plain);
  expect(std::abs(after / before - 1) < 0.001,
         fmt::format("a sampler that has stopped costs {:+.4f} %", 100 * (after / before - 1)));
  expect(before / plain - 1 < 0.001,
         fmt::format("a program with a sampler costs {:+.4f} %", 100 * (before / plain - 1)));
}

// Code, data, stack and vectors are in TCM, and the device has nothing to do: its only accesses to
// what has a cache would be the sampler's.
void no_cache_touched(const std::string& path) {
  Rig rig(path);
  rig.run(20 * kMs);
  rig.status(SamplerCommand::start, 10'000);
  rig.run(kMs);
  const BoardStats before = rig.board().stats();
  rig.run(20 * kMs);
  const BoardStats after = rig.board().stats();
  const link::SamplerStatus status = rig.status(SamplerCommand::stop);
  const uint64_t fetches =
      after.icache.hits + after.icache.misses - before.icache.hits - before.icache.misses;
  const uint64_t data =
      after.dcache.hits + after.dcache.misses - before.dcache.hits - before.dcache.misses;
  Rig quiet(path);
  quiet.run(20 * kMs);
  quiet.status(SamplerCommand::info);
  quiet.run(kMs);
  const BoardStats quiet_before = quiet.board().stats();
  quiet.run(20 * kMs);
  const BoardStats quiet_after = quiet.board().stats();
  const uint64_t quiet_data = quiet_after.dcache.hits + quiet_after.dcache.misses -
                              quiet_before.dcache.hits - quiet_before.dcache.misses;
  const double samples = 20 * kMs / 10'000.0;
  expect(status.stored_words > samples,
         fmt::format("{} samples of an idle device", status.stored_words));
  expect(fetches == 0, fmt::format("{} fetches through the I-cache", fetches));
  // Each sample wakes the loop of the program once, which looks at what is there.
  fmt::print("accesses through the D-cache in 20 ms: {} sampling, {} not\n", data, quiet_data);
  expect(data <= quiet_data + 4, "sampling adds no access through the D-cache");
}

int run(const std::string& folder) {
  compare_shares(folder + "/usb_echo_heavy_ecm_flash.elf", 10'000, 150 * kMs);
  compare_shares(folder + "/usb_echo_heavy_ecm_itcm.elf", 10'000, 100 * kMs);
  compare_cost(folder);
  no_cache_touched(folder + "/usb_echo_ecm_itcm.elf");
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace millrace::board

int main(int argc, char** argv) {
  if (argc != 2) millrace::board::Rig::fatal("usage: sampler_truth FOLDER_OF_IMAGES");
  return millrace::board::run(argv[1]);
}
