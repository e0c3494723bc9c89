// SPDX-License-Identifier: Apache-2.0
// The search over the whole stream. Up to four 4-byte keys from the window are compared with every
// byte position of the generated stream; a hit is then verified with 16 bytes. Comparing a block of
// 1,024 positions against four keys vectorises and hides behind the generator, whose words depend
// on each other (0.8 ns each), so four keys cost hardly more than one, and looking for bytes rather
// than words makes every frame size and every misalignment the same case. JSF32 runs backward as
// well as forward: bytes that came again or too late are found without keeping any history.
#include <string.h>

#include "millrace/link/bytes.h"
#include "resync.h"

namespace millrace::link {
namespace {

constexpr size_t kKeys = 4;
constexpr uint64_t kFirstRadius = 4096;

struct Keys {
  size_t index[kKeys];
  uint32_t value[kKeys];
};

// Spread from the first byte to the last place that a whole key fits, so that one of them lies
// behind the damage.
Keys choose_keys(const FarSearch& search) {
  Keys keys;
  const size_t last = search.size - search.key;
  const size_t spread[kKeys] = {0, last / 4, last / 2, last};
  for (size_t i = 0; i < kKeys; ++i) {
    keys.index[i] = search.first_keys_only != 0 ? 0 : spread[i];
    keys.value[i] = load_le32(search.window + keys.index[i]);
  }
  return keys;
}

bool any_hit(const uint8_t* block, const Keys& keys) {
  uint32_t hits = 0;
  const uint32_t k0 = keys.value[0];
  const uint32_t k1 = keys.value[1];
  const uint32_t k2 = keys.value[2];
  const uint32_t k3 = keys.value[3];
  for (size_t phase = 0; phase < 4; ++phase) {
    const uint8_t* p = block + phase;
    for (size_t i = 0; i < kFarBlock; i += 4) {
      const uint32_t word = load_le32(p + i);
      hits |= static_cast<uint32_t>(word == k0) | static_cast<uint32_t>(word == k1) |
              static_cast<uint32_t>(word == k2) | static_cast<uint32_t>(word == k3);
    }
  }
  return hits != 0;
}

// `block` holds kFarBlock + 3 stream bytes from `stream` on. Positions from `count` on are not
// looked at.
bool verify_hits(const FarSearch& search, const Keys& keys, const uint8_t* block, uint64_t count,
                 const StreamCursor& stream, FarMatch* out) {
  for (size_t k = 0; k < kKeys; ++k) {
    for (size_t i = 0; i < kFarBlock && i < count; ++i) {
      if (load_le32(block + i) != keys.value[k]) continue;
      StreamCursor here = stream;
      here.skip(i);
      StreamCursor compared = here;
      if (compared.match(search.window + keys.index[k], search.key) == search.key) {
        *out = FarMatch{keys.index[k], here};
        return true;
      }
    }
  }
  return false;
}

class Scanner {
 public:
  Scanner(const FarSearch& search, const StreamCursor& origin, uint8_t* block)
      : search_(search), keys_(choose_keys(search)), block_(block), up_(origin), down_(origin) {}

  bool forward(uint64_t bytes, FarMatch* out) {
    while (forward_done_ < bytes) {
      if (scan(up_, bytes - forward_done_, out)) return true;
      forward_done_ += kFarBlock;
      up_ = behind_block_;
    }
    return false;
  }

  bool backward(uint64_t bytes, FarMatch* out) {
    while (backward_done_ < bytes) {
      const uint64_t left = bytes - backward_done_;
      const uint64_t step = left < kFarBlock ? left : kFarBlock;
      down_.rewind(step);
      backward_done_ += step;
      if (scan(down_, step, out)) return true;
    }
    return false;
  }

  uint64_t looked_through() const { return forward_done_ + backward_done_; }

 private:
  bool scan(const StreamCursor& from, uint64_t count, FarMatch* out) {
    StreamCursor reader = from;
    reader.read(block_, kFarBlock);
    behind_block_ = reader;
    reader.read(block_ + kFarBlock, 4);
    return any_hit(block_, keys_) && verify_hits(search_, keys_, block_, count, from, out);
  }

  const FarSearch& search_;
  const Keys keys_;
  uint8_t* const block_;
  StreamCursor up_;
  StreamCursor down_;
  StreamCursor behind_block_ = up_;
  uint64_t forward_done_ = 0;
  uint64_t backward_done_ = 0;
};

}  // namespace

bool find_far(const FarSearch& search, const StreamCursor& origin, uint8_t* block, FarMatch* out,
              uint64_t* looked_through) {
  Scanner scanner(search, origin, block);
  bool found = false;
  for (uint64_t radius = kFirstRadius;; radius *= 8) {
    const bool last = radius >= search.forward_bytes && radius >= search.backward_bytes;
    const uint64_t forward = radius < search.forward_bytes ? radius : search.forward_bytes;
    const uint64_t backward = radius < search.backward_bytes ? radius : search.backward_bytes;
    found = scanner.forward(forward, out) || scanner.backward(backward, out);
    if (found || last) break;
  }
  *looked_through += scanner.looked_through();
  return found;
}

}  // namespace millrace::link
