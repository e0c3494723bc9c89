// SPDX-License-Identifier: Apache-2.0
// Between the bus and the reader are three places where bytes may wait: URBs that are done, the
// buffer, and the device, which is asked no more when all URBs are held. Linux drops what does not
// fit into its flip buffer; here nothing is dropped, because throttling begins before: a URB goes
// back to the bus only when all of its bytes are in the buffer.
//
// Requests on the control pipe queue up, one of a kind: a line state that was not sent yet is
// replaced by a newer one.
#include "usb/cdc_acm_host.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/bytes.h"
#include "usb/usb_descriptor_walk.h"
#include "usb/usb_setup_codes.h"

namespace millrace::board {
namespace {

constexpr uint8_t kSetLineCoding = 0x20, kSetControlLineState = 0x22;  // PSTN 1.2 table 13
constexpr uint32_t kInPackets = 2, kOutPackets = 20;                   // Linux cdc-acm

uint32_t round_up(uint32_t bytes, uint32_t packet) {
  return (bytes + packet - 1) / packet * packet;
}

const UsbInterfaceInfo* find_interface(const UsbConfigurationInfo& configuration, int number) {
  for (const UsbInterfaceInfo& interface : configuration.interfaces) {
    if (interface.number == number && interface.alternate == 0) return &interface;
  }
  return nullptr;
}

}  // namespace

CdcAcmHost::CdcAcmHost(UsbHost& host)
    : host_(host),
      profile_(host.profile()),
      enumerator_(host, *this),
      buffer_(profile_.tty_buffer_bytes),
      reader_timer_(&CdcAcmHost::reader_free, this) {
  const auto make = [this](std::vector<std::unique_ptr<Transfer>>* list, uint32_t count,
                           Urb::Done done) {
    for (uint32_t i = 0; i < count; ++i) {
      auto transfer = std::make_unique<Transfer>();
      transfer->owner = this;
      transfer->urb.context = transfer.get();
      transfer->urb.done = done;
      list->push_back(std::move(transfer));
    }
  };
  make(&ins_, profile_.in_urbs, &CdcAcmHost::in_done);
  make(&outs_, profile_.out_urbs, &CdcAcmHost::out_done);
  notification_.done = &CdcAcmHost::notification_done;
  notification_.context = this;
  notification_.buffer = notification_bytes_;
  control_.done = &CdcAcmHost::request_done;
  control_.context = this;
}

CdcAcmHost::~CdcAcmHost() {
  host_.stop_timer(reader_timer_);
  host_.forget(control_);
  host_.forget(notification_);
  for (const auto& t : ins_) host_.forget(t->urb);
  for (const auto& t : outs_) host_.forget(t->urb);
}

void CdcAcmHost::changed() {
  if (changed_) changed_();
}

// The first ACM function. Its data interface is the union's; call management's, or the next one, if
// there is no union, as Linux does it.
bool CdcAcmHost::find_function(const UsbConfigurationInfo& configuration) {
  for (const UsbInterfaceInfo& control : configuration.interfaces) {
    if (control.interface_class != usb_class::kCommunications || control.subclass != cdc::kAcm ||
        control.alternate != 0) {
      continue;
    }
    const UsbInterfaceInfo* data = nullptr;
    for (const int number :
         {control.union_subordinate, control.call_management_data, control.number + 1}) {
      if (data == nullptr) data = find_interface(configuration, number);
    }
    if (data == nullptr) continue;
    in_endpoint_ = out_endpoint_ = notify_endpoint_ = 0;
    for (const UsbEndpointInfo& e : data->endpoints) {
      if (e.transfer != UsbTransfer::bulk || !host_.is_open(e.address)) continue;
      uint8_t& endpoint = e.address >= 0x80 ? in_endpoint_ : out_endpoint_;
      if (endpoint == 0) endpoint = e.address;
    }
    for (const UsbEndpointInfo& e : control.endpoints) {
      const bool is_good = e.transfer == UsbTransfer::interrupt && e.address >= 0x80;
      if (is_good && host_.is_open(e.address)) notify_endpoint_ = e.address;
    }
    if (in_endpoint_ == 0 || out_endpoint_ == 0) continue;
    control_interface_ = control.number;
    return true;
  }
  return false;
}

void CdcAcmHost::device_ready(const UsbDeviceInfo& device) {
  if (!find_function(device.configuration)) {
    problem_ = fmt::format(
        "device {:04x}:{:04x} has no CDC-ACM function with two bulk endpoints (choose a serial USB "
        "type for the firmware)",
        device.device.vendor, device.device.product);
    return changed();
  }
  const uint32_t in_packet = host_.pipe(in_endpoint_).max_packet;
  const uint32_t out_packet = host_.pipe(out_endpoint_).max_packet;
  // A buffer that is no multiple of the packet size could overflow.
  in_bytes_ =
      profile_.urb_bytes != 0 ? round_up(profile_.urb_bytes, in_packet) : kInPackets * in_packet;
  out_bytes_ = profile_.out_urb_bytes != 0 ? profile_.out_urb_bytes : kOutPackets * out_packet;
  is_ready_ = true;
  problem_.clear();
  set_line_coding(coding_);  // as Linux when it finds the device
  if (is_open_) {
    submit_in();
    send_lines();
  }
  changed();
}

void CdcAcmHost::device_gone() {
  is_ready_ = false;
  requests_.clear();
  problem_ = "the device was disconnected";
  changed();
}

void CdcAcmHost::device_failed(const std::string& problem) {
  problem_ = problem;
  changed();
}

void CdcAcmHost::open() {
  if (is_open_) return;
  is_open_ = true;
  if (!was_opened_) opened_ns_ = host_.ns();
  was_opened_ = true;
  dtr_ = rts_ = true;
  if (!is_ready_) return;
  submit_in();
  send_lines();
}

void CdcAcmHost::close() {
  if (!is_open_) return;
  is_open_ = false;
  dtr_ = rts_ = false;
  for (const auto& t : ins_) host_.unlink(t->urb);
  host_.unlink(notification_);
  held_.clear();
  for (const auto& t : ins_) t->is_held = false;
  boundaries_.clear();
  taken_ += fill_;
  fill_ = 0;
  host_.stop_timer(reader_timer_);
  send_lines();
}

void CdcAcmHost::set_dtr(bool on) {
  dtr_ = on;
  send_lines();
}

void CdcAcmHost::set_rts(bool on) {
  rts_ = on;
  send_lines();
}

void CdcAcmHost::send_lines() {
  Request r;
  const auto lines = static_cast<uint8_t>((dtr_ ? 1 : 0) | (rts_ ? 2 : 0));
  r.setup = {kClassToInterface, kSetControlLineState, lines, 0, control_interface_, 0, 0, 0};
  request(r);
}

void CdcAcmHost::set_line_coding(const CdcLineCoding& coding) {
  coding_ = coding;
  Request r;
  r.size = 7;
  r.setup = {kClassToInterface, kSetLineCoding, 0, 0, control_interface_, 0, r.size, 0};
  store_le(r.data.data(), 4, coding.baud);
  r.data[4] = coding.stop_bits;
  r.data[5] = coding.parity;
  r.data[6] = coding.data_bits;
  request(r);
}

void CdcAcmHost::request(const Request& r) {
  if (!is_ready_) return;  // device_ready() sends the state again
  for (Request& waiting : requests_) {
    const bool is_same = waiting.setup[0] == r.setup[0] && waiting.setup[1] == r.setup[1] &&
                         (r.setup[0] != kToEndpoint || waiting.setup[4] == r.setup[4]);
    if (!is_same) continue;
    waiting = r;
    return;
  }
  requests_.push_back(r);
  next_request();
}

void CdcAcmHost::next_request() {
  if (requests_.empty() || control_.status == UrbStatus::pending || !is_ready_) return;
  control_request_ = requests_.front();
  requests_.pop_front();
  control_.setup = control_request_.setup;
  control_.buffer = std::span<uint8_t>(control_request_.data).first(control_request_.size);
  host_.submit(control_);
}

void CdcAcmHost::request_done(void* context, Urb& urb) {
  auto* self = static_cast<CdcAcmHost*>(context);
  const auto& setup = self->control_request_.setup;
  if (setup[0] == kToEndpoint && urb.status == UrbStatus::ok) {
    self->host_.clear_halt(setup[4]);
    if (setup[4] == self->in_endpoint_) self->submit_in();
  }
  // A device that refuses a request is none the worse: many know only some of them.
  self->next_request();
}

void CdcAcmHost::submit_in() {
  if (!is_open_ || !is_ready_) return;
  for (const auto& t : ins_) {
    if (t->is_pending() || t->is_held) continue;
    if (t->bytes.size() < in_bytes_) t->bytes.resize(in_bytes_);
    t->urb.endpoint = in_endpoint_;
    t->urb.buffer = std::span<uint8_t>(t->bytes).first(in_bytes_);
    host_.submit(t->urb);
  }
  if (notify_endpoint_ != 0 && notification_.status != UrbStatus::pending) {
    const size_t size = host_.pipe(notify_endpoint_).max_packet;
    notification_.endpoint = notify_endpoint_;
    notification_.buffer =
        std::span<uint8_t>(notification_bytes_).first(std::min(size, notification_bytes_.size()));
    host_.submit(notification_);
  }
}

void CdcAcmHost::in_done(void* context, Urb& urb) {
  auto* transfer = static_cast<Transfer*>(context);
  CdcAcmHost& self = *transfer->owner;
  if (urb.status != UrbStatus::ok) {
    // Taken back by close() or lost with the device; both may have come again since.
    if (urb.status == UrbStatus::unlinked || urb.status == UrbStatus::disconnected) {
      return self.submit_in();
    }
    return self.failed(urb.endpoint, urb.status);
  }
  if (!self.is_open_) return;
  if (urb.actual != 0) ++self.counts_.transfers_in;
  transfer->is_held = true;
  transfer->taken = 0;
  self.held_.push_back(transfer);
  self.take_in();
  if (transfer->is_held) ++self.counts_.throttled;
  self.changed();
}

// Moves what fits from the URBs that are done into the buffer, and gives the emptied ones back.
void CdcAcmHost::take_in() {
  while (!held_.empty()) {
    Transfer& t = *held_.front();
    const size_t size = std::min<size_t>(t.urb.actual - t.taken, buffer_.size() - fill_);
    store({t.bytes.data() + t.taken, size});
    t.taken += static_cast<uint32_t>(size);
    if (t.taken < t.urb.actual) return;
    const bool is_short = t.urb.actual < t.urb.buffer.size();
    if (is_short && profile_.reads_end_at_short != 0 && fill_ != 0 &&
        (boundaries_.empty() || boundaries_.back() != stored_)) {
      boundaries_.push_back(stored_);
    }
    t.is_held = false;
    held_.pop_front();
    if (is_ready_) host_.submit(t.urb);
  }
}

void CdcAcmHost::store(std::span<const uint8_t> bytes) {
  const size_t at = (read_at_ + fill_) % buffer_.size();
  const size_t first = std::min(bytes.size(), buffer_.size() - at);
  std::copy_n(bytes.begin(), first, buffer_.begin() + static_cast<std::ptrdiff_t>(at));
  std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(first), bytes.end(), buffer_.begin());
  fill_ += bytes.size();
  stored_ += bytes.size();
}

