// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace millrace::udp {

// As long as it lives, the calling thread takes no processor from another of this program that is
// at work: it waits for an idle one, or its turn. For a thread whose work may be late.
class BackgroundThread {
 public:
  BackgroundThread();
  ~BackgroundThread();
  BackgroundThread(const BackgroundThread&) = delete;
  BackgroundThread& operator=(const BackgroundThread&) = delete;

 private:
  int policy_;  // that it had; negative: it could not be changed
};

}  // namespace millrace::udp
