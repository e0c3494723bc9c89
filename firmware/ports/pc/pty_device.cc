// SPDX-License-Identifier: Apache-2.0
#include "firmware/ports/pc/pty_device.h"

#include <errno.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "firmware/app/link_device.h"
#include "firmware/ports/pc/faulty_port.h"
#include "firmware/ports/pc/pty_link.h"
#include "firmware/ports/pc/pty_port.h"

namespace millrace::firmware {
namespace {

// Before an unplug the host gets this long to read what was sent before it, so that where the
// stream ends does not depend on the scheduler.
constexpr uint32_t kDrainUs = 2'000'000;
// A reader that has emptied the line discipline has not yet asked for what is behind it; so once is
// not enough when more was written than the line discipline holds.
constexpr int kDrainedTimes = 20;
constexpr char kGarbage[] = "ERROR: unknown command\r\n";

unsigned input_modes(const ByteMangling& mangling) {
  unsigned flags = 0;
  if (mangling.icrnl) flags |= ICRNL;
  if (mangling.igncr) flags |= IGNCR;
  if (mangling.ixon) flags |= IXON;
  if (mangling.istrip) flags |= ISTRIP;
  return flags;
}

}  // namespace

// 512 KiB of retransmit memory, as a Teensy 4.1 has at most without PSRAM.
struct LinkApp {
  explicit LinkApp(Port& port) : device(port, link_options(memory)) {}
  LinkMemory<size_t{512} * 1024, 256, 65536> memory;
  LinkDevice device;
};

struct PtyDevice::State {
  explicit State(const PtyDeviceOptions& device_options);

  bool start(std::string* error);
  void run();
  void make_device();
  void carry_out(const LinkEvent& event);
  void replug(uint32_t after_ms);
  void wait_drained();
  void wait_us(uint64_t us);
  void answer_rubbish();
  void publish_path(const std::string& new_path);
  bool make_link(const std::string& target, std::string* error);
  void remove_link();
  void publish_counters();

  PtyDeviceOptions options;
  PtyPort port;
  std::optional<FaultyPort> faulty;
  std::optional<StreamDevice> device;
  std::unique_ptr<LinkApp> link_app;  // one of the two
  std::thread thread;
  std::atomic<bool> stopping{false};
  std::atomic<bool> counters_wanted{false};
  std::atomic<uint32_t> boots{1};
  bool link_made = false;
  std::string made_target;

