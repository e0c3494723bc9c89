// SPDX-License-Identifier: Apache-2.0
// Control requests of a class driver, one after the other, each with what comes after it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "usb/usb_host.h"

namespace millrace::board {

class UsbRequests {
 public:
  // `bytes`: what came, for IN. A request that is not finished within 5 s (USB 2.0 9.2.6.1) ends
  // as `unlinked`. May make requests.
  using Done = std::function<void(UrbStatus status, std::span<const uint8_t> bytes)>;

  explicit UsbRequests(UsbHost& host);  // outlives this
  ~UsbRequests();
  UsbRequests(const UsbRequests&) = delete;
  UsbRequests& operator=(const UsbRequests&) = delete;

  // `type` is bmRequestType. `done` is not called from within.
  void in(uint8_t type, uint8_t request, uint16_t value, uint16_t index, uint16_t length,
          Done done);
  void out(uint8_t type, uint8_t request, uint16_t value, uint16_t index,
           std::vector<uint8_t> bytes, Done done);
  // Forgets all of them; no `done` is called. The device is gone.
  void clear();

 private:
  struct Request {
    std::array<uint8_t, 8> setup{};
    std::vector<uint8_t> bytes;
    Done done;
  };

  static void urb_done(void* context, Urb& urb);
  void push(uint8_t type, uint8_t request, uint16_t value, uint16_t index,
            std::vector<uint8_t> bytes, Done done);
  void next();

  UsbHost& host_;
  Urb urb_;
  UsbHostTimer timeout_;
  std::deque<Request> waiting_;
  Request current_;
};

}  // namespace millrace::board
