// SPDX-License-Identifier: Apache-2.0
// An open-addressing table: an entry costs one cache line of a look-up, where a node of
// std::unordered_map costs three and an allocation a URB. Nothing is removed singly; when three
// quarters are used it doubles, up to 65,536 entries, of which those of ended URBs are then swept
// out at once. Places depend on a seed of each run: ids that fall on one place, chosen by whoever
// wrote the file, would cost a look through all of them each (2.2 s for 36,000 records).
#include "urb_tracker.h"

#include <algorithm>
#include <random>

namespace millrace::capture {
namespace {

constexpr size_t kFirstTable = 256, kLargestTable = 65536;  // powers of 2

// The finalizer of MurmurHash3.
uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
  x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
  return x ^ x >> 33;
}

uint64_t random_seed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace

UrbTracker::UrbTracker(TransferSink* sink)
    : sink_(sink), seed_(random_seed()), table_(kFirstTable) {}

size_t UrbTracker::place_of(uint64_t id, uint16_t bus) const {
  return static_cast<size_t>((mixed(id ^ seed_) + uint64_t{bus} * 0x9e3779b1) &
                             (table_.size() - 1));
}

uint32_t UrbTracker::asked_of(const Slot& slot) { return slot.asked_known ? slot.asked : 0; }

UrbTracker::Entry* UrbTracker::find(uint64_t id, uint16_t bus, bool add) {
  if (add && used_ >= table_.size() / 4 * 3) make_room();
  for (size_t at = place_of(id, bus);; at = (at + 1) & (table_.size() - 1)) {
    Entry& entry = table_[at];
    if (entry.state != State::free && entry.id == id && entry.bus == bus) return &entry;
    if (entry.state != State::free) continue;
    if (!add) return nullptr;
    ++used_;
    entry.id = id;
    entry.bus = bus;
    entry.state = State::ended;
    return &entry;
  }
}

void UrbTracker::make_room() {
  const bool grows = table_.size() < kLargestTable;
  std::vector<Entry> old(grows ? 2 * table_.size() : table_.size());
  old.swap(table_);
  used_ = 0;
  for (const Entry& entry : old) {
    const bool stays = entry.state == State::open || (grows && entry.state == State::ended);
    if (stays) *find(entry.id, entry.bus, true) = entry;
  }
}

void UrbTracker::close(Entry* entry) {
  Slot& slot = slots_[entry->slot];
  copied_ -= slot.data.size();
  slot.data.clear();
  // A rare large transfer shall not keep its memory in a slot for good.
  if (slot.data.capacity() > kMaxCopy / 2) slot.data.shrink_to_fit();
  free_slots_.push_back(entry->slot);
  entry->state = State::ended;
  --open_;
}

void UrbTracker::copy(const UrbEvent& event, Slot* slot) {
  const size_t size = std::min({event.size, kMaxCopy, kMaxCopies - copied_});
  if (size != 0) slot->data.assign(event.data, event.data + size);
  copied_ += size;
}

void UrbTracker::take(const UrbEvent& event) {
  if (event.data_was_expected && event.type != UrbEventType::refusal && event.size < event.length &&
      event.transfer != TransferType::isochronous) {
    ++totals_.data_cut;
  }
  switch (event.type) {
    case UrbEventType::submission:
      return submit(event);
    case UrbEventType::completion:
      return complete(event);
    case UrbEventType::refusal:
      return refuse(event);
  }
}

void UrbTracker::submit(const UrbEvent& event) {
  ++totals_.submissions;
  Entry* entry = find(event.id, event.bus, true);
  if (entry->state == State::open) {
    const Slot& lost = slots_[entry->slot];
    ++(event.may_lack_half ? totals_.without_completion : totals_.completions_missing);
    sink_->abandoned(lost.device, lost.endpoint, event.time_ns, asked_of(lost),
                     event.may_lack_half ? Abandoned::unknown : Abandoned::lost);
    close(entry);
  }
  if (open_ == kMaxOpen) {
    ++totals_.untracked;
    return;
  }
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  entry->slot = free_slots_.back();
  free_slots_.pop_back();
  entry->state = State::open;
  ++open_;
  Slot& slot = slots_[entry->slot];
  slot.submit_ns = event.time_ns;
  slot.device = device_key(event.bus, event.device);
  slot.endpoint = event.endpoint;
  slot.type = event.transfer;
  slot.asked = event.length;
  slot.asked_known = event.length_known;
  slot.has_setup = event.has_setup;
  slot.setup = event.setup;
  if (!is_in(event.endpoint)) copy(event, &slot);
  sink_->submitted(slot.device, slot.endpoint, slot.type, slot.submit_ns, slot.asked,
                   slot.asked_known);
}

void UrbTracker::complete(const UrbEvent& event) {
  Entry* entry = find(event.id, event.bus, false);
  const bool is_open = entry != nullptr && entry->state == State::open;
  if (!is_open && event.may_be_unmatched) return;
  ++totals_.completions;
  Transfer transfer;
  transfer.device = device_key(event.bus, event.device);
  transfer.endpoint = event.endpoint;
  transfer.type = event.transfer;
  transfer.end_ns = event.time_ns;
  transfer.status = event.status;
  transfer.actual = event.length;
  transfer.data = event.data;
  transfer.size = event.size;
  if (!is_open) {
    ++totals_.without_submission;
    if (entry == nullptr) {
      find(event.id, event.bus, true);
    } else if (!event.may_lack_half) {
      ++totals_.submissions_missing;
      sink_->lost(transfer.device);
    }
    sink_->completed(transfer);
    return;
  }
  const Slot& slot = slots_[entry->slot];
  transfer.has_submission = true;
  transfer.submit_ns = slot.submit_ns;
  transfer.endpoint = slot.endpoint;
  transfer.asked = slot.asked;
  transfer.asked_known = slot.asked_known;
  transfer.has_setup = slot.has_setup;
  transfer.setup = slot.setup;
  if (!is_in(slot.endpoint)) {
    transfer.data = slot.data.data();
    transfer.size = slot.data.size();
    // Where the end does not tell, a successful OUT took everything.
    if (!event.length_known) transfer.actual = event.status == 0 ? slot.asked : 0;
    transfer.size = std::min<size_t>(transfer.size, transfer.actual);
  }
  sink_->completed(transfer);
  close(entry);
}

void UrbTracker::refuse(const UrbEvent& event) {
  ++totals_.refusals;
  Entry* entry = find(event.id, event.bus, false);
  if (entry == nullptr || entry->state != State::open) return;
  const Slot& slot = slots_[entry->slot];
  sink_->abandoned(slot.device, slot.endpoint, event.time_ns, asked_of(slot), Abandoned::refused);
  close(entry);
}

}  // namespace millrace::capture
