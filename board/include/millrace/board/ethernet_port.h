// SPDX-License-Identifier: Apache-2.0
// The network interface that a PC makes of a CDC-ECM or CDC-NCM device, by frames. Everything
// happens in the board's time, inside Board::run_until(); see board/src/usb/ for the model.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::board {

inline constexpr size_t kEthernetHeaderBytes = 14;
inline constexpr size_t kEthernetFrameBytes = 1514;  // without the CRC, which USB does not carry

using MacAddress = std::array<uint8_t, 6>;

enum class EthernetKind : uint8_t { ecm, ncm };

struct EthernetInfo {
  EthernetKind kind = EthernetKind::ecm;
  MacAddress mac{};        // of the host, as the device's iMACAddress has it
  uint32_t mtu = 1500;     // payload of a frame
  uint32_t urb_bytes = 0;  // of a read
  uint32_t urbs = 0;       // reads that are always pending
  uint32_t out_urbs = 0;   // writes that may be under way
  uint32_t ntb_in = 0;     // NCM: agreed sizes of a transfer
  uint32_t ntb_out = 0;
  std::string description;  // "16c0:0489 \"Millrace\", high speed"
};

struct EthernetCounts {
  uint64_t frames_in = 0, bytes_in = 0;  // from the device
  uint64_t frames_out = 0, bytes_out = 0;
  uint64_t transfers_in = 0, transfers_out = 0;  // with data
  uint64_t dropped_out = 0;    // no carrier, queue full, or longer than the device takes
  uint64_t bad_in = 0;         // transfers, or datagrams of one, that were no frames
  uint64_t sequence_gaps = 0;  // NCM: wSequence jumped
  uint64_t stalls = 0;         // of data endpoints, cleared
  uint64_t errors = 0;         // no answer, or more than was asked for
  uint64_t notifications = 0;
};

// Who uses the interface. Called from within events of the board; may call the port.
class EthernetClient {
 public:
  // is_configured(), has_carrier() or problem() may have changed.
  virtual void link_changed() = 0;
  // A frame arrived at `ns`; valid during the call. Any bytes, 14 at least.
  virtual void received(std::span<const uint8_t> frame, uint64_t ns) = 0;
  virtual void woken(uint64_t ns) = 0;  // the time of wake_at() has come

 protected:
  ~EthernetClient() = default;
};

// The interface is up from the moment the device is configured.
class EthernetPort {
 public:
  virtual ~EthernetPort() = default;
  // One at a time; null: none. Outlives the port, or takes itself out.
  virtual void set_client(EthernetClient* client) = 0;

  // The device has a network function, whether it can be used or not.
  virtual bool is_offered() const = 0;
  // It is set up and its data interface is switched on.
  virtual bool is_configured() const = 0;
  // The device says that it is connected. ECM devices that say nothing are.
  virtual bool has_carrier() const = 0;
  // Why there is no interface, or what went wrong since. One sentence or empty.
  virtual std::string problem() const = 0;
  virtual const EthernetInfo& info() const = 0;  // REQUIRES: is_configured() once
  // What is wrong with the device as the network driver saw it, one sentence each.
  virtual const std::vector<std::string>& findings() const = 0;

  // Queues a frame at the present time. False: dropped, and counted.
  virtual bool send(std::span<const uint8_t> frame) = 0;
  // Frames that wait for a transfer to end.
  virtual size_t queued() const = 0;
  virtual const EthernetCounts& counts() const = 0;

  // Nanoseconds of the bus, which are the board's.
  virtual uint64_t ns() const = 0;
  // Calls woken() at `ns`, or as soon as may be; instead of an earlier wish. UINT64_MAX: never.
  virtual void wake_at(uint64_t ns) = 0;
};

std::string_view to_string(EthernetKind kind);  // "CDC-ECM", "CDC-NCM"
std::string to_string(const MacAddress& mac);   // "02:00:00:12:34:56"

}  // namespace millrace::board
