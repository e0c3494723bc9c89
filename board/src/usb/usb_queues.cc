// SPDX-License-Identifier: Apache-2.0
// The memory side of the endpoints: priming, fetching, retiring.
//
// ENDPTPRIME starts `priming`; usb_prime_cycles later the queue head and the first descriptor are
// read, ENDPTPRIME clears and ENDPTSTAT sets. When a descriptor is done its token is written back,
// and its next pointer is read from memory *then*, so that a descriptor which software has appended
// meanwhile is found. If there is one, ENDPTPRIME sets again for usb_dtd_fetch_cycles ("momentarily
// set by hardware", 42.7 ENDPTPRIME). If there is none, the endpoint is `closing` for
// usb_retire_cycles: ENDPTSTAT still reads 1, but a descriptor that is appended now goes unnoticed.
// While an endpoint fetches or closes, USBCMD.ATDTW does not stay set: that is what the add-dTD
// tripwire is for (42.5.6.6.3), and a driver without it loses descriptors here as on the chip.
//
// Every step through a list takes an event at a later time and then waits for a packet, so that a
// list which loops or points nowhere ends at the first descriptor that is not active. All queues
// share one event, at the earliest step.
//
// Choices where the manual is silent:
//   - Data is read from memory when the IN token comes, not as the transmit buffer fills before.
//   - A dTD is retired for OUT as its bytes are full, also if dQH.ZLT is 0.
//   - Priming an endpoint that is primed already does nothing.
//   - Memory that is not there sets USBSTS.SEI and UEI, and ends the list.
#include <algorithm>
#include <cstring>

#include "core/bytes.h"
#include "usb/usb_endpoints.h"
#include "usb/usb_otg_registers.h"

