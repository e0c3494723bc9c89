// SPDX-License-Identifier: Apache-2.0
// Processors that do not halt. An idle virtual processor is given back to the hypervisor, and each
// wake-up of it then costs 10 to 50 us that are charged to whoever wakes or is woken: on two such
// processors a third of a plain read() loop's time. On a physical machine a busy desktop,
// `idle=poll` or a limit of C-states does the same. A thread for each processor, which everything
// else preempts at once (SCHED_IDLE, sched(7): no privilege needed) and which the scheduler counts
// as an idle processor.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <thread>
#include <vector>

namespace millrace::bench {

class AwakeProcessors {
 public:
  // Of those that this thread may use now.
  AwakeProcessors() {
    cpu_set_t mine;
    CPU_ZERO(&mine);
    sched_getaffinity(0, sizeof mine, &mine);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &mine) != 0) threads_.emplace_back([this, cpu] { spin_on(cpu); });
    }
  }
  ~AwakeProcessors() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  AwakeProcessors(const AwakeProcessors&) = delete;
  AwakeProcessors& operator=(const AwakeProcessors&) = delete;

 private:
  void spin_on(int cpu) const {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    const sched_param none{};
    // A spinner at normal priority would take half of a processor.
    if (pthread_setschedparam(pthread_self(), SCHED_IDLE, &none) != 0) return;
    while (!stop_.load(std::memory_order_relaxed)) {
    }
  }

  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace millrace::bench
