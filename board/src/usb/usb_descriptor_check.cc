// SPDX-License-Identifier: Apache-2.0
// Each finding names the place and the value that would be right. The order is that of the bytes;
// what can only be seen at the end (numbers of interfaces, references between them) comes last.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/bytes.h"
#include "usb/usb_descriptor_walk.h"
#include "usb/usb_descriptors.h"

namespace millrace::board {
namespace {

template <typename... T>
void note(UsbFindings* findings, fmt::format_string<T...> format, T&&... values) {
  if (findings->size() < kMaxFindings) {
    findings->push_back(fmt::format(format, std::forward<T>(values)...));
  }
}

constexpr uint32_t kMinSegment = 1514;  // an Ethernet frame without its CRC

const char* name_of(UsbTransfer transfer) {
  constexpr const char* kNames[] = {"control", "isochronous", "bulk", "interrupt"};
  return kNames[static_cast<size_t>(transfer)];
}

void check_control_packet(uint8_t size, uint32_t version, UsbSpeed speed, UsbFindings* findings) {
  const bool is_allowed =
      size == 64 || (speed == UsbSpeed::full && (size == 8 || size == 16 || size == 32));
  if (!is_allowed) {
    note(findings, "device descriptor: bMaxPacketSize0 is {}, must be {}", size,
         speed == UsbSpeed::high ? "64 at high speed" : "8, 16, 32 or 64");
  }
  if (version < 0x0200 && speed == UsbSpeed::high) {
    note(findings, "device descriptor: bcdUSB is 0x{:04x}, must be 0x0200 or more at high speed",
         version);
  }
}

// The whole configuration while it is walked through.
class ConfigurationCheck {
 public:
  ConfigurationCheck(std::span<const uint8_t> bytes, const UsbDeviceDescriptor& device,
                     UsbSpeed speed, UsbFindings* findings)
      : bytes_(bytes), device_(device), speed_(speed), findings_(findings) {}

  void run() {
    if (!head()) return;
    DescriptorWalk walk(bytes_);
    while (walk.next()) descriptor(walk.descriptor(), walk.offset());
    if (walk.offset() != bytes_.size()) {
      note(findings_, "configuration: at byte {} bLength is {} with {} bytes left", walk.offset(),
           bytes_[walk.offset()], bytes_.size() - walk.offset());
    }
    leave_interface();
    totals();
  }

 private:
  bool head() {
    if (bytes_.size() < 9 || bytes_[0] < 9 || bytes_[1] != usb_descriptor::kConfiguration) {
      note(findings_, "configuration: does not begin with a configuration descriptor of 9 bytes");
      return false;
    }
    if (bytes_[0] != 9) note(findings_, "configuration: bLength is {}, must be 9", bytes_[0]);
    const uint32_t total = load_le(&bytes_[2], 2);
    if (total != bytes_.size()) {
      note(findings_, "configuration: wTotalLength is {}, but {} bytes came", total, bytes_.size());
    }
    if (bytes_[5] == 0) {
      note(findings_, "configuration: bConfigurationValue is 0, which means not configured");
    }
    if ((bytes_[7] & 0x9F) != 0x80) {
      note(findings_, "configuration: bmAttributes is 0x{:02x}, bit 7 must be 1, bits 4..0 0",
           bytes_[7]);
    }
    if (bytes_[8] > 250) {
      note(findings_, "configuration: bMaxPower is {} mA, more than the 500 mA of a port",
           2 * bytes_[8]);
    }
    return true;
  }

  void descriptor(std::span<const uint8_t> d, size_t offset) {
    switch (d[1]) {
      case usb_descriptor::kConfiguration:
        if (offset != 0) note(findings_, "configuration: another one at byte {}", offset);
        return;
      case usb_descriptor::kInterface:
        return interface(d, offset);
      case usb_descriptor::kEndpoint:
        return endpoint(d, offset);
      case usb_descriptor::kAssociation:
        return association(d, offset);
      case usb_descriptor::kClassInterface:
        return functional(d, offset);
      case usb_descriptor::kDevice:
      case usb_descriptor::kString:
      case usb_descriptor::kDeviceQualifier:
        return note(findings_,
                    "configuration: a descriptor of type {} at byte {} has no place here", d[1],
                    offset);
      default:
        return;  // of a class that is not known here
    }
  }

