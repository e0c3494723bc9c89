// SPDX-License-Identifier: Apache-2.0
// Transfers from the packets of a bus analyser (link types 288, 293, 294, 295): token, data and
// handshake to a transaction, transactions to a transfer, which ends with a short packet.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "millrace/capture/capture_reader.h"
#include "millrace/capture/totals.h"
#include "millrace/capture/transfer.h"

namespace millrace::capture {

// What packets show and URBs do not, of one endpoint.
class PacketSink : public TransferSink {
 public:
  virtual void nak(DeviceKey device, uint8_t endpoint, int64_t time_ns) = 0;
  // `index`: of the microframe (high speed) or frame, counted from the capture's first.
  virtual void data_packet(DeviceKey device, uint8_t endpoint, int64_t time_ns, uint64_t index,
                           uint32_t bytes) = 0;
};

class PacketAssembler {
 public:
  static constexpr size_t kMaxTransfer = size_t{64} << 10;  // longer ones are handed on in pieces
  static constexpr size_t kMaxPipes = 4096;

  explicit PacketAssembler(PacketSink* sink) : sink_(sink) {}
  void take(const CaptureRecord& record);
  // The packet size of an endpoint, from a descriptor. Otherwise it is the longest seen, and at
  // least what the speed makes likely. Drivers ask an interrupt endpoint for one packet at a time:
  // there each is a transfer.
  void describe(DeviceKey device, uint8_t endpoint, TransferType type, uint16_t max_packet_bytes);
  // Hands on what has no short packet at its end.
  void finish();
  const PacketTotals& totals() const { return totals_; }

 private:
  struct Pipe {
    std::vector<uint8_t> data;
    int64_t begin_ns = 0, end_ns = 0;
    uint32_t packets = 0;
    uint16_t max_packet = 0;  // from a descriptor; 0: none
    uint16_t longest = 0;
    TransferType type = TransferType::bulk;
    uint8_t last_pid = 0;  // of the data that was taken last
    // Endpoint 0.
    bool has_setup = false;
    std::array<uint8_t, 8> setup{};
  };
  struct Token {
    uint8_t pid = 0;  // 0: none
    uint8_t address = 0, endpoint = 0;
    int64_t time_ns = 0;
  };

  void token(const CaptureRecord& record, uint8_t pid);
  void data(const CaptureRecord& record, uint8_t pid);
  void handshake(int64_t time_ns, uint8_t pid);
  void give_up_token();
  void accept(int64_t time_ns);
  void control(Pipe& pipe, DeviceKey device, int64_t time_ns);
  void deliver(Pipe& pipe, DeviceKey device, uint8_t endpoint, int32_t status);
  uint16_t max_packet(const Pipe& pipe) const;
  Pipe* pipe_of(DeviceKey device, uint8_t endpoint);
  uint64_t microframe(int64_t time_ns) const;

  PacketSink* sink_;
  PacketTotals totals_;
  std::unordered_map<uint64_t, Pipe> pipes_;
  Token token_;
  bool after_split_ = false;
  bool is_high_speed_ = true;
  uint16_t link_type_ = 0;
  std::vector<uint8_t> packet_;  // data that waits for its handshake
  uint8_t packet_pid_ = 0;       // 0: none
  int64_t packet_ns_ = 0;
  int64_t first_ns_ = 0;
  int64_t last_sof_ns_ = 0;
};

// CRC16 of data packets (USB 2.0, 8.3.5.2), over payload and check bytes: kGoodCrc16 if undamaged.
uint16_t usb_crc16(const uint8_t* data, size_t size);
inline constexpr uint16_t kGoodCrc16 = 0xb001;  // 0x800d mirrored
// CRC5 over the 16 bits of a token.
bool token_is_good(uint16_t bits);

}  // namespace millrace::capture
