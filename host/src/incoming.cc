// SPDX-License-Identifier: Apache-2.0
#include "incoming.h"

#include <algorithm>

namespace millrace::host {

void Incoming::append(std::span<const uint8_t> bytes) {
  bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(taken_));
  taken_ = 0;
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

Incoming::Item Incoming::next() {
  Item item;
  const size_t start = taken_;
  for (size_t at = start; at < bytes_.size();) {
    link::Message message;
    const link::ParseStatus status =
        link::parse_message(bytes_.data() + at, bytes_.size() - at, &message);
    if (status == link::ParseStatus::not_one) {
      const auto next = std::find(bytes_.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                                  bytes_.end(), link::kMessageSync[0]);
      at = static_cast<size_t>(next - bytes_.begin());
      taken_ = at;
      continue;
    }
    if (at > start) break;  // the bytes before it go first
    if (status == link::ParseStatus::need_more) return item;
    taken_ = at + message.total_size;
    item.kind = Item::Kind::message;
    item.message = message;
    return item;
  }
  if (taken_ == start) return item;
  item.kind = Item::Kind::other;
  item.other = std::span<const uint8_t>(bytes_).subspan(start, taken_ - start);
  return item;
}

std::span<const uint8_t> Incoming::take_rest() {
  const auto rest = std::span<const uint8_t>(bytes_).subspan(taken_);
  taken_ = bytes_.size();
  return rest;
}

}  // namespace millrace::host
