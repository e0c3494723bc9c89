// SPDX-License-Identifier: Apache-2.0
// Ethernet frames in the transfers of the network classes, and what tells a reply to its request.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/capture/device_info.h"
#include "millrace/link/bytes.h"
#include "millrace/link/ntb16.h"

namespace millrace::capture {

// Unknown, unless the bytes can hardly be anything else. `actual`: of the transfer, all of it.
Framing framing_of_data(const uint8_t* data, size_t size, size_t actual);

enum class FrameKind : uint8_t { other, icmp_echo, udp, arp };

// Two frames of opposite directions belong together if kind and content agree.
struct FrameKey {
  FrameKind kind = FrameKind::other;
  bool may_be_request = false;  // going out
  bool may_be_reply = false;    // coming in
  uint64_t content = 0;         // addresses, ports, ids, sequence numbers, begin of the payload
  uint64_t flow = 0;            // UDP: addresses and ports alone
};

// `size` bytes of the frame are at hand. IPv4 and IPv6 without extension headers; VLAN tags.
FrameKey key_of(const uint8_t* frame, size_t size, bool is_in);

struct FrameWalk {
  uint32_t frames = 0;
  bool is_damaged = false;  // the framing is broken, and not for lack of captured bytes
  link::NtbStatus ntb_status = link::NtbStatus::end;
  bool has_sequence = false;
  uint16_t sequence = 0;
  uint32_t block_bytes = 0;
};

namespace frames_internal {

template <class F>
void walk_ncm(const uint8_t* data, size_t size, size_t actual, FrameWalk* walk, F f) {
  link::Ntb16Reader reader(data, size);
  link::NtbDatagram datagram;
  link::NtbStatus status = reader.next(&datagram);
  for (; status == link::NtbStatus::datagram; status = reader.next(&datagram)) {
    ++walk->frames;
    f(data + datagram.offset, datagram.length);
  }
  walk->ntb_status = status;
  walk->is_damaged = status != link::NtbStatus::end && size >= actual;
  walk->block_bytes = static_cast<uint32_t>(reader.block_bytes());
  walk->has_sequence = walk->block_bytes != 0;
  walk->sequence = reader.sequence();
}

// CDC EEM 1.0, 5.1: bit 15 clear: a frame of bits 13..0 bytes with its check sequence.
template <class F>
void walk_eem(const uint8_t* data, size_t size, size_t actual, FrameWalk* walk, F f) {
  constexpr size_t kCheckBytes = 4;
  size_t at = 0;
  while (size - at >= 2) {
    const uint16_t header = link::load_le16(data + at);
    const size_t length = (header & 0x8000) != 0 ? header & 0x7ffu : header & 0x3fffu;
    const bool is_frame = (header & 0x8000) == 0 && length > kCheckBytes;
    at += 2;
    if (length > size - at) {
      walk->is_damaged = size >= actual;
      return;
    }
    if (is_frame) {
      ++walk->frames;
      f(data + at, length - kCheckBytes);
    }
    at += length;
  }
}

// RNDIS, REMOTE_NDIS_PACKET_MSG: type 1, length, offset of the data from byte 8, its length.
template <class F>
void walk_rndis(const uint8_t* data, size_t size, size_t actual, FrameWalk* walk, F f) {
  constexpr size_t kHeader = 44;
  size_t at = 0;
  while (size - at >= kHeader) {
    const uint8_t* p = data + at;
    const size_t length = link::load_le32(p + 4), offset = link::load_le32(p + 8),
                 bytes = link::load_le32(p + 12);
    const size_t room = size - at;
    if (link::load_le32(p) != 1 || length < kHeader || length > room || offset > length - 8 ||
        bytes > length - 8 - offset) {
      walk->is_damaged = size >= actual;
      return;
    }
    ++walk->frames;
    f(p + 8 + offset, bytes);
    at += length;
  }
}

}  // namespace frames_internal

// Calls f(frame, bytes) for each frame of a transfer of which `size` of `actual` bytes are at hand.
template <class F>
FrameWalk for_each_frame(Framing framing, const uint8_t* data, size_t size, size_t actual, F f) {
  FrameWalk walk;
  switch (framing) {
    case Framing::ncm:
      // An NTB that fills its last packet may be followed by an empty or one-byte one.
      if (actual > 1) frames_internal::walk_ncm(data, size, actual, &walk, f);
      break;
    case Framing::ecm:
      if (actual < link::kEthernetHeaderBytes) {
        walk.is_damaged = actual > 1;
        break;
      }
      ++walk.frames;
      f(data, size);
      break;
    case Framing::eem:
      frames_internal::walk_eem(data, size, actual, &walk, f);
      break;
    case Framing::rndis:
      if (actual > 1) frames_internal::walk_rndis(data, size, actual, &walk, f);
      break;
    case Framing::none:
    case Framing::unknown:
      break;
  }
  return walk;
}

}  // namespace millrace::capture
