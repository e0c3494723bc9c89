// SPDX-License-Identifier: Apache-2.0
#include "link_probe.h"

#include <array>

#include "millrace/link/classic_stream.h"
#include "millrace/link/control_message.h"
#include "millrace/link/frame_scanner.h"
#include "millrace/link/link_frame.h"

namespace millrace::host {

bool speaks_link_protocol(Transport& transport, int64_t wait_ns) {
  const int64_t now = transport.clock().now_ns();
  link::LinkHello hello;
  hello.nonce = hello.host_instance = hello.session = static_cast<uint32_t>(now / 1000) | 1;
  hello.max_payload = link::kLinkMaxControl;
  std::array<uint8_t, link::LinkHello::kBytes + link::kLinkOverhead> frame{};
  link::FrameHeader header;
  header.type = link::FrameType::hello;
  header.from_host = true;
  header.payload =
      static_cast<uint32_t>(link::encode(hello, frame.data() + link::kLinkHeaderBytes));
  const size_t size = link::finish_frame(header, 0, frame.data());
  const int64_t deadline = now + wait_ns;
  if (transport.write({frame.data(), size}, deadline).kind != IoKind::done) return false;

  std::array<uint8_t, link::kLinkMaxControl + link::kLinkOverhead> buffer{};
  link::FrameScanner scanner(buffer.data(), buffer.size(), true);
  for (;;) {
    size_t room = 0;
    uint8_t* into = scanner.space(&room);
    const IoResult got = transport.read({into, room}, deadline);
    if (got.kind != IoKind::done) return false;
    scanner.received(got.size);
    link::FrameView view;
    while (scanner.next(&view)) {
      if (!view.header.from_host) return true;
    }
    // A device that never falls silent must not keep this going.
    if (transport.clock().now_ns() >= deadline) return false;
  }
}

bool speaks_measuring_protocol(Transport& transport, int64_t wait_ns) {
  uint8_t probe[link::kProbeBytes];
  link::encode_probe(probe);
  const int64_t deadline = transport.clock().now_ns() + wait_ns;
  if (transport.write(probe, deadline).size < sizeof(probe)) return false;
  std::array<uint8_t, link::kMaxMessage> answer;
  size_t size = 0;
  link::Message message;
  while (size < answer.size()) {
    const IoResult read = transport.read(std::span(answer).subspan(size), deadline);
    if (read.kind != IoKind::done) return false;
    size += read.size;
    switch (link::parse_message(answer.data(), size, &message)) {
      case link::ParseStatus::complete:
        return message.type == link::MessageType::hello;
      case link::ParseStatus::need_more:
        break;
      case link::ParseStatus::not_one:
        return false;
    }
  }
  return false;
}

}  // namespace millrace::host