  // ECN "Interface Association Descriptor", table 9-Z.
  void association(std::span<const uint8_t> d, size_t offset) {
    leave_interface();
    if (d.size() != 8) {
      return note(findings_, "interface association at byte {}: bLength is {}, must be 8", offset,
                  d.size());
    }
    if (d[3] == 0)
      note(findings_, "interface association at byte {}: bInterfaceCount is 0", offset);
    if (d[4] == 0) note(findings_, "interface association at byte {}: bFunctionClass is 0", offset);
    for (unsigned i = d[2]; i < d[2] + d[3] && i < 256; ++i) {
      if (associated_[i]) note(findings_, "interface {}: is in two associations", i);
      associated_[i] = true;
    }
    if (!has_association_ && (device_.device_class != usb_class::kMiscellaneous ||
                              device_.subclass != 2 || device_.protocol != 1)) {
      note(findings_,
           "interface association at byte {}: the device class must be EF/02/01, is "
           "{:02X}/{:02X}/{:02X}",
           offset, device_.device_class, device_.subclass, device_.protocol);
    }
    has_association_ = true;
    if (seen_[d[2]]) {
      note(findings_, "interface association at byte {}: must come before its interface {}", offset,
           d[2]);
    }
  }

  void interface(std::span<const uint8_t> d, size_t offset) {
    leave_interface();
    if (d.size() < 9) {
      return note(findings_, "interface descriptor at byte {}: bLength is {}, must be 9", offset,
                  d.size());
    }
    inside_ = true;
    number_ = d[2];
    alternate_ = d[3];
    class_ = d[5];
    subclass_ = d[6];
    endpoints_expected_ = d[4];
    endpoints_found_ = 0;
    bulk_ = 0;
    in_interface_.fill(false);
    functional_ = Functional();
    if (alternate_ == 0 && seen_[number_]) note(findings_, "interface {}: is there twice", number_);
    if (alternate_ != 0 && !seen_[number_]) {
      note(findings_, "interface {}: alternate setting {} comes before setting 0", number_,
           alternate_);
    }
    seen_[number_] = true;
    classes_[number_] = class_;
    protocols_[number_] = d[7];
  }

  void leave_interface() {
    if (!inside_) return;
    inside_ = false;
    data_endpoints_[number_].push_back(bulk_);
    if (endpoints_found_ != endpoints_expected_) {
      note(findings_, "interface {}: bNumEndpoints is {}, but {} follow", number_,
           endpoints_expected_, endpoints_found_);
    }
    if (class_ == usb_class::kCommunications && alternate_ == 0) communications();
  }

  // CDC 1.2 5.2.3: header first, then a union; ACM: PSTN 1.2 5.3 wants the other two as well, ECM
  // 1.2 5.4 and NCM 1.0 5.2 those of networking.
  void communications() {
    if (!functional_.header) {
      note(findings_, "interface {}: has no CDC header functional descriptor", number_);
    }
    if (!functional_.has_union) {
      note(findings_, "interface {}: has no CDC union functional descriptor", number_);
    }
    if (subclass_ == cdc::kEcm || subclass_ == cdc::kNetworkControl) network();
    if (subclass_ != cdc::kAcm) return;
    if (!functional_.call_management) {
      note(findings_, "interface {}: has no CDC call management functional descriptor", number_);
    }
    if (!functional_.acm) {
      note(findings_, "interface {}: has no CDC abstract control functional descriptor", number_);
    }
  }

  void network() {
    if (!functional_.ethernet) {
      note(findings_, "interface {}: has no CDC Ethernet networking functional descriptor",
           number_);
    }
    if (subclass_ == cdc::kNetworkControl && !functional_.ncm) {
      note(findings_, "interface {}: has no CDC NCM functional descriptor", number_);
    }
    // NCM 1.0 5.3 needs the notifications of 6.1; for ECM they are optional.
    if (subclass_ == cdc::kNetworkControl && endpoints_found_ == 0) {
      note(findings_, "interface {}: has no notification endpoint, which NCM needs", number_);
    }
    if (functional_.data >= 0) networks_.push_back({number_, functional_.data, subclass_});
  }

