// SPDX-License-Identifier: Apache-2.0
#include "usb/usb_requests.h"

#include <algorithm>
#include <utility>

#include "core/bytes.h"

namespace millrace::board {
namespace {

constexpr uint64_t kRequestTimeoutNs = 5'000'000'000;

}  // namespace

UsbRequests::UsbRequests(UsbHost& host)
    : host_(host),
      timeout_(
          [](void* context) {
            auto* self = static_cast<UsbRequests*>(context);
            self->host_.unlink(self->urb_);
          },
          this) {
  urb_.done = &UsbRequests::urb_done;
  urb_.context = this;
}

UsbRequests::~UsbRequests() {
  host_.stop_timer(timeout_);
  host_.forget(urb_);
}

void UsbRequests::in(uint8_t type, uint8_t request, uint16_t value, uint16_t index, uint16_t length,
                     Done done) {
  push(type, request, value, index, std::vector<uint8_t>(length), std::move(done));
}

void UsbRequests::out(uint8_t type, uint8_t request, uint16_t value, uint16_t index,
                      std::vector<uint8_t> bytes, Done done) {
  push(type, request, value, index, std::move(bytes), std::move(done));
}

void UsbRequests::push(uint8_t type, uint8_t request, uint16_t value, uint16_t index,
                       std::vector<uint8_t> bytes, Done done) {
  Request r;
  r.setup[0] = type;
  r.setup[1] = request;
  store_le(&r.setup[2], 2, value);
  store_le(&r.setup[4], 2, index);
  store_le(&r.setup[6], 2, static_cast<uint32_t>(bytes.size()));
  r.bytes = std::move(bytes);
  r.done = std::move(done);
  waiting_.push_back(std::move(r));
  next();
}

void UsbRequests::clear() {
  waiting_.clear();
  current_.done = nullptr;
  host_.stop_timer(timeout_);
}

void UsbRequests::next() {
  if (waiting_.empty() || urb_.status == UrbStatus::pending) return;
  current_ = std::move(waiting_.front());
  waiting_.pop_front();
  urb_.setup = current_.setup;
  urb_.buffer = current_.bytes;
  host_.submit(urb_);
  host_.start_timer(timeout_, kRequestTimeoutNs);
}

void UsbRequests::urb_done(void* context, Urb& urb) {
  auto* self = static_cast<UsbRequests*>(context);
  self->host_.stop_timer(self->timeout_);
  Request over = std::exchange(self->current_, Request());
  const size_t size = std::min<size_t>(over.bytes.size(), urb.actual);
  if (over.done) over.done(urb.status, std::span<const uint8_t>(over.bytes).first(size));
  self->next();
}

}  // namespace millrace::board
