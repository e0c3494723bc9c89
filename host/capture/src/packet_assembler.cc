// SPDX-License-Identifier: Apache-2.0
// USB 2.0, chapter 8. An analyser sees tries, a driver sees transfers: only data that its receiver
// acknowledged counts, once. Isochronous packets have no handshake and are not put together; nor
// are split transactions, whose parts lie in different microframes.
#include "packet_assembler.h"

#include <algorithm>

#include "byte_order.h"

namespace millrace::capture {
namespace {

constexpr uint8_t kOutPid = 0xe1, kInPid = 0x69, kSof = 0xa5, kSetupPid = 0x2d, kPing = 0xb4,
                  kSplit = 0x78;
constexpr uint8_t kData0 = 0xc3, kData1 = 0x4b, kData2 = 0x87, kMdata = 0x0f;
constexpr uint8_t kAck = 0xd2, kNak = 0x5a, kStall = 0x1e, kNyet = 0x96, kPre = 0x3c;
constexpr int32_t kPipeError = -32;  // EPIPE, as URBs have it

bool pid_is_good(uint8_t pid) { return (pid >> 4 ^ (pid & 15)) == 15; }

}  // namespace

void PacketAssembler::take(const CaptureRecord& record) {
  if (record.size == 0) return;
  const uint8_t pid = record.data[0];
  if (totals_.packets++ == 0) first_ns_ = record.time_ns;
  if (link_type_ != record.link_type) {
    link_type_ = record.link_type;
    is_high_speed_ = link_type_ == kLinkUsb20High || link_type_ == kLinkUsb20;
  }
  if (!pid_is_good(pid)) {
    ++totals_.bad_pid;
    return;
  }
  switch (pid) {
    case kOutPid:
    case kInPid:
    case kSetupPid:
    case kPing:
    case kSof:
      return token(record, pid);
    case kSplit:
      ++totals_.split;
      give_up_token();
      after_split_ = true;
      return;
    case kData0:
    case kData1:
    case kData2:
    case kMdata:
      return data(record, pid);
    case kAck:
    case kNak:
    case kStall:
    case kNyet:
      return handshake(record.time_ns, pid);
    case kPre:  // before a token it is PRE, after one ERR; neither changes anything here
    default:
      return;
  }
}

void PacketAssembler::give_up_token() {
  if (token_.pid != 0) ++totals_.unanswered;
  token_.pid = 0;
  packet_pid_ = 0;
}

void PacketAssembler::token(const CaptureRecord& record, uint8_t pid) {
  const bool is_part_of_split = after_split_;
  after_split_ = false;
  if (record.size != 3 || !token_is_good(kLittle.u16(record.data + 1))) {
    ++totals_.bad_crc;
    give_up_token();
    return;
  }
  if (pid == kSof) {
    ++totals_.frames;
    // Link type 288 does not tell the speed; microframes do.
    const int64_t period = record.time_ns - last_sof_ns_;
    if (link_type_ == kLinkUsb20 && last_sof_ns_ != 0 && period > 0) {
      if (period > 900'000 && period < 1'100'000) is_high_speed_ = false;
      if (period < 300'000) is_high_speed_ = true;
    }
    last_sof_ns_ = record.time_ns;
    return;
  }
  give_up_token();
  const uint16_t bits = kLittle.u16(record.data + 1);
  if (is_part_of_split) return;
  token_.pid = pid;
  token_.address = bits & 0x7f;
  token_.endpoint = bits >> 7 & 0x0f;
  token_.time_ns = record.time_ns;
}

void PacketAssembler::data(const CaptureRecord& record, uint8_t pid) {
  if (token_.pid == 0 || packet_pid_ != 0 || token_.pid == kPing) {
    ++totals_.out_of_place;
    return;
  }
  if (record.size < 3 || record.original_size > record.size ||
      usb_crc16(record.data + 1, record.size - 1) != kGoodCrc16) {
    ++totals_.bad_crc;
    return;
  }
  packet_.assign(record.data + 1, record.data + record.size - 2);
  packet_pid_ = pid;
  packet_ns_ = record.time_ns;
}

void PacketAssembler::handshake(int64_t time_ns, uint8_t pid) {
  if (token_.pid == 0) {
    ++totals_.out_of_place;
    return;
  }
  ++totals_.transactions;
  const DeviceKey device = device_key(0, token_.address);
  const uint8_t endpoint =
      static_cast<uint8_t>(token_.endpoint | (token_.pid == kInPid ? 0x80 : 0));
  if (token_.pid == kPing) ++totals_.pings;
  if (pid == kNyet) ++totals_.nyets;
  if (pid == kNak) {
    ++totals_.naks;
    sink_->nak(device, endpoint, time_ns);
  } else if (pid == kStall) {
    ++totals_.stalls;
    Pipe* pipe = pipe_of(device, token_.endpoint == 0 ? 0 : endpoint);
    if (pipe != nullptr) {
      if (pipe->packets == 0) pipe->begin_ns = token_.time_ns;
      pipe->end_ns = time_ns;
      deliver(*pipe, device, token_.endpoint == 0 ? 0 : endpoint, kPipeError);
    }
  } else if (packet_pid_ != 0) {
    accept(time_ns);
  } else if (token_.pid != kPing) {
    ++totals_.out_of_place;
  }
  token_.pid = 0;
  packet_pid_ = 0;
}

PacketAssembler::Pipe* PacketAssembler::pipe_of(DeviceKey device, uint8_t endpoint) {
  const uint64_t key = uint64_t{device} << 8 | endpoint;
  const auto found = pipes_.find(key);
  if (found != pipes_.end()) return &found->second;
  if (pipes_.size() >= kMaxPipes) return nullptr;
  return &pipes_[key];
}

void PacketAssembler::describe(DeviceKey device, uint8_t endpoint, TransferType type,
                               uint16_t max_packet_bytes) {
  Pipe* pipe = pipe_of(device, endpoint);
  if (pipe == nullptr) return;
  pipe->max_packet = max_packet_bytes;
  pipe->type = type;
}

uint16_t PacketAssembler::max_packet(const Pipe& pipe) const {
  if (pipe.max_packet != 0) return pipe.max_packet;
  return std::max<uint16_t>(pipe.longest, is_high_speed_ ? 512 : 64);
}

uint64_t PacketAssembler::microframe(int64_t time_ns) const {
  const int64_t since = std::max<int64_t>(0, time_ns - first_ns_);
  return static_cast<uint64_t>(since) / (is_high_speed_ ? 125'000u : 1'000'000u);
}

void PacketAssembler::accept(int64_t time_ns) {
  const DeviceKey device = device_key(0, token_.address);
  const bool is_control = token_.endpoint == 0;
  const uint8_t endpoint =
      static_cast<uint8_t>(token_.endpoint | (token_.pid == kInPid ? 0x80 : 0));
  Pipe* pipe = pipe_of(device, is_control ? 0 : endpoint);
  if (pipe == nullptr) return;
  sink_->data_packet(device, endpoint, packet_ns_, microframe(packet_ns_),
                     static_cast<uint32_t>(packet_.size()));
  if (is_control) return control(*pipe, device, time_ns);
  if (packet_pid_ == pipe->last_pid && (packet_pid_ == kData0 || packet_pid_ == kData1)) {
    ++totals_.repeated;
    return;
  }
  pipe->last_pid = packet_pid_;
  if (pipe->packets++ == 0) pipe->begin_ns = token_.time_ns;
  pipe->end_ns = time_ns;
  pipe->data.insert(pipe->data.end(), packet_.begin(), packet_.end());
  pipe->longest = std::max(pipe->longest, static_cast<uint16_t>(packet_.size()));
  if (pipe->type == TransferType::interrupt || packet_.size() < max_packet(*pipe) ||
      pipe->data.size() + max_packet(*pipe) > kMaxTransfer) {
    deliver(*pipe, device, endpoint, 0);
  }
}

// Setup, data in either direction, and an empty packet against that direction as the status.
void PacketAssembler::control(Pipe& pipe, DeviceKey device, int64_t time_ns) {
  if (token_.pid == kSetupPid) {
    pipe.data.clear();
    pipe.has_setup = packet_.size() == 8;
    if (pipe.has_setup) std::copy(packet_.begin(), packet_.end(), pipe.setup.begin());
    pipe.begin_ns = token_.time_ns;
    pipe.packets = 1;
    return;
  }
  if (!pipe.has_setup) return;
  const bool data_is_in = (pipe.setup[0] & 0x80) != 0 && kLittle.u16(&pipe.setup[6]) != 0;
  ++pipe.packets;
  pipe.end_ns = time_ns;
  if ((token_.pid == kInPid) == data_is_in) {
    if (pipe.data.size() + packet_.size() <= kMaxTransfer) {
      pipe.data.insert(pipe.data.end(), packet_.begin(), packet_.end());
    }
    return;
  }
  deliver(pipe, device, data_is_in ? 0x80 : 0, 0);
}

void PacketAssembler::deliver(Pipe& pipe, DeviceKey device, uint8_t endpoint, int32_t status) {
  Transfer transfer;
  transfer.device = device;
  transfer.endpoint = endpoint;
  transfer.type = (endpoint & 0x0f) == 0 ? TransferType::control : pipe.type;
  transfer.has_submission = true;
  transfer.submit_ns = pipe.begin_ns;
  transfer.end_ns = pipe.end_ns;
  transfer.status = status;
  transfer.actual = static_cast<uint32_t>(pipe.data.size());
  transfer.data = pipe.data.data();
  transfer.size = pipe.data.size();
  transfer.packets = pipe.packets;
  transfer.has_setup = pipe.has_setup;
  transfer.setup = pipe.setup;
  // SET_CONFIGURATION, SET_INTERFACE, CLEAR_FEATURE of an endpoint start sequence bits anew.
  const bool resets = pipe.has_setup && ((pipe.setup[0] == 0 && pipe.setup[1] == 9) ||
                                         (pipe.setup[0] == 1 && pipe.setup[1] == 11) ||
                                         (pipe.setup[0] == 2 && pipe.setup[1] == 1));
  sink_->completed(transfer);
  pipe.data.clear();
  pipe.packets = 0;
  pipe.has_setup = false;
  if (!resets) return;
  for (auto& [key, other] : pipes_) {
    if (key >> 8 == device) other.last_pid = 0;
  }
}

void PacketAssembler::finish() {
  for (auto& [key, pipe] : pipes_) {
    if (pipe.packets == 0 || (key & 0x0f) == 0) continue;
    deliver(pipe, static_cast<DeviceKey>(key >> 8), static_cast<uint8_t>(key), 0);
  }
}

}  // namespace millrace::capture
