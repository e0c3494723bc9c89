// SPDX-License-Identifier: Apache-2.0
// SCHED_BATCH needs no privilege, and none to leave it: such a thread does not preempt others when
// it wakes up (sched(7)).
#include "background_thread.h"

#include <sched.h>

namespace millrace::udp {

BackgroundThread::BackgroundThread() : policy_(::sched_getscheduler(0)) {
  const sched_param none{};
  if (policy_ != SCHED_OTHER || ::sched_setscheduler(0, SCHED_BATCH, &none) != 0) policy_ = -1;
}

BackgroundThread::~BackgroundThread() {
  const sched_param none{};
  if (policy_ >= 0) ::sched_setscheduler(0, policy_, &none);
}

}  // namespace millrace::udp