  // ECM 1.2 table 3.
  void ethernet(std::span<const uint8_t> d) {
    functional_.ethernet = true;
    if (!length(d, 13, "CDC Ethernet networking")) return;
    if (d[3] == 0) {
      note(findings_, "interface {}: iMACAddress is 0, but there must be a string", number_);
    }
    const uint32_t segment = load_le(&d[8], 2);
    if (segment < kMinSegment) {
      note(findings_, "interface {}: wMaxSegmentSize is {}, must be at least {}", number_, segment,
           kMinSegment);
    }
  }

  void functional(std::span<const uint8_t> d, size_t offset) {
    if (!inside_) return note(findings_, "class descriptor at byte {}: is in no interface", offset);
    if (class_ != usb_class::kCommunications) return;
    if (d.size() < 3) {
      return note(findings_, "interface {}: a functional descriptor of {} bytes", number_,
                  d.size());
    }
    const bool is_first = functional_.count++ == 0;
    switch (d[2]) {
      case cdc::kHeader:
        functional_.header = true;
        length(d, 5, "CDC header");
        if (!is_first) note(findings_, "interface {}: the CDC header must come first", number_);
        return;
      case cdc::kCallManagement:
        functional_.call_management = true;
        if (length(d, 5, "CDC call management") && (d[3] & 2) != 0) refer(d[4], "call management");
        return;
      case cdc::kAbstractControl:
        functional_.acm = true;
        length(d, 4, "CDC abstract control");
        return;
      case cdc::kUnion:
        functional_.has_union = true;
        if (d.size() < 5) {
          return note(findings_, "interface {}: the CDC union has {} bytes, at least 5 are needed",
                      number_, d.size());
        }
        if (d[3] != number_) {
          note(findings_, "interface {}: the CDC union's control interface is {}", number_, d[3]);
        }
        functional_.data = d[4];
        for (size_t i = 4; i < d.size(); ++i) refer(d[i], "union");
        return;
      case cdc::kEthernet:
        return ethernet(d);
      case cdc::kNcm:
        functional_.ncm = true;
        length(d, 6, "CDC NCM");
        return;
      default:
        return;
    }
  }

  bool length(std::span<const uint8_t> d, size_t size, const char* name) {
    if (d.size() == size) return true;
    note(findings_, "interface {}: the {} descriptor has {} bytes, must have {}", number_, name,
         d.size(), size);
    return d.size() > size;
  }

  struct Network {
    uint8_t control;
    int data;
    uint8_t subclass;
  };

  struct Reference {
    uint8_t from;
    uint8_t to;
    const char* by;
  };

  void refer(uint8_t to, const char* by) {
    if (references_.size() < 256) references_.push_back({number_, to, by});
  }

  void endpoint(std::span<const uint8_t> d, size_t offset) {
    if (!inside_) {
      return note(findings_, "endpoint descriptor at byte {}: is in no interface", offset);
    }
    ++endpoints_found_;
    if (d.size() < 7) {
      return note(findings_, "endpoint descriptor at byte {}: bLength is {}, must be 7", offset,
                  d.size());
    }
    const UsbEndpointInfo e = read_endpoint(d);
    if ((e.address & 15) == 0) {
      note(findings_, "endpoint 0x{:02x}: number 0 is the control endpoint", e.address);
    } else if ((e.address & 15) >= kUsbEndpoints) {
      note(findings_, "endpoint 0x{:02x}: the controller has endpoints 0 to {}", e.address,
           kUsbEndpoints - 1);
    }
    if ((e.address & 0x70) != 0) {
      note(findings_, "endpoint 0x{:02x}: bits 6..4 of bEndpointAddress must be 0", e.address);
    }
    const unsigned index = (e.address & 15u) * 2 + (e.address >> 7);
    // Alternate settings of one interface share endpoints, others must not.
    if (in_interface_[index] || (owner_[index] >= 0 && owner_[index] != number_)) {
      note(findings_, "endpoint 0x{:02x}: is there twice", e.address);
    }
    in_interface_[index] = true;
    if (e.transfer == UsbTransfer::bulk) bulk_ |= e.address >= 0x80 ? 2u : 1u;
    owner_[index] = number_;
    packet_size(e, load_le(&d[4], 2));
  }

