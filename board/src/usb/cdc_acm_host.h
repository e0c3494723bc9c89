// SPDX-License-Identifier: Apache-2.0
// The serial port that a PC makes of a CDC-ACM device, as Linux's cdc-acm and tty layer do it: URBs
// that are always pending, a bounded buffer behind them, no resubmission while it is full.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "usb/usb_enumerator.h"
#include "usb/usb_host.h"

namespace millrace::board {

struct CdcLineCoding {  // PSTN 1.2 table 17
  uint32_t baud = 9600;
  uint8_t stop_bits = 0;  // 0: 1, 1: 1.5, 2: 2
  uint8_t parity = 0;     // 0 none, 1 odd, 2 even, 3 mark, 4 space
  uint8_t data_bits = 8;
};

struct CdcAcmCounts {
  uint64_t bytes_in = 0, bytes_out = 0;  // to the reader, handed to the bus
  uint64_t reads = 0;                    // that returned something
  uint64_t transfers_in = 0;             // URBs with data
  uint64_t throttled = 0;                // URBs that waited for room in the buffer
  uint64_t stalls = 0;                   // of data endpoints, cleared
  uint64_t notifications = 0;
};

class CdcAcmHost final : public UsbEnumerator::Listener {
 public:
  // Enumerates what is plugged into `host`, which outlives this. Counts, rates and sizes are those
  // of its profile.
  explicit CdcAcmHost(UsbHost& host);
  ~CdcAcmHost();
  CdcAcmHost(const CdcAcmHost&) = delete;
  CdcAcmHost& operator=(const CdcAcmHost&) = delete;

  // A CDC-ACM function is configured.
  bool is_ready() const { return is_ready_; }
  // Why not; or what went wrong since. One sentence or empty.
  const std::string& problem() const { return problem_; }
  const UsbDeviceInfo& device() const { return enumerator_.device(); }
  UsbEnumerator& enumerator() { return enumerator_; }
  // After anything that may change what the functions below return. From within an event: may call
  // them all.
  void set_changed(std::function<void()> changed) { changed_ = std::move(changed); }

  // As open() and close() of a tty: URBs are pending, DTR and RTS are on; off and taken back. Stays
  // open while the device is away.
  void open();
  void close();
  bool is_open() const { return is_open_; }
  void set_dtr(bool on);
  void set_rts(bool on);
  void set_line_coding(const CdcLineCoding& coding);

  // Returns what is there, at most out.size(); 0 too while the reader is busy (read_cost_ns,
  // reader_stalls of the profile).
  size_t read(std::span<uint8_t> out);
  size_t readable() const { return fill_; }  // in the buffer, whether the reader is busy or not
  // Returns how many bytes were taken: as many as there are free buffers.
  size_t write(std::span<const uint8_t> bytes);
  size_t writable() const;
  bool is_write_idle() const;  // everything written was acknowledged by the device
  const CdcAcmCounts& counts() const { return counts_; }

  void device_ready(const UsbDeviceInfo& device) override;
  void device_gone() override;
  void device_failed(const std::string& problem) override;

 private:
  // A data URB with its buffer.
  struct Transfer {
    CdcAcmHost* owner = nullptr;
    Urb urb;
    std::vector<uint8_t> bytes;
    bool is_held = false;  // IN: done, and not all of it in the buffer yet
    uint32_t taken = 0;
    bool is_pending() const { return urb.status == UrbStatus::pending; }
  };
  struct Request {
    std::array<uint8_t, 8> setup{};
    std::array<uint8_t, 7> data{};
    uint8_t size = 0;
  };

  static void in_done(void* context, Urb& urb);
  static void out_done(void* context, Urb& urb);
  static void notification_done(void* context, Urb& urb);
  static void request_done(void* context, Urb& urb);
  static void reader_free(void* context);

  bool find_function(const UsbConfigurationInfo& configuration);
  void submit_in();
  void take_in();
  void store(std::span<const uint8_t> bytes);
  size_t until_boundary() const;
  uint64_t busy_until(uint64_t ns) const;
  void wait_for_reader(uint64_t until);
  void failed(uint8_t endpoint, UrbStatus status);
  void send_lines();
  void request(const Request& request);
  void next_request();
  void changed();

  UsbHost& host_;
  const UsbHostProfile& profile_;
  UsbEnumerator enumerator_;
  std::function<void()> changed_;
  std::string problem_;
  CdcAcmCounts counts_;
  bool is_ready_ = false;
  bool is_open_ = false;
  bool dtr_ = false, rts_ = false;
  CdcLineCoding coding_;
  uint8_t control_interface_ = 0;
  uint8_t in_endpoint_ = 0, out_endpoint_ = 0, notify_endpoint_ = 0;
  uint32_t in_bytes_ = 0, out_bytes_ = 0;  // of an URB

  std::vector<std::unique_ptr<Transfer>> ins_, outs_;
  std::deque<Transfer*> held_;  // in the order they came
  Urb notification_;
  std::array<uint8_t, 64> notification_bytes_{};
  Urb control_;
  Request control_request_;
  std::deque<Request> requests_;  // one a kind at most

  std::vector<uint8_t> buffer_;  // a ring
  size_t read_at_ = 0;
  size_t fill_ = 0;
  std::deque<uint64_t> boundaries_;  // byte counts behind short packets, with reads_end_at_short
  uint64_t stored_ = 0;              // bytes ever
  uint64_t taken_ = 0;
  UsbHostTimer reader_timer_;
  uint64_t next_read_ns_ = 0;
  uint64_t opened_ns_ = 0;
  bool was_opened_ = false;
};

}  // namespace millrace::board
