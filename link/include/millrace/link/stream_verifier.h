// SPDX-License-Identifier: Apache-2.0
// Verifies a received frame stream byte by byte, finds where it goes on after a fault, and says
// what happened. Used by the host (IN) and by the device (OUT). Never allocates; about 5 KB.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/link/control_message.h"
#include "millrace/link/fault.h"
#include "millrace/link/stream_cursor.h"

namespace millrace::link {

// Called from feed() and finish(). Pointers are valid during the call only.
struct VerifierSink {
  void* context = nullptr;
  void (*on_fault)(void* context, const Fault& fault) = nullptr;
  // A control message that stood in the stream. Null: messages are foreign bytes.
  void (*on_message)(void* context, const Message& message) = nullptr;
};

struct VerifierLimits {
  // How far from the expected place the stream is looked for, forward and backward, bytes. What is
  // further away counts as foreign. Forward never passes the end of the run's last frame plus this.
  uint64_t search_bytes = uint64_t{256} << 20;
  // Foreign bytes after which the search is repeated less and less often: the work per received
  // byte stays bounded whatever arrives.
};

struct VerifierTotals {
  uint64_t received_bytes = 0;    // everything fed
  uint64_t verified_bytes = 0;    // stream bytes equal to what was expected, each counted once
  uint64_t message_bytes = 0;     // control messages
  uint64_t lost_bytes = 0;        // lost, mixed, missing_tail
  uint64_t duplicated_bytes = 0;  // duplicated, stale
  uint64_t inserted_bytes = 0;    // inserted, mixed
  uint64_t altered_bytes = 0;     // flipped, replaced, stale_lines
  uint64_t flipped_bits = 0;
  uint64_t faults = 0;
  uint64_t faults_of_kind[10] = {};  // by FaultKind
  // Single bytes that went missing, by their expected value, and single bytes that were altered,
  // by expected value: how a tty that is not raw gives itself away.
  uint32_t single_lost[256] = {};
  uint32_t single_altered[256] = {};
  uint8_t altered_to[256] = {};  // the last value that came instead
};

class StreamVerifier {
 public:
  // `start`: where the stream is expected to begin (offset 0 except in tests of long streams).
  StreamVerifier(const StreamShape& shape, const VerifierSink& sink,
                 const VerifierLimits& limits = VerifierLimits());

  // Takes the next received bytes, in pieces of any size.
  void feed(const uint8_t* data, size_t size);
  // No more bytes come: settles what is pending and reports a missing tail.
  void finish();

  // The whole run is accounted for: every stream byte was received, or is known to be lost.
  bool complete() const;
  // Stream bytes accounted for so far (verified, altered or known lost); frames that this ends.
  uint64_t accounted_bytes() const;
  uint64_t frames_complete() const;
  // True while received bytes wait for the place where the stream goes on.
  bool in_fault() const;
  const VerifierTotals& totals() const { return totals_; }

 private:
  VerifierTotals totals_;
};

}  // namespace millrace::link
