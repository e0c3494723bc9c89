// SPDX-License-Identifier: Apache-2.0
// What a driver asks of a network function before frames can pass: the requests of Linux's
// cdc_ether and cdc_ncm, in their order.
#pragma once

#include <functional>
#include <string>

#include "usb/cdc_net_function.h"
#include "usb/ncm_bundle.h"
#include "usb/usb_enumerator.h"
#include "usb/usb_host.h"
#include "usb/usb_requests.h"

namespace millrace::board {

class CdcNetSetup {
 public:
  // *problem is empty if all went well.
  using Done = std::function<void(const std::string& problem)>;

  // Both outlive this.
  CdcNetSetup(UsbHost& host, UsbRequests& requests);
  ~CdcNetSetup();
  CdcNetSetup(const CdcNetSetup&) = delete;
  CdcNetSetup& operator=(const CdcNetSetup&) = delete;

  // Ends with the data interface switched on and its endpoints open. `device` outlives that.
  void start(const CdcNetFunction& function, const UsbDeviceInfo& device, Done done);
  void cancel();  // `done` is not called

  // After that:
  const MacAddress& mac() const { return mac_; }
  const link::NtbParameters& ntb() const { return ntb_; }
  uint32_t ntb_in() const { return ntb_in_; }  // agreed size of a block
  uint32_t max_frame() const { return max_frame_; }
  const UsbFindings& findings() const { return findings_; }

 private:
  // NCM 1.0 table 6-2, ECM 1.2 table 6.
  void set_interface(uint8_t alternate, std::function<void()> then);
  void get_parameters();
  void got_parameters(UrbStatus status, std::span<const uint8_t> bytes);
  void set_modes();
  void switch_on();
  void open_endpoints();
  void get_mac();
  void got_mac(UrbStatus status, std::span<const uint8_t> bytes);
  void set_sizes();
  void set_max_frame(UrbStatus status, std::span<const uint8_t> bytes);
  void set_filter();
  void write(uint8_t request, uint16_t value, std::vector<uint8_t> bytes);
  void finish(const std::string& problem);

  UsbHost& host_;
  UsbRequests& requests_;
  UsbHostTimer settled_;
  CdcNetFunction function_;
  const UsbDeviceInfo* device_ = nullptr;
  Done done_;
  MacAddress mac_{};
  link::NtbParameters ntb_;
  uint32_t ntb_in_ = 0;
  uint32_t max_frame_ = 0;
  UsbFindings findings_;
};

}  // namespace millrace::board
