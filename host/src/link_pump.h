// SPDX-License-Identifier: Apache-2.0
// Carries bytes between a port and a LinkPeer, both ways.
#pragma once

#include <cstdint>
#include <memory>

#include "block_reader.h"
#include "millrace/host/transport.h"
#include "millrace/link/link_peer.h"

namespace millrace::host {

class LinkPump {
 public:
  explicit LinkPump(link::LinkPeer& peer) : peer_(peer) {}

  void attach(std::unique_ptr<Transport> transport) { transport_ = std::move(transport); }
  // Closes the port.
  void detach();
  // Null: none is attached.
  Transport* transport() const { return transport_.get(); }
  // From now on nobody else reads from the port.
  void stop_reading();

  // True: the port took everything.
  bool send();
  // Waits for bytes until `until_ns` at most and gives the peer what has come. `window_bytes`: what
  // the device may have under way.
  IoResult receive(int64_t until_ns, uint32_t window_bytes);

 private:
  IoResult receive_here(int64_t until_ns, uint32_t window_bytes);
  IoResult receive_from_thread(int64_t until_ns);
  size_t take(const Block& block);
  void note_read(size_t size, uint32_t window_bytes);
  uint64_t now_us() { return static_cast<uint64_t>(transport_->clock().now_ns() / 1000); }

  link::LinkPeer& peer_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<BlockReader> reader_;  // of a fast stream; uses the transport
  int64_t burst_start_ns_ = 0;
  int64_t burst_bytes_ = 0;
};

}  // namespace millrace::host
