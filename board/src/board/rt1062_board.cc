// SPDX-License-Identifier: Apache-2.0
// Running. The core is asked to run to a time; what ends that early is looked at here: a reset is
// done and the run goes on, the rest is told to the caller. A run is cut into slices of a million
// cycles so that a firmware that does nothing but fault is noticed.
#include "board/rt1062_board.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "board/crash_report.h"
#include "cpu/exception_number.h"
#include "devices/adc_signal.h"
#include "millrace/board/symbols.h"

namespace millrace::board {
namespace {

constexpr Cycles kSlice = 1'000'000;
// One instruction that faults this often in a row, without another fault between.
constexpr uint64_t kFaultLoop = 1000;
// A boot loop: each round is the boot ROM's work for little time on the board.
constexpr uint64_t kResetLoop = 100;
constexpr uint64_t kQuickResetNs = 1'000'000;
constexpr uint64_t kNanosecondsHz = 1'000'000'000;
constexpr uint32_t kSystemBase = 0xE0000000;
constexpr uint32_t kSystemBytes = 1u << 20;

uint32_t khz(uint64_t hz) {
  return static_cast<uint32_t>(std::min<uint64_t>(hz / 1000, 10'000'000));
}

}  // namespace

std::unique_ptr<Board> Board::create(const Image& image, const BoardOptions& options,
                                     ImageError* error) {
  Timing timing;
  const std::string problem =
      apply_profile(options.timing_profile, &timing, options.timing_profile_name);
  if (!problem.empty()) {
    error->message = problem;
    error->bad_option = true;
    return nullptr;
  }
  AdcSignal signal;
  if (!options.adc_signal.empty()) error->message = parse_adc_signal(options.adc_signal, &signal);
  if (!error->message.empty()) {
    error->bad_option = true;
    return nullptr;
  }
  auto board = std::make_unique<Rt1062Board>(image, options, timing);
  if (!board->boot(error)) return nullptr;
  return board;
}

Rt1062Board::Rt1062Board(const Image& image, const BoardOptions& options, const Timing& timing)
    : image_(image),
      options_(options),
      timing_(timing),
      memory_({.timing = options.timing,
               .icache = options.icache,
               .dcache = options.dcache,
               .psram_bytes = options.psram_bytes,
               .seed = options.seed},
              timing_, events_),
      system_(events_, memory_, timing_),
      cpu_(memory_, system_, events_, options.timing ? &timing_ : nullptr),
      peripherals_(*this, clocks_, memory_, options_, timing_,
                   {.reset_request =
                        [this] {
                          reset_requested_ = true;
                          cpu_.request_stop();
                        },
                    .power_off =
                        [this] {
                          powered_off_ = true;
                          cpu_.request_stop();
                        },
                    .wait_mode = [this](bool on) { system_.set_wait_mode(on); }}) {
  memory_.attach(system_, kSystemBase, kSystemBytes);
  memory_.set_attributes_source(&system_);
  memory_.count_evictions_by_set(options.count_evictions_by_set);
  clocks_.add_user(*this);
  nanoseconds_.start(0, kNanosecondsHz, clocks_.hz(Clock::core));
  if (options_.itm_output) {
    system_.set_itm_output(
        [output = options_.itm_output](unsigned port, uint32_t value, unsigned size) {
          for (unsigned i = 0; port == 0 && i < size; ++i)
            output(static_cast<uint8_t>(value >> 8 * i));
        });
  }
  semihosting_.set_output(options_.semihosting_output);
  if (options_.semihosting) {
    cpu_.bkpt_hook = [this](Cpu& cpu, uint8_t imm) {
      if (imm != 0xAB) return false;
      semihosting_.call(cpu.state, memory_, ns());
      if (semihosting_.exited()) cpu.request_stop();
      return true;
    };
  }
}

void Rt1062Board::before_clock_change(Cycles) {}

void Rt1062Board::after_clock_change(Cycles now) {
  nanoseconds_.change(now, kNanosecondsHz, clocks_.hz(Clock::core));
  apply_clocks();
  if (trace_ != nullptr) {
    trace_->event(TraceEvent::core_clock, khz(clocks_.hz(Clock::core)), now);
  }
  clock_changed_ = true;
  cpu_.request_stop();
}

void Rt1062Board::apply_clocks() {
  const uint64_t core = clocks_.hz(Clock::core);
  system_.set_core_hz(core);
  memory_.set_clocks(khz(core), khz(clocks_.hz(Clock::flexspi1)), khz(clocks_.hz(Clock::flexspi2)));
}

void Rt1062Board::report_unknown(const Device& device, uint32_t offset, bool is_write) {
  unknown_.count(peripherals_.base_of(device) + offset, is_write, cpu_.access_pc());
}

bool Rt1062Board::in_reset_loop() const { return quick_resets_ >= kResetLoop; }

bool Rt1062Board::in_fault_loop() const { return system_.faults().repeated >= kFaultLoop; }

StopInfo Rt1062Board::run_slice(Cycles until, bool single) {
  const uint64_t faults_before = system_.faults().count;
  while (cpu_.now() < until) {
    const CpuStop stop = single ? cpu_.step() : cpu_.run(std::min(until, cpu_.now() + kSlice));
    if (stop == CpuStop::reset || reset_requested_) {
      reset();
      if (in_reset_loop()) {
        quick_resets_ = 0;  // a debugger may look at another hundred
        StopInfo info = stop_info(CpuStop::stepped);
        info.reason = StopReason::reset_loop;
        info.detail = fmt::format("{} resets, each within 1 ms of the one before, the last by {}",
                                  kResetLoop, symbol_at(image_, reset_pc_));
        return info;
      }
      if (single) return stop_info(CpuStop::stepped);
      continue;
    }
    if (stop == CpuStop::requested && clock_changed_ && !stop_requested_ && !powered_off_ &&
        !semihosting_.exited()) {
      clock_changed_ = false;
      if (!single) return stop_info(CpuStop::cycles);
      continue;
    }
    if (stop != CpuStop::cycles || single) return stop_info(stop);
    if (system_.faults().count != faults_before && in_fault_loop()) {
      StopInfo info = stop_info(stop);
      info.reason = StopReason::fault_loop;
      info.detail = fault_report(image_, system_, memory_);
      return info;
    }
  }
  return stop_info(CpuStop::cycles);
}

StopInfo Rt1062Board::run_until(uint64_t cycles) {
  for (;;) {
    StopInfo info = run_slice(cycles, false);
    if (info.reason != StopReason::cycles || cpu_.now() >= cycles) return info;
  }
}

StopInfo Rt1062Board::run_until_ns(uint64_t ns) {
  for (;;) {
    StopInfo info = run_slice(nanoseconds_.when(ns), false);
    if (info.reason != StopReason::cycles || this->ns() >= ns) return info;
  }
}

StopInfo Rt1062Board::step() { return run_slice(kNever, true); }

StopInfo Rt1062Board::stop_info(CpuStop stop) {
  StopInfo info;
  info.pc = cpu_.pc();
  switch (stop) {
    case CpuStop::cycles:
    case CpuStop::stepped:
    case CpuStop::reset:
      info.reason = StopReason::cycles;
      break;
    case CpuStop::requested:
      info.reason =
          semihosting_.exited() || powered_off_ ? StopReason::exited : StopReason::requested;
      info.exit_code = semihosting_.exit_code();
      info.detail = no_start_;
      stop_requested_ = false;
      break;
    case CpuStop::breakpoint:
      info.reason = StopReason::breakpoint;
      break;
    case CpuStop::watchpoint:
      info.reason = StopReason::watchpoint;
      info.watch_address = cpu_.watch_address();
      break;
    case CpuStop::locked_up:
      info.reason = StopReason::locked_up;
      info.detail = lockup_report(image_, system_, cpu_.state, memory_);
      break;
    case CpuStop::asleep:
      info.reason = StopReason::asleep;
      if (system_.systick_stands()) {
        info.detail = "SysTick stands, since WFI stops the core clock (CCM_CLPCR: set LPM to 0)";
      }
      break;
  }
  return info;
}

void Rt1062Board::request_stop() {
  stop_requested_ = true;
  cpu_.request_stop();
}

void Rt1062Board::reset() {
  ++resets_;
  quick_resets_ = ns() - reset_at_ns_ < kQuickResetNs ? quick_resets_ + 1 : 0;
  reset_at_ns_ = ns();
  reset_pc_ = cpu_.access_pc();
  if (trace_ != nullptr) trace_->event(TraceEvent::reset, 0, cpu_.now());
  reset_requested_ = false;
  ImageError error;
  // A firmware that destroyed its own boot header does not come back, as on the chip.
  if (!start(&error)) {
    powered_off_ = true;
    no_start_ = error.message;
  }
}

bool Rt1062Board::uart_input(unsigned uart, uint8_t byte) {
  return peripherals_.uart_input(uart, byte);
}

UsbSerialPort* Rt1062Board::connect_usb(const UsbHostOptions& options, std::string* error) {
  UsbHostProfile profile;
  *error = make_host_profile(options, &profile);
  if (!error->empty()) return nullptr;
  usb_ = std::make_unique<UsbLink>(events_, clocks_, peripherals_.usb(1), profile, options);
  return usb_.get();
}

UsbIpPort* Rt1062Board::export_usb(const UsbHostOptions& options, std::string* error) {
  UsbHostProfile profile;
  *error = make_host_profile(options, &profile);
  if (!error->empty()) return nullptr;
  UsbOtg& device = peripherals_.usb(1);
  usb_ip_ = std::make_unique<UsbIpLink>(
      events_, clocks_, device, [&device](UsbHostEnd* host) { device.set_host(host); }, profile,
      options);
  return usb_ip_.get();
}

BoardStats Rt1062Board::stats() const {
  const auto kind = [](Memory memory) { return static_cast<size_t>(memory); };
  const MemoryCounts& counts = memory_.counts();
  const CpuCounters& core = cpu_.counters();
  BoardStats stats;
  stats.cycles = cpu_.now();
  stats.instructions = cpu_.instructions();
  stats.seconds = static_cast<double>(ns()) * 1e-9;
  stats.stalls.icache_flash = counts.icache_stalls[kind(Memory::flash)];
  stats.stalls.icache_ocram = counts.icache_stalls[kind(Memory::ocram)];
  stats.stalls.dcache_flash = counts.dcache_stalls[kind(Memory::flash)];
  stats.stalls.dcache_ocram = counts.dcache_stalls[kind(Memory::ocram)];
  stats.stalls.dcache_psram = counts.dcache_stalls[kind(Memory::psram)];
  for (const uint64_t stall : counts.uncached_stalls) stats.stalls.uncached += stall;
  stats.stalls.store_buffer = counts.store_buffer_stalls;
  stats.stalls.peripheral = counts.peripheral_stalls;
  stats.stalls.branch = core.branch;
  stats.stalls.operand = core.operand;
  stats.stalls.exception = core.exception;
  stats.stalls.asleep = core.asleep;
  const auto cache = [](const CacheCounter& c, const std::vector<uint64_t>& sets) {
    return CacheCounts{c.hits, c.misses, c.evictions, c.writebacks, sets};
  };
  stats.icache = cache(counts.icache, memory_.icache_evictions_by_set());
  stats.dcache = cache(counts.dcache, memory_.dcache_evictions_by_set());
  stats.branches = core.branches;
  stats.mispredicts = core.mispredicts;
  stats.exceptions = system_.exceptions();
  stats.faults = system_.faults().count;
  stats.resets = resets_;
  stats.unknown = unknown_.list();
  stats.unknown_unlisted = unknown_.unlisted();
  return stats;
}

std::string Rt1062Board::fault_state() {
  const uint32_t exception = cpu_.state.ipsr;
  if (exception < kHardFault || exception > kUsageFault) return {};
  return fault_report(image_, system_, memory_);
}

void Rt1062Board::start_profile() {
  profile_ = std::make_unique<BlockProfile>();
  cpu_.trace = [this](const Block& block, Cycles at) { block_begins(block, at); };
}

void Rt1062Board::block_begins(const Block& block, Cycles at) {
  if (profile_ != nullptr) profile_->begin(block.address, block.count, block.cycles, at);
  if (trace_ != nullptr) {
    trace_->block({block.address, (block.end - block.address) / 2, block.count, block.cycles}, at);
  }
}

void Rt1062Board::start_trace(TraceSink* sink) {
  trace_ = sink;
  cpu_.trace = [this](const Block& block, Cycles at) { block_begins(block, at); };
  memory_.set_wait_listener([sink](const MemoryWait& wait) {
    const TracedMemory memory = wait.memory == Memory::flash   ? TracedMemory::flash
                                : wait.memory == Memory::ocram ? TracedMemory::ocram
                                : wait.memory == Memory::psram ? TracedMemory::psram
                                                               : TracedMemory::other;
    sink->wait({memory, static_cast<TracedAccess>(wait.access),
                static_cast<TracedCause>(wait.cause), wait.line, wait.stall, wait.evicted},
               wait.at);
  });
  system_.set_exception_listener([this, sink](unsigned exception, bool taken) {
    sink->event(taken ? TraceEvent::exception_taken : TraceEvent::exception_return, exception,
                cpu_.now());
  });
}

std::vector<ProfileEntry> Rt1062Board::profile() const {
  if (profile_ == nullptr) return {};
  profile_->finish(cpu_.now());
  return profile_->entries();
}

void Rt1062Board::snapshot(Snapshot& s) {
  events_.snapshot(s);
  clocks_.snapshot(s);
  nanoseconds_.snapshot(s);
  memory_.snapshot(s);
  system_.snapshot(s);
  peripherals_.snapshot(s);
  cpu_.snapshot(s);
  unknown_.snapshot(s);
  s.field("resets", resets_);
  s.field("quick_resets", quick_resets_);
  s.field("reset_at_ns", reset_at_ns_);
  s.field("powered_off", powered_off_);
}

std::vector<uint8_t> Rt1062Board::save() {
  Snapshot s;
  snapshot(s);
  return s.take();
}

std::string Rt1062Board::restore(std::vector<uint8_t> bytes) {
  Snapshot s(std::move(bytes));
  snapshot(s);
  if (!s.ok()) return s.error();
  memory_.attributes_changed();
  stop_requested_ = reset_requested_ = clock_changed_ = false;
  return {};
}

}  // namespace millrace::board
