// SPDX-License-Identifier: Apache-2.0
#include "dialogue.h"

#include <algorithm>

#include "millrace/link/classic_stream.h"

namespace millrace::host {

namespace {

constexpr int64_t kLookNs = 100 * kMillisecond;  // between two looks whether to end a wait

}  // namespace

Dialogue::Dialogue(Transport& transport, const std::atomic<bool>* interrupted)
    : transport_(transport), interrupted_(interrupted), buffer_(size_t{64} << 10) {}

void Dialogue::drop(std::span<const uint8_t> bytes) {
  dropped_ += bytes.size();
  const size_t room = 64 - std::min<size_t>(64, sample_.size());
  const size_t n = std::min(room, bytes.size());
  sample_.insert(sample_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
}

IoResult Dialogue::drain(int64_t quiet_ns, int64_t limit_ns) {
  drop(incoming_.take_rest());
  const int64_t limit = transport_.clock().now_ns() + limit_ns;
  for (;;) {
    const int64_t now = transport_.clock().now_ns();
    IoResult result = transport_.read(buffer_, std::min(limit, now + quiet_ns));
    if (result.kind != IoKind::done) return result;
    drop({buffer_.data(), result.size});
    if (now >= limit) return result;
  }
}

IoResult Dialogue::send(std::span<const uint8_t> bytes, int64_t deadline_ns) {
  return transport_.write(bytes, deadline_ns);
}

IoResult Dialogue::send(link::MessageType type, std::span<const uint8_t> payload,
                        int64_t deadline_ns) {
  uint8_t wire[link::kMaxMessage];
  const size_t size =
      link::encode_message(type, payload.data(), payload.size(), wire, sizeof(wire));
  return transport_.write({wire, size}, deadline_ns);
}

IoResult Dialogue::await(link::MessageType wanted, int64_t deadline_ns, int64_t limit_ns,
                         std::vector<uint8_t>* payload) {
  const int64_t patience = deadline_ns - transport_.clock().now_ns();
  for (;;) {
    for (;;) {
      const Incoming::Item item = incoming_.next();
      if (item.kind == Incoming::Item::Kind::none) break;
      if (item.kind == Incoming::Item::Kind::other) {
        drop(item.other);
      } else if (item.message.type == wanted) {
        payload->assign(item.message.payload, item.message.payload + item.message.payload_size);
        IoResult result;
        result.kind = IoKind::done;
        return result;
      }
    }
    IoResult result = read(deadline_ns);
    if (result.kind != IoKind::done) return result;
    last_arrival_ns_ = transport_.clock().now_ns();
    incoming_.append({buffer_.data(), result.size});
    deadline_ns = std::max(deadline_ns, std::min(limit_ns, last_arrival_ns_ + patience));
  }
}

IoResult Dialogue::read(int64_t deadline_ns) {
  for (;;) {
    const int64_t look_ns = std::min(deadline_ns, transport_.clock().now_ns() + kLookNs);
    IoResult result = transport_.read(buffer_, look_ns);
    if (result.kind != IoKind::nothing_yet || look_ns == deadline_ns) return result;
    if (interrupted_ != nullptr && interrupted_->load(std::memory_order_relaxed)) return result;
  }
}

std::optional<link::Hello> Dialogue::probe(int64_t wait_ns, IoResult* io) {
  uint8_t probe[link::kProbeBytes];
  link::encode_probe(probe);
  *io = transport_.write(probe, transport_.clock().now_ns() + wait_ns);
  if (io->kind == IoKind::gone || io->kind == IoKind::error) return std::nullopt;
  return await_hello(wait_ns, io);
}

std::optional<link::Hello> Dialogue::await_hello(int64_t wait_ns, IoResult* io) {
  // An answer to an earlier probe may still be under way; the last HELLO is the valid one. RUN
  // would be refused with the session of another (and is then tried again by the caller).
  std::vector<uint8_t> payload;
  link::Hello hello;
  const int64_t now = transport_.clock().now_ns();
  *io = await(link::MessageType::hello, now + wait_ns, now + std::max(wait_ns, kStaleLimitNs),
              &payload);
  if (io->kind != IoKind::done) return std::nullopt;
  if (!link::decode(payload.data(), payload.size(), &hello)) return std::nullopt;
  return hello;
}

std::optional<link::DeviceCounters> Dialogue::ask_counters(int64_t wait_ns) {
  const int64_t deadline = transport_.clock().now_ns() + wait_ns;
  if (send(link::MessageType::get_counters, {}, deadline).kind != IoKind::done) {
    return std::nullopt;
  }
  std::vector<uint8_t> payload;
  link::DeviceCounters counters;
  if (await(link::MessageType::report, deadline, deadline, &payload).kind != IoKind::done ||
      !link::decode(payload.data(), payload.size(), &counters)) {
    return std::nullopt;
  }
  return counters;
}

}  // namespace millrace::host
