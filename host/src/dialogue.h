// SPDX-License-Identifier: Apache-2.0
// What is said before and after a stream: probe, RUN, questions. One thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "incoming.h"
#include "millrace/host/transport.h"
#include "millrace/link/control_message.h"

namespace millrace::host {

class Dialogue {
 public:
  // `interrupted`, if there is one: a wait ends once it is set and nothing comes.
  explicit Dialogue(Transport& transport, const std::atomic<bool>* interrupted = nullptr);

  // Reads and drops until nothing came for `quiet_ns`, at most `limit_ns` long.
  IoResult drain(int64_t quiet_ns, int64_t limit_ns);

  IoResult send(std::span<const uint8_t> bytes, int64_t deadline_ns);
  IoResult send(link::MessageType type, std::span<const uint8_t> payload, int64_t deadline_ns);

  // Waits for a message of type `wanted`, dropping what comes before it. While bytes come the wait
  // goes on until `limit_ns`; kind done: *payload holds the message's payload.
  IoResult await(link::MessageType wanted, int64_t deadline_ns, int64_t limit_ns,
                 std::vector<uint8_t>* payload);

  // Bytes dropped so far; the first 64 since the last clear_sample().
  uint64_t dropped_bytes() const { return dropped_; }
  const std::vector<uint8_t>& sample() const { return sample_; }
  void clear_sample() { sample_.clear(); }

  // What was received behind the last message. Valid until the next call.
  std::span<const uint8_t> take_rest() { return incoming_.take_rest(); }
  // When the last bytes came.
  int64_t last_arrival_ns() const { return last_arrival_ns_; }

  // Probes and waits for HELLO, longer than `wait_ns` while bytes come. Empty: no HELLO; *io says
  // how that ended.
  std::optional<link::Hello> probe(int64_t wait_ns, IoResult* io);
  // The same for a HELLO that was asked for before.
  std::optional<link::Hello> await_hello(int64_t wait_ns, IoResult* io);
  // Asks for COUNTERS or the REPORT of the last run.
  std::optional<link::DeviceCounters> ask_counters(int64_t wait_ns);

 private:
  void drop(std::span<const uint8_t> bytes);
  IoResult read(int64_t deadline_ns);

  Transport& transport_;
  const std::atomic<bool>* interrupted_;
  std::vector<uint8_t> buffer_;
  Incoming incoming_;
  uint64_t dropped_ = 0;
  std::vector<uint8_t> sample_;
  int64_t last_arrival_ns_ = 0;
};

inline constexpr int64_t kMillisecond = 1000000;
inline constexpr int64_t kHelloWaitNs = 300 * kMillisecond;  // spec/stream.md
inline constexpr int64_t kStaleLimitNs = 2000 * kMillisecond;
inline constexpr int64_t kQuietNs = 100 * kMillisecond;

}  // namespace millrace::host
