// SPDX-License-Identifier: Apache-2.0
// Datagrams to one echo server and back, with the clock they are measured by: sockets of this
// machine, the virtual board in its own time, or a double in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "millrace/host/clock.h"
#include "millrace/host/result.h"

namespace millrace::udp {

struct Arrival {
  int64_t ns = 0;  // of the port's clock: when the system had it, not when it was read
  std::span<const uint8_t> bytes;  // valid during the call
};

// What this host lost by itself since the port was opened. Only ever grows.
struct HostDrops {
  uint64_t socket_overflow = 0;  // arrived, but the socket's buffer was full (SO_RXQ_OVFL)
  uint64_t interface_rx = 0;     // rx_dropped, rx_missed_errors, rx_fifo_errors of the interface
  uint64_t interface_tx = 0;     // tx_dropped, tx_errors
};

struct PortInfo {
  std::string name;                                               // as typed
  std::string interface;                                          // the datagrams' way, or empty
  uint32_t mtu = 0;                                               // 0: not known
  uint32_t receive_buffer_asked = 0, receive_buffer_granted = 0;  // bytes; 0: no such thing
  bool has_kernel_stamps = false;
  std::string description;  // what stands behind it, or empty
};

struct PingCount {
  uint32_t sent = 0, answered = 0;
  std::string trouble;  // why they could not be sent; one sentence or empty
};

// What only a port that sees the USB transfers knows; since it was opened.
struct TransferCounts {
  uint64_t frames_in = 0, transfers_in = 0, frames_out = 0, transfers_out = 0;
};

class DatagramPort {
 public:
  virtual ~DatagramPort() = default;
  // Virtual: time passes only in receive(), and everything is called from one thread. Otherwise one
  // thread may send() while another receives.
  virtual host::Clock& clock() = 0;
  // In order. How many the system took; the others are gone.
  virtual size_t send(std::span<const std::span<const uint8_t>> datagrams) = 0;
  // Waits until something is there, or for `deadline_ns`, and hands over what there is, some
  // hundreds at most. How many; 0: the deadline, or the port is dead.
  virtual size_t receive(int64_t deadline_ns, const std::function<void(const Arrival&)>& take) = 0;
  // Why nothing more can come: unreachable, refused, gone. None: all is well.
  virtual std::optional<host::Error> trouble() = 0;
  virtual HostDrops host_drops() = 0;
  virtual PingCount ping(uint32_t count) = 0;
  // One request to another port of the target, repeated where it may be lost: its answer, or
  // nothing if there is none within `patience_ns`.
  virtual std::vector<uint8_t> ask(uint16_t /*port*/, std::span<const uint8_t> /*request*/,
                                   int64_t /*patience_ns*/) {
    return {};
  }
  virtual std::optional<TransferCounts> transfers() { return std::nullopt; }
  virtual const PortInfo& info() const = 0;
  // Once, at the end; nothing else may be called after it. Errors: of what was written besides.
  virtual host::Status finish() { return {}; }
};

}  // namespace millrace::udp
