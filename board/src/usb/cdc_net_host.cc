// SPDX-License-Identifier: Apache-2.0
// What Linux does and one would not guess, since times and sizes of everything above depend on it:
// - cdc_ncm looks at its bundle every 400 us and lets it go only when two looks in a row found
//   nothing that a third could not wait for: a frame that comes alone leaves 1.2 ms later. A bundle
//   of 40 frames, or one that the next frame does not fit into, goes at once.
// - usbnet counts its pending transfers in bytes, 60 * 1518 at high speed: 60 reads of one frame
// for
//   ECM, five of 16 KB for NCM. At full speed there are four.
// - cdc_ether ends a frame of whole packets with a byte more, not with a zero-length packet. Other
//   systems send the latter (ecm_ends_with_zlp).
// - ECM is connected until the device says otherwise, NCM is not until it says so.
#include "usb/cdc_net_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/bytes.h"
#include "usb/usb_setup_codes.h"

namespace millrace::board {
namespace {

constexpr size_t kNotificationBytes = 8, kSpeedBytes = 8;
constexpr unsigned kFullSpeedUrbs = 4;
constexpr unsigned kRounds = 2;     // of the timer that a bundle waits for more
constexpr unsigned kFewFrames = 3;  // a bundle of fewer begins to wait anew
constexpr uint64_t kThrottleNs = 125'000'000;
constexpr uint64_t kLongestAlarmNs = 1'000'000'000'000'000;
constexpr uint32_t kMtu = 1500;

}  // namespace

CdcNetHost::CdcNetHost(UsbHost& host, UsbEnumerator& enumerator)
    : host_(host),
      profile_(host.profile()),
      enumerator_(enumerator),
      requests_(host),
      setup_(host, requests_),
      flush_(&CdcNetHost::on_flush, this),
      throttle_(&CdcNetHost::on_throttle, this),
      alarm_(&CdcNetHost::on_wake, this) {
  enumerator_.add_listener(*this);
  notification_.done = &CdcNetHost::notification_done;
  notification_.context = this;
}

CdcNetHost::~CdcNetHost() {
  for (UsbHostTimer* timer : {&flush_, &throttle_, &alarm_}) host_.stop_timer(*timer);
  host_.forget(notification_);
  for (Transfers* list : {&ins_, &outs_}) make_transfers(list, 0, nullptr);
}

void CdcNetHost::changed() {
  if (client_ != nullptr) client_->link_changed();
}

void CdcNetHost::device_ready(const UsbDeviceInfo& device) {
  std::string problem;
  const std::optional<CdcNetFunction> found = find_cdc_net(device.configuration, &problem);
  is_offered_ = found || !problem.empty();
  if (!found) {
    problem_ = !problem.empty() ? problem
                                : fmt::format(
                                      "device {:04x}:{:04x} has no CDC-ECM or CDC-NCM "
                                      "function (choose a firmware with a network "
                                      "interface)",
                                      device.device.vendor, device.device.product);
    return changed();
  }
  function_ = *found;
  setup_.start(function_, device, [this](const std::string& why) { set_up(why); });
}

void CdcNetHost::device_gone() {
  setup_.cancel();
  requests_.clear();
  host_.stop_timer(flush_);
  host_.stop_timer(throttle_);
  counts_.dropped_out += queued();
  queue_.clear();
  bundle_.configure(NcmLayout());
  is_due_ = is_speed_split_ = false;
  is_offered_ = is_configured_ = carrier_ = false;
  problem_ = "the device was disconnected";
  changed();
}

void CdcNetHost::device_failed(const std::string& problem) {
  problem_ = problem;
  changed();
}

// All requests are through, or one that must not fail did.
void CdcNetHost::set_up(const std::string& problem) {
  findings_ = setup_.findings();
  problem_ = problem.empty() ? std::string()
                             : fmt::format("{} function: {}", to_string(function_.kind), problem);
  if (!problem.empty()) return changed();
  const UsbDeviceInfo& device = enumerator_.device();
  const bool is_ncm = function_.kind == EthernetKind::ncm;
  const bool is_high = device.speed == UsbSpeed::high;
  max_frame_ = setup_.max_frame();
  info_ = EthernetInfo();
  info_.kind = function_.kind;
  info_.mac = setup_.mac();
  info_.mtu = std::min<uint32_t>(kMtu, max_frame_ - static_cast<uint32_t>(kEthernetHeaderBytes));
  info_.description = fmt::format("{:04x}:{:04x} \"{}\", {} speed", device.device.vendor,
                                  device.device.product, device.product, is_high ? "high" : "full");
  info_.urb_bytes = max_frame_;
  uint32_t out_bytes = max_frame_;
  if (is_ncm) {
    const NcmLayout layout =
        make_ncm_layout(setup_.ntb(), profile_.ncm_out_bytes, function_.out.max_packet);
    bundle_.configure(layout);
    sequence_.reset();
    info_.urb_bytes = info_.ntb_in = setup_.ntb_in();
    info_.ntb_out = out_bytes = layout.block_bytes;
  }
  const auto urbs = [&](uint32_t bytes) {
    return is_high ? std::max(1u, profile_.net_urb_memory_bytes / bytes) : kFullSpeedUrbs;
  };
  info_.urbs = urbs(info_.urb_bytes);
  info_.out_urbs = urbs(out_bytes);
  make_transfers(&ins_, info_.urbs, &CdcNetHost::in_done);
  make_transfers(&outs_, info_.out_urbs, &CdcNetHost::out_done);
  is_configured_ = true;
  carrier_ = !is_ncm;
  submit_notification();
  submit_in();
  changed();
}

void CdcNetHost::make_transfers(Transfers* list, size_t count, Urb::Done done) {
  for (const auto& t : *list) host_.forget(t->urb);
  list->clear();
  for (size_t i = 0; i < count; ++i) {
    auto transfer = std::make_unique<Transfer>();
    transfer->owner = this;
    transfer->urb.context = transfer.get();
    transfer->urb.done = done;
    list->push_back(std::move(transfer));
  }
}

void CdcNetHost::submit_in() {
  if (!has_carrier() || throttle_.running()) return;
  for (const auto& t : ins_) {
    if (t->is_pending()) continue;
    t->bytes.resize(info_.urb_bytes);
    t->urb.endpoint = function_.in.address;
    t->urb.buffer = t->bytes;
    host_.submit(t->urb);
  }
}

void CdcNetHost::in_done(void* context, Urb& urb) {
  auto* transfer = static_cast<Transfer*>(context);
  CdcNetHost& self = *transfer->owner;
  if (urb.status == UrbStatus::ok) {
    if (self.is_configured_) self.take({transfer->bytes.data(), urb.actual});
  } else {
    self.failed(urb);
  }
  self.submit_in();
}

void CdcNetHost::take(std::span<const uint8_t> transfer) {
  if (transfer.empty()) return;  // the end of one of whole packets
  ++counts_.transfers_in;
  if (function_.kind == EthernetKind::ecm) {
    if (transfer.size() < kEthernetHeaderBytes) {
      ++counts_.bad_in;
      return;
    }
    return give(transfer);
  }
  take_block(transfer);
}

void CdcNetHost::take_block(std::span<const uint8_t> block) {
  link::Ntb16Reader reader(block.data(), block.size());
  link::NtbDatagram datagram;
  link::NtbStatus status = reader.next(&datagram);
  if (reader.block_bytes() != 0 && sequence_.missing_before(reader.sequence()) != 0) {
    ++counts_.sequence_gaps;
  }
  for (; status == link::NtbStatus::datagram; status = reader.next(&datagram)) {
    give(block.subspan(datagram.offset, datagram.length));
  }
  if (status != link::NtbStatus::end) ++counts_.bad_in;
}

void CdcNetHost::give(std::span<const uint8_t> frame) {
  ++counts_.frames_in;
  counts_.bytes_in += frame.size();
  if (client_ != nullptr) client_->received(frame, host_.ns());
}

void CdcNetHost::submit_notification() {
  if (function_.notify_endpoint == 0 || notification_.status == UrbStatus::pending) return;
  const size_t size = host_.pipe(function_.notify_endpoint).max_packet;
  notification_.endpoint = function_.notify_endpoint;
  notification_.buffer =
      std::span<uint8_t>(notification_bytes_).first(std::min(size, notification_bytes_.size()));
  host_.submit(notification_);
}

void CdcNetHost::notification_done(void* context, Urb& urb) {
  auto* self = static_cast<CdcNetHost*>(context);
  if (!self->is_configured_ || urb.status == UrbStatus::disconnected) return;
  if (urb.status == UrbStatus::ok) self->notification(urb.buffer.first(urb.actual));
  const bool is_over = urb.status != UrbStatus::ok && urb.status != UrbStatus::overflow;
  if (!is_over && self->is_configured_) self->submit_notification();
}

void CdcNetHost::notification(std::span<const uint8_t> bytes) {
  if (bytes.size() < kNotificationBytes) return;
  // A packet of 8 bytes cannot hold all of it; what follows is no notification.
  if (std::exchange(is_speed_split_, false)) return;
  ++counts_.notifications;
  if (bytes[1] == link::kConnectionSpeedChange)
    is_speed_split_ = bytes.size() < kNotificationBytes + kSpeedBytes;
  if (bytes[1] == link::kNetworkConnection) set_carrier(load_le(&bytes[2], 2) != 0);
}

void CdcNetHost::set_carrier(bool on) {
  if (std::exchange(carrier_, on) == on) return;
  if (on) {
    submit_in();
  } else {
    for (const auto& t : ins_) host_.unlink(t->urb);
  }
  changed();
}

bool CdcNetHost::send(std::span<const uint8_t> frame) {
  if (!has_carrier() || frame.size() < kEthernetHeaderBytes || frame.size() > max_frame_ ||
      queue_.size() >= profile_.net_queue_frames) {
    ++counts_.dropped_out;
    return false;
  }
  queue_.emplace_back(frame.begin(), frame.end());
  pump();
  return true;
}

CdcNetHost::Transfer* CdcNetHost::free_out() {
  const auto free =
      std::find_if(outs_.begin(), outs_.end(), [](const auto& t) { return !t->is_pending(); });
  return free == outs_.end() ? nullptr : free->get();
}

void CdcNetHost::pump() {
  if (!is_configured_ || throttle_.running()) return;
  if (function_.kind == EthernetKind::ecm) {
    pump_frames();
  } else {
    pump_bundles();
  }
}

void CdcNetHost::pump_frames() {
  while (!queue_.empty()) {
    Transfer* const t = free_out();
    if (t == nullptr) return;
    t->bytes = std::move(queue_.front());
    queue_.pop_front();
    ++counts_.frames_out;
    counts_.bytes_out += t->bytes.size();
    const bool is_whole = t->bytes.size() % function_.out.max_packet == 0;
    const bool has_zlp = is_whole && profile_.ecm_ends_with_zlp != 0;
    if (is_whole && !has_zlp) t->bytes.push_back(0);
    submit_out(*t, has_zlp);
  }
}

void CdcNetHost::pump_bundles() {
  for (;;) {
    while (!queue_.empty() && !is_due_) {
      if (!bundle_.add(queue_.front())) {
        is_due_ = !bundle_.is_empty();
        if (is_due_) break;
        ++counts_.dropped_out;  // longer than a block of this device can be
        queue_.pop_front();
        continue;
      }
      ++counts_.frames_out;
      counts_.bytes_out += queue_.front().size();
      queue_.pop_front();
      is_due_ = bundle_.is_full() || profile_.ncm_timer_us == 0;
      if (is_due_) break;
      if (bundle_.count() < kFewFrames) rounds_ = kRounds;
      if (!flush_.running()) host_.start_timer(flush_, uint64_t{profile_.ncm_timer_us} * 1000);
    }
    Transfer* const t = is_due_ ? free_out() : nullptr;
    if (t == nullptr) return;
    t->bytes = bundle_.finish();
    is_due_ = false;
    submit_out(*t, false);
  }
}

void CdcNetHost::on_flush(void* context) {
  auto* self = static_cast<CdcNetHost*>(context);
  if (self->rounds_ != 0) {
    --self->rounds_;
    self->host_.start_timer(self->flush_, uint64_t{self->profile_.ncm_timer_us} * 1000);
    return;
  }
  self->is_due_ = !self->bundle_.is_empty();
  self->pump();
}

void CdcNetHost::submit_out(Transfer& t, bool ends_with_short) {
  ++counts_.transfers_out;
  t.urb.endpoint = function_.out.address;
  t.urb.buffer = t.bytes;
  t.urb.ends_with_short = ends_with_short;
  host_.submit(t.urb);
}

void CdcNetHost::out_done(void* context, Urb& urb) {
  CdcNetHost& self = *static_cast<Transfer*>(context)->owner;
  if (urb.status != UrbStatus::ok) self.failed(urb);
  self.pump();
}

void CdcNetHost::failed(const Urb& urb) {
  switch (urb.status) {
    case UrbStatus::stall:
      ++counts_.stalls;
      return clear_halt(urb.endpoint);
    case UrbStatus::overflow:
      ++counts_.errors;
      return;
    case UrbStatus::no_answer:
      // The rest of the queue would fail as well, and at once: wait, as Linux does.
      ++counts_.errors;
      problem_ = fmt::format("endpoint 0x{:02x}: no answer, three times", urb.endpoint);
      if (!throttle_.running()) host_.start_timer(throttle_, kThrottleNs);
      return changed();
    case UrbStatus::no_pipe:
      ++counts_.errors;
      if (!throttle_.running()) host_.start_timer(throttle_, kThrottleNs);
      return;
    default:
      return;  // taken back, or gone with the device
  }
}

void CdcNetHost::on_throttle(void* context) {
  auto* self = static_cast<CdcNetHost*>(context);
  self->submit_in();
  self->pump();
}

void CdcNetHost::clear_halt(uint8_t endpoint) {
  if (!is_configured_) return;
  requests_.out(kToEndpoint, kClearFeature, 0, endpoint, {},
                [this, endpoint](UrbStatus status, auto) {
                  if (status == UrbStatus::ok) host_.clear_halt(endpoint);
                  submit_in();
                  pump();
                });
}

void CdcNetHost::wake_at(uint64_t ns) {
  if (ns == UINT64_MAX) return host_.stop_timer(alarm_);
  const uint64_t now = host_.ns();
  host_.start_timer(alarm_, ns > now ? std::min(ns - now, kLongestAlarmNs) : 0);
}

void CdcNetHost::on_wake(void* context) {
  auto* self = static_cast<CdcNetHost*>(context);
  if (self->client_ != nullptr) self->client_->woken(self->host_.ns());
}

}  // namespace millrace::board
