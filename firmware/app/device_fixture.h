// SPDX-License-Identifier: Apache-2.0
// A StreamDevice on a FakePort, and the host's side of the protocol, for tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "firmware/app/fake_port.h"
#include "firmware/app/stream_device.h"
#include "millrace/link/crc32c.h"

namespace millrace::firmware {

inline std::string handshake_bytes(uint32_t frame_size, uint32_t frame_count, uint8_t acknowledge) {
  uint8_t out[link::kHandshakeBytes];
  link::encode_handshake({frame_size, frame_count, acknowledge}, out);
  return {reinterpret_cast<const char*>(out), sizeof(out)};
}

inline std::string probe_bytes() {
  uint8_t out[link::kProbeBytes];
  link::encode_probe(out);
  return {reinterpret_cast<const char*>(out), sizeof(out)};
}

inline std::string message_bytes(link::MessageType type, const std::string& payload = "") {
  uint8_t out[link::kMaxMessage];
  const size_t size = link::encode_message(type, reinterpret_cast<const uint8_t*>(payload.data()),
                                           payload.size(), out, sizeof(out));
  return {reinterpret_cast<const char*>(out), size};
}

inline std::string run_bytes(const link::RunRequest& request) {
  uint8_t payload[link::RunRequest::kBytes];
  link::encode(request, payload);
  return message_bytes(link::MessageType::run,
                       {reinterpret_cast<const char*>(payload), sizeof(payload)});
}

inline uint32_t crc_of(const std::string& bytes) {
  return link::crc32c(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

inline std::string stream_bytes(const link::StreamShape& shape) {
  link::StreamCursor cursor(shape);
  std::string bytes(static_cast<size_t>(shape.size_bytes()), '\0');
  cursor.read(reinterpret_cast<uint8_t*>(bytes.data()), bytes.size());
  return bytes;
}

// The payload of the message of this type at the start of `bytes`, which is removed; nothing if
// something else stands there.
inline std::optional<std::string> take_message(std::string* bytes, link::MessageType type) {
  link::Message message;
  if (link::parse_message(reinterpret_cast<const uint8_t*>(bytes->data()), bytes->size(),
                          &message) != link::ParseStatus::complete ||
      message.type != type) {
    return std::nullopt;
  }
  std::string payload(reinterpret_cast<const char*>(message.payload), message.payload_size);
  bytes->erase(0, message.total_size);
  return payload;
}

template <class T>
std::optional<T> take(std::string* bytes, link::MessageType type) {
  const auto payload = take_message(bytes, type);
  T value;
  if (!payload ||
      !link::decode(reinterpret_cast<const uint8_t*>(payload->data()), payload->size(), &value)) {
    return std::nullopt;
  }
  return value;
}

struct DeviceFixture {
  explicit DeviceFixture(const StreamDeviceOptions& options = {}) : device(port, options) {}

  // Polls until the device has nothing to do.
  void settle() {
    const size_t idles = port.idles;
    for (int i = 0; i < 1'000'000 && port.idles == idles; ++i) device.poll();
  }
  void send(const std::string& bytes) {
    port.host_sends(bytes);
    settle();
  }
  void advance_ms(uint32_t ms) {
    port.clock_us += ms * 1000;
    settle();
  }
  std::string received() {
    std::string bytes;
    bytes.swap(port.output);
    return bytes;
  }
  // Sends the probe and returns the session; 0 if there was no HELLO.
  uint32_t open_session() {
    send(probe_bytes());
    const auto hello = take<link::Hello>(&port.output, link::MessageType::hello);
    return hello ? hello->session_id : 0;
  }
  // Sends RUN in a new session; the STARTED must be the first that comes, and is removed.
  bool start(link::RunRequest request) {
    request.session_id = open_session();
    send(run_bytes(request));
    const auto started = take<link::Started>(&port.output, link::MessageType::started);
    return started && started->status == link::StartStatus::started;
  }

  FakePort port;
  StreamDevice device;
};

}  // namespace millrace::firmware