  // 5.5.3, 5.6.3, 5.7.3, 5.8.3; intervals of table 9-13.
  void packet_size(const UsbEndpointInfo& e, uint32_t word) {
    const bool high = speed_ == UsbSpeed::high;
    const uint32_t size = e.max_packet;
    const char* const speed = high ? "high" : "full";
    switch (e.transfer) {
      case UsbTransfer::bulk:
        if (high ? word != 512 : word != 8 && word != 16 && word != 32 && word != 64) {
          note(findings_,
               "endpoint 0x{:02x}: wMaxPacketSize is {}, must be {} for bulk at {} speed",
               e.address, word, high ? "512" : "8, 16, 32 or 64", speed);
        }
        return;
      case UsbTransfer::interrupt:
        if (size > (high ? 1024u : 64u) || size == 0) {
          note(findings_,
               "endpoint 0x{:02x}: wMaxPacketSize is {}, must be 1 to {} for interrupt "
               "at {} speed",
               e.address, size, high ? 1024 : 64, speed);
        }
        break;
      case UsbTransfer::isochronous:
        if (size > (high ? 1024u : 1023u)) {
          note(findings_,
               "endpoint 0x{:02x}: wMaxPacketSize is {}, at most {} for isochronous at "
               "{} speed",
               e.address, size, high ? 1024 : 1023, speed);
        }
        break;
      default:
        note(findings_, "endpoint 0x{:02x}: is a control endpoint besides 0", e.address);
        return;
    }
    if (word >> 13 != 0 || e.extra == 3 || (!high && e.extra != 0)) {
      note(findings_, "endpoint 0x{:02x}: wMaxPacketSize is 0x{:04x}, bits 15..11 must be 0 here",
           e.address, word);
    }
    const bool in_powers = high || e.transfer == UsbTransfer::isochronous;
    if (e.interval == 0 || (in_powers && e.interval > 16)) {
      note(findings_, "endpoint 0x{:02x}: bInterval is {}, must be 1 to {} for {} at {} speed",
           e.address, e.interval, in_powers ? 16 : 255, name_of(e.transfer), speed);
    }
  }

  void totals() {
    const auto count = std::count(seen_.begin(), seen_.end(), true);
    if (bytes_[4] != count) {
      note(findings_, "configuration: bNumInterfaces is {}, but there are {}", bytes_[4], count);
    }
    for (unsigned i = 0; i < 256; ++i) {
      if (seen_[i] && i >= bytes_[4] && bytes_[4] == count) {
        note(findings_, "interface {}: numbers must run from 0 to {}", i, count - 1);
      }
      if (associated_[i] && !seen_[i]) {
        note(findings_, "interface {}: is in an association, but there is no such interface", i);
      }
    }
    for (const Network& n : networks_) data_of_network(n);
    for (const Reference& r : references_) {
      if (!seen_[r.to]) {
        note(findings_, "interface {}: the CDC {} names interface {}, which is not there", r.from,
             r.by, r.to);
      } else if (r.to == r.from) {
        note(findings_, "interface {}: the CDC {} names the interface itself", r.from, r.by);
      } else if (classes_[r.to] != usb_class::kCdcData) {
        note(findings_, "interface {}: the CDC {} names interface {}, whose class is {}, not {}",
             r.from, r.by, r.to, classes_[r.to], usb_class::kCdcData);
      }
    }
  }

  // ECM 1.2 3.3, NCM 1.0 5.3: setting 0 has no endpoints, so that the host can stop the traffic;
  // the first that has both bulk endpoints is for data.
  void data_of_network(const Network& n) {
    const auto& settings = data_endpoints_[static_cast<size_t>(n.data)];
    if (settings.empty()) return;  // not there, which is said below
    const auto data = std::find(settings.begin(), settings.end(), 3u);
    if (data == settings.end()) {
      note(findings_,
           "interface {}: has no alternate setting with a bulk IN and a bulk OUT endpoint", n.data);
    } else if (settings.front() != 0) {
      note(findings_,
           "interface {}: alternate setting 0 of a network's data has endpoints, must "
           "have none",
           n.data);
    } else if (n.subclass == cdc::kNetworkControl && data - settings.begin() != 1) {
      note(findings_,
           "interface {}: the endpoints of NCM's data are in the wrong alternate setting, "
           "must be in 1",
           n.data);
    }
    const uint8_t protocol = protocols_[static_cast<size_t>(n.data)];
    if (n.subclass == cdc::kNetworkControl && protocol != cdc::kNtbProtocol) {
      note(findings_, "interface {}: bInterfaceProtocol of NCM's data is {}, must be {}", n.data,
           protocol, cdc::kNtbProtocol);
    }
  }

