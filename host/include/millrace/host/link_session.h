// SPDX-License-Identifier: Apache-2.0
// A reliable connection to a device that speaks spec/link_protocol.md: byte streams each way over a
// serial port, nothing lost silently. A replug is bridged; a session survives the program.
//
//   auto session = LinkSession::open(*endpoint, settings);     // says HELLO, waits for WELCOME
//   while (true) {
//     Status status = (*session)->wait(deadline_ns);           // moves bytes both ways
//     LinkItem item = (*session)->peek(0);                     // what has come on stream 0
//     if (item.kind == LinkItemKind::data) {
//       use(item.data);
//       (*session)->consume(0, item.data.size());
//     }
//   }
// Bytes are kept by the device until consume(): after a crash a session opened with the place() of
// the last one goes on there. One thread uses a session; while much comes quickly the session has
// another one that reads the port.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "millrace/host/result.h"
#include "millrace/host/transport.h"
#include "millrace/link/link_frame.h"

namespace millrace::host {

inline constexpr size_t kLinkStreams = 4;  // that a session has buffers for, each way

// What a program must store to go on after its own end.
struct LinkPlace {
  static constexpr uint64_t kWhatIsKept = ~uint64_t{0};  // go on wherever the device does
  uint32_t session = 0;
  uint32_t boot_id = 0;
  // Stream offsets up to which bytes were consumed.
  std::array<uint64_t, kLinkStreams> taken{kWhatIsKept, kWhatIsKept, kWhatIsKept, kWhatIsKept};
};

struct LinkSettings {
  OpenOptions open;
  std::optional<LinkPlace> resume;           // empty: a new session
  uint32_t receive_buffer_bytes = 4u << 20;  // of stream 0, a power of 2; others: 64 KiB
  uint32_t send_buffer_bytes = 1u << 20;     // of stream 0; others: 64 KiB
  uint32_t frame_payload = 4096;             // largest sent; the device may take less
  int64_t connect_timeout_ms = 3000;
  int64_t follow_replug_ms = 10000;         // how long to wait for a device that went away
  const std::atomic<bool>* stop = nullptr;  // wait() returns ErrorCode::interrupted once it is set
};

enum class LinkItemKind { nothing, data, gap, end };

struct LinkItem {
  LinkItemKind kind = LinkItemKind::nothing;
  std::span<const uint8_t> data;  // until consume() or wait()
  uint64_t offset = 0;            // in the stream; lost bytes count
  bool end_of_message = false;    // behind the last byte of `data`
  uint64_t gap_bytes = 0;         // gap: the device's producer outran the link
  uint64_t first_unit = 0;        // gap: samples that are missing, counted from 0
  uint64_t last_unit = 0;
};

struct LinkStatistics {
  uint64_t received_bytes = 0;  // payload, all streams, each byte once
  uint64_t sent_bytes = 0;      // payload, all streams, as written
  uint64_t wire_in_bytes = 0;
  uint64_t wire_out_bytes = 0;
  uint64_t ack_out_bytes = 0;
  uint64_t ack_in_bytes = 0;
  uint64_t damaged_frames = 0;
  uint64_t skipped_bytes = 0;  // of no intact frame
  uint64_t duplicate_frames = 0;
  uint64_t old_frames = 0;
  uint64_t resent_frames = 0;  // by us
  uint64_t gaps = 0;
  uint64_t gap_bytes = 0;
  uint64_t probes = 0;
  uint64_t connections = 0;
  uint64_t replugs = 0;
  double smoothed_rtt_us = 0;
  double min_rtt_us = 0;
  double longest_silence_us = 0;  // between two frames of the device: the longest stall bridged
  double longest_reconnect_us = 0;
  // What may be under way on stream 0, as agreed: the smaller of what both ends have memory for.
  uint32_t window_in_frames = 0;
  uint32_t window_in_bytes = 0;
  uint32_t window_out_frames = 0;
  uint32_t window_out_bytes = 0;
};

class LinkSession {
 public:
  // Errors: as Endpoint::open(); timeout (nothing answers, or what answers instead), protocol
  // (another version, frame limits), gone (the session to resume is lost).
  static Result<std::unique_ptr<LinkSession>> open(Endpoint& endpoint,
                                                   const LinkSettings& settings);
  ~LinkSession();
  LinkSession(const LinkSession&) = delete;
  LinkSession& operator=(const LinkSession&) = delete;

  // Moves bytes until something is there to peek() at, there is room for a write() or end() that
  // was refused (said once a refusal), or `deadline_ns` of clock(). Errors: gone (not back in time,
  // or restarted: its session died with it), protocol, interrupted, io.
  Status wait(int64_t deadline_ns);

  LinkItem peek(uint8_t stream);
  // Of a gap or the end: any size.
  void consume(uint8_t stream, size_t size);

  // Takes what there is room for; wait() makes room.
  size_t write(uint8_t stream, std::span<const uint8_t> data);
  void end_of_message(uint8_t stream);
  // False: no room at the moment; call again after wait().
  bool end(uint8_t stream);
  // The device's application has taken everything.
  bool drained(uint8_t stream) const;
  // Where the next byte written stands; after a resume, where the device expects more.
  uint64_t write_offset(uint8_t stream) const;

  // Tells the device that nobody listens any more; `end_session`: it may forget the session.
  void close(bool end_session);

  LinkPlace place() const;
  LinkStatistics statistics() const;
  const link::LinkWelcome& device() const;
  // Retransmit memory of the device's stream: bridges a stall of this / rate.
  uint64_t device_buffer_bytes(uint8_t stream) const;
  const PortIdentity& port() const;
  Clock& clock();

 private:
  struct State;
  explicit LinkSession(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace millrace::host
