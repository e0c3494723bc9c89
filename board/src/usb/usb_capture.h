// SPDX-License-Identifier: Apache-2.0
// What happens on the virtual bus as a pcapng file, for Wireshark and the like: URBs as Linux's
// usbmon records them, packets as a bus analyser does, or both. Time is the bus's, from 0.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "usb/usb_urb.h"

namespace millrace::board {

struct UsbCaptureOptions {
  bool urbs = true;      // LINKTYPE_USB_LINUX_MMAPPED (220): a submission and a completion each
  bool packets = false;  // LINKTYPE_USB_2_0_HIGH_SPEED (295), _FULL_SPEED (294)
  bool frames = false;   // SOF packets too: 8,000 a second
};

// One (micro)second's events may be out of order by the length of a transaction: its packets are
// written at its end, with the times at which they began.
class UsbCapture final : public UsbMonitor {
 public:
  using Sink = std::function<void(std::span<const uint8_t>)>;
  // Writes the head of the file at once; every call of `sink` is whole blocks.
  UsbCapture(const UsbCaptureOptions& options, Sink sink);

  void submitted(const Urb& urb, uint64_t ns) override;
  void completed(const Urb& urb, uint64_t ns) override;
  void transaction(const UsbTransaction& transaction) override;

 private:
  void head();
  void describe_interface(uint16_t link_type, const char* name);
  void urb_event(const Urb& urb, char type, uint64_t ns);
  void packet(const UsbTransaction& t, uint64_t ns, uint8_t pid, std::span<const uint8_t> data,
              bool with_crc16);
  void token(const UsbTransaction& t, uint8_t pid, uint32_t eleven_bits);
  void begin_packet(uint32_t interface, uint64_t ns);
  void end_packet(size_t original);

  UsbCaptureOptions options_;
  Sink sink_;
  std::vector<uint8_t> block_;
  uint32_t interfaces_ = 0;
  uint32_t urb_interface_ = 0, high_interface_ = 0, full_interface_ = 0;
};

// Several captures of one bus, each with its own file.
class UsbCaptures final : public UsbMonitor {
 public:
  void add(std::unique_ptr<UsbCapture> capture) { captures_.push_back(std::move(capture)); }
  // To be given to the host: null if there is none, which costs nothing.
  UsbMonitor* monitor() { return captures_.empty() ? nullptr : this; }

  void submitted(const Urb& urb, uint64_t ns) override {
    for (const auto& capture : captures_) capture->submitted(urb, ns);
  }
  void completed(const Urb& urb, uint64_t ns) override {
    for (const auto& capture : captures_) capture->completed(urb, ns);
  }
  void transaction(const UsbTransaction& transaction) override {
    for (const auto& capture : captures_) capture->transaction(transaction);
  }

 private:
  std::vector<std::unique_ptr<UsbCapture>> captures_;
};

}  // namespace millrace::board