  std::mutex mutex;  // guards what follows
  std::condition_variable published;
  std::string path;
  link::DeviceCounters counters;
  uint64_t counters_published = 0;
  bool ended = false;
};

PtyDevice::State::State(const PtyDeviceOptions& device_options) : options(device_options) {
  options.stream.classic_only = options.faults.classic_only;
  options.stream.classic_seed = options.faults.classic_seed;
  options.stream.classic_discard_after_ms = options.faults.classic_discard_after_ms;
}

bool PtyDevice::State::start(std::string* error) {
  if (!port.open(error)) return false;
  if (!make_link(port.pty().path(), error)) return false;
  path = port.pty().path();
  FaultHooks hooks;
  hooks.in_stream = [this] { return link_app != nullptr || (device && device->in_stream()); };
  hooks.runs_started = [this] { return device ? device->runs_started() : 1; };
  hooks.drained = [this] { return port.pty().drained(); };
  hooks.cook = [this](ByteMangling mangling) { port.pty().add_input_modes(input_modes(mangling)); };
  hooks.pause = [this](uint32_t us) { port.pause(us); };
  faulty.emplace(port, options.faults, hooks);
  make_device();
  thread = std::thread([this] { run(); });
  return true;
}

void PtyDevice::State::make_device() {
  port.set_boot_counter(boots);
  if (options.link) {
    link_app = std::make_unique<LinkApp>(*faulty);
  } else {
    device.emplace(*faulty, options.stream);
  }
}

void PtyDevice::State::run() {
  while (!stopping) {
    if (options.faults.mute || options.faults.garbage) {
      answer_rubbish();
    } else {
      if (link_app != nullptr) {
        link_app->device.poll();
      } else {
        device->poll();
      }
      if (const auto event = faulty->take_link_event()) carry_out(*event);
    }
    if (counters_wanted.exchange(false)) publish_counters();
  }
  publish_counters();
}

void PtyDevice::State::answer_rubbish() {
  uint8_t data[512];
  const size_t size = port.read(data, sizeof(data));
  if (size == 0) {
    port.idle(50'000);
  } else if (options.faults.garbage) {
    port.write(reinterpret_cast<const uint8_t*>(kGarbage), sizeof(kGarbage) - 1);
  }
}

void PtyDevice::State::carry_out(const LinkEvent& event) {
  if (event.kind != LinkEventKind::reset_silent) replug(event.after_ms);
  faulty->restart();
  if (event.kind == LinkEventKind::unplug) {
    if (link_app != nullptr) {
      link_app->device.link_lost();
    } else {
      device->link_lost();
    }
  } else {
    ++boots;
    make_device();
  }
}

void PtyDevice::State::replug(uint32_t after_ms) {
  wait_drained();
  // The new terminal is made before the old one goes, or it would get the same name.
  Pty next;
  std::string error;
  const bool made = next.open(&error);
  remove_link();
  publish_path("");
  port.pty() = std::move(next);
  if (!made) {
    // Nothing to come back as: the host is told that the device stays away.
    std::fprintf(stderr, "%s\n", error.c_str());
    stopping = true;
    return;
  }
  wait_us(uint64_t{after_ms} * 1000);
  make_link(port.pty().path(), &error);
  publish_path(port.pty().path());
}

void PtyDevice::State::wait_drained() {
  const uint32_t start_us = port.now_us();
  int times = 0;
  while (!stopping && times < kDrainedTimes && port.now_us() - start_us < kDrainUs) {
    times = port.pty().drained() ? times + 1 : 0;
    port.pause(500);
  }
}

void PtyDevice::State::wait_us(uint64_t us) {
  const uint32_t start_us = port.now_us();
  while (!stopping) {
    const uint64_t passed_us = port.now_us() - start_us;
    if (passed_us >= us) return;
    port.pause(static_cast<uint32_t>(us - passed_us));
    if (counters_wanted.exchange(false)) publish_counters();
  }
}

void PtyDevice::State::publish_path(const std::string& new_path) {
  const std::lock_guard<std::mutex> lock(mutex);
  path = new_path;
}

bool PtyDevice::State::make_link(const std::string& target, std::string* error) {
  if (options.link_path.empty()) return true;
  const std::string& link = options.link_path;
  const bool is_ours = link_made && link_target(link) == made_target;
  if (!is_ours) {
    const std::string problem = pty_link_problem(link, target);
    if (!problem.empty()) {
      *error = link + ": " + problem;
      return false;
    }
  }
  unlink(link.c_str());
  if (symlink(target.c_str(), link.c_str()) != 0) {
    *error = link + ": the link to the terminal cannot be made: " + strerror(errno) +
             " (choose a name in a folder that is there and may be written)";
    return false;
  }
  link_made = true;
  made_target = target;
  return true;
}

void PtyDevice::State::remove_link() {
  // What somebody else has put there meanwhile stays.
  if (link_made && link_target(options.link_path) == made_target) unlink(options.link_path.c_str());
  link_made = false;
}

void PtyDevice::State::publish_counters() {
  const link::DeviceCounters now = device ? device->counters() : link::DeviceCounters();
  const std::lock_guard<std::mutex> lock(mutex);
  counters = now;
  ++counters_published;
  if (stopping) ended = true;
  published.notify_all();
}

PtyDeviceResult PtyDevice::create(const PtyDeviceOptions& options) {
  PtyDeviceResult result;
  auto state = std::make_unique<State>(options);
  if (!state->start(&result.error)) return result;
  result.device.reset(new PtyDevice(std::move(state)));
  return result;
}

PtyDevice::PtyDevice(std::unique_ptr<State> state) : state_(std::move(state)) {}

PtyDevice::~PtyDevice() { stop(); }

void PtyDevice::stop() {
  state_->stopping = true;
  state_->port.wake();
  if (state_->thread.joinable()) state_->thread.join();
  state_->remove_link();
  state_->publish_path("");
  state_->port.pty().close();
}

std::string PtyDevice::path() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->path;
}

std::string PtyDevice::stable_path() const {
  return state_->options.link_path.empty() ? path() : state_->options.link_path;
}

uint32_t PtyDevice::boot_counter() const { return state_->boots; }

link::DeviceCounters PtyDevice::counters() {
  std::unique_lock<std::mutex> lock(state_->mutex);
  if (state_->ended) return state_->counters;
  const uint64_t before = state_->counters_published;
  state_->counters_wanted = true;
  state_->port.wake();
  state_->published.wait(lock,
                         [&] { return state_->ended || state_->counters_published != before; });
  return state_->counters;
}

}  // namespace millrace::firmware
