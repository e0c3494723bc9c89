// SPDX-License-Identifier: Apache-2.0
// A Port that commits the faults of a FaultPlan between the application and another Port.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "firmware/port/port.h"
#include "firmware/ports/pc/fault_plan.h"
#include "firmware/ports/pc/stream_mangler.h"

namespace millrace::firmware {

// What a FaultyPort must know of the application above and the terminal below. An empty function
// means: nothing to know, nothing to do.
struct FaultHooks {
  std::function<bool()> in_stream;         // the write under way is of an IN stream
  std::function<uint32_t()> runs_started;  // changes when a run starts
  std::function<bool()> drained;           // the host has read everything
  std::function<void(ByteMangling)> cook;  // sets modes of the terminal
  std::function<void(uint32_t us)> pause;  // sleeps without listening
};

class FaultyPort final : public Port {
 public:
  FaultyPort(Port& inner, const FaultPlan& plan, const FaultHooks& hooks);

  size_t write(const uint8_t* data, size_t size) override;
  size_t read(uint8_t* data, size_t size) override;
  void flush() override { inner_.flush(); }
  uint32_t now_us() override { return inner_.now_us(); }
  uint32_t entropy() override { return inner_.entropy(); }
  void idle(uint32_t max_us) override;
  PortInfo info() override { return inner_.info(); }

  // The unplug or reset whose place was reached, once: the owner carries it out and then calls
  // restart(). Until then nothing passes.
  std::optional<LinkEvent> take_link_event();
  // Forgets what waits to be sent.
  void restart();

 private:
  size_t write_stream(const uint8_t* data, size_t size);
  uint64_t bytes_to_next_event() const;
  bool start_event();
  bool stalled();
  void pump();
  uint64_t credit();

  Port& inner_;
  FaultPlan plan_;
  FaultHooks hooks_;
  StreamMangler mangler_;
  std::vector<uint8_t> queue_;  // altered bytes that the inner port has not taken
  size_t queue_at_ = 0;
  uint32_t run_ = 0;
  uint64_t offset_ = 0;               // stream bytes taken in this run
  std::vector<uint64_t> next_stall_;  // by stall of the plan: the offset of its next occurrence
  bool cook_pending_ = false;
  std::optional<LinkEvent> link_event_;
  bool link_down_ = false;
  bool stalled_ = false;
  uint32_t stall_start_us_ = 0;
  uint32_t stall_us_ = 0;
  uint64_t credit_bytes_ = 0;  // rate: what may be sent now
  uint64_t credit_fraction_ = 0;
  uint32_t credit_us_ = 0;
};

}  // namespace millrace::firmware
