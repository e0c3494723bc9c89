// SPDX-License-Identifier: Apache-2.0
// The input is a script that edits a stream: 4 bytes of settings, then pairs of an operation and
// its size, so that mutations reach every state of the verifier. Whatever arrives: every received
// byte is accounted for exactly once, so is every stream byte, and how the input is cut changes no
// fault.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "millrace/link/stream_verifier.h"
#include "test_stream.h"

namespace {

using namespace millrace::link;

void require(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

bool same(const Fault& a, const Fault& b) {
  return a.kind == b.kind && a.stream_offset == b.stream_offset && a.wire_offset == b.wire_offset &&
         a.frame == b.frame && a.word == b.word && a.length == b.length &&
         a.received_length == b.received_length && a.source_offset == b.source_offset &&
         a.flipped_bits == b.flipped_bits && a.sample_size == b.sample_size &&
         std::memcmp(a.received, b.received, a.sample_size) == 0;
}

struct Script {
  StreamShape shape;
  size_t piece = 1;
  bool messages = true;
  Bytes arrived;
};

Script read_script(const uint8_t* data, size_t size) {
  constexpr uint32_t kFrameSizes[] = {1, 2, 3, 4, 5, 13, 64, 127, 128, 512, 1021, 2048};
  constexpr size_t kPieces[] = {1, 3, 13, 64, 100, 511, 512, 4096};
  Script script;
  script.shape.frame_size = kFrameSizes[data[0] % 12];
  script.shape.frame_count = 1 + (1 + data[1]) * 100 / script.shape.frame_size;
  script.piece = kPieces[data[2] % 8];
  script.messages = (data[3] & 1) != 0;
  const Bytes stream =
      make_stream(script.shape.seed, script.shape.frame_size, script.shape.frame_count + 300);
  size_t at = data[3] / 2 * size_t{20} % stream.size();
  for (size_t i = 4; i + 1 < size && script.arrived.size() < 60000; i += 2) {
    const size_t amount = data[i + 1];
    switch (data[i] % 8) {
      case 0:
      case 1: {  // goes on
        const size_t end = std::min(stream.size(), at + (amount + 1) * (data[i] % 8 == 0 ? 1 : 16));
        append(&script.arrived, slice(stream, at, end));
        at = end;
        break;
      }
      case 2:  // lost
        at = std::min(stream.size(), at + (amount + 1) * ((data[i] & 8) != 0 ? 32 : 1));
        break;
      case 3:  // again
        at -= std::min(at, (amount + 1) * ((data[i] & 8) != 0 ? 32 : 1));
        break;
      case 4:  // foreign
        for (size_t k = 0; k <= amount && i + 2 < size; ++k) {
          script.arrived.push_back(data[i + 2 + (k % (size - i - 2))]);
        }
        break;
      case 5:  // damaged
        if (at < stream.size())
          script.arrived.push_back(static_cast<uint8_t>(stream[at++] ^ amount));
        break;
      case 6:
        append(&script.arrived, message(MessageType::counters, Bytes(amount % 200, data[i])));
        break;
      default:  // part of a message
        append(&script.arrived, slice(message(MessageType::stop), 0, amount % 12));
    }
  }
  return script;
}

void check(const StreamVerifier& verifier, const Script& script, const Heard& heard) {
  const VerifierTotals& totals = verifier.totals();
  require(totals.received_bytes == script.arrived.size(), "received bytes");
  require(totals.received_bytes == totals.verified_bytes + totals.message_bytes +
                                       totals.duplicated_bytes + totals.inserted_bytes +
                                       totals.altered_bytes,
          "every received byte is one of verified, message, duplicated, inserted, altered");
  require(
      script.shape.size_bytes() == totals.verified_bytes + totals.altered_bytes + totals.lost_bytes,
      "every stream byte is one of verified, altered, lost");
  require(totals.faults == heard.faults.size(), "faults told are faults counted");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  const Script script = read_script(data, size);
  VerifierLimits limits;
  limits.search_bytes = 32768;
  Heard whole;
  Heard cut;
  VerifierSink whole_sink = whole.sink();
  VerifierSink cut_sink = cut.sink();
  if (!script.messages) whole_sink.on_message = cut_sink.on_message = nullptr;
  StreamVerifier one(script.shape, whole_sink, limits);
  one.feed(script.arrived.data(), script.arrived.size());
  one.finish();
  check(one, script, whole);
  StreamVerifier other(script.shape, cut_sink, limits);
  uint64_t frames = 0;
  for (size_t at = 0; at < script.arrived.size(); at += script.piece) {
    other.feed(script.arrived.data() + at, std::min(script.piece, script.arrived.size() - at));
    require(other.frames_complete() >= frames, "frames never become fewer");
    frames = other.frames_complete();
  }
  other.finish();
  check(other, script, cut);
  require(whole.payloads == cut.payloads, "messages do not depend on the pieces");
  require(whole.faults.size() == cut.faults.size(), "faults do not depend on the pieces");
  for (size_t i = 0; i < whole.faults.size(); ++i) {
    require(same(whole.faults[i], cut.faults[i]), "a fault does not depend on the pieces");
  }
  return 0;
}
