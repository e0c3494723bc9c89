// SPDX-License-Identifier: Apache-2.0
// Both ends of the protocol against a peer that says anything. The first byte chooses the end that
// is tested; then come steps: a byte that says what, and its arguments.
//   0..127    so many raw bytes
//   128..191  a frame with right check and trailer: type, stream and flags, sequence number and
//             offset (8 bits each, signed, from where the last one was), payload size (8 bits,
//             times 1 or 16), payload
//   192..223  time goes on, 2^n us
//   224..255  the application writes, consumes, or the port is lost
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "millrace/link/bytes.h"
#include "millrace/link/link_peer.h"

namespace {

using namespace millrace::link;

void must(bool condition) {
  if (!condition) std::abort();
}

struct Input {
  const uint8_t* data;
  size_t size;
  uint8_t byte() {
    if (size == 0) return 0;
    --size;
    return *data++;
  }
};

class Target {
 public:
  explicit Target(bool is_host)
      : is_host_(is_host),
        sender_({ring_, sizeof(ring_), sender_slots_, 16}, sender_options()),
        receiver_({credit_, sizeof(credit_), receiver_slots_, 16}, 0),
        peer_(options(), scan_, sizeof(scan_)) {
    if (is_host) peer_.connect(0, 0, now_);
    take_output(100);
  }

  void run(Input in) {
    while (in.size > 0) {
      const uint8_t step = in.byte();
      if (step < 128) {
        uint8_t raw[128];
        for (size_t i = 0; i < step; ++i) raw[i] = in.byte();
        deliver(raw, step);
      } else if (step < 192) {
        frame(in);
      } else if (step < 224) {
        now_ += uint64_t{1} << (step - 192 < 22 ? step - 192 : 22);
      } else {
        application(step, in.byte());
      }
      peer_.poll(now_);
      take_output(in.byte());
      must(peer_.wakeup_us(now_) >= now_);
    }
  }

 private:
  SenderOptions sender_options() {
    SenderOptions o;
    o.max_payload = 256;
    o.unit_bytes = 4;
    return o;
  }
  LinkOptions options() {
    LinkOptions o;
    o.role = is_host_ ? LinkRole::host : LinkRole::device;
    o.senders = &sender_pointer_;
    o.sender_count = 1;
    o.receivers = &receiver_pointer_;
    o.receiver_count = 1;
    o.random = [](void* context) { return ++static_cast<Target*>(context)->random_; };
    o.random_context = this;
    return o;
  }

  void frame(Input& in) {
    FrameHeader header;
    header.type = static_cast<FrameType>(1 + in.byte() % 9);
    const uint8_t flags = in.byte();
    header.stream = flags & 7;
    header.end_of_message = (flags & 8) != 0;
    header.from_host = !is_host_ != ((flags & 16) != 0);
    sequence_ += static_cast<uint32_t>(static_cast<int8_t>(in.byte()));
    offset_ += static_cast<uint32_t>(static_cast<int8_t>(in.byte())) * ((flags & 32) != 0 ? 64 : 1);
    header.sequence = sequence_;
    header.offset = offset_;
    uint8_t bytes[1200 + kLinkOverhead] = {};
    header.payload = in.byte() * ((flags & 64) != 0 ? 4u : 1u);
    if (header.type == FrameType::data && header.payload == 0) header.payload = 1;
    for (size_t i = 0; i < header.payload; ++i) bytes[kLinkHeaderBytes + i] = in.byte();
    // What the other end knows and chance would not hit.
    uint8_t* payload = bytes + kLinkHeaderBytes;
    if (header.type == FrameType::welcome && header.payload >= 20 && (flags & 128) == 0) {
      store_le32(payload + 4, hello_.nonce);
      store_le32(payload + 8, hello_.host_instance);
      // Else a resume never gets beyond its first check.
      payload[0] = kLinkVersion;
      if ((flags & 32) == 0 && payload[1] < 2) {
        payload[1] = hello_.session == 0 ? 0 : 1;
        if (hello_.session != 0) store_le32(payload + 12, hello_.session);
      }
      if (load_le32(payload + 16) != 0) tag_ = load_le32(payload + 16);
    }
    const bool untagged = header.type == FrameType::hello || header.type == FrameType::welcome ||
                          header.type == FrameType::notice;
    deliver(bytes, finish_frame(header, untagged ? 0 : tag_, bytes));
  }

  void deliver(const uint8_t* data, size_t size) {
    while (size > 0) {
      size_t room = 0;
      uint8_t* space = peer_.space(&room);
      must(room > 0);
      const size_t n = size < room ? size : room;
      std::memcpy(space, data, n);
      peer_.received(n, now_);
      data += n;
      size -= n;
    }
  }

  void take_output(size_t frames) {
    for (size_t i = 0; i < frames; ++i) {
      const OutputBytes out = peer_.output(now_);
      if (out.size == 0) return;
      must(out.data != nullptr);
      FrameHeader header;
      if (parse_header(out.data, out.size, &header) == HeaderStatus::complete &&
          out.size >= header.frame_bytes()) {
        const uint8_t* payload = out.data + kLinkHeaderBytes;
        LinkWelcome welcome;
        if (header.type == FrameType::hello) must(decode(payload, header.payload, &hello_));
        if (header.type == FrameType::welcome) {
          must(decode(payload, header.payload, &welcome));
          if (welcome.tag != 0) tag_ = welcome.tag;
        }
      }
      const size_t part = (i % 3 == 2) ? out.size / 2 + 1 : out.size;
      peer_.sent(part < out.size ? part : out.size, now_);
    }
  }

  void application(uint8_t step, uint8_t argument) {
    uint8_t block[256];
    std::memset(block, argument, sizeof(block));
    if (step < 232) {
      const size_t size = argument & ~3u;
      must(sender_.write(block, size, now_) <= size);
    } else if (step < 236) {
      (void)sender_.write_or_drop(block, argument & ~3u, now_);
    } else if (step < 238) {
      sender_.end_of_message();
    } else if (step < 239) {
      (void)sender_.end();
    } else if (step < 253) {
      const uint64_t before = receiver_.offset();
      const Chunk chunk = receiver_.peek();
      must(chunk.kind != ChunkKind::data || (chunk.size > 0 && chunk.offset == before));
      uint8_t sum = 0;
      for (size_t i = 0; i < chunk.size; ++i) sum = static_cast<uint8_t>(sum + chunk.data[i]);
      keep_ = sum;
      const size_t taken = chunk.size < argument ? chunk.size : argument;
      receiver_.consume(taken);
      if (chunk.kind == ChunkKind::data) must(receiver_.offset() == before + taken);
    } else if (step < 254) {
      peer_.port_lost();
    } else if (is_host_ && peer_.state() != LinkState::connecting) {
      peer_.connect(peer_.session(), peer_.boot_id(), now_);
    }
  }

  bool is_host_;
  uint32_t random_ = 0;
  uint64_t now_ = 1;
  uint8_t ring_[2048];
  uint8_t credit_[1024];
  uint8_t scan_[1024];
  SenderSlot sender_slots_[16];
  ReceiverSlot receiver_slots_[16];
  StreamSender sender_;
  StreamReceiver receiver_;
  StreamSender* sender_pointer_ = &sender_;
  StreamReceiver* receiver_pointer_ = &receiver_;
  LinkPeer peer_;
  LinkHello hello_;
  uint32_t tag_ = 1;
  uint32_t sequence_ = 0;
  uint32_t offset_ = 0;
  volatile uint8_t keep_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input in{data, size};
  const bool is_host = (in.byte() & 1) != 0;
  Target target(is_host);
  target.run(in);
  return 0;
}