namespace millrace::board {

namespace {

constexpr uint32_t kBufferPage = 4096;

}  // namespace

UsbEndpoints::UsbEndpoints(DeviceHost& host, const Timing& timing, Owner& owner)
    : host_(host), timing_(timing), owner_(owner), event_(&UsbEndpoints::on_event, this) {
  reset();
}

void UsbEndpoints::reset() {
  queues_.fill(Queue());
  control_.fill(0);
  control_[0] = usb::kEnable | usb::kEnable << usb::kTxShift;  // always
  prime_ = flush_ = stat_ = complete_ = setup_stat_ = nak_ = tripwires_ = list_ = mode_ = 0;
  high_speed_ = any_isochronous_ = false;
  host_.events().cancel(event_);
}

void UsbEndpoints::bus_reset() {
  for (unsigned i = 0; i < queues_.size(); ++i) stop(i);
  schedule();
}

void UsbEndpoints::on_event(void* context, Cycles when) {
  UsbEndpoints& self = *static_cast<UsbEndpoints*>(context);
  for (unsigned i = 0; i < self.queues_.size(); ++i) {
    Queue& queue = self.queues_[i];
    if (queue.due > when) continue;
    if (queue.state == State::priming) {
      self.finish_prime(i, when);
    } else if (queue.state == State::fetching) {
      self.load(i, queue.descriptor, when);
    } else if (queue.state == State::closing) {
      self.close(i, when);
    }
  }
  self.schedule();
}

void UsbEndpoints::schedule() {
  Cycles first = kNever;
  for (const Queue& queue : queues_) {
    if (queue.state == State::idle || queue.state == State::ready) continue;
    first = std::min(first, queue.due);
  }
  if (first == kNever) {
    host_.events().cancel(event_);
  } else {
    host_.events().schedule(event_, first);
  }
}

void UsbEndpoints::wait(unsigned index, State state, Cycles due) {
  queues_[index].state = state;
  queues_[index].due = due;
  if (!event_.scheduled() || event_.when() > due) host_.events().schedule(event_, due);
}

void UsbEndpoints::write_prime(uint32_t bits, Cycles now) {
  for (unsigned i = 0; i < queues_.size(); ++i) {
    if ((bits & bit(i)) == 0) continue;
    Queue& queue = queues_[i];
    if (queue.state == State::idle) {
      queue.cancelled = false;
      wait(i, State::priming, now + timing_.usb_prime_cycles);
      prime_ |= bit(i);
    } else if (queue.state == State::closing) {
      queue.prime_again = true;
      prime_ |= bit(i);
    }
  }
}

void UsbEndpoints::write_flush(uint32_t bits, Cycles now) {
  for (unsigned i = 0; i < queues_.size(); ++i) {
    if ((bits & bit(i)) == 0) continue;
    if (queues_[i].in_flight) {
      flush_ |= bit(i);  // 42.5.6.6.5: a packet in progress is finished first
    } else {
      flush_now(i, now);
    }
  }
  schedule();
}

void UsbEndpoints::flush_now(unsigned index, Cycles now) {
  const bool answered = queues_[index].state == State::ready;
  stop(index);
  if (answered) owner_.endpoint_changed(index / 2, index % 2 != 0, now);
}

// De-primes; what was moved of the descriptor stays moved.
void UsbEndpoints::stop(unsigned index) {
  Queue& queue = queues_[index];
  queue.state = State::idle;
  queue.in_flight = queue.prime_again = queue.in_frame = false;
  prime_ &= ~bit(index);
  stat_ &= ~bit(index);
  flush_ &= ~bit(index);
}

void UsbEndpoints::close(unsigned index, Cycles now) {
  const bool again = queues_[index].prime_again;
  stop(index);
  tripwires_ &= ~usb::kAtdtw;
  if (again) write_prime(bit(index), now);
}

void UsbEndpoints::bus_error(unsigned index, Cycles now) {
  stop(index);
  owner_.raise(usb::kSei | usb::kUei, now);
}

void UsbEndpoints::finish_prime(unsigned index, Cycles now) {
  Queue& queue = queues_[index];
  const bool setup_waits =
      (half_control(index) & usb::kType) == usb::kControl && (setup_stat_ & 1u << index / 2) != 0;
  if (queue.cancelled || setup_waits) return stop(index);  // 42.5.6.4.2: the prime fails
  std::array<uint8_t, 36> bytes;
  if (!host_.dma_read(head(index), bytes.data(), bytes.size())) return bus_error(index, now);
  const uint32_t capabilities = load_le32(&bytes[0]);
  const uint32_t max_packet = capabilities >> usb::kQhMpsShift & usb::kQhMpsMask;
  // A prime fails if dQH or dTD were set up improperly.
  if (max_packet == 0 || max_packet > kUsbMaxPacket) return stop(index);
  queue.max_packet = static_cast<uint16_t>(max_packet);
  queue.zero_length_end = (capabilities & usb::kQhZlt) == 0;
  queue.mult = static_cast<uint8_t>(capabilities >> usb::kQhMultShift);
  const uint32_t token = load_le32(&bytes[usb::kQhToken]);
  if ((token & usb::kTokenHalted) != 0) return stop(index);
  if ((token & usb::kTokenActive) != 0) {  // the overlay is still to be executed
    queue.descriptor = load_le32(&bytes[usb::kQhCurrent]) & usb::kTdAddress;
    std::array<uint32_t, 7> words;
    for (unsigned i = 0; i < words.size(); ++i) words[i] = load_le32(&bytes[usb::kQhNext + 4 * i]);
    return take(index, words, now);
  }
  const uint32_t next = load_le32(&bytes[usb::kQhNext]);
  if ((next & usb::kTerminate) != 0) return stop(index);
  load(index, next & usb::kTdAddress, now);
}

void UsbEndpoints::load(unsigned index, uint32_t descriptor, Cycles now) {
  std::array<uint8_t, usb::kTdBytes> bytes;
  if (!host_.dma_read(descriptor, bytes.data(), bytes.size())) return bus_error(index, now);
  std::array<uint32_t, 7> words;
  for (unsigned i = 0; i < words.size(); ++i) words[i] = load_le32(&bytes[size_t{4} * i]);
  if ((words[1] & usb::kTokenActive) == 0) return stop(index);
  queues_[index].descriptor = descriptor;
  std::array<uint8_t, 4 + usb::kTdBytes> overlay;
  store_le32(overlay.data(), descriptor);
  std::memcpy(&overlay[4], bytes.data(), bytes.size());
  if (!host_.dma_write(head(index) + usb::kQhCurrent, overlay.data(), overlay.size())) {
    return bus_error(index, now);
  }
  take(index, words, now);
}

void UsbEndpoints::take(unsigned index, std::span<const uint32_t, 7> words, Cycles now) {
  Queue& queue = queues_[index];
  queue.token = words[1];
  std::copy(words.begin() + 2, words.end(), queue.pages.begin());
  queue.offset = 0;
  queue.remaining = queue.token >> usb::kTokenTotalShift & usb::kTokenTotalMask;
  const uint32_t override = queue.token >> usb::kTokenMultShift & 3;
  queue.packets_left =
      static_cast<uint8_t>(override != 0 ? override : std::max<uint32_t>(queue.mult, 1));
  queue.in_frame = false;
  queue.state = State::ready;
  queue.data_ready = now;
  prime_ &= ~bit(index);
  stat_ |= bit(index);
  owner_.endpoint_changed(index / 2, index % 2 != 0, now);
}

// 42.5.5.2: the low 12 bits of the first pointer are the offset; the others are page addresses
// whose low bits do not count.
bool UsbEndpoints::move_data(const Queue& queue, uint8_t* in, const uint8_t* out, uint32_t size) {
  uint32_t position = queue.pages[0] % kBufferPage + queue.offset;
  for (uint32_t done = 0; done < size;) {
    const uint32_t page = position / kBufferPage;
    if (page >= queue.pages.size()) return false;
    const uint32_t address = queue.pages[page] / kBufferPage * kBufferPage + position % kBufferPage;
    const uint32_t part = std::min(size - done, kBufferPage - position % kBufferPage);
    const bool there = out == nullptr ? host_.dma_read(address, in + done, part)
                                      : host_.dma_write(address, out + done, part);
    if (!there) return false;
    done += part;
    position += part;
  }
  return true;
}

// 42.5.6.3: the token goes back to the descriptor and to the queue head's overlay.
void UsbEndpoints::retire(unsigned index, uint32_t status, bool short_packet, Cycles now) {
  Queue& queue = queues_[index];
  const uint32_t token =
      (queue.token & ~(usb::kTokenActive | usb::kTokenTotalMask << usb::kTokenTotalShift)) |
      queue.remaining << usb::kTokenTotalShift | status;
  std::array<uint8_t, 8> bytes;
  bool there = host_.dma_read(queue.descriptor + usb::kTdNext, bytes.data(), 4);
  const uint32_t next = load_le32(bytes.data());
  store_le32(&bytes[4], token);
  there = host_.dma_write(queue.descriptor + usb::kTdToken, &bytes[4], 4) && there;
  there = host_.dma_write(head(index) + usb::kQhNext, bytes.data(), bytes.size()) && there;
  uint32_t raised = status != 0 ? usb::kUei : 0;
  // USBSTS.UI: IOC, or a short packet was detected.
  if ((token & usb::kTokenIoc) != 0 || short_packet) raised |= usb::kUi;
  if (raised != 0) complete_ |= bit(index);
  tripwires_ &= ~usb::kAtdtw;
  if (!there) {
    stop(index);
    raised |= usb::kSei | usb::kUei;
  } else if ((next & usb::kTerminate) != 0) {
    wait(index, State::closing, now + timing_.usb_retire_cycles);
  } else {
    queue.descriptor = next & usb::kTdAddress;
    stat_ &= ~bit(index);
    prime_ |= bit(index);
    wait(index, State::fetching, now + timing_.usb_dtd_fetch_cycles);
  }
  if (raised != 0) owner_.raise(raised, now);
}

// 42.5.6.7.6: the error halts the queue head, which stays at the descriptor in error; descriptors
// behind it are not executed. A failed dTD is complete, too.
void UsbEndpoints::fail(unsigned index, uint32_t status, Cycles now) {
  Queue& queue = queues_[index];
  const uint32_t token =
      (queue.token & ~(usb::kTokenActive | usb::kTokenTotalMask << usb::kTokenTotalShift)) |
      queue.remaining << usb::kTokenTotalShift | status | usb::kTokenHalted;
  std::array<uint8_t, 4> bytes;
  store_le32(bytes.data(), token);
  // Memory that was there when the descriptor was fetched; FlexRAM may have been taken away since.
  static_cast<void>(host_.dma_write(queue.descriptor + usb::kTdToken, bytes.data(), 4));
  static_cast<void>(host_.dma_write(head(index) + usb::kQhToken, bytes.data(), 4));
  complete_ |= bit(index);
  stop(index);
  owner_.raise(usb::kUei | ((token & usb::kTokenIoc) != 0 ? usb::kUi : 0), now);
}

void UsbEndpoints::snapshot(Snapshot& s) {
  for (Queue& queue : queues_) {
    s.field("state", queue.state);
    s.field("toggle", queue.toggle);
    s.field("in_flight", queue.in_flight);
    s.field("prime_again", queue.prime_again);
    s.field("cancelled", queue.cancelled);
    s.field("zero_length_end", queue.zero_length_end);
    s.field("in_frame", queue.in_frame);
    s.field("packets_left", queue.packets_left);
    s.field("mult", queue.mult);
    s.field("flight_bytes", queue.flight_bytes);
    s.field("max_packet", queue.max_packet);
    s.field("due", queue.due);
    s.field("data_ready", queue.data_ready);
    s.field("descriptor", queue.descriptor);
    s.field("token", queue.token);
    s.field("pages", queue.pages);
    s.field("offset", queue.offset);
    s.field("remaining", queue.remaining);
    if (queue.state > State::closing) s.fail("state", "is not one of the states");
    if (queue.max_packet > kUsbMaxPacket) s.fail("max_packet", "is too large");
    if (queue.in_flight && queue.flight_bytes > queue.remaining)
      s.fail("flight_bytes", "is too large");
  }
  s.field("control", control_);
  s.field("prime", prime_);
  s.field("flush", flush_);
  s.field("stat", stat_);
  s.field("complete", complete_);
  s.field("setup_stat", setup_stat_);
  s.field("nak", nak_);
  s.field("tripwires", tripwires_);
  s.field("list", list_);
  s.field("mode", mode_);
  s.field("high_speed", high_speed_);
  s.field("any_isochronous", any_isochronous_);
  host_.events().snapshot(s, event_);
}

}  // namespace millrace::board
