// SPDX-License-Identifier: Apache-2.0
// Any frames: every answer stays within what was reserved and is a frame that a receiver takes.
// Input: a length byte (times 8) and so many bytes, again and again; the first byte of a frame
// being even, its addresses and checksums are put right, so that the deeper layers are reached.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "firmware/app/echo/checksum.h"
#include "firmware/app/echo/echo_stack.h"
#include "firmware/app/echo/fake_frame_port.h"
#include "firmware/app/sampler/fake_sampler_port.h"

namespace {

using namespace millrace::firmware;

void require(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

void put_right(Bytes& f) {
  if (f.size() < kUdpPayload || (f[0] & 1u) != 0) return;
  std::memcpy(f.data(), kDeviceMac.data(), kMacBytes);
  store_be16(f.data() + 12, kTypeIpv4);
  uint8_t* ip = f.data() + kEthernetBytes;
  ip[0] = 0x45;
  store_be16(ip + 2, static_cast<uint32_t>(f.size() - kEthernetBytes));
  ip[6] = ip[7] = 0;
  if (ip[9] != kProtocolIcmp) ip[9] = kProtocolUdp;
  ip[10] = ip[11] = 0;
  store_be32(ip + 16, kDeviceIp);
  store_checksum(ip + 10, checksum_add(0, ip, kIpBytes));
  uint8_t* body = ip + kIpBytes;
  const size_t size = f.size() - kEthernetBytes - kIpBytes;
  if (ip[9] == kProtocolIcmp) {
    body[2] = body[3] = 0;
    store_checksum(body + 2, checksum_add(0, body, size));
    return;
  }
  constexpr uint16_t kPorts[8] = {7, 4242, 4243, 67, 5353, 9, 4244, 0};
  store_be16(body + 2, kPorts[body[2] % 8]);
  store_be16(body + 4, static_cast<uint32_t>(size));
  body[6] = body[7] = 0;
}

void check_answer(const Bytes& f) {
  require(f.size() >= kEthernetBytes + kArpBytes && f.size() <= kMaxFrameBytes, "a frame's size");
  require(std::memcmp(f.data() + kMacBytes, kDeviceMac.data(), kMacBytes) == 0, "from us");
  if (load_be16(f.data() + 12) == kTypeArp) return;
  const uint8_t* ip = f.data() + kEthernetBytes;
  require(load_be16(ip + 2) == f.size() - kEthernetBytes, "the IP length");
  require(checksum_add(0, ip, kIpBytes) == 0xffff, "the IP checksum");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FakeFramePort port;
  port.link_up = true;
  NetworkConfig config;
  std::memcpy(config.mac, kDeviceMac.data(), kMacBytes);
  EchoStack stack(port, config);
  SamplerFixture sampler;
  stack.set_sampler(&sampler.sampler);
  while (size > 0) {
    const size_t length = std::min<size_t>(size - 1, size_t{data[0]} * 8);
    Bytes f(data + 1, data + 1 + length);
    data += 1 + length;
    size -= 1 + length;
    put_right(f);
    port.incoming.push_back(f);
  }
  while (stack.poll()) {
  }
  for (const Bytes& f : port.sent) check_answer(f);
  return 0;
}
