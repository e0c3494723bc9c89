// SPDX-License-Identifier: Apache-2.0
// What the USB driver needs of the chip: the registers of the device controller, its descriptors in
// memory (IMXRT1060RM chapter 42, "USB Controller"), and the operations around them. One
// implementation is the chip (usb_chip.h), another a controller in memory for tests (testing/).
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::rt1062 {

// Offsets, 42.7. ENDPTCTRLn stands 4 n bytes behind endptctrl0.
enum class UsbRegister : uint32_t {
  usbcmd = 0x140,
  usbsts = 0x144,
  usbintr = 0x148,
  deviceaddr = 0x154,
  endptlistaddr = 0x158,
  burstsize = 0x160,
  portsc1 = 0x184,
  otgsc = 0x1a4,
  usbmode = 0x1a8,
  endptsetupstat = 0x1ac,
  endptprime = 0x1b0,
  endptflush = 0x1b4,
  endptstat = 0x1b8,
  endptcomplete = 0x1bc,
  endptctrl0 = 0x1c0,
};

constexpr UsbRegister endpoint_control(uint32_t endpoint) {
  return static_cast<UsbRegister>(static_cast<uint32_t>(UsbRegister::endptctrl0) + 4 * endpoint);
}

constexpr uint32_t USBCMD_RS = 1u << 0;
constexpr uint32_t USBCMD_RST = 1u << 1;
constexpr uint32_t USBCMD_SUTW = 1u << 13;
constexpr uint32_t USBCMD_ATDTW = 1u << 14;
// USBSTS; USBINTR has the enables at the same places.
constexpr uint32_t USBSTS_UI = 1u << 0;
constexpr uint32_t USBSTS_UEI = 1u << 1;
constexpr uint32_t USBSTS_PCI = 1u << 2;
constexpr uint32_t USBSTS_URI = 1u << 6;
constexpr uint32_t USBSTS_SLI = 1u << 8;
constexpr uint32_t DEVICEADDR_USBADRA = 1u << 24;  // takes effect with the status stage
constexpr uint32_t DEVICEADDR_USBADR_SHIFT = 25;
constexpr uint32_t PORTSC1_HSP = 1u << 9;
constexpr uint32_t OTGSC_BSV = 1u << 11;  // VBUS is there
constexpr uint32_t USBMODE_CM = 3u << 0;
constexpr uint32_t USBMODE_CM_DEVICE = 2u << 0;
constexpr uint32_t USBMODE_SLOM = 1u << 3;  // no lockout: the tripwire protects the SETUP bytes
// ENDPTCTRLn: the receive half; the transmit half is 16 bits above.
constexpr uint32_t ENDPTCTRL_STALL = 1u << 0;
constexpr uint32_t ENDPTCTRL_TYPE_SHIFT = 2;
constexpr uint32_t ENDPTCTRL_TOGGLE_RESET = 1u << 6;
constexpr uint32_t ENDPTCTRL_ENABLE = 1u << 7;
constexpr uint32_t ENDPTCTRL_TX_SHIFT = 16;

// Values of the type field, and of bmAttributes in an endpoint descriptor (USB 2.0 table 9-13).
enum class EndpointType : uint8_t { control = 0, isochronous = 1, bulk = 2, interrupt = 3 };

constexpr uint32_t kUsbEndpoints = 8;
constexpr uint8_t kUsbDirectionIn = 0x80;

// Endpoint addresses as in descriptors: the number, with 80h for IN.
constexpr uint32_t endpoint_number(uint8_t address) { return address & 0x0fu; }
constexpr bool endpoint_is_in(uint8_t address) { return (address & kUsbDirectionIn) != 0; }
// The endpoint's bit in ENDPTPRIME, FLUSH, STAT and COMPLETE, and its place in the queue heads.
constexpr uint32_t endpoint_bit(uint8_t address) {
  return 1u << (endpoint_number(address) + (endpoint_is_in(address) ? 16 : 0));
}
constexpr uint32_t endpoint_index(uint8_t address) {
  return 2 * endpoint_number(address) + (endpoint_is_in(address) ? 1 : 0);
}

// dTD, 42.5.5.2. The eighth word is software's: here the bytes asked for.
struct alignas(32) UsbTransferDescriptor {
  volatile uint32_t next;
  volatile uint32_t token;
  volatile uint32_t page[5];
  uint32_t bytes;
};
constexpr uint32_t DTD_TERMINATE = 1u << 0;
constexpr uint32_t DTD_TRANSACTION_ERROR = 1u << 3;
constexpr uint32_t DTD_BUFFER_ERROR = 1u << 5;
constexpr uint32_t DTD_HALTED = 1u << 6;
constexpr uint32_t DTD_ACTIVE = 1u << 7;
constexpr uint32_t DTD_IOC = 1u << 15;
constexpr uint32_t DTD_TOTAL_SHIFT = 16;
constexpr uint32_t DTD_TOTAL_MASK = 0x7fff;
constexpr uint32_t kUsbPage = 4096;
// Five pages hold that much at any alignment.
constexpr uint32_t kMaxTransferBytes = 4 * kUsbPage;

// dQH, 42.5.5.1: 48 bytes, 64 apart.
struct alignas(64) UsbQueueHead {
  volatile uint32_t capabilities;
  volatile uint32_t current;
  volatile uint32_t next;
  volatile uint32_t token;
  volatile uint32_t page[5];
  volatile uint32_t reserved;
  volatile uint32_t setup[2];
  uint32_t unused[4];
};
constexpr uint32_t DQH_IOS = 1u << 15;
constexpr uint32_t DQH_MAX_PACKET_SHIFT = 16;
// Set: a transfer that ends on a full packet is not followed by a zero-length packet on its own.
constexpr uint32_t DQH_ZLT = 1u << 29;

// What the controller reads and writes besides data. Must be in memory that no cache covers.
struct alignas(2048) UsbControlMemory {
  UsbQueueHead heads[2 * kUsbEndpoints];
  UsbTransferDescriptor control[3];
  alignas(32) uint8_t buffer[512];
};

class UsbHardware {
 public:
  // The controller, its clocks and its transceiver, from whatever state: reset, off the bus.
  virtual void power_up() = 0;
  virtual uint32_t read(UsbRegister reg) = 0;
  // Everything written to memory before is there when the controller sees the register change.
  virtual void write(UsbRegister reg, uint32_t value) = 0;
  // What the controller calls that place in memory.
  virtual uint32_t bus_address(const volatile void* place) = 0;
  // The data cache, whole lines around the range: written back before the controller reads, or
  // forgotten before the processor reads what the controller wrote.
  virtual void clean(const void* data, size_t size) = 0;
  virtual void invalidate(void* data, size_t size) = 0;
  // Between them no interrupt handler runs. Nest by giving unlock() what lock() returned.
  virtual uint32_t lock() = 0;
  virtual void unlock(uint32_t state) = 0;
  // Until an interrupt is pending, at once if one is. Called between lock() and unlock(), and only
  // if no other lock is held: handlers may run within.
  virtual void sleep() = 0;

 protected:
  ~UsbHardware() = default;
};

// Whether the host has configured the device. Written by the interrupt handler alone. `number`
// changes whenever the endpoints have lost what was queued: a reset, a new configuration, detach.
struct UsbSession {
  volatile uint32_t number = 0;
  volatile bool open = false;
};

}  // namespace millrace::rt1062
