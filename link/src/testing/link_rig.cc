// SPDX-License-Identifier: Apache-2.0
#include "testing/link_rig.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace millrace::link::testing {
namespace {

uint64_t mix(uint64_t x) {  // splitmix64's output function
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

void add_gap(std::vector<std::pair<uint64_t, uint64_t>>& gaps, uint64_t offset, uint64_t bytes) {
  if (!gaps.empty() && gaps.back().first + gaps.back().second == offset) {
    gaps.back().second += bytes;
  } else {
    gaps.emplace_back(offset, bytes);
  }
}

}  // namespace

// Word i is base + i * odd: unlike every other of the stream, and made at the speed of memory.
void fill_pattern(uint64_t salt, uint64_t offset, uint8_t* out, size_t size) {
  constexpr uint64_t kStep = 0x9E3779B97F4A7C15u;
  const uint64_t base = mix(salt);
  const auto word_of = [&](uint64_t at) { return base + at / 8 * kStep; };
  const auto one = [&](size_t i) {
    out[i] = static_cast<uint8_t>(word_of(offset + i) >> (8 * ((offset + i) % 8)));
  };
  size_t i = 0;
  for (; i < size && (offset + i) % 8 != 0; ++i) one(i);
  uint64_t word = word_of(offset + i);
  for (; i + 8 <= size; i += 8, word += kStep) std::memcpy(out + i, &word, 8);
  for (; i < size; ++i) one(i);
}

bool is_pattern(uint64_t salt, uint64_t offset, const uint8_t* data, size_t size) {
  uint8_t expected[4096];  // stays in the first-level cache
  while (size > 0) {
    const size_t piece = std::min(size, sizeof(expected));
    fill_pattern(salt, offset, expected, piece);
    if (std::memcmp(expected, data, piece) != 0) return false;
    offset += piece;
    data += piece;
    size -= piece;
  }
  return true;
}

// --- Cable ---

Cable::Cable(uint64_t bytes_per_s, size_t capacity, uint32_t seed)
    : rate_(bytes_per_s), capacity_(capacity), random_(seed) {}

size_t Cable::write(const uint8_t* data, size_t size) {
  const size_t under_way = bytes_.size() - arrived_;
  const size_t taken = under_way >= capacity_ ? 0 : std::min(size, capacity_ - under_way);
  take(data, taken);
  return taken;
}

uint64_t Cable::next_event(double rate) {
  if (rate <= 0) return ~uint64_t{0};
  const double u = std::uniform_real_distribution<double>(1e-12, 1.0)(random_);
  return static_cast<uint64_t>(std::min(-std::log(u) / rate, 1e15));
}

void Cable::advance(uint64_t us) {
  if (stall_us_ > 0) {
    const uint64_t part = std::min(us, stall_us_);
    stall_us_ -= part;
    us -= part;
  }
  budget_ += us * rate_;
  // A receiver that does not read stops the cable.
  size_t n = std::min<uint64_t>(budget_ / 1'000'000, bytes_.size() - arrived_);
  if (readable() > capacity_) n = 0;
  arrived_ += n;
  budget_ = std::min<uint64_t>(budget_ - n * 1'000'000, 1'000'000);
}

void Cable::take(const uint8_t* data, size_t size) {
  carried += size;
  const double any = faults.flip + faults.drop + faults.duplicate + faults.insert;
  while (size > 0) {
    const uint64_t clean = std::min<uint64_t>(next_event(any), size);
    bytes_.insert(bytes_.end(), data, data + clean);
    data += clean;
    size -= clean;
    if (size == 0) return;
    ++damages;
    const double which = std::uniform_real_distribution<double>(0, any)(random_);
    const size_t length = std::min<size_t>(size, 1 + random_() % 512);
    if (which < faults.flip) {
      bytes_.push_back(static_cast<uint8_t>(*data ^ (1u << (random_() % 8))));
      ++data;
      --size;
    } else if (which < faults.flip + faults.drop) {
      data += length;
      size -= length;
    } else if (which < faults.flip + faults.drop + faults.duplicate) {
      bytes_.insert(bytes_.end(), data, data + length);
      bytes_.insert(bytes_.end(), data, data + length);
      data += length;
      size -= length;
    } else {
      for (uint64_t i = 1 + random_() % 64; i > 0; --i) {
        bytes_.push_back(static_cast<uint8_t>(random_()));
      }
    }
  }
}

size_t Cable::read(uint8_t* data, size_t size) {
  size_t n = std::min(size, readable());
  if (faults.split > 0) n = std::min<size_t>(n, faults.split);
  std::memcpy(data, bytes_.data() + read_, n);
  read_ += n;
  if (read_ == bytes_.size()) {
    clear();
  } else if (read_ > 65536 && read_ > bytes_.size() / 2) {
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(read_));
    arrived_ -= read_;
    read_ = 0;
  }
  return n;
}

void Cable::clear() {
  bytes_.clear();
  read_ = arrived_ = 0;
}

// --- End ---

