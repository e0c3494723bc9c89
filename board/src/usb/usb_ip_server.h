// SPDX-License-Identifier: Apache-2.0
// The device on the virtual bus, exported over USB/IP (Linux Documentation/usb/usbip_protocol.rst,
// version 1.1.1): the protocol alone, over any byte stream, so that a real Linux can drive it with
// its own drivers through vhci_hcd.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "usb/usb_enumerator.h"
#include "usb/usb_host.h"

namespace millrace::board {

struct UsbIpCounts {
  uint64_t imports = 0;                  // by clients that took the device
  uint64_t submitted = 0;                // CMD_SUBMIT
  uint64_t refused = 0;                  // of these, never given to the bus
  uint64_t unlinked = 0;                 // CMD_UNLINK
  uint64_t bytes_in = 0, bytes_out = 0;  // of URBs
};

// One client at a time. While it has imported the device, nobody else may submit URBs or open and
// close pipes.
class UsbIpServer {
 public:
  // Of the buffers of URBs at work, and of bytes that wait for the client.
  static constexpr size_t kMaxTransfer = 1 << 20;
  static constexpr size_t kMaxInFlight = 8 << 20;
  static constexpr size_t kMaxUrbs = 256;
  static constexpr size_t kMaxOutput = 4 << 20;

  // Both outlive this.
  UsbIpServer(UsbHost& host, const UsbEnumerator& enumerator);
  ~UsbIpServer();
  UsbIpServer(const UsbIpServer&) = delete;
  UsbIpServer& operator=(const UsbIpServer&) = delete;

  // Bytes from the client. Returns how many were taken: fewer than given while more than kMaxOutput
  // wait for the client, or after a problem.
  size_t receive(std::span<const uint8_t> bytes);
  // Bytes for the client, until consume(). Invalidated by every other call and by events.
  std::span<const uint8_t> output() const;
  void consume(size_t size);
  // Called from an event when there is something new for the client.
  void set_output_ready(std::function<void()> ready) { output_ready_ = std::move(ready); }

  // The client broke the protocol: one sentence, close the connection. Empty if not.
  const std::string& problem() const { return problem_; }
  bool is_imported() const { return is_imported_; }
  // For a socket that was handed to vhci_hcd without OP_REQ_IMPORT. False: no device is ready.
  bool import_without_request();
  // The client is gone: takes its URBs back and starts again with the handshake.
  void disconnect();
  bool idle() const { return in_flight_urbs_ == 0; }  // no URB is at the host
  const UsbIpCounts& counts() const { return counts_; }

 private:
  struct Slot {
    UsbIpServer* owner = nullptr;
    Urb urb;
    std::vector<uint8_t> bytes;
    bool is_used = false;
    bool is_orphan = false;  // its client is gone
    uint32_t sequence = 0;
    std::optional<uint32_t> unlink_sequence;  // of the CMD_UNLINK that waits for it
  };
  enum class State : uint8_t { operation, import, header, payload };

  static void urb_done(void* context, Urb& urb);
  void header_complete();
  void operation();
  void import();
  void command();
  void submit();
  void unlink();
  void payload_complete();
  void start(Slot& slot);
  void finish(Slot& slot);
  void after_control(const Urb& urb);
  void reopen(uint8_t interface, uint8_t alternate);
  void release(Slot& slot);
  Slot* free_slot();
  void reply_submit(uint32_t sequence, int32_t status, std::span<const uint8_t> data,
                    uint32_t actual);
  void reply_unlink(uint32_t sequence, int32_t status);
  void put_operation(uint16_t code, uint32_t status);
  void put_device();
  void fail(std::string problem);
  void expect(State state, size_t size);
  uint32_t word(size_t at) const;  // of the header, big-endian

  UsbHost& host_;
  const UsbEnumerator& enumerator_;
  std::function<void()> output_ready_;
  std::string problem_;
  UsbIpCounts counts_;
  State state_ = State::operation;
  bool is_imported_ = false;
  // Number of packets of a transfer that has none, as the client says it: 0xFFFFFFFF by Linux's
  // documentation of the protocol, 0 by its drivers, whose captures Wireshark reads.
  uint32_t not_isochronous_ = 0;
  std::array<uint8_t, 48> header_{};
  size_t header_size_ = 8;  // expected
  size_t header_fill_ = 0;
  Slot* receiving_ = nullptr;  // payload goes there; null: it is skipped
  size_t payload_left_ = 0;
  size_t payload_at_ = 0;
  std::vector<std::unique_ptr<Slot>> slots_;
  size_t in_flight_urbs_ = 0;
  size_t in_flight_bytes_ = 0;
  std::vector<uint8_t> output_;
  size_t output_at_ = 0;
};

}  // namespace millrace::board
