// SPDX-License-Identifier: Apache-2.0
// The network interface that a PC makes of a CDC-ECM or CDC-NCM device, as Linux's usbnet with
// cdc_ether and cdc_ncm does it: reads always pending while there is a carrier, as many as 60 full
// frames take; a queue of frames before the writes; NCM frames bundled until a timer says that no
// more come.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/board/ethernet_port.h"
#include "millrace/link/ntb16.h"
#include "usb/cdc_net_function.h"
#include "usb/cdc_net_setup.h"
#include "usb/ncm_bundle.h"
#include "usb/usb_enumerator.h"
#include "usb/usb_host.h"
#include "usb/usb_requests.h"

namespace millrace::board {

class CdcNetHost final : public EthernetPort, private UsbEnumerator::Listener {
 public:
  // Drives what `enumerator` finds at `host`; both outlive this.
  CdcNetHost(UsbHost& host, UsbEnumerator& enumerator);
  ~CdcNetHost() override;
  CdcNetHost(const CdcNetHost&) = delete;
  CdcNetHost& operator=(const CdcNetHost&) = delete;

  void set_client(EthernetClient* client) override { client_ = client; }
  bool is_offered() const override { return is_offered_; }
  bool is_configured() const override { return is_configured_; }
  bool has_carrier() const override { return is_configured_ && carrier_; }
  std::string problem() const override { return problem_; }
  const EthernetInfo& info() const override { return info_; }
  const UsbFindings& findings() const override { return findings_; }
  bool send(std::span<const uint8_t> frame) override;
  size_t queued() const override { return queue_.size() + bundle_.count(); }
  const EthernetCounts& counts() const override { return counts_; }
  uint64_t ns() const override { return host_.ns(); }
  void wake_at(uint64_t ns) override;

 private:
  struct Transfer {
    CdcNetHost* owner = nullptr;
    Urb urb;
    std::vector<uint8_t> bytes;
    bool is_pending() const { return urb.status == UrbStatus::pending; }
  };
  using Transfers = std::vector<std::unique_ptr<Transfer>>;

  void device_ready(const UsbDeviceInfo& device) override;
  void device_gone() override;
  void device_failed(const std::string& problem) override;

  static void in_done(void* context, Urb& urb);
  static void out_done(void* context, Urb& urb);
  static void notification_done(void* context, Urb& urb);
  static void on_flush(void* context);
  static void on_throttle(void* context);
  static void on_wake(void* context);

  void set_up(const std::string& problem);
  void make_transfers(Transfers* list, size_t count, Urb::Done done);
  void submit_in();
  void submit_notification();
  void take(std::span<const uint8_t> transfer);
  void take_block(std::span<const uint8_t> block);
  void give(std::span<const uint8_t> frame);
  void notification(std::span<const uint8_t> bytes);
  void set_carrier(bool on);
  Transfer* free_out();
  void pump();
  void pump_frames();
  void pump_bundles();
  void submit_out(Transfer& transfer, bool ends_with_short);
  void failed(const Urb& urb);
  void clear_halt(uint8_t endpoint);
  void changed();

  UsbHost& host_;
  const UsbHostProfile& profile_;
  UsbEnumerator& enumerator_;
  UsbRequests requests_;
  CdcNetSetup setup_;
  EthernetClient* client_ = nullptr;
  EthernetInfo info_;
  EthernetCounts counts_;
  UsbFindings findings_;
  std::string problem_;
  CdcNetFunction function_;
  bool is_offered_ = false;
  bool is_configured_ = false;
  bool carrier_ = false;
  uint32_t max_frame_ = 0;

  Transfers ins_, outs_;
  Urb notification_;
  std::array<uint8_t, 64> notification_bytes_{};
  bool is_speed_split_ = false;  // the rest of CONNECTION_SPEED_CHANGE comes in a packet of its own

  std::deque<std::vector<uint8_t>> queue_;
  NcmBundle bundle_;
  link::NtbSequence sequence_;
  unsigned rounds_ = 0;  // of the timer before the bundle goes
  bool is_due_ = false;  // it goes with the next URB that is free
  UsbHostTimer flush_;
  UsbHostTimer throttle_;
  UsbHostTimer alarm_;
};

}  // namespace millrace::board
