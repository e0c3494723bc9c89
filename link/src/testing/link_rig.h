// SPDX-License-Identifier: Apache-2.0
// Two ends of a link and the damaged cable between them, in virtual time; every byte that is
// delivered is compared with what was written there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "millrace/link/link_peer.h"

namespace millrace::link::testing {

// What happens to the bytes of one direction. Rates are per byte, 0..1.
struct CableFaults {
  double flip = 0;       // one bit of a byte
  double drop = 0;       // a chunk of 1..512 bytes begins here and is lost
  double duplicate = 0;  // a chunk of 1..512 bytes is delivered twice
  double insert = 0;     // 1..64 foreign bytes
  uint32_t split = 0;    // largest piece handed over at once; 0: all
};

// One direction: takes bytes up to its capacity, hands them over at its rate. Damage is done to
// what is taken in; a byte is copied once.
class Cable {
 public:
  Cable(uint64_t bytes_per_s, size_t capacity, uint32_t seed);
  size_t write(const uint8_t* data, size_t size);
  // Time goes on; while stalled nothing moves.
  void advance(uint64_t us);
  size_t read(uint8_t* data, size_t size);
  size_t readable() const { return arrived_ - read_; }
  void stall(uint64_t us) { stall_us_ += us; }
  void clear();

  CableFaults faults;
  uint64_t carried = 0;  // bytes taken in, before damage
  uint64_t damages = 0;

 private:
  void take(const uint8_t* data, size_t size);
  uint64_t next_event(double rate);

  uint64_t rate_;
  size_t capacity_;
  std::mt19937_64 random_;
  std::vector<uint8_t> bytes_;  // read, arrived, under way
  size_t read_ = 0, arrived_ = 0;
  uint64_t budget_ = 0;  // bytes times 10^6
  uint64_t stall_us_ = 0;
};

struct StreamSetup {
  uint8_t stream = 0;
  uint8_t priority = 0;
  uint32_t max_payload = 4096;
  uint32_t unit_bytes = 1;
  size_t ring_bytes = 65536;
  uint32_t slots = 64;
  uint32_t credit_bytes = 65536;
  uint32_t receiver_slots = 64;
};

struct RigSetup {
  std::vector<StreamSetup> in{StreamSetup{}};  // device to host
  std::vector<StreamSetup> out;                // host to device
  uint64_t bytes_per_s = 30'000'000;
  size_t cable_bytes = 8192;
  uint32_t first_sequence = 0;
  uint32_t step_us = 100;
  uint32_t seed = 1;
};

// What the bytes of a stream are; `salt` differs by session and stream. No 8 bytes are like others.
void fill_pattern(uint64_t salt, uint64_t offset, uint8_t* out, size_t size);
bool is_pattern(uint64_t salt, uint64_t offset, const uint8_t* data, size_t size);

class Rig;

// One end: its peer, streams, producers and checking consumers.
class End {
 public:
  End(LinkRole role, const RigSetup& setup, uint32_t seed);

  struct Producer {
    uint64_t total = 0;     // bytes of the stream, gaps included
    size_t block = 4096;    // written at once
    bool may_drop = false;  // write_or_drop()
    bool messages = false;  // each block is a message
    bool in_place = false;  // reserve() and commit(), a frame at a time
    bool then_end = false;
    uint64_t bytes_per_step = ~uint64_t{0};
    std::vector<std::pair<uint64_t, uint64_t>> gaps;  // offset, bytes: what was refused
  };
  struct Consumer {
    uint64_t expected_offset = 0;
    uint64_t delivered = 0;
    uint64_t bytes_per_step = ~uint64_t{0};
    bool ended = false;
    std::vector<std::pair<uint64_t, uint64_t>> gaps;
    std::vector<uint64_t> message_ends;
  };

  void produce(uint64_t now_us);
  void consume();
  void pump(Cable& to_other, Cable& from_other, uint64_t now_us);
  // The places of `before` and its session, as a program has them that stored them.
  void remember(const End& before);

  std::vector<std::unique_ptr<StreamSender>> senders;
  std::vector<std::unique_ptr<StreamReceiver>> receivers;
  std::vector<Producer> producers;
  std::vector<Consumer> consumers;
  std::unique_ptr<LinkPeer> peer;
  uint64_t salt = 0;           // of what is written
  uint64_t expected_salt = 0;  // of what is read
  uint64_t verified = 0;       // bytes compared, by this program and the ones before it
  std::string error;           // the first thing that was wrong

 private:
  void produce_in_place(StreamSender& sender, const Producer& p, uint64_t stream_salt,
                        uint64_t now_us);
  void follow_session();
  static uint32_t random_word(void* context);
  LinkRole role_;
  uint32_t session_ = 0;  // that salts and places belong to
  std::mt19937 random_;
  std::vector<std::vector<uint8_t>> buffers_;
  std::vector<std::vector<SenderSlot>> sender_slots_;
  std::vector<std::vector<ReceiverSlot>> receiver_slots_;
  std::vector<StreamSender*> sender_pointers_;
  std::vector<StreamReceiver*> receiver_pointers_;
  std::vector<uint8_t> scan_buffer_;
};

class Rig {
 public:
  explicit Rig(const RigSetup& setup);

  void step();
  // Steps until `done` or `limit_us` passed; false: the limit, or something wrong was delivered.
  template <class Done>
  bool run(uint64_t limit_us, Done done) {
    const uint64_t end = now_us + limit_us;
    while (now_us < end && error().empty()) {
      if (done()) return true;
      step();
    }
    return error().empty() && done();
  }
  bool connect();
  std::string error() const { return host->error.empty() ? device->error : host->error; }
  bool all_delivered() const;

  // The device loses power and starts anew.
  void reset_device();
  // The host program is killed; a new one knows session, boot and how far each stream was taken, or
  // wants a new session if there was none.
  void restart_host();
  // A new host program that knows nothing and wants a new session.
  void new_host();
  // The port goes away and comes back at once: what was on the cable is lost.
  void replug();

  RigSetup setup;
  uint64_t now_us = 1;
  Cable to_host;
  Cable to_device;
  std::unique_ptr<End> device;
  std::unique_ptr<End> host;

 private:
  uint32_t next_seed() { return ++seed_; }
  uint32_t seed_;
};

}  // namespace millrace::link::testing
