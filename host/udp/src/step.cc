// SPDX-License-Identifier: Apache-2.0
// Open loop: requests leave at their times, whether replies come or not. On a real clock a thread
// of its own does nothing else; in virtual time, which passes only in receive(), both halves take
// turns. The two share no data: a reply carries the time of its request.
//
// What the system does not take (its queue to the device is full) counts as a request without an
// answer, apart from those lost later, and does not make a step invalid: such a queue fills up when
// the device says NAK, and that is the device's limit, not the host's. A host that is too slow is
// told by the times of its send calls.
//
// Closed loop: a reply, or a request that has become too old, makes room for the next. One thread,
// since the one half waits for the other anyway; batches keep it fast.
#include "millrace/udp/step.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <deque>
#include <thread>

#include "background_thread.h"
#include "paced_sender.h"
#include "reply_book.h"

namespace millrace::udp {

namespace {

constexpr int64_t kSliceNs = 20'000'000;  // between two looks at keep_going()
constexpr int64_t kQuietNs = 50'000'000, kMostDrainNs = 5'000'000'000;
constexpr std::chrono::microseconds kGather(500);
constexpr int kMostReads = 64;          // in a row
constexpr int64_t kLeadNs = 1'000'000;  // until the first request: the thread has started then

// An interface that went away has no counters, one that came back begins anew.
HostDrops difference(const HostDrops& after, const HostDrops& before) {
  const auto more = [](uint64_t now, uint64_t then) { return now > then ? now - then : 0; };
  return {more(after.socket_overflow, before.socket_overflow),
          more(after.interface_rx, before.interface_rx),
          more(after.interface_tx, before.interface_tx)};
}

HostFault judge(const StepResult& r) {
  if (r.drops.socket_overflow != 0) return HostFault::socket_overflow;
  if (r.drops.interface_rx != 0 && r.lost() != 0) return HostFault::interface_drops;
  if (r.is_interrupted) return HostFault::none;
  if (r.plan.in_flight != 0) return r.sent + r.refused == 0 ? HostFault::pace : HostFault::none;
  if (std::abs(r.pacing_error) > kMostPacingError) return HostFault::pace;
  // Few requests: a single late call is no burst.
  const double most = std::max(1.0, kMostLateSends * static_cast<double>(r.planned));
  return static_cast<double>(r.late_sends) > most ? HostFault::late_calls : HostFault::none;
}

class Step {
 public:
  Step(DatagramPort& port, const StepPlan& plan, Session& session)
      : port_(port), session_(session), number_(session.next_step++) {
    result_.plan = plan;
  }

  StepResult run() {
    const HostDrops before = port_.host_drops();
    start_ns_ = port_.clock().now_ns() + kLeadNs;
    end_ns_ = start_ns_ + result_.plan.duration_ns;
    if (result_.plan.in_flight != 0) {
      closed_loop();
    } else {
      open_loop();
    }
    result_.drops = difference(port_.host_drops(), before);
    result_.fault = judge(result_);
    return std::move(result_);
  }

 private:
  bool goes_on() {
    if (port_.trouble()) return false;
    if (!session_.keep_going()) result_.is_interrupted = true;
    return !result_.is_interrupted;
  }

  // Waits for replies; longer while they still come, since a queue that empties into the next step
  // would spoil it. They may come by the transfer: a slow device that puts 64 into one is quiet for
  // as long as those take it.
  void settle(ReplyBook& book, uint64_t sent) {
    const int64_t begin = port_.clock().now_ns();
    const int64_t until = begin + result_.plan.settle_ns;
    int64_t last = book.last_ns() < 0 ? begin : book.last_ns(), quiet_ns = kQuietNs;
    const auto take = [&book](const Arrival& arrival) { book.take(arrival); };
    while (book.replies() < sent && goes_on()) {
      const int64_t now = port_.clock().now_ns();
      const bool is_quiet = now - last >= quiet_ns || now - until >= kMostDrainNs;
      if (now >= until && is_quiet) return;
      if (port_.receive(now + std::min(kSliceNs, kQuietNs), take) != 0) {
        const int64_t came = port_.clock().now_ns();
        quiet_ns = std::max(quiet_ns, 2 * (came - last));
        last = came;
      }
    }
  }

