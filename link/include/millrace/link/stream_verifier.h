// SPDX-License-Identifier: Apache-2.0
// Verifies a received frame stream byte by byte, finds where it goes on after a fault, and says
// what happened. Used by the host (IN) and by the device (OUT). Never allocates; about 5 KB.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/link/control_message.h"
#include "millrace/link/fault.h"
#include "millrace/link/stream_cursor.h"

namespace millrace::link {

struct FarMatch;
struct FarSearch;

// Called from feed() and finish(). Pointers are valid during the call only.
struct VerifierSink {
  void* context = nullptr;
  void (*on_fault)(void* context, const Fault& fault) = nullptr;
  // A control message that stood in the stream. Null: messages are foreign bytes.
  void (*on_message)(void* context, const Message& message) = nullptr;
};

struct VerifierLimits {
  // How far from the expected place the stream is looked for, forward and backward, bytes. What is
  // further away counts as foreign. Forward never passes the end of the run's last frame plus this.
  uint64_t search_bytes = uint64_t{256} << 20;
  // Foreign bytes after which the search is repeated less and less often: the work per received
  // byte stays bounded whatever arrives.
};

struct VerifierTotals {
  uint64_t received_bytes = 0;    // everything fed
  uint64_t verified_bytes = 0;    // stream bytes equal to what was expected, each counted once
  uint64_t message_bytes = 0;     // control messages
  uint64_t lost_bytes = 0;        // lost, mixed, missing_tail
  uint64_t duplicated_bytes = 0;  // duplicated, stale
  uint64_t inserted_bytes = 0;    // inserted, mixed
  uint64_t altered_bytes = 0;     // flipped, replaced, stale_lines
  uint64_t flipped_bits = 0;
  uint64_t faults = 0;
  uint64_t faults_of_kind[10] = {};  // by FaultKind
  // Single bytes that went missing, by their expected value, and single bytes that were altered,
  // by expected value: how a tty that is not raw gives itself away.
  uint32_t single_lost[256] = {};
  uint32_t single_altered[256] = {};
  uint8_t altered_to[256] = {};  // the last value that came instead
};

class StreamVerifier {
 public:
  // The stream is expected to begin at its offset 0.
  StreamVerifier(const StreamShape& shape, const VerifierSink& sink,
                 const VerifierLimits& limits = VerifierLimits());
  // The same from `start` on, a cursor of `shape`; the bytes before it count as accounted for.
  StreamVerifier(const StreamShape& shape, const StreamCursor& start, const VerifierSink& sink,
                 const VerifierLimits& limits = VerifierLimits());

  // Takes the next received bytes, in pieces of any size; how they are cut changes no result.
  void feed(const uint8_t* data, size_t size);
  // The same, but takes only what is what the stream is to bring next and returns how much that
  // was; the rest is for feed(). Costs no more than a comparison, where feed() may search.
  size_t feed_matching(const uint8_t* data, size_t size);
  // Nothing came for a while, but more may: decides what feed() leaves open until more bytes tell
  // (a forward jump that could still be stale bytes, damage at the very end of what came). Without
  // it a sender that waits for acknowledgements and a receiver that waits for bytes may stand
  // still.
  void settle();
  // No more bytes come: settles what is pending and reports a missing tail.
  void finish();

  // The whole run is accounted for: every stream byte was received, or is known to be lost.
  bool complete() const { return accounted_bytes() >= end_; }
  // Stream bytes accounted for so far (verified, altered or known lost); frames that this ends.
  uint64_t accounted_bytes() const;
  uint64_t frames_complete() const;
  // True while received bytes wait for the place where the stream goes on, or a forward jump waits
  // to be told from stale bytes.
  bool in_fault() const { return window_size_ + foreign_ > 0 || place_ == Place::ahead; }
  const VerifierTotals& totals() const { return totals_; }

 private:
  // Where the stream goes on in relation to where it stood. Essay: src/stream_verifier.cc.
  enum class Place : uint8_t { normal, behind, ahead };
  static constexpr size_t kWindow = 2048;
  static constexpr size_t kMaxRemoved = 32;
  struct Removed {  // a message that was taken out of the window before `index`
    uint16_t index;
    uint16_t size;
  };
  struct Resync;

  // stream_verifier.cc: received bytes, the window, messages
  void count_received(size_t size);
  size_t clean(const uint8_t* data, size_t size);
  uint64_t clean_limit() const;
  void reach_limit();
  void begin_fault();
  size_t wanted() const;
  bool process_window(bool last);
  bool take_message(bool last);
  bool look_back_for_sync();
  void remember_removed(size_t index, uint32_t size);
  void consume(size_t size);
  void slide();
  void count_message_bytes(uint32_t size);
  void decide_window(bool last);

