// SPDX-License-Identifier: Apache-2.0
#include "firmware/ports/rt1062/usb/testing/fake_usb_chip.h"

#include <algorithm>
#include <cstring>

namespace millrace::rt1062 {
namespace {

constexpr uint32_t kToken = 4, kPages = 8;                           // of a dTD
constexpr uint32_t kHeadNext = 8, kHeadToken = 12, kHeadSetup = 40;  // of a dQH
constexpr uint32_t bit_of(uint32_t index) { return 1u << (index / 2 + (index % 2 != 0 ? 16 : 0)); }

}  // namespace

void FakeUsbChip::map(void* start, size_t size, Caching caching) {
  Region region;
  region.address = next_address;
  region.start = static_cast<uint8_t*>(start);
  region.size = size;
  if (caching == Caching::write_back) region.memory.assign(size, kMemoryFill);
  regions.push_back(std::move(region));
  next_address += static_cast<uint32_t>((size + 2 * kUsbPage - 1) / kUsbPage * kUsbPage);
}

FakeUsbChip::Region* FakeUsbChip::region_of(const volatile void* place) {
  const auto* byte = static_cast<const volatile uint8_t*>(place);
  for (Region& region : regions) {
    if (byte >= region.start && byte < region.start + region.size) return &region;
  }
  return nullptr;
}

uint32_t FakeUsbChip::bus_address(const volatile void* place) {
  const Region* region = region_of(place);
  if (region == nullptr) {
    ++bus_errors;
    return 0;
  }
  const auto offset = static_cast<const volatile uint8_t*>(place) - region->start;
  return region->address + static_cast<uint32_t>(offset);
}

uint8_t* FakeUsbChip::dma(uint32_t address, size_t size) {
  for (Region& region : regions) {
    if (address < region.address || address + size > region.address + region.size) continue;
    uint8_t* base = region.memory.empty() ? region.start : region.memory.data();
    return base + (address - region.address);
  }
  ++bus_errors;
  return nullptr;
}

void FakeUsbChip::copy_lines(const void* data, size_t size, bool to_memory) {
  Region* region = region_of(data);
  if (region == nullptr || region->memory.empty()) {
    ++bus_errors;
    return;
  }
  const auto from = static_cast<size_t>(static_cast<const uint8_t*>(data) - region->start);
  const size_t first = from / 32 * 32;
  const size_t end = std::min((from + size + 31) / 32 * 32, region->size);
  uint8_t* memory = region->memory.data() + first;
  uint8_t* cache = region->start + first;
  if (to_memory) {
    std::memcpy(memory, cache, end - first);
  } else {
    std::memcpy(cache, memory, end - first);
  }
}

void FakeUsbChip::clean(const void* data, size_t size) { copy_lines(data, size, true); }
void FakeUsbChip::invalidate(void* data, size_t size) { copy_lines(data, size, false); }

uint32_t FakeUsbChip::load(uint32_t address) {
  uint32_t value = 0;
  if (const uint8_t* place = dma(address, 4)) std::memcpy(&value, place, 4);
  return value;
}

void FakeUsbChip::store(uint32_t address, uint32_t value) {
  if (uint8_t* place = dma(address, 4)) std::memcpy(place, &value, 4);
}

uint32_t FakeUsbChip::head(uint32_t index) { return reg(UsbRegister::endptlistaddr) + 64 * index; }

void FakeUsbChip::power_up() {
  registers.clear();
  for (Queue& queue : queues) queue = Queue();
  reg(UsbRegister::otgsc) = OTGSC_BSV;
}

uint32_t FakeUsbChip::bits(State first, State second) {
  uint32_t value = 0;
  for (uint32_t i = 0; i < 2 * kUsbEndpoints; ++i) {
    if (queues[i].state == first || queues[i].state == second) value |= bit_of(i);
  }
  return value;
}

// Every access of the driver takes time, in which the controller goes on.
void FakeUsbChip::tick() {
  ++accesses;
  if (before_access) before_access();
  for (uint32_t i = 0; i < 2 * kUsbEndpoints; ++i) {
    Queue& queue = queues[i];
    if (queue.state == State::idle || queue.state == State::ready) continue;
    if (queue.accesses_left > 0) {
      --queue.accesses_left;
      continue;
    }
    if (queue.state == State::closing) {
      const bool again = queue.prime_again;
      queue = Queue();
      if (again) begin_prime(i);
    } else if (queue.state == State::fetching) {
      take(i, queue.descriptor);
    } else {
      queue.state = State::idle;
      const uint32_t next = load(head(i) + kHeadNext);
      const uint32_t token = load(head(i) + kHeadToken);
      if ((token & (DTD_HALTED | DTD_ACTIVE)) == 0 && (next & DTD_TERMINATE) == 0) take(i, next);
    }
  }
}

uint32_t FakeUsbChip::read(UsbRegister name) {
  tick();
  if (name == UsbRegister::endptprime) return bits(State::priming, State::fetching);
  if (name == UsbRegister::endptstat) return bits(State::ready, State::closing);
  if (name == UsbRegister::endptflush) return 0;
  return reg(name);
}

void FakeUsbChip::write(UsbRegister name, uint32_t value) {
  tick();
  switch (name) {
    case UsbRegister::usbsts:
    case UsbRegister::endptsetupstat:
    case UsbRegister::endptcomplete:
      reg(name) &= ~value;
      return;
    case UsbRegister::endptprime:
      for (uint32_t i = 0; i < 2 * kUsbEndpoints; ++i) {
        if ((value & bit_of(i)) != 0 && !lose_primes) begin_prime(i);
      }
      return;
    case UsbRegister::endptflush:
      for (uint32_t i = 0; i < 2 * kUsbEndpoints; ++i) {
        if ((value & bit_of(i)) != 0) queues[i] = Queue();
      }
      return;
    case UsbRegister::usbcmd:
      reg(name) = value;
      if (bits(State::closing, State::fetching) != 0) reg(name) &= ~USBCMD_ATDTW;
      return;
    case UsbRegister::deviceaddr:
      staged_address = (value & DEVICEADDR_USBADRA) != 0;
      if (!staged_address) new_address = value >> DEVICEADDR_USBADR_SHIFT;
      reg(name) = value;
      return;
    default:
      reg(name) = value;
  }
}

void FakeUsbChip::begin_prime(uint32_t index) {
  Queue& queue = queues[index];
  if (queue.state == State::closing) {
    queue.prime_again = true;
  } else if (queue.state == State::idle) {
    queue.state = State::priming;
    queue.accesses_left = prime_accesses;
  }
}

void FakeUsbChip::take(uint32_t index, uint32_t descriptor) {
  Queue& queue = queues[index];
  queue.offset = 0;
  queue.descriptor = descriptor;
  queue.state = (load(descriptor + kToken) & DTD_ACTIVE) != 0 ? State::ready : State::idle;
}

void FakeUsbChip::retire(uint32_t index, uint32_t errors) {
  Queue& queue = queues[index];
  uint32_t token = load(queue.descriptor + kToken);
  const uint32_t left = (token >> DTD_TOTAL_SHIFT & DTD_TOTAL_MASK) - queue.offset;
  token = left << DTD_TOTAL_SHIFT | (token & DTD_IOC) | errors;
  store(queue.descriptor + kToken, token);
  store(head(index) + kHeadToken, token);
  const uint32_t next = load(queue.descriptor);
  store(head(index) + kHeadNext, next);
  reg(UsbRegister::usbcmd) &= ~USBCMD_ATDTW;
  if (errors != 0) {
    queue = Queue();
  } else if ((next & DTD_TERMINATE) != 0) {
    queue.state = State::closing;
    queue.accesses_left = close_accesses;
  } else {
    queue.state = State::fetching;
    queue.descriptor = next;
    queue.accesses_left = prime_accesses;
  }
  if ((token & DTD_IOC) != 0 || errors != 0) {
    reg(UsbRegister::endptcomplete) |= bit_of(index);
    raise(errors != 0 ? USBSTS_UI | USBSTS_UEI : USBSTS_UI);
  }
}

void FakeUsbChip::raise(uint32_t status) {
  reg(UsbRegister::usbsts) |= status;
  run_handler();
}

void FakeUsbChip::run_handler() {
  if (locked || in_handler || !handler) return;
  in_handler = true;
  while ((reg(UsbRegister::usbsts) & reg(UsbRegister::usbintr)) != 0) {
    ++interrupts;
    handler();
  }
  in_handler = false;
}

uint32_t FakeUsbChip::lock() {
  const uint32_t state = locked ? 1 : 0;
  locked = true;
  return state;
}

void FakeUsbChip::unlock(uint32_t state) {
  locked = state != 0;
  run_handler();
}

void FakeUsbChip::bus_reset(bool high_speed) {
  for (Queue& queue : queues) queue = Queue();
  new_address = 0;
  staged_address = false;
  reg(UsbRegister::portsc1) = high_speed ? PORTSC1_HSP : 0;
  raise(USBSTS_URI | USBSTS_PCI);
}

void FakeUsbChip::suspend(bool vbus) {
  reg(UsbRegister::otgsc) = vbus ? OTGSC_BSV : 0;
  raise(USBSTS_SLI);
}

// Ends what endpoint 0 was at, and takes its stalls away.
void FakeUsbChip::setup(std::span<const uint8_t, 8> bytes) {
  if (uint8_t* place = dma(head(0) + kHeadSetup, 8)) std::memcpy(place, bytes.data(), 8);
  queues[0] = queues[1] = Queue();
  reg(endpoint_control(0)) &= ~(ENDPTCTRL_STALL | ENDPTCTRL_STALL << ENDPTCTRL_TX_SHIFT);
  reg(UsbRegister::usbcmd) &= ~USBCMD_SUTW;
  reg(UsbRegister::endptsetupstat) |= 1;
  raise(USBSTS_UI);
}

uint8_t* FakeUsbChip::data_at(uint32_t descriptor, uint32_t offset, uint32_t size) {
  const uint32_t position = load(descriptor + kPages) % kUsbPage + offset;
  const uint32_t page = load(descriptor + kPages + 4 * (position / kUsbPage));
  return dma(page / kUsbPage * kUsbPage + position % kUsbPage, size);
}

Handshake FakeUsbChip::in(uint32_t endpoint, std::vector<uint8_t>* packet) {
  packet->clear();
  // A cable's time: what the controller was about to do is done.
  for (int i = 0; i < 8; ++i) tick();
  const uint32_t index = 2 * endpoint + 1;
  const uint32_t control = reg(endpoint_control(endpoint)) >> ENDPTCTRL_TX_SHIFT;
  if (endpoint != 0 && (control & ENDPTCTRL_ENABLE) == 0) return Handshake::timeout;
  if ((control & ENDPTCTRL_STALL) != 0) return Handshake::stall;
  Queue& queue = queues[index];
  if (queue.state != State::ready) return Handshake::nak;
  if (corrupt_next > 0) {
    --corrupt_next;
    retire(index, DTD_HALTED | DTD_BUFFER_ERROR);
    return Handshake::timeout;
  }
  const uint32_t total = load(queue.descriptor + kToken) >> DTD_TOTAL_SHIFT & DTD_TOTAL_MASK;
  const uint32_t largest = load(head(index)) >> DQH_MAX_PACKET_SHIFT & 0x7ff;
  const uint32_t size = std::min(total - queue.offset, largest);
  for (uint32_t i = 0; i < size; ++i) {
    if (const uint8_t* byte = data_at(queue.descriptor, queue.offset + i, 1)) {
      packet->push_back(*byte);
    }
  }
  queue.offset += size;
  if (queue.offset == total) retire(index, 0);
  if (endpoint == 0 && staged_address) {
    staged_address = false;
    new_address = address();
  }
  return Handshake::ack;
}

Handshake FakeUsbChip::out(uint32_t endpoint, std::span<const uint8_t> packet) {
  for (int i = 0; i < 8; ++i) tick();
  const uint32_t index = 2 * endpoint;
  const uint32_t control = reg(endpoint_control(endpoint));
  if (endpoint != 0 && (control & ENDPTCTRL_ENABLE) == 0) return Handshake::timeout;
  if ((control & ENDPTCTRL_STALL) != 0) return Handshake::stall;
  Queue& queue = queues[index];
  if (queue.state != State::ready) return Handshake::nak;
  const uint32_t total = load(queue.descriptor + kToken) >> DTD_TOTAL_SHIFT & DTD_TOTAL_MASK;
  const uint32_t largest = load(head(index)) >> DQH_MAX_PACKET_SHIFT & 0x7ff;
  if (corrupt_next > 0 || packet.size() > total - queue.offset) {
    if (corrupt_next > 0) --corrupt_next;
    retire(index, DTD_HALTED | DTD_BUFFER_ERROR);
    return Handshake::nak;
  }
  for (const uint8_t byte : packet) {
    if (uint8_t* place = data_at(queue.descriptor, queue.offset++, 1)) *place = byte;
  }
  if (queue.offset == total || packet.size() < largest) retire(index, 0);
  return Handshake::ack;
}

}  // namespace millrace::rt1062
