// SPDX-License-Identifier: Apache-2.0
// Both ends of the cable at once: the host with its drivers (a serial port, or a USB/IP client)
// against the chip's controller with a firmware that does anything. The firmware answers requests
// as a Teensy does, so that inputs get past enumeration, but with descriptors that the input
// alters, and between that it writes registers, queue heads and descriptors at random, changes the
// core's clock and stops its transceiver. No crash, no hang, no endless list, no access outside of
// memory, and a cable that is pulled gives every URB back.
//
// Input: a byte of flags, a count and as many (offset, value) of descriptor bytes, then actions.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "devices/clocks.h"
#include "usb/cdc_acm_host.h"
#include "usb/testing/fake_usb_device.h"
#include "usb/testing/usb_ip_bytes.h"
#include "usb/testing/usb_otg_fuzzing.h"
#include "usb/usb_host.h"
#include "usb/usb_ip_server.h"
#include "usb/usb_otg.h"
#include "usb/usb_otg_registers.h"

namespace {

using namespace millrace::board;  // NOLINT: a fuzz target
using testing::Bytes;
using testing::require;
using Chip = testing::FuzzedChip<65536>;
using Input = testing::FuzzInput;

constexpr uint32_t kMemory = Chip::kMemory;
constexpr uint32_t kTds = kMemory + 0x1000, kData = kMemory + 0x4000;
constexpr Cycles kUs = 396, kMicroframe = 49500;  // at the boot ROM's 396 MHz

UsbHostProfile profile(uint32_t flags) {
  UsbHostProfile profile;
  profile.debounce_us = profile.recovery_us = 1;
  profile.reset_us = 3000;
  if ((flags & 2) == 0) return profile;
  profile.packets_per_microframe_milli = 7500;
  profile.gap_after_short_ns = 700;
  profile.gap_after_nak_ns = 1900;
  profile.completion_latency_ns = 11'000;
  profile.completion_jitter_ns = 5000;
  profile.in_urbs = profile.out_urbs = 2;
  profile.tty_buffer_bytes = 2048;
  profile.read_cost_ns = 20'000;
  profile.reads_end_at_short = true;
  return profile;
}

// Controller, firmware and host, with one of two drivers.
class Bench {
 public:
  explicit Bench(uint32_t flags)
      : flags_(flags), device_(testing::device_descriptor()), host_profile_(profile(flags)) {
    configuration_ = testing::cdc_configuration();
    qualifier_ = testing::device_qualifier();
    phy_.write(0x38, 4, 0xC0000000, 0);
    phy_.write(0x00, 4, 0, 0);
    put(usb::kUsbMode, usb::kCmDevice | usb::kSlom);
    put(usb::kEndptListAddr, kMemory);
    queue_head(0, 64, usb::kQhIos);
    queue_head(1, 64, 0);
    otg_.set_host(&host_);
    host_.set_offered_speed((flags & 1) != 0 ? UsbSpeed::full : UsbSpeed::high);
    if ((flags & 4) == 0) {
      serial_.emplace(host_);
    } else {
      enumerator_.emplace(host_, nobody_);
      server_.emplace(host_, *enumerator_);
    }
    put(usb::kUsbCmd, usb::kRs);
  }
  ~Bench() { otg_.set_host(nullptr); }

