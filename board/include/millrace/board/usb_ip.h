// SPDX-License-Identifier: Apache-2.0
// The board's USB device exported over USB/IP, so that a real Linux drives it with its own drivers
// through vhci_hcd. A byte stream each way; the socket is the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace millrace::board {

struct UsbIpPortCounts {
  uint64_t imports = 0;    // by clients that took the device
  uint64_t transfers = 0;  // that clients asked for
  uint64_t bytes_in = 0, bytes_out = 0;
};

// One client at a time. The bus stands between the client and the device: it is plugged in and
// enumerated in the board's time before a client can have it.
class UsbIpPort {
 public:
  virtual ~UsbIpPort() = default;
  virtual void plug_in() = 0;
  virtual void unplug() = 0;
  // The device is enumerated: a client can have it.
  virtual bool is_ready() const = 0;
  // Why the device could not be enumerated; one sentence, or empty.
  virtual std::string problem() const = 0;

  // Bytes from the client. Returns how many were taken: fewer while too much waits for the client,
  // or after client_problem().
  virtual size_t receive(std::span<const uint8_t> bytes) = 0;
  // Bytes for the client, until consume(). Invalidated by every other call and by events.
  virtual std::span<const uint8_t> output() const = 0;
  virtual void consume(size_t size) = 0;
  // The client broke the protocol: one sentence, close the connection. Empty if not.
  virtual std::string client_problem() const = 0;
  // The client has the device. If the device goes (!is_ready()), close the connection: that is how
  // USB/IP says so.
  virtual bool is_imported() const = 0;
  // The client is gone; the next one begins with the handshake. A device that it had imported is
  // pulled out and plugged in again, so that the next client finds it as after power-on.
  virtual void disconnect() = 0;
  virtual UsbIpPortCounts counts() const = 0;
};

}  // namespace millrace::board
