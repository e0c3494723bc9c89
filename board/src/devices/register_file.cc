// SPDX-License-Identifier: Apache-2.0
#include "devices/register_file.h"

namespace millrace::board {

namespace {

constexpr uint32_t kAliasBytes = 16;

uint32_t size_mask(unsigned size) { return size >= 4 ? 0xFFFFFFFFu : (1u << (8 * size)) - 1; }

}  // namespace

RegisterFile::RegisterFile(std::span<const RegisterSpec> table, unsigned width, const Device& owner,
                           DeviceHost& host)
    : table_(table), width_(width), owner_(owner), host_(host), values_(table.size()) {
  for (size_t i = 0; i < table.size(); ++i) {
    const RegisterSpec& spec = table[i];
    const uint32_t bytes = spec.kind == RegisterKind::set_clr_tog ? kAliasBytes : width;
    const size_t end = (spec.offset + bytes) / width;
    if (index_.size() < end) index_.resize(end, -1);
    for (size_t k = spec.offset / width; k < end; ++k) index_[k] = static_cast<int16_t>(i);
  }
  reset();
}

int RegisterFile::find(uint32_t offset) const {
  const size_t k = offset / width_;
  return k < index_.size() ? index_[k] : -1;
}

uint32_t RegisterFile::read(uint32_t offset, unsigned size) {
  uint32_t value = 0;
  for (unsigned done = 0; done < size;) {  // a wide access to narrow registers takes several
    const uint32_t at = offset + done;
    const unsigned lane = at % width_;
    const unsigned part = size - done < width_ - lane ? size - done : width_ - lane;
    const int i = find(at);
    if (i < 0) {
      host_.report_unknown(owner_, at - lane, false);
    } else {
      const uint32_t bits = (values_[static_cast<size_t>(i)] >> (8 * lane)) & size_mask(part);
      value |= bits << (8 * done);
    }
    done += part;
  }
  return value;
}

RegisterChange RegisterFile::write(uint32_t offset, unsigned size, uint32_t value) {
  if (size > width_) {  // the first half's change is what the caller sees
    const RegisterChange first = write(offset, width_, value & size_mask(width_));
    write(offset + width_, size - width_, value >> (8 * width_));
    return first;
  }
  const unsigned lane = offset % width_;
  const int found = find(offset);
  if (found < 0) {
    host_.report_unknown(owner_, offset - lane, true);
    return {.offset = offset - lane, .written = value << (8 * lane)};
  }
  const RegisterSpec& spec = table_[static_cast<size_t>(found)];
  uint32_t& stored = values_[static_cast<size_t>(found)];
  const uint32_t lanes = size_mask(size) << (8 * lane);
  const uint32_t bits = (value << (8 * lane)) & lanes;
  RegisterChange change{.offset = spec.offset, .before = stored, .written = bits, .known = true};
  const uint32_t allowed = lanes & spec.writable;
  switch ((offset - spec.offset) / 4) {  // nonzero for aliases alone
    case 1:
      stored |= bits & allowed;
      break;
    case 2:
      stored &= ~(bits & allowed);
      break;
    case 3:
      stored ^= bits & allowed;
      break;
    default:
      if (spec.kind == RegisterKind::one_clears) {
        stored &= ~(bits & allowed);
      } else {
        stored = (stored & ~allowed) | (bits & allowed);
      }
  }
  change.after = stored;
  return change;
}

uint32_t& RegisterFile::operator[](uint32_t offset) {
  return values_[static_cast<size_t>(find(offset))];
}

void RegisterFile::reset() {
  for (size_t i = 0; i < table_.size(); ++i) values_[i] = table_[i].reset;
}

void RegisterFile::snapshot(Snapshot& s) {
  for (size_t i = 0; i < table_.size(); ++i) s.field(table_[i].name, values_[i]);
}

}  // namespace millrace::board
