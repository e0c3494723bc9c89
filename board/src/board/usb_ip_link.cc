// SPDX-License-Identifier: Apache-2.0
#include "board/usb_ip_link.h"

#include <utility>

#include "board/usb_link.h"

namespace millrace::board {

UsbIpLink::UsbIpLink(EventQueue& events, Clocks& clocks, UsbDeviceEnd& device, Connect connect,
                     const UsbHostProfile& profile, const UsbHostOptions& options)
    : connect_(std::move(connect)),
      captures_(make_usb_captures(options)),
      host_(events, clocks, device, profile),
      enumerator_(host_, *this),
      server_(host_, enumerator_),
      replug_([](void* context) { static_cast<UsbIpLink*>(context)->host_.plug_in(); }, this) {
  host_.set_monitor(captures_.monitor());
  connect_(&host_);
}

UsbIpLink::~UsbIpLink() {
  host_.stop_timer(replug_);
  connect_(nullptr);
}

void UsbIpLink::plug_in() {
  host_.stop_timer(replug_);
  problem_.clear();
  host_.plug_in();
}

void UsbIpLink::unplug() {
  host_.stop_timer(replug_);
  host_.unplug();
}

void UsbIpLink::disconnect() {
  server_.disconnect();
  const uint64_t imports = server_.counts().imports;
  if (std::exchange(imports_seen_, imports) == imports) return;
  if (host_.port_state() == UsbPortState::unplugged) return;  // pulled out meanwhile: stays so
  unplug();
  host_.start_timer(replug_, kReplugNs);
}

UsbIpPortCounts UsbIpLink::counts() const {
  const UsbIpCounts& c = server_.counts();
  return {c.imports, c.submitted, c.bytes_in, c.bytes_out};
}

}  // namespace millrace::board