// What one read may return.
size_t CdcAcmHost::until_boundary() const {
  return boundaries_.empty() ? fill_ : static_cast<size_t>(boundaries_.front() - taken_);
}

// When the reader looks again; 0: now.
uint64_t CdcAcmHost::busy_until(uint64_t ns) const {
  if (ns < next_read_ns_) return next_read_ns_;
  for (const UsbHostProfile::Stall& stall : profile_.reader_stalls) {
    const uint64_t start = opened_ns_ + uint64_t{stall.start_us} * 1000;
    const uint64_t end = start + uint64_t{stall.length_us} * 1000;
    if (ns >= start && ns < end) return end;
  }
  return 0;
}

void CdcAcmHost::wait_for_reader(uint64_t until) {
  if (!reader_timer_.running()) host_.start_timer(reader_timer_, until - host_.ns());
}

void CdcAcmHost::reader_free(void* context) { static_cast<CdcAcmHost*>(context)->changed(); }

size_t CdcAcmHost::read(std::span<uint8_t> out) {
  const size_t size = std::min(out.size(), until_boundary());
  if (size == 0) return 0;
  const uint64_t now = host_.ns();
  const uint64_t until = busy_until(now);
  if (until != 0) {
    wait_for_reader(until);
    return 0;
  }
  const size_t first = std::min(size, buffer_.size() - read_at_);
  std::copy_n(buffer_.begin() + static_cast<std::ptrdiff_t>(read_at_), first, out.begin());
  std::copy_n(buffer_.begin(), size - first, out.begin() + static_cast<std::ptrdiff_t>(first));
  read_at_ = (read_at_ + size) % buffer_.size();
  fill_ -= size;
  taken_ += size;
  if (!boundaries_.empty() && boundaries_.front() == taken_) boundaries_.pop_front();
  ++counts_.reads;
  counts_.bytes_in += size;
  next_read_ns_ = now + profile_.read_cost_ns;
  take_in();
  if (fill_ != 0 && next_read_ns_ > now) wait_for_reader(next_read_ns_);
  return size;
}

