// SPDX-License-Identifier: Apache-2.0
// Copies between two terminals that were opened before, given by their descriptors, and damages
// what goes from A to B. One thread a direction, blocking calls: about what a cable costs a PC, so
// the two ends are what is measured, not this program. Ends at SIGTERM and prints what it did.
//
// usage: damaging_relay A B none|flip|drop EVERY SEED [STALL_AT STALL_MS]
//   EVERY: mean distance of damages in bytes; flip: one bit; drop: a chunk of 1 to 512 bytes.
//   STALL_AT, STALL_MS: behind so many bytes neither direction moves for so long, once.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

enum class Kind { none, flip, drop };

class Damage {
 public:
  Damage(Kind kind, double every, uint32_t seed) : kind_(kind), every_(every), random_(seed) {
    left_ = distance();
  }

  // Appends what becomes of `data`.
  void feed(std::span<const uint8_t> data, std::vector<uint8_t>* out) {
    while (!data.empty()) {
      const size_t whole = static_cast<size_t>(std::min<uint64_t>(left_, data.size()));
      out->insert(out->end(), data.begin(), data.begin() + static_cast<ptrdiff_t>(whole));
      data = data.subspan(whole);
      left_ -= whole;
      const size_t lost = std::min<size_t>(to_drop_, data.size());
      data = data.subspan(lost);
      to_drop_ -= lost;
      if (data.empty() || left_ > 0) continue;
      ++damages;
      left_ = distance();
      if (kind_ == Kind::flip) {
        out->push_back(static_cast<uint8_t>(data[0] ^ (1u << (random_() % 8))));
        data = data.subspan(1);
      } else {
        to_drop_ = 1 + random_() % 512;
        const size_t now = std::min<size_t>(to_drop_, data.size());
        data = data.subspan(now);
        to_drop_ -= now;
      }
    }
  }

  std::atomic<uint64_t> damages{0};

 private:
  uint64_t distance() {
    if (kind_ == Kind::none) return UINT64_MAX;
    return 1 + static_cast<uint64_t>(std::exponential_distribution<double>(1 / every_)(random_));
  }

  Kind kind_;
  double every_;
  std::mt19937 random_;
  uint64_t left_ = 0;
  size_t to_drop_ = 0;  // of a chunk that goes on in the next read
};

struct Stall {
  uint64_t at = UINT64_MAX;
  std::chrono::milliseconds length{0};
  std::atomic<Clock::rep> until{0};

  void wait() const {
    const Clock::time_point end{Clock::duration(until.load())};
    if (Clock::now() < end) std::this_thread::sleep_until(end);
  }
};

// The descriptors may be shared with somebody who made them non-blocking.
bool wait_for(int fd, short events) {
  pollfd port{fd, events, 0};
  return poll(&port, 1, -1) >= 0 || errno == EINTR;
}

bool write_all(int fd, std::span<const uint8_t> data) {
  while (!data.empty()) {
    const ssize_t put = write(fd, data.data(), data.size());
    if (put > 0) {
      data = data.subspan(static_cast<size_t>(put));
    } else if (errno == EAGAIN ? !wait_for(fd, POLLOUT) : errno != EINTR) {
      return false;
    }
  }
  return true;
}

void copy(int from, int to, Damage* damage, Stall* stall, std::atomic<uint64_t>* carried) {
  std::array<uint8_t, 65536> buffer{};
  std::vector<uint8_t> damaged;
  while (true) {
    stall->wait();
    const ssize_t got = read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EAGAIN && wait_for(from, POLLIN)) continue;
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    const std::span<const uint8_t> data(buffer.data(), static_cast<size_t>(got));
    const uint64_t before = carried->fetch_add(data.size());
    if (damage == nullptr) {
      if (!write_all(to, data)) return;
      continue;
    }
    damaged.clear();
    damage->feed(data, &damaged);
    if (!write_all(to, damaged)) return;
    if (before < stall->at && before + data.size() >= stall->at) {
      stall->until = (Clock::now() + stall->length).time_since_epoch().count();
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = argc > 3 ? argv[3] : "";
  if ((argc != 6 && argc != 8) || (kind != "none" && kind != "flip" && kind != "drop")) {
    std::fprintf(stderr,
                 "usage: damaging_relay A B none|flip|drop EVERY SEED [STALL_AT STALL_MS]\n");
    return 2;
  }
  const int a = std::atoi(argv[1]);
  const int b = std::atoi(argv[2]);
  Damage damage(kind == "flip"   ? Kind::flip
                : kind == "drop" ? Kind::drop
                                 : Kind::none,
                std::atof(argv[4]), static_cast<uint32_t>(std::atoi(argv[5])));
  Stall stall;
  if (argc == 8) {
    stall.at = std::strtoull(argv[6], nullptr, 10);
    stall.length = std::chrono::milliseconds(std::atoi(argv[7]));
  }
  // Before the threads, which take the mask over.
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  sigprocmask(SIG_BLOCK, &end, nullptr);
  std::atomic<uint64_t> forward{0};
  std::atomic<uint64_t> backward{0};
  std::thread([&] { copy(a, b, &damage, &stall, &forward); }).detach();
  std::thread([&] { copy(b, a, nullptr, &stall, &backward); }).detach();
  int signal = 0;
  sigwait(&end, &signal);
  std::printf("%llu %llu %llu\n", static_cast<unsigned long long>(forward.load()),
              static_cast<unsigned long long>(backward.load()),
              static_cast<unsigned long long>(damage.damages.load()));
  std::fflush(stdout);
  _exit(0);  // the threads wait in system calls
}
