// SPDX-License-Identifier: Apache-2.0
// What a USB host does with the bus, as numbers: a host controller's pace is its maker's secret, so
// it is fitted to published rates (docs/validation.md) and chosen by name. Text form: lines
// `name = value  # comment`, as timing profiles have it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::board {

struct UsbHostProfile {
  // Bulk packets with data in a microframe at high speed, in thousandths; the fraction carries over
  // to the next. Zero-length packets do not count. 13 is what fits (USB 2.0 table 5-10).
  uint32_t packets_per_microframe_milli = 13000;
  uint32_t gap_after_short_ns = 0;     // on the endpoint, after a packet that ends a transfer early
  uint32_t gap_after_nak_ns = 0;       // on the endpoint, until it is asked again
  uint32_t completion_latency_ns = 0;  // from the last handshake to the driver
  uint32_t completion_jitter_ns = 0;   // on top, uniform from 0, never out of order
  uint32_t seed = 1;                   // of the jitter
  // Serial port (cdc_acm_host.h). Linux cdc-acm has 16 URBs of twice the packet size for IN and 16
  // buffers of twenty times the packet size for OUT.
  uint32_t in_urbs = 16;
  uint32_t urb_bytes = 0;  // 0: twice the packet size
  uint32_t out_urbs = 16;
  uint32_t out_urb_bytes = 0;  // 0: twenty times the packet size
  uint32_t tty_buffer_bytes = 65536;
  uint32_t read_cost_ns = 0;        // of every read call
  uint32_t reads_end_at_short = 0;  // flag: a read returns no byte from behind a short packet
  // Network interface (cdc_net_host.h). Linux usbnet keeps 60 full frames under way at high speed,
  // cdc_ncm bundles into NTBs of up to 16 KB and looks every 400 us whether more comes.
  uint32_t net_urb_memory_bytes = 60 * 1518;  // of pending reads, and of writes
  uint32_t net_queue_frames = 1000;           // that wait for an URB (txqueuelen)
  uint32_t ncm_in_bytes = 16384;              // asked for, if the device can do more
  uint32_t ncm_out_bytes = 16384;
  uint32_t ncm_timer_us = 400;     // 0: every frame goes alone, at once
  uint32_t ecm_ends_with_zlp = 0;  // flag: behind full packets; 0: a byte is added, as Linux does
  // Port (USB 2.0 table 7-14).
  uint32_t debounce_us = 100000;  // TATTDB
  uint32_t reset_us = 50000;      // TDRSTR
  uint32_t recovery_us = 10000;   // TRSTRCY

  // The reader of the serial port is busy elsewhere; microseconds since DTR was first set.
  struct Stall {
    uint32_t start_us = 0;
    uint32_t length_us = 0;
    friend bool operator==(const Stall&, const Stall&) = default;
  };
  std::vector<Stall> reader_stalls;  // reader_stall_us = START,LENGTH START,LENGTH ...

  friend bool operator==(const UsbHostProfile&, const UsbHostProfile&) = default;
};

inline constexpr size_t kMaxReaderStalls = 1000;

// Applies lines on top of *profile. Returns an empty string, or one sentence with the line number;
// then *profile is as before.
std::string apply_usb_profile(std::string_view text, UsbHostProfile* profile,
                              std::string_view name = "USB host profile");

// The text of a built-in profile: "ideal", "xhci-desktop", "xhci-laptop", "windows-serial". Empty:
// there is none of that name.
std::string_view builtin_usb_profile(std::string_view name);
std::vector<std::string_view> builtin_usb_profiles();

}  // namespace millrace::board