  void alter_descriptor(uint32_t offset, uint8_t value) {
    for (Bytes* bytes : {&device_, &configuration_, &qualifier_, &string_}) {
      if (offset < bytes->size()) {
        (*bytes)[offset] = value;
        return;
      }
      offset -= static_cast<uint32_t>(bytes->size());
    }
    configuration_.push_back(value);
  }
  void plug() {
    host_.plug_in();
    pass_with_firmware(20'000);  // 3 ms of reset, 10 ms for the new address
    if (serial_) serial_->open();
    if (server_) server_->import_without_request();
    pass_with_firmware(300);
  }
  void step(Input& input);
  void end();

 private:
  class Nobody final : public UsbEnumerator::Listener {
   public:
    void device_ready(const UsbDeviceInfo&) override {}
    void device_gone() override {}
    void device_failed(const std::string&) override {}
  };

  Cycles now() const { return chip_.queue.now(); }
  uint32_t get(uint32_t offset) { return otg_.read(offset, 4, now()); }
  void put(uint32_t offset, uint32_t value) { otg_.write(offset, 4, value, now()); }

  void pass(Cycles cycles) { chip_.pass(cycles); }
  void pass_with_firmware(unsigned us) {
    for (unsigned i = 0; i < us; i += 10) {
      pass(10 * kUs);
      if ((get(usb::kEndptSetupStat) & 1) != 0) request();
    }
  }

  void queue_head(unsigned index, uint32_t max_packet, uint32_t flags) {
    const uint32_t at = kMemory + usb::kQhBytes * index;
    for (uint32_t i = 0; i < usb::kQhBytes; i += 4) chip_.set_word(at + i, 0);
    chip_.set_word(at, max_packet << usb::kQhMpsShift | flags);
    chip_.set_word(at + usb::kQhNext, usb::kTerminate);
  }
  // Descriptor `number` of 64, for the queue head `index`.
  void prime(unsigned index, unsigned number, uint32_t bytes, uint32_t buffer, uint32_t next) {
    const uint32_t at = kTds + 32 * number;
    chip_.set_word(at, next);
    chip_.set_word(at + 4, bytes << usb::kTokenTotalShift | usb::kTokenIoc | usb::kTokenActive);
    for (uint32_t i = 0; i < usb::kTdPages; ++i) chip_.set_word(at + 8 + 4 * i, buffer + 4096 * i);
    chip_.set_word(kMemory + usb::kQhBytes * index + usb::kQhNext, at);
    chip_.set_word(kMemory + usb::kQhBytes * index + usb::kQhToken, 0);
    put(usb::kEndptPrime, 1u << (index / 2 + (index % 2 != 0 ? 16 : 0)));
  }
  void request();
  void host_action(Input& input);
  void client_action(Input& input);
  void serial_action(Input& input);

  const uint32_t flags_;
  Bytes device_, configuration_, qualifier_, string_ = testing::string_descriptor("Teensy");
  Chip chip_;
  Clocks clocks_;
  const Timing timing_;
  UsbPhy phy_{chip_, 1};
  UsbOtg otg_{chip_, clocks_, timing_, phy_, 1};
  UsbHostProfile host_profile_;
  UsbHost host_{chip_.queue, clocks_, otg_, host_profile_};
  std::optional<CdcAcmHost> serial_;
  Nobody nobody_;
  std::optional<UsbEnumerator> enumerator_;
  std::optional<UsbIpServer> server_;
  uint32_t sequence_ = 1;
};

// Endpoint 0 as a Teensy serves it. With bit 3 of the flags answers are as long as it likes.
void Bench::request() {
  std::array<uint8_t, 8> setup{};
  std::copy_n(&chip_.memory[usb::kQhSetup], 8, setup.begin());
  put(usb::kEndptSetupStat, 1);
  const uint32_t length = setup[6] + 256u * setup[7];
  if (setup[0] == 0x80 && setup[1] == 6) {
    const Bytes* const answer = setup[3] == 1   ? &device_
                                : setup[3] == 2 ? &configuration_
                                : setup[3] == 3 ? &string_
                                : setup[3] == 6 ? &qualifier_
                                                : nullptr;
    if (answer == nullptr) return put(usb::kEndptCtrl0, 0x10001);  // STALL
    auto size = static_cast<uint32_t>(answer->size());
    if ((flags_ & 8) == 0) size = std::min(size, length);
    std::copy(answer->begin(), answer->end(), &chip_.memory[kData - kMemory]);
    prime(1, 0, size, kData, usb::kTerminate);
    return prime(0, 1, 0, kData, usb::kTerminate);
  }
  if (setup[1] == 5) put(usb::kDeviceAddr, uint32_t{setup[2]} << 25 | usb::kUsbAdra);
  if (setup[0] == 0 && setup[1] == 9) {
    queue_head(5, 16, 0);
    queue_head(6, 512, usb::kQhZlt);
    queue_head(9, 512, usb::kQhZlt);
    put(usb::kEndptCtrl0 + 4 * 2, 0x00CC0000);
    put(usb::kEndptCtrl0 + 4 * 3, 0x000000C8);
    put(usb::kEndptCtrl0 + 4 * 4, 0x00C80000);
  }
  if ((setup[0] & 0x80) == 0 && length != 0) prime(0, 2, length, kData, usb::kTerminate);
  prime(1, 3, 0, kData, usb::kTerminate);
}

void Bench::host_action(Input& input) {
  const uint32_t what = input.take(1);
  switch (what % 8) {
    case 0:
      return host_.plug_in();
    case 1:
      return host_.unplug();
    case 2:
      if (host_.port_state() == UsbPortState::enabled ||
          host_.port_state() == UsbPortState::suspended) {
        host_.reset_port();
      }
      return;
    case 3:
      return host_.suspend();
    case 4:
      return host_.resume();
    case 5:
      return host_.set_offered_speed((what & 8) != 0 ? UsbSpeed::full : UsbSpeed::high);
    default:
      return pass(Cycles{kMicroframe} << what % 4);
  }
}

void Bench::serial_action(Input& input) {
  static std::array<uint8_t, 4096> bytes{};
  const uint32_t what = input.take(1);
  const std::span<uint8_t> part(bytes.data(), size_t{what >> 3} * 128);
  switch (what % 8) {
    case 0:
      return serial_->open();
    case 1:
      return serial_->close();
    case 2:
      return serial_->set_dtr((what & 8) != 0);
    case 3:
      return serial_->set_line_coding({.baud = what});
    case 4:
    case 5:
      require(serial_->write(part) <= part.size());
      return;
    default:
      require(serial_->read(part) <= part.size());
  }
}

// Commands of a client that knows the protocol, one with bytes of the input's, a lost connection.
void Bench::client_action(Input& input) {
  const uint32_t what = input.take(1);
  Bytes bytes;
  testing::IpSubmit submit;
  submit.sequence = sequence_++;
  submit.in = (what & 8) != 0;
  switch (what % 8) {
    case 0:
    case 1:
      submit.endpoint = submit.in ? 4 : 3;
      submit.length = input.take(2);
      submit.data.resize(submit.in ? 0 : submit.length);
      break;
    case 2:
      submit.endpoint = input.take(1);
      submit.length = input.take(3);
      submit.flags = input.take(2);
      break;
    case 3:
      for (uint8_t& byte : submit.setup) byte = static_cast<uint8_t>(input.take(1));
      submit.length = submit.in ? input.take(2) : 0;
      break;
    case 4:
      bytes = testing::ip_unlink(submit.sequence, input.take(1));
      break;
    case 5:
      for (unsigned i = 0; i < what / 8 + 1; ++i) {
        bytes.push_back(static_cast<uint8_t>(input.take(1)));
      }
      break;
    case 6:
      server_->disconnect();
      return;
    default:
      server_->import_without_request();
      return;
  }
  if (bytes.empty()) bytes = submit.bytes();
  server_->receive(bytes);
  server_->consume(server_->output().size());
  if (!server_->problem().empty()) server_->disconnect();
}

void Bench::step(Input& input) {
  const uint32_t action = input.take(1);
  const uint32_t high = action >> 4;
  switch (action & 15) {
    case 0: {
      const unsigned width = 1u << high % 3;
      return otg_.write(input.take(2) % UsbOtg::kSize & ~(width - 1), width, input.take(width),
                        now());
    }
    case 1:  // of the endpoints, where the most can go wrong
      return put(usb::kEndptNak + 4 * (input.take(1) % 34), input.take(4));
    case 2:
      otg_.read(input.take(2) % UsbOtg::kSize & ~3u, 4, now());
      return;
    case 3:
      return chip_.set_word(kMemory + input.take(2) % 0x2000 / 4 * 4, input.take(4));
    case 4:
    case 5: {
      const unsigned number = input.take(1) % 64;
      const uint32_t next = (high & 4) != 0 ? kTds + 32 * (input.take(1) % 64) : usb::kTerminate;
      return prime((action & 15) == 4 ? 9 : high % 16, number, input.take(2), kData + high * 256,
                   next);
    }
    case 6:
      return pass(Cycles{1} << high);
    case 7:
    case 8:
      return pass_with_firmware(125u * (high + 1));
    case 9:
      return host_action(input);
    case 10:
    case 11:
      return serial_ ? serial_action(input) : client_action(input);
    case 12:
      return phy_.write(input.take(1) % 64 & ~3u, 4, input.take(4), now());
    case 13: {
      Clocks::Rates rates = clocks_.rates();
      rates[static_cast<size_t>(Clock::core)] = uint64_t{24'000'000} << high % 6;
      return clocks_.set(rates, now());
    }
    case 14:
      return alter_descriptor(input.take(1), static_cast<uint8_t>(input.take(1)));
    default:
      testing::require_saved_and_restored(otg_);
  }
}

void Bench::end() {
  host_.unplug();
  pass(100 * kMicroframe);
  if (serial_) {
    require(!serial_->is_ready());
    require(serial_->device().findings.size() <= kMaxFindings);
  } else {
    require(!enumerator_->is_ready() && server_->idle());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input({data, size});
  const uint32_t flags = input.take(1);
  const auto bench = std::make_unique<Bench>(flags);
  for (uint32_t left = flags >> 4; left != 0; --left) {
    const uint32_t offset = input.take(1);
    bench->alter_descriptor(offset, static_cast<uint8_t>(input.take(1)));
  }
  bench->plug();
  for (unsigned steps = 0; steps < 300 && !input.empty(); ++steps) bench->step(input);
  bench->end();
  return 0;
}