size_t CdcAcmHost::writable() const {
  if (!is_ready_ || !is_open_) return 0;
  size_t free = 0;
  for (const auto& t : outs_) free += t->is_pending() ? 0 : out_bytes_;
  return free;
}

bool CdcAcmHost::is_write_idle() const {
  return std::none_of(outs_.begin(), outs_.end(), [](const auto& t) { return t->is_pending(); });
}

size_t CdcAcmHost::write(std::span<const uint8_t> bytes) {
  size_t written = 0;
  if (!is_ready_ || !is_open_) return written;
  for (const auto& t : outs_) {
    if (written == bytes.size()) break;
    if (t->is_pending()) continue;
    const size_t size = std::min<size_t>(out_bytes_, bytes.size() - written);
    t->bytes.assign(bytes.begin() + static_cast<std::ptrdiff_t>(written),
                    bytes.begin() + static_cast<std::ptrdiff_t>(written + size));
    t->urb.endpoint = out_endpoint_;
    t->urb.buffer = t->bytes;
    host_.submit(t->urb);
    written += size;
  }
  counts_.bytes_out += written;
  return written;
}

void CdcAcmHost::out_done(void* context, Urb& urb) {
  CdcAcmHost& self = *static_cast<Transfer*>(context)->owner;
  const bool is_gone = urb.status == UrbStatus::unlinked || urb.status == UrbStatus::disconnected;
  if (urb.status != UrbStatus::ok && !is_gone) self.failed(urb.endpoint, urb.status);
  self.changed();
}

void CdcAcmHost::notification_done(void* context, Urb& urb) {
  auto* self = static_cast<CdcAcmHost*>(context);
  if (urb.status == UrbStatus::ok) ++self->counts_.notifications;
  const bool is_over = urb.status == UrbStatus::stall || urb.status == UrbStatus::no_answer;
  if (!is_over) self->submit_in();
}

// A halted endpoint is made to go on; the rest cannot be mended by asking again.
void CdcAcmHost::failed(uint8_t endpoint, UrbStatus status) {
  if (status == UrbStatus::stall) {
    ++counts_.stalls;
    Request r;
    r.setup = {kToEndpoint, kClearFeature, 0, 0, endpoint, 0, 0, 0};
    request(r);
  } else {
    problem_ = fmt::format("endpoint 0x{:02x}: {}", endpoint,
                           status == UrbStatus::overflow ? "a packet longer than its buffer came"
                                                         : "no answer, three times");
  }
  changed();
}

}  // namespace millrace::board