  struct Functional {
    unsigned count = 0;
    bool header = false, has_union = false, call_management = false, acm = false;
    bool ethernet = false, ncm = false;
    int data = -1;  // of the union
  };

  std::span<const uint8_t> bytes_;
  const UsbDeviceDescriptor& device_;
  UsbSpeed speed_;
  UsbFindings* findings_;
  bool has_association_ = false;
  bool inside_ = false;  // an interface
  uint8_t number_ = 0, alternate_ = 0, class_ = 0, subclass_ = 0;
  unsigned endpoints_expected_ = 0, endpoints_found_ = 0;
  Functional functional_;
  std::array<bool, 256> seen_{}, associated_{};
  std::array<uint8_t, 256> classes_{};
  std::array<bool, 32> in_interface_{};
  std::array<int, 32> owner_ = filled(-1);
  std::vector<Reference> references_;
  std::vector<Network> networks_;
  unsigned bulk_ = 0;                                      // of the setting: 1 OUT, 2 IN
  std::array<std::vector<unsigned>, 256> data_endpoints_;  // of each interface, by setting
  std::array<uint8_t, 256> protocols_{};

  static std::array<int, 32> filled(int value) {
    std::array<int, 32> array;
    array.fill(value);
    return array;
  }
};

}  // namespace

void check_device_descriptor(std::span<const uint8_t> d, UsbSpeed speed, UsbFindings* findings) {
  if (d.size() < 18) {
    return note(findings, "device descriptor: has {} bytes, must have 18", d.size());
  }
  if (d[0] != 18) note(findings, "device descriptor: bLength is {}, must be 18", d[0]);
  if (d[1] != usb_descriptor::kDevice) {
    note(findings, "device descriptor: bDescriptorType is {}, must be 1", d[1]);
  }
  check_control_packet(d[7], load_le(&d[2], 2), speed, findings);
  if (d[4] == 0 && (d[5] != 0 || d[6] != 0)) {
    note(findings, "device descriptor: bDeviceClass is 0, so subclass {} and protocol {} must be 0",
         d[5], d[6]);
  }
  if (d[17] == 0) note(findings, "device descriptor: bNumConfigurations is 0");
}

void check_device_qualifier(std::span<const uint8_t> d, std::span<const uint8_t> device,
                            UsbFindings* findings) {
  if (d.size() < 10) {
    return note(findings, "device qualifier: has {} bytes, must have 10", d.size());
  }
  if (d[0] != 10) note(findings, "device qualifier: bLength is {}, must be 10", d[0]);
  if (d[1] != usb_descriptor::kDeviceQualifier) {
    note(findings, "device qualifier: bDescriptorType is {}, must be 6", d[1]);
  }
  if (device.size() >= 18 && load_le(&d[2], 2) != load_le(&device[2], 2)) {
    note(findings, "device qualifier: bcdUSB is 0x{:04x}, the device descriptor has 0x{:04x}",
         load_le(&d[2], 2), load_le(&device[2], 2));
  }
  if (d[7] != 8 && d[7] != 16 && d[7] != 32 && d[7] != 64) {
    note(findings, "device qualifier: bMaxPacketSize0 is {}, must be 8, 16, 32 or 64", d[7]);
  }
  if (d[8] == 0) note(findings, "device qualifier: bNumConfigurations is 0");
  if (d[9] != 0) note(findings, "device qualifier: bReserved is {}, must be 0", d[9]);
}

void check_configuration(std::span<const uint8_t> bytes, const UsbDeviceDescriptor& device,
                         UsbSpeed speed, UsbFindings* findings) {
  ConfigurationCheck(bytes, device, speed, findings).run();
}

void check_string_descriptor(unsigned index, std::span<const uint8_t> d, UsbFindings* findings) {
  if (d.size() < 2 || d[0] < 2 || d[1] != usb_descriptor::kString) {
    return note(findings, "string {}: is no string descriptor", index);
  }
  if (d[0] != d.size()) {
    note(findings, "string {}: bLength is {}, but {} bytes came", index, d[0], d.size());
  }
  if (d[0] % 2 != 0) note(findings, "string {}: bLength is {}, must be even", index, d[0]);
  if (index == 0 && d[0] < 4) note(findings, "string 0: has no language");
}

}  // namespace millrace::board
