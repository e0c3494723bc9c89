// SPDX-License-Identifier: Apache-2.0
// Writes captures of a scripted CDC-ACM device on the virtual bus, for usb_capture.py.
// usage: usb_capture_driver FILE high|full urbs|packets|frames
#include <cstdio>
#include <cstring>
#include <string>

#include "usb/cdc_acm_host.h"
#include "usb/testing/fake_usb_device.h"
#include "usb/usb_capture.h"

namespace {

using namespace millrace::board;

class Bench {
 public:
  void run_ms(unsigned ms) {
    const Cycles end = events_.now() + ms * Cycles{396'000};  // the boot ROM's 396 MHz
    while (events_.next() <= end) {
      events_.advance(events_.next());
      events_.run_due();
    }
    events_.advance(end);
  }

  // 100 bytes out, 700 in, a stalled endpoint, a closed port.
  int run(UsbSpeed speed) {
    const size_t packet = speed == UsbSpeed::high ? 512 : 64;
    device_.ins[4].max_packet = static_cast<uint16_t>(packet);
    usb_.set_offered_speed(speed);
    usb_.plug_in();
    run_ms(250);
    serial_.open();
    std::vector<uint8_t> bytes(100);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i);
    const size_t written = serial_.write(bytes);
    run_ms(2);
    for (size_t left = 700; left != 0;) {
      const size_t size = left < packet ? left : packet;
      device_.ins[4].packets.emplace_back(size, static_cast<uint8_t>(left));
      left -= size;
    }
    usb_.endpoint_changed(4, true, events_.now());
    run_ms(2);
    std::vector<uint8_t> got(1000);
    const size_t read = serial_.read(got);
    device_.outs[3].stalled = true;
    static_cast<void>(serial_.write(bytes));
    run_ms(2);
    serial_.close();
    run_ms(2);
    return written == 100 && read == 700 && device_.outs[3].bytes == bytes ? 0 : 1;
  }

  void set_monitor(UsbMonitor* monitor) { usb_.set_monitor(monitor); }

 private:
  EventQueue events_;
  Clocks clocks_;
  testing::FakeUsbDevice device_;
  UsbHost usb_{events_, clocks_, device_, UsbHostProfile()};
  CdcAcmHost serial_{usb_};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  std::FILE* const file = std::fopen(argv[1], "wb");
  if (file == nullptr) return 2;
  UsbCaptureOptions options;
  options.packets = std::strcmp(argv[3], "urbs") != 0;
  options.urbs = !options.packets;
  options.frames = std::strcmp(argv[3], "frames") == 0;
  bool is_written = true;
  UsbCapture capture(options, [&](std::span<const uint8_t> bytes) {
    is_written = is_written && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  });
  Bench bench;
  bench.set_monitor(&capture);
  const int result = bench.run(std::strcmp(argv[2], "full") == 0 ? UsbSpeed::full : UsbSpeed::high);
  return std::fclose(file) == 0 && is_written ? result : 2;
}
