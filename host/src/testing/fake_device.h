// SPDX-License-Identifier: Apache-2.0
// A measuring device and the port to it in memory and in virtual time: every wait of the engine
// takes no time, and the same test gives the same figures to the last digit. Speaks spec/stream.md
// from the specification, apart from firmware/: the engine is tested against two devices.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/host/transport.h"
#include "millrace/link/classic_stream.h"
#include "millrace/link/control_message.h"
#include "millrace/link/stream_cursor.h"
#include "millrace/link/stream_verifier.h"

namespace millrace::host::testing {

class VirtualClock final : public Clock {
 public:
  int64_t now_ns() override { return now_ns_; }
  void sleep_until(int64_t deadline_ns) override {
    if (deadline_ns > now_ns_) now_ns_ = deadline_ns;
  }
  bool is_virtual() const override { return true; }

 private:
  int64_t now_ns_ = 1'000'000'000;
};

// Something that happens when the device has made `at` bytes of the IN stream, or has received
// `at` bytes of the OUT stream.
struct DeviceFault {
  enum class Kind {
    drop,       // `length` stream bytes are not sent
    swap,       // the next `length` stream bytes come behind the `length` that follow them
    repeat,     // the last `length` stream bytes are sent again
    insert,     // `text` is sent
    flip,       // bit 0 of the byte is inverted
    stall,      // nothing is sent for `length` ms
    unplug,     // the port goes away; back after `length` ms (0: never)
    reset,      // the device forgets the run; boot counter + 1
    hang,       // sends and answers nothing any more
    end_early,  // ends the run here, with a REPORT that says so
    stop_short  // ends the run's stream here, without a REPORT; still answers
  };
  Kind kind;
  uint64_t at = 0;
  uint64_t length = 0;
  std::string text{};
};

struct FakeDeviceOptions {
  bool classic_only = false;
  bool silent = false;  // takes everything, answers nothing
  // Stopped since the port was opened: what it is sent waits until then, in order.
  int64_t wakes_after_ms = 0;
  std::vector<std::string> other_holders;
  bool echo = false;  // sends back what it receives
  bool no_report = false;
  bool lose_acks = false;
  std::string chatter;  // sent every 50 ms, whatever it receives
  std::string noise;    // sent every 50 ms from `noise_from_byte` of a stream on
  uint64_t noise_from_byte = 0;
  std::string greeting;          // waiting in the port when it is opened
  bool streams_at_open = false;  // still busy with a run of another host
  bool reset_with_unplug = false;
  double rate_bytes_per_s = 1e6;
  size_t chunk_bytes = 512;
  bool starts_at_once = false;  // the first chunk comes with STARTED
  bool is_usb = true;
  uint32_t usb_speed_mbit = 480;
  uint8_t capabilities = 15;
  uint16_t max_window_frames = 1000;
  bool ignores_acks = false;        // sends without waiting for acknowledgements
  std::string after_hello;          // sent once behind each HELLO
  bool floods_after_hello = false;  // text every 50 ms from HELLO on, and no answer any more
  std::string behind_end;           // sent once behind the last byte of an IN stream
  int64_t behind_end_after_ms = 0;
  uint32_t boot_counter = 7;
  uint32_t refuse = 0;  // StartStatus of every STARTED
  std::string refuse_reason;
  double blocked_share = 0;      // of the run, in the counters
  uint64_t discarded_bytes = 0;  // in the counters
  uint32_t longest_blocked_ms = 0;
  uint32_t report_session_skew = 0;  // added to the session id in counters
  uint32_t report_boot_skew = 0;     // the same with the boot counter
  uint32_t report_flags = 0;         // added to the state in REPORT
  bool never_returns = false;        // unplugged: reopen() refuses at once
  std::function<void()> on_reopen;   // called at each reopen()
  uint32_t counted_foreign = 0;
  std::string first_foreign;
  bool dtr = true;
  std::vector<DeviceFault> faults;
};

// Test double of an Endpoint with one device behind it. One thread.
class FakeEndpoint final : public Endpoint {
 public:
  explicit FakeEndpoint(const FakeDeviceOptions& options);
  ~FakeEndpoint() override;
  const std::string& name() const override { return name_; }
  Clock& clock() override { return clock_; }
  Result<std::unique_ptr<Transport>> open(const OpenOptions& options) override;
  Result<std::unique_ptr<Transport>> reopen(const OpenOptions& options,
                                            int64_t deadline_ns) override;

  // What the host has written in all, and how many reads and writes it took.
  const std::vector<uint8_t>& written() const;
  uint64_t reads() const;
  uint64_t writes() const;

 private:
  std::string name_ = "fake:";
  VirtualClock clock_;
  std::shared_ptr<class FakeDevice> device_;
};

}  // namespace millrace::host::testing
