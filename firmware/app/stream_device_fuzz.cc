// SPDX-License-Identifier: Apache-2.0
// Random commands in random pieces, with a port that stalls as it likes. The device must not crash
// or hang, and everything it sends must have been asked for.
//
// An input is a list of steps: one byte that says what, and its operands.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "firmware/app/device_fixture.h"

namespace millrace::firmware {
namespace {

void require(bool condition) {
  if (!condition) abort();
}

struct Input {
  const uint8_t* data;
  size_t size;
  uint8_t byte() {
    if (size == 0) return 0;
    --size;
    return *data++;
  }
  uint32_t word() {
    const uint32_t low = byte();
    return low | static_cast<uint32_t>(byte()) << 8;
  }
};

// Nine bytes anywhere in what the host sent may be a handshake; a RUN may ask, and a probe.
bool may_ask(const std::string& sent) {
  for (size_t at = 0; at + link::kHandshakeBytes <= sent.size(); ++at) {
    const link::Handshake h =
        link::decode_handshake(reinterpret_cast<const uint8_t*>(sent.data()) + at);
    if (h.frame_count > 0 && h.frame_size > 0 && h.frame_size <= CommandParser::kMaxFrameBytes) {
      return true;
    }
  }
  return sent.find(probe_bytes()) != std::string::npos ||
         sent.find(std::string(reinterpret_cast<const char*>(link::kMessageSync), 4)) !=
             std::string::npos;
}

void check_counters(const link::DeviceCounters& c) {
  require(c.in_offered_bytes >= c.in_accepted_bytes + c.in_discarded_bytes);
  require(c.in_offered_bytes <= c.in_accepted_bytes + c.in_discarded_bytes + 4096);
  require(c.total_blocked_us >= c.longest_blocked_us);
}

void run(Input input) {
  StreamDeviceOptions options;
  const uint8_t how = input.byte();
  options.classic_discard_after_ms = (how & 1) != 0 ? 50 : 0;
  options.classic_only = (how & 2) != 0;
  DeviceFixture f(options);
  std::string sent;
  size_t output_bytes = 0;
  const auto host = [&](const std::string& bytes) {
    f.port.host_sends(bytes);
    sent += bytes;
  };
  while (input.size > 0) {
    switch (input.byte() % 12) {
      case 0:
        host(handshake_bytes(input.word(), input.word() & 0xff, input.byte()));
        break;
      case 1:
        host(probe_bytes());
        break;
      case 2: {
        link::RunRequest request;
        request.session_id = f.device.counters().session_id;
        const uint8_t flags = input.byte();
        request.direction = static_cast<link::Direction>(1 + flags % 3);
        request.discard_mode = (flags & 4) != 0;
        request.discard_after_ms = 20;
        request.counters_interval_ms = (flags & 8) != 0 ? 5 : 0;
        request.window_frames = (flags & 16) != 0 ? input.byte() : 0;
        request.frame_size = input.word();
        request.frame_count = input.word() & 0xff;
        host(run_bytes(request));
        break;
      }
      case 3:
        host(message_bytes(static_cast<link::MessageType>(1 + input.byte() % 10)));
        break;
      case 4:
        host(std::string(input.byte(), '\x06'));
        break;
      case 5: {
        std::string raw;
        for (size_t left = input.byte() % 32; left > 0; --left) {
          raw.push_back(static_cast<char>(input.byte()));
        }
        host(raw);
        break;
      }
      case 6: {  // the start of something, cut short
        const std::string whole = (input.byte() & 1) != 0
                                      ? probe_bytes()
                                      : message_bytes(link::MessageType::get_counters);
        host(whole.substr(0, input.byte() % whole.size()));
        break;
      }
      case 7:
        f.port.accept = input.byte();
        break;
      case 8:
        f.port.accept = FakePort::kEverything;
        break;
      case 9:
        f.port.read_piece = 1 + input.byte() % 64;
        break;
      case 10:
        f.port.clock_us += input.word() * 1000;
        break;
      default:
        if (input.byte() == 0) f.device.link_lost();
    }
    for (int polls = input.byte() % 16; polls > 0; --polls) f.device.poll();
    check_counters(f.device.counters());
    output_bytes += f.received().size();
    require(output_bytes == 0 || may_ask(sent));
  }
  // Whatever happened, once the port takes everything again...
  f.port.accept = FakePort::kEverything;
  f.port.read_piece = FakePort::kEverything;
  for (int i = 0; i < 6; ++i) {
    f.port.clock_us += 700'000;
    for (int polls = 0; polls < 3; ++polls) f.device.poll();
    f.port.output.clear();
  }
  if (options.classic_only) return;
  // ...a probe ends the run that may be under way (three bytes can ask for 2^40) and is answered.
  f.send(probe_bytes());
  std::string bytes = f.received();
  const std::string sync(reinterpret_cast<const char*>(link::kMessageSync), 4);
  require(bytes.find(sync) != std::string::npos);
  bytes.erase(0, bytes.rfind(sync));
  require(take<link::Hello>(&bytes, link::MessageType::hello).has_value());
  require(bytes.empty());
  // A handshake is then answered with its stream and nothing else.
  f.send(handshake_bytes(6, 5, 0));
  require(crc_of(f.received()) == 0xcd440b5fu);  // see classic_device_test.cc
}

}  // namespace
}  // namespace millrace::firmware

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  millrace::firmware::run({data, size});
  return 0;
}
