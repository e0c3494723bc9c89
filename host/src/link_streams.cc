// SPDX-License-Identifier: Apache-2.0
#include "link_streams.h"

#include <algorithm>

namespace millrace::host {

using link::Chunk;
using link::ChunkKind;

namespace {

constexpr uint32_t kOtherStreamBytes = 65536;

}  // namespace

LinkStreams::LinkStreams(const LinkSettings& settings) {
  for (uint8_t stream = 0; stream < kLinkStreams; ++stream) {
    const uint32_t out = stream == 0 ? settings.send_buffer_bytes : kOtherStreamBytes;
    const uint32_t in = stream == 0 ? settings.receive_buffer_bytes : kOtherStreamBytes;
    buffers_.emplace_back(out);
    sender_slots_.emplace_back(kSlots);
    link::SenderOptions options;
    options.stream = stream;
    options.priority = stream == 0 ? 1 : 0;
    options.max_payload = std::min(settings.frame_payload, out / 4);
    senders_.push_back(std::make_unique<link::StreamSender>(
        link::SenderMemory{buffers_.back().data(), out, sender_slots_.back().data(), kSlots},
        options));
    sender_pointers_.push_back(senders_.back().get());
    buffers_.emplace_back(in);
    receiver_slots_.emplace_back(kSlots);
    receivers_.push_back(std::make_unique<link::StreamReceiver>(
        link::ReceiverMemory{buffers_.back().data(), in, receiver_slots_.back().data(), kSlots},
        stream));
    receiver_pointers_.push_back(receivers_.back().get());
  }
}

void LinkStreams::give_to(link::LinkOptions* options) const {
  options->senders = sender_pointers_.data();
  options->sender_count = kLinkStreams;
  options->receivers = receiver_pointers_.data();
  options->receiver_count = kLinkStreams;
}

uint64_t LinkStreams::taken(uint8_t stream) const {
  return std::max(passed_[stream], receiver(stream).offset());
}

LinkItem LinkStreams::peek(uint8_t stream, const link::LinkWelcome& device) {
  LinkItem item;
  if (stream >= kLinkStreams) return item;
  link::StreamReceiver& receiver = *receivers_[stream];
  while (true) {
    Chunk chunk = receiver.peek();
    if (chunk.kind == ChunkKind::none) return item;
    // What an earlier program had taken of a frame that was not released whole.
    const uint64_t before = chunk.offset < passed_[stream] ? passed_[stream] - chunk.offset : 0;
    if (chunk.kind == ChunkKind::gap && before >= chunk.gap_bytes) {
      receiver.consume(0);
      continue;
    }
    if (chunk.kind == ChunkKind::data && before > 0) {
      receiver.consume(static_cast<size_t>(std::min<uint64_t>(before, chunk.size)));
      continue;
    }
    item.offset = chunk.offset;
    item.end_of_message = chunk.end_of_message;
    item.data = {chunk.data, chunk.size};
    item.kind = chunk.kind == ChunkKind::data  ? LinkItemKind::data
                : chunk.kind == ChunkKind::gap ? LinkItemKind::gap
                                               : LinkItemKind::end;
    if (item.kind != LinkItemKind::gap) return item;
    item.gap_bytes = chunk.gap_bytes;
    const link::LinkStreamEntry* entry = stream_entry(device, stream, false);
    const uint32_t unit = entry == nullptr ? 1 : entry->unit_bytes;
    item.first_unit = chunk.offset / unit;
    item.last_unit = (chunk.offset + chunk.gap_bytes) / unit - 1;
    return item;
  }
}

const link::LinkStreamEntry* stream_entry(const link::LinkWelcome& device, uint8_t stream,
                                          bool from_host) {
  for (size_t i = 0; i < device.stream_count; ++i) {
    const link::LinkStreamEntry& entry = device.streams[i];
    if (entry.from_host == from_host && entry.stream == stream) return &entry;
  }
  return nullptr;
}

}  // namespace millrace::host