  // resync_stage.cc: the stages of the search
  bool run_stage(size_t stage, size_t size);
  bool search_return(size_t size, Resync* out);
  bool search_local(size_t stage, size_t size, Resync* out);
  bool search_far(size_t size, uint64_t radius, Resync* out);
  void search_source(size_t size, Resync* out);
  bool look_far(FarSearch* search, const StreamCursor& origin, uint64_t radius, FarMatch* out);
  void read_expected(const StreamCursor& from, size_t size);
  uint64_t available(const StreamCursor& cursor) const;
  uint8_t* scratch() { return reinterpret_cast<uint8_t*>(slots_); }
  uint64_t stage_radius(size_t stage);

  // verifier_end.cc: what is decided on weaker evidence because nothing more comes
  bool accept_damaged_end();
  bool decide_rest(bool last);
  bool place_rest(bool last, Resync* out);
  void decide_place(bool last);

  // fault_report.cc: what a resynchronisation means
  const StreamCursor& stood() const { return place_ == Place::normal ? at_ : high_; }
  void resync(const Resync& found);
  void settle_behind(FaultKind kind);
  void settle_ahead(bool lost);
  bool settle_stale_in_place(const Resync& found);
  void go_on(const Resync& found);
  void jump(Place place, const Resync& found);
  void note_foreign(size_t size);
  bool repeats_last_bytes(size_t size) const;

  // fault_describe.cc: the fields of a Fault
  Fault fault_at(FaultKind kind, const StreamCursor& cursor) const;
  void report(Fault* fault);
  void report_foreign(FaultKind kind, uint64_t missing);
  void report_lost(const StreamCursor& from, const StreamCursor& to);
  void report_damage(const StreamCursor& from, const uint8_t* received, size_t size);
  void report_damaged_run(const StreamCursor& from, const uint8_t* received, size_t size);
  size_t describe_stale_lines(const StreamCursor& from, const uint8_t* received, size_t size,
                              Fault* fault);
  bool is_alignment(uint64_t foreign_bytes, uint64_t missing_bytes);
  bool report_alignment(size_t foreign, size_t missing);

  StreamShape shape_;
  VerifierSink sink_;
  VerifierLimits limits_;
  VerifierTotals totals_;
  uint64_t start_;
  uint64_t end_;
  StreamCursor at_;        // before the next expected byte
  StreamCursor high_;      // behind, ahead: where the stream stood when it jumped
  StreamCursor in_place_;  // where the window would be if all that came was damaged in place
  Place place_ = Place::normal;
  uint64_t segment_start_ = 0;  // behind, ahead: where it jumped to
  Fault held_;                  // ahead: the loss, if it is one
  uint64_t held_message_bytes_ = 0;
  uint64_t message_bytes_before_ = 0;  // of wire_offset: messages behind stream offset 0
  uint64_t accounted_floor_ = 0;       // never goes back, though a cursor may by a few bytes
  uint64_t frames_floor_ = 0;
  uint64_t matched_run_ = 0;   // bytes that matched in one piece up to here
  uint64_t looked_back_at_;    // where look_back_for_sync() found no message
  uint64_t foreign_ = 0;       // bytes of this fault that were dropped from the window
  uint64_t foreign_bits_ = 0;  // of these: bits that differ if they were damaged in place
  uint64_t slides_ = 0;
  uint64_t search_credit_;  // bytes of stream that far searches may still look through
  bool foreign_is_text_ = true;
  bool replay_ = false;       // the window has not been compared with the stream yet
  bool hold_ = false;         // the window may begin with a message that is not complete
  bool looked_back_ = false;  // the window begins with bytes that had matched
  uint8_t stage_ = 0;
  uint8_t sample_size_ = 0;
  uint8_t removed_count_ = 0;
  size_t scanned_ = 0;   // window bytes before this begin no message
  size_t searched_ = 0;  // window bytes before this were not found nearby
  uint8_t sample_[64];
  Removed removed_[kMaxRemoved];
  size_t window_size_ = 0;
  uint8_t window_[kWindow + 8];
  // Working space of the search and of the reports, here because a device's stack is small.
  size_t expected_size_ = 0;
  uint8_t expected_[512];
  uint16_t slots_[1024];
};

static_assert(sizeof(StreamVerifier) <= 8192, "a device holds one");

}  // namespace millrace::link