uint32_t End::random_word(void* context) {
  return static_cast<uint32_t>(static_cast<End*>(context)->random_());
}

End::End(LinkRole role, const RigSetup& setup, uint32_t seed) : role_(role), random_(seed) {
  const bool is_device = role == LinkRole::device;
  const auto& sent = is_device ? setup.in : setup.out;
  const auto& heard = is_device ? setup.out : setup.in;
  uint32_t largest = 0;
  for (const StreamSetup& s : sent) {
    buffers_.emplace_back(s.ring_bytes);
    sender_slots_.emplace_back(s.slots);
    SenderOptions options;
    options.stream = s.stream;
    options.priority = s.priority;
    options.unit_bytes = s.unit_bytes;
    options.max_payload = s.max_payload;
    senders.push_back(std::make_unique<StreamSender>(
        SenderMemory{buffers_.back().data(), s.ring_bytes, sender_slots_.back().data(), s.slots},
        options));
    sender_pointers_.push_back(senders.back().get());
  }
  for (const StreamSetup& s : heard) {
    buffers_.emplace_back(s.credit_bytes);
    receiver_slots_.emplace_back(s.receiver_slots);
    receivers.push_back(std::make_unique<StreamReceiver>(
        ReceiverMemory{buffers_.back().data(), s.credit_bytes, receiver_slots_.back().data(),
                       s.receiver_slots},
        s.stream));
    receiver_pointers_.push_back(receivers.back().get());
    largest = std::max(largest, s.max_payload);
  }
  producers.resize(senders.size());
  consumers.resize(receivers.size());
  scan_buffer_.resize(std::max<size_t>(2 * (largest + kLinkOverhead), 2048));
  LinkOptions options;
  options.role = role;
  options.senders = sender_pointers_.data();
  options.sender_count = static_cast<uint8_t>(senders.size());
  options.receivers = receiver_pointers_.data();
  options.receiver_count = static_cast<uint8_t>(receivers.size());
  options.random = random_word;
  options.random_context = this;
  options.first_sequence = setup.first_sequence;
  options.device_name = "rig";
  peer = std::make_unique<LinkPeer>(options, scan_buffer_.data(), scan_buffer_.size());
}

// Both ends write the pattern of the session that they are in, from its beginning.
void End::follow_session() {
  const uint32_t session = peer->session();
  if (session == session_ || session == 0) return;
  session_ = session;
  const uint64_t base = uint64_t{session} << 32;
  salt = role_ == LinkRole::device ? base : base + 1000;
  expected_salt = role_ == LinkRole::device ? base + 1000 : base;
  for (Producer& p : producers) p.gaps.clear();
  for (Consumer& c : consumers) {
    c.expected_offset = c.delivered = 0;
    c.ended = false;
    c.gaps.clear();
    c.message_ends.clear();
  }
}

void End::remember(const End& before) {
  producers = before.producers;
  consumers = before.consumers;
  session_ = before.session_;
  salt = before.salt;
  expected_salt = before.expected_salt;
  verified = before.verified;
}

void End::produce(uint64_t now_us) {
  if (peer->session() == 0) return;
  std::vector<uint8_t> block;
  for (size_t i = 0; i < senders.size(); ++i) {
    Producer& p = producers[i];
    StreamSender& sender = *senders[i];
    uint64_t budget = p.bytes_per_step;
    if (p.in_place) produce_in_place(sender, p, salt + i, now_us);
    while (!p.in_place && sender.offset() < p.total && budget > 0 && !sender.ended()) {
      size_t size =
          static_cast<size_t>(std::min<uint64_t>({p.total - sender.offset(), p.block, budget}));
      const uint32_t unit = sender.options().unit_bytes;
      if (size > unit) size -= size % unit;
      block.resize(size);
      const uint64_t offset = sender.offset();
      fill_pattern(salt + i, offset, block.data(), size);
      size_t taken = size;
      if (p.may_drop) {
        if (!sender.write_or_drop(block.data(), size, now_us)) {
          add_gap(p.gaps, offset, size);
        }
      } else if (p.messages && sender.free_bytes() < size) {
        break;
      } else {
        taken = sender.write(block.data(), size, now_us);
      }
      if (p.messages && taken == size) sender.end_of_message();
      budget -= taken;
      if (taken < size) break;
    }
    if (sender.offset() >= p.total && p.then_end && !sender.ended()) (void)sender.end();
  }
}

void End::produce_in_place(StreamSender& sender, const Producer& p, uint64_t stream_salt,
                           uint64_t now_us) {
  while (sender.offset() < p.total && !sender.ended()) {
    size_t room = 0;
    uint8_t* to = sender.reserve(&room);
    if (to == nullptr) return;
    const uint64_t offset = sender.offset();  // a gap may have come before
    const size_t size = static_cast<size_t>(std::min<uint64_t>(room, p.total - offset));
    fill_pattern(stream_salt, offset, to, size);
    sender.commit(size, now_us);
  }
}

