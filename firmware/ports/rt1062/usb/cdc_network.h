// SPDX-License-Identifier: Apache-2.0
// A network adapter: USB CDC Ethernet Control Model 1.2 (ECM: a frame a transfer) or Network
// Control Model 1.0 (NCM: NTBs). Control side only; frames go through ecm_link.h or ncm_link.h.
// The data interface has two settings: 0 without endpoints, 1 with them; the host chooses 1 when it
// wants frames, and is then told that the cable is plugged in.
#pragma once

#include <cstddef>
#include <cstdint>

#include "firmware/ports/rt1062/usb/usb_device.h"
#include "firmware/ports/rt1062/usb/usb_queue.h"
#include "millrace/link/cdc_network.h"

namespace millrace::rt1062 {

enum class NetworkModel : uint8_t { ecm, ncm };

struct CdcNetworkEndpoints {
  uint8_t notification;  // interrupt IN
  uint8_t out;
  uint8_t in;
};

// Must be in memory that no cache covers.
struct CdcNetworkMemory {
  static constexpr uint32_t kTransfers = 2;
  UsbTransferDescriptor transfers[kTransfers];
  alignas(32) uint8_t speed_change[16];
  alignas(32) uint8_t connection[8];
};

class CdcNetwork final : public UsbFunction {
 public:
  // `mac_string`: index of the string with the host's address. `parameters` are of NCM. All outlive
  // this.
  CdcNetwork(NetworkModel model, const CdcNetworkEndpoints& endpoints, uint8_t mac_string,
             const link::NtbParameters& parameters, UsbHardware& hardware, UsbDevice& device,
             CdcNetworkMemory& memory);

  uint8_t interface_count() const override { return 2; }
  void describe(UsbDescriptorWriter& out, uint8_t first_interface, bool high_speed) override;
  void configured(UsbDevice& device, uint8_t first_interface, bool high_speed) override;
  void closed() override;
  UsbReply on_request(const UsbSetup& setup, uint8_t interface) override;
  bool on_data(const UsbSetup& setup, uint8_t interface, const uint8_t* data, size_t size) override;
  bool select(UsbDevice& device, uint8_t interface, uint8_t setting, bool high_speed) override;
  uint8_t setting(uint8_t interface) const override;

  // Open while the data interface has its endpoints. May be read at any time.
  const UsbSession& session() const { return session_; }
  uint16_t packet_bytes() const { return packet_bytes_; }
  // What the host wants: NTBs to it are no longer than this, and only frames of these kinds.
  uint32_t ntb_input_bytes() const { return ntb_input_bytes_; }
  uint16_t packet_filter() const { return packet_filter_; }
  const CdcNetworkEndpoints& endpoints() const { return endpoints_; }

 private:
  void end_session();
  void notify_connected(bool high_speed);
  void stage_notification(const uint8_t* data, uint32_t size);
  UsbReply on_ncm_request(const UsbSetup& setup);
  UsbReply send(size_t size) { return {UsbReply::Kind::send, reply_, static_cast<uint16_t>(size)}; }

  NetworkModel model_;
  CdcNetworkEndpoints endpoints_;
  uint8_t mac_string_;
  const link::NtbParameters& parameters_;
  UsbHardware& hardware_;
  CdcNetworkMemory& memory_;
  UsbQueue notifications_;
  UsbSession session_;
  uint8_t first_interface_ = 0;
  volatile uint16_t packet_bytes_ = 512;
  volatile uint32_t ntb_input_bytes_;
  volatile uint16_t packet_filter_ = 0;
  uint8_t reply_[link::NtbParameters::kBytes] = {};
};

}  // namespace millrace::rt1062
