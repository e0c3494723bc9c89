// SPDX-License-Identifier: Apache-2.0
// What the link protocol costs a Cortex-M7, in core cycles a byte of payload: the CRC alone, a
// stream that is copied into the ring, one that is made there, and a stream that is received. The
// port is not part of it. Variant itcm is code in ITCM and everything else in DTCM.
#include <string.h>

#include <cstdint>

#include "firmware/ports/rt1062/checks.h"
#include "firmware/ports/rt1062/console.h"
#include "firmware/ports/rt1062/image.h"
#include "firmware/ports/rt1062/ticks.h"
#include "millrace/link/bytes.h"
#include "millrace/link/crc32c.h"
#include "millrace/link/link_peer.h"

namespace millrace::rt1062 {
namespace {

using namespace link;

constexpr uint32_t kPayload = 4096;
constexpr uint32_t kSlots = 8;
constexpr uint32_t kFrames = 64;

alignas(32) uint8_t ring[kSlots * (kPayload + kLinkOverhead)];
alignas(32) uint8_t block[kPayload];
uint8_t credit[8192];
uint8_t scan[4096];
SenderSlot sender_slots[kSlots];
ReceiverSlot receiver_slots[16];
uint8_t packet[1024 + kLinkOverhead];

uint32_t next_random(void*) {
  static uint32_t value = 1;
  return value = value * 1664525u + 1013904223u;
}

struct Device {
  StreamSender sender{{ring, sizeof(ring), sender_slots, kSlots}, sender_options()};
  StreamReceiver receiver{{credit, sizeof(credit), receiver_slots, 16}, 0};
  StreamSender* senders[1] = {&sender};
  StreamReceiver* receivers[1] = {&receiver};
  LinkPeer peer{options(), scan, sizeof(scan)};
  uint32_t tag = 0;
  uint32_t acks = 0;

  static SenderOptions sender_options() {
    SenderOptions o;
    o.max_payload = kPayload;
    return o;
  }
  LinkOptions options() {
    LinkOptions o;
    o.senders = senders;
    o.sender_count = 1;
    o.receivers = receivers;
    o.receiver_count = 1;
    o.random = next_random;
    return o;
  }

  void deliver(FrameType type, uint32_t size, uint32_t sequence, uint32_t offset, uint32_t with) {
    FrameHeader header;
    header.type = type;
    header.from_host = true;
    header.sequence = sequence;
    header.offset = offset;
    header.payload = size;
    deliver_bytes(finish_frame(header, with, packet));
  }
  void deliver_bytes(size_t size) {
    size_t room = 0;
    memcpy(peer.space(&room), packet, size);
    peer.received(size, 1);
  }

  void connect() {
    LinkHello hello;
    hello.nonce = hello.host_instance = 7;
    hello.max_payload = kLinkMaxPayload;
    deliver(FrameType::hello, static_cast<uint32_t>(encode(hello, packet + kLinkHeaderBytes)), 0, 0,
            0);
    const OutputBytes out = peer.output(1);
    tag = load_le32(out.data + kLinkHeaderBytes + 16);
    peer.sent(out.size, 1);
    acknowledge();
  }

  void acknowledge() {
    AckEntry entry;
    entry.window_frames = kSlots;
    entry.next = entry.released = sender.next_sequence();
    entry.credit = 1 << 20;
    store_le32(packet + kLinkHeaderBytes, 0);
    const size_t size = encode_ack_entry(entry, packet + kLinkHeaderBytes + 4);
    deliver(FrameType::ack, static_cast<uint32_t>(4 + size), ++acks, 0, tag);
  }

  // All that waits, as a port would take it.
  uint32_t drain() {
    uint32_t bytes = 0;
    for (OutputBytes out = peer.output(1); out.size > 0; out = peer.output(1)) {
      bytes += static_cast<uint32_t>(out.size);
      peer.sent(out.size, 1);
    }
    return bytes;
  }
};

void print_per_byte(const char* name, uint32_t spent, uint32_t bytes) {
  const uint32_t hundredths = static_cast<uint32_t>(uint64_t{spent} * 100 / bytes);
  print_decimal(hundredths / 100, 6);
  print(".");
  print_decimal(hundredths / 10 % 10, 1);
  print_decimal(hundredths % 10, 1);
  print(" cycles/B ");
  print(name);
  print("\n");
}

uint32_t crc_cycles() {
  (void)crc32c_bulk(block, kPayload);
  const uint32_t start = cycles();
  (void)crc32c_bulk(block, kPayload);
  return cycles() - start;
}

// Frames through ring, schedule and acknowledgement; returns the bytes sent.
uint32_t send_frames(Device& device, bool copied) {
  uint32_t sent = 0;
  for (uint32_t i = 0; i < kFrames; ++i) {
    if (copied) {
      (void)device.sender.write(block, kPayload, 1);
    } else {
      size_t room = 0;
      if (device.sender.reserve(&room) != nullptr) device.sender.commit(room, 1);
    }
    device.sender.end_of_message();
    sent += device.drain();
    if (i % 4 == 3) device.acknowledge();
  }
  return sent;
}

// Frames of 1 KB; what makes them is not counted.
uint32_t receive_cycles(Device& device, uint32_t* got) {
  uint32_t spent = 0;
  for (uint32_t i = 0; i < kFrames; ++i) {
    memcpy(packet + kLinkHeaderBytes, block, 1024);
    FrameHeader header;
    header.type = FrameType::data;
    header.from_host = true;
    header.sequence = i;
    header.offset = 1024 * i;
    header.payload = 1024;
    const size_t size = finish_frame(header, device.tag, packet);
    const uint32_t start = cycles();
    device.deliver_bytes(size);
    const Chunk chunk = device.receiver.peek();
    *got += static_cast<uint32_t>(chunk.size);
    device.receiver.consume(chunk.size);
    spent += cycles() - start;
    (void)device.drain();
  }
  return spent;
}

}  // namespace

void run_program() {
  Checks checks;
  for (uint32_t i = 0; i < kPayload; ++i) block[i] = static_cast<uint8_t>(i * 7 + (i >> 8));
  const auto* digits = reinterpret_cast<const uint8_t*>(opaque("123456789"));
  checks.equal("crc32c check value", crc32c_bulk(digits, 9), 0xe3069283);
  print_per_byte("CRC-32C of 4,096 bytes", crc_cycles(), kPayload);
  static Device device;
  device.connect();
  (void)send_frames(device, true);
  for (uint32_t round = 0; round < 2; ++round) {
    const bool copied = round == 0;
    const uint32_t start = cycles();
    const uint32_t sent = send_frames(device, copied);
    const uint32_t spent = cycles() - start;
    checks.equal("bytes on the wire", sent, kFrames * (kPayload + kLinkOverhead));
    print_per_byte(copied ? "sent, copied into the ring, CRC and schedule"
                          : "sent, made in the ring, CRC and schedule",
                   spent, kFrames * kPayload);
  }
  uint32_t got = 0;
  const uint32_t spent = receive_cycles(device, &got);
  checks.equal("bytes received", got, kFrames * 1024);
  print_per_byte("received, frames of 1,024 bytes, copied once", spent, kFrames * 1024);
  checks.print_summary("link_cycles");
}

}  // namespace millrace::rt1062