  void open_loop() {
    PacedSender sender(port_, session_, number_, result_.plan, start_ns_);
    ReplyBook book(session_.id, number_, result_.plan, end_ns_, &result_);
    const auto take = [&book](const Arrival& arrival) { book.take(arrival); };
    if (port_.clock().is_virtual()) {
      while (!sender.is_done() && goes_on()) {
        const int64_t next = sender.next_ns();
        while (port_.clock().now_ns() < next && !port_.trouble()) port_.receive(next, take);
        sender.send_due();
      }
    } else {
      std::atomic<bool> stop{false}, done{false};
      std::thread pacing([&] {
        while (!sender.is_done() && !stop) {
          port_.clock().sleep_until(sender.next_ns());
          sender.send_due();
        }
        done = true;
      });
      // Arrivals have the kernel's times: reading them must not hold up the pace.
      const BackgroundThread reading;
      while (!done && goes_on()) {
        if (port_.receive(port_.clock().now_ns() + kSliceNs, take) == 0) continue;
        // Whoever sends without end is no reason not to end.
        for (int i = 0; i < kMostReads && port_.receive(0, take) != 0; ++i) {
        }
        // Some at once, which costs less than one by one.
        std::this_thread::sleep_for(kGather);
      }
      stop = true;
      pacing.join();
    }
    StepResult sending;
    sender.finish(&sending);
    settle(book, sending.sent);
    book.finish();
    result_.planned = sending.planned;
    result_.sent = sending.sent;
    result_.refused = sending.refused;
    result_.sent_per_s = sending.sent_per_s;
    result_.pacing_error = sending.pacing_error;
    result_.lateness = sending.lateness;
    result_.late_sends = sending.late_sends;
    const uint64_t tried = sending.sent + sending.refused;
    for (uint64_t i = tried; i-- > 0;) {
      if (book.is_answered(i)) continue;
      result_.last_lost_ns = sender.time_of(i) - start_ns_;
      break;
    }
    // The time that so many take at the rate: few requests in a short step fill it only roughly.
    set_rate(book, static_cast<double>(result_.planned) * 1e9 / result_.plan.rate_per_s);
  }

  void set_rate(const ReplyBook& book, double ns) {
    if (result_.is_interrupted || port_.trouble()) {
      ns = static_cast<double>(std::max<int64_t>(1, port_.clock().now_ns() - start_ns_));
    }
    result_.answered_per_s = static_cast<double>(book.replies_in_window()) * 1e9 / ns;
  }

  struct Pending {
    uint64_t number;
    int64_t sent_ns;
  };

  void closed_loop() {
    RequestWriter writer(port_, session_.id, number_, result_.plan.bytes);
    ReplyBook book(session_.id, number_, result_.plan, end_ns_, &result_);
    while (port_.clock().now_ns() < start_ns_ && !port_.trouble()) {
      port_.receive(start_ns_, [&book](const Arrival& arrival) { book.take(arrival); });
    }
    std::deque<Pending> pending;
    uint64_t credit = result_.plan.in_flight;
    uint64_t next = 0;
    int64_t last_send_ns = start_ns_;
    const auto take = [&](const Arrival& arrival) {
      // One that had been given up has made room already.
      const int64_t number = book.take(arrival);
      if (number < 0 || pending.empty()) return;
      if (static_cast<uint64_t>(number) >= pending.front().number) ++credit;
    };
    while (goes_on()) {
      int64_t now = port_.clock().now_ns();
      if (now >= end_ns_ || next >= kMostDatagrams - kBatch) break;
      while (!pending.empty() && (book.is_answered(pending.front().number) ||
                                  now - pending.front().sent_ns > result_.plan.late_ns)) {
        if (!book.is_answered(pending.front().number)) ++credit;
        pending.pop_front();
      }
      const size_t count = static_cast<size_t>(std::min<uint64_t>(credit, kBatch));
      if (count != 0) {
        const size_t taken = writer.send(next, count, now);
        for (size_t i = 0; i < taken; ++i) pending.push_back({next + i, now});
        result_.sent += taken;
        result_.refused += count - taken;
        next += count;
        credit -= taken;
        last_send_ns = now;
        if (credit != 0 && taken != 0) continue;
      }
      const int64_t oldest =
          pending.empty() ? now + kLeadNs : pending.front().sent_ns + result_.plan.late_ns + 1;
      port_.receive(std::min({end_ns_, oldest, now + kSliceNs}), take);
    }
    settle(book, result_.sent);
    book.finish();
    if (last_send_ns > start_ns_) {
      result_.sent_per_s =
          static_cast<double>(result_.sent) * 1e9 / static_cast<double>(last_send_ns - start_ns_);
    }
    set_rate(book, static_cast<double>(result_.plan.duration_ns));
  }

  DatagramPort& port_;
  Session& session_;
  const uint16_t number_;
  int64_t start_ns_ = 0, end_ns_ = 0;
  StepResult result_;
};

}  // namespace

const char* name_of(HostFault fault) {
  switch (fault) {
    case HostFault::none:
      return "none";
    case HostFault::pace:
      return "pace";
    case HostFault::late_calls:
      return "late_calls";
    case HostFault::socket_overflow:
      return "socket_overflow";
    case HostFault::interface_drops:
      return "interface_drops";
  }
  return "";
}

double StepResult::loss() const {
  const uint64_t requests = sent + refused;
  if (answered >= requests) return 0;
  return static_cast<double>(requests - answered) / static_cast<double>(requests);
}

bool StepResult::is_sustained() const {
  // The middles of the two quarters are three quarters apart.
  const double grown = kMostExcess * 0.75 * static_cast<double>(plan.duration_ns);
  return static_cast<double>(rtt_growth_ns) < std::max(grown, static_cast<double>(kLeastGrowthNs));
}

StepResult run_step(DatagramPort& port, const StepPlan& plan, Session& session) {
  return Step(port, plan, session).run();
}

}  // namespace millrace::udp