void End::consume() {
  for (size_t i = 0; i < receivers.size(); ++i) {
    Consumer& c = consumers[i];
    uint64_t budget = c.bytes_per_step;
    while (budget > 0 && error.empty()) {
      const Chunk chunk = receivers[i]->peek();
      if (chunk.kind == ChunkKind::none) break;
      if (chunk.kind == ChunkKind::end) {
        c.ended = true;
        receivers[i]->consume(0);
        continue;
      }
      // After a crash the device gives whole frames: what was taken before is passed over.
      const uint64_t again =
          chunk.offset < c.expected_offset ? c.expected_offset - chunk.offset : 0;
      if (chunk.kind == ChunkKind::gap) {
        // Two records may stand behind each other: one gap.
        if (again == 0) add_gap(c.gaps, chunk.offset, chunk.gap_bytes);
        c.expected_offset = std::max(c.expected_offset, chunk.offset + chunk.gap_bytes);
        receivers[i]->consume(0);
        continue;
      }
      if (again == 0 && chunk.offset != c.expected_offset) {
        error = "stream " + std::to_string(i) + ": offset " + std::to_string(chunk.offset) +
                " delivered after " + std::to_string(c.expected_offset);
        break;
      }
      const size_t size = static_cast<size_t>(std::min<uint64_t>(chunk.size, budget));
      if (!is_pattern(expected_salt + i, chunk.offset, chunk.data, size)) {
        error = std::string(role_ == LinkRole::device ? "device" : "host") + ": stream " +
                std::to_string(i) + ": wrong bytes at " + std::to_string(chunk.offset);
        break;
      }
      c.expected_offset = std::max(c.expected_offset, chunk.offset + size);
      c.delivered += size;
      verified += size;
      budget -= size;
      if (size == chunk.size && chunk.end_of_message) c.message_ends.push_back(chunk.offset + size);
      receivers[i]->consume(size);
    }
  }
}

void End::pump(Cable& to_other, Cable& from_other, uint64_t now_us) {
  while (from_other.readable() > 0) {
    size_t room = 0;
    uint8_t* space = peer->space(&room);
    const size_t n = from_other.read(space, room);
    peer->received(n, now_us);
    follow_session();
    consume();
  }
  follow_session();
  consume();
  produce(now_us);
  peer->poll(now_us);
  for (OutputBytes out = peer->output(now_us); out.size > 0; out = peer->output(now_us)) {
    const size_t n = to_other.write(out.data, out.size);
    peer->sent(n, now_us);
    if (n < out.size) break;
  }
}

// --- Rig ---

Rig::Rig(const RigSetup& rig_setup)
    : setup(rig_setup),
      to_host(setup.bytes_per_s, setup.cable_bytes, setup.seed),
      to_device(setup.bytes_per_s, setup.cable_bytes, setup.seed + 1'000'000),
      seed_(setup.seed * 1000) {
  device = std::make_unique<End>(LinkRole::device, setup, next_seed());
  host = std::make_unique<End>(LinkRole::host, setup, next_seed());
}

void Rig::step() {
  to_host.advance(setup.step_us);
  to_device.advance(setup.step_us);
  device->pump(to_host, to_device, now_us);
  host->pump(to_device, to_host, now_us);
  now_us += setup.step_us;
}

bool Rig::connect() {
  host->peer->connect(0, 0, now_us);
  return run(5'000'000, [&] { return host->peer->state() == LinkState::connected; });
}

bool Rig::all_delivered() const {
  if (host->peer->state() != LinkState::connected ||
      host->peer->session() != device->peer->session()) {
    return false;
  }
  for (const End* end : {device.get(), host.get()}) {
    for (size_t i = 0; i < end->senders.size(); ++i) {
      if (end->senders[i]->offset() < end->producers[i].total) return false;
      if (!end->senders[i]->drained()) return false;
    }
  }
  return true;
}

void Rig::reset_device() {
  auto fresh = std::make_unique<End>(LinkRole::device, setup, next_seed());
  fresh->producers = device->producers;
  fresh->verified = device->verified;
  device = std::move(fresh);
  to_host.clear();
}

void Rig::restart_host() {
  auto fresh = std::make_unique<End>(LinkRole::host, setup, next_seed());
  fresh->remember(*host);
  const bool known = host->peer->session() != 0 && host->peer->state() != LinkState::failed;
  fresh->peer->connect(known ? host->peer->session() : 0, host->peer->boot_id(), now_us);
  host = std::move(fresh);
}

void Rig::new_host() {
  auto fresh = std::make_unique<End>(LinkRole::host, setup, next_seed());
  fresh->producers = host->producers;
  fresh->verified = host->verified;
  fresh->peer->connect(0, 0, now_us);
  host = std::move(fresh);
}

void Rig::replug() {
  to_host.clear();
  to_device.clear();
  device->peer->port_lost();
  const uint32_t session = host->peer->session();
  const uint32_t boot_id = host->peer->boot_id();
  host->peer->port_lost();
  host->peer->connect(session, boot_id, now_us);
}

}  // namespace millrace::link::testing
