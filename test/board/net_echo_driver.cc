// SPDX-License-Identifier: Apache-2.0
// A network image on the virtual board, driven by the IPv4 host in the board's time: DHCP, pings, a
// burst of UDP echoes. net_echo_driver IMAGE PROFILE [CAPTURE]
//
// Prints one line `name value` for each figure; all of them are the same in every run.
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "millrace/board/board.h"
#include "millrace/board/image.h"
#include "millrace/board/net_host.h"

namespace {

using namespace millrace::board;

constexpr uint64_t kMs = 1'000'000;
constexpr unsigned kPings = 20, kDatagrams = 200;
constexpr uint16_t kEchoPort = 7, kOurPort = 40000;

std::vector<uint8_t> pattern(size_t size, unsigned first) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(first * 7 + i);
  return bytes;
}

int fail(const std::string& text) {
  fmt::print(stderr, "{}\n", text);
  return 1;
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) return fail("usage: net_echo_driver IMAGE PROFILE [CAPTURE]");
  ImageError error;
  Image image;
  if (!load_image(words[1], 0, &image, &error)) return fail(error.message);
  const std::unique_ptr<Board> board = Board::create(image, BoardOptions(), &error);
  if (board == nullptr) return fail(error.message);
  UsbHostOptions options;
  options.profile_name = words[2];
  std::ofstream capture;
  if (count > 3) {
    capture.open(words[3], std::ios::binary);
    options.capture = [&capture](std::span<const uint8_t> bytes) {
      capture.write(reinterpret_cast<const char*>(bytes.data()),
                    static_cast<std::streamsize>(bytes.size()));
    };
  }
  std::string problem;
  UsbSerialPort* const usb = board->connect_usb(options, &problem);
  if (usb == nullptr) return fail(problem);
  EthernetPort& port = usb->ethernet();
  NetHost host(port);
  host.start_dhcp();
  usb->plug_in();
  while (!host.address() && board->ns() < 5000 * kMs) {
    board->run_until_ns(board->ns() + 10 * kMs);
  }
  if (!host.address()) return fail("no address: " + port.problem());
  const Ipv4Address device = host.lease()->server;
  fmt::print("kind {}\nmac {}\naddress {}\ndevice {}\nlease_s {}\n", to_string(port.info().kind),
             to_string(port.info().mac), format_ipv4(*host.address()), format_ipv4(device),
             host.lease()->seconds);
  for (const std::string& finding : port.findings()) fmt::print("finding {}\n", finding);

  std::vector<uint64_t> sent_ns(kPings), ping_ns;
  host.set_on_echo([&](const EchoArrival& e) {
    if (e.sequence < kPings && e.payload.size() == 56) {
      ping_ns.push_back(e.ns - sent_ns[e.sequence]);
    }
  });
  uint64_t at = board->ns() + kMs;
  for (uint16_t i = 0; i < kPings; ++i, at += 10 * kMs) {
    host.at(at, [&, i] {
      sent_ns[i] = host.ns();
      host.ping(device, 1, i, pattern(56, i));
    });
  }
  board->run_until_ns(at + 20 * kMs);
  fmt::print("pings {}\n", ping_ns.size());
  if (!ping_ns.empty()) fmt::print("last_ping_ns {}\n", ping_ns.back());

  unsigned good = 0, wrong = 0;
  host.set_on_udp([&](const UdpArrival& a) {
    const unsigned number = a.payload.size() < 2 ? 0 : a.payload[0] + 256u * a.payload[1];
    std::vector<uint8_t> expected = pattern(32 + number * 7 % 1400, number);
    expected[0] = static_cast<uint8_t>(number);
    expected[1] = static_cast<uint8_t>(number >> 8);
    const bool is_same =
        std::equal(a.payload.begin(), a.payload.end(), expected.begin(), expected.end()) &&
        a.source == UdpEndpoint{device, kEchoPort};
    ++(is_same ? good : wrong);
  });
  at = board->ns() + kMs;
  for (unsigned i = 0; i < kDatagrams; ++i, at += kMs / 4) {
    host.at(at, [&, i] {
      std::vector<uint8_t> payload = pattern(32 + i * 7 % 1400, i);
      payload[0] = static_cast<uint8_t>(i);
      payload[1] = static_cast<uint8_t>(i >> 8);
      host.send_udp({device, kEchoPort}, kOurPort, payload);
    });
  }
  board->run_until_ns(at + 50 * kMs);
  const EthernetCounts& c = port.counts();
  const NetHostCounts& n = host.counts();
  fmt::print("echoes {}\nwrong {}\n", good, wrong);
  fmt::print("frames_in {}\nframes_out {}\ntransfers_in {}\ntransfers_out {}\n", c.frames_in,
             c.frames_out, c.transfers_in, c.transfers_out);
  fmt::print("bad {}\n", c.bad_in + c.sequence_gaps + c.errors + c.stalls + c.dropped_out +
                             n.malformed + n.bad_checksums + n.fragments + n.unresolved);
  fmt::print("digest {:016x}\n", board->trace_digest());
  return 0;
}
