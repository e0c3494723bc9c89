// SPDX-License-Identifier: Apache-2.0
// Where the blocks of a stream come from: the size of a read is decided here, never by the frame.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "millrace/host/transport.h"

namespace millrace::host {

struct Block {
  IoKind kind = IoKind::nothing_yet;
  std::span<const uint8_t> bytes;  // kind done: what one read returned; valid until next()
  int64_t arrival_ns = 0;          // when that read returned; otherwise the time now
  Error error;                     // kind gone and error
};

// Used from one thread. After gone or error, next() gives the same again.
class BlockReader {
 public:
  virtual ~BlockReader() = default;
  // Gives the next block, waiting for it until `deadline_ns` at most; a deadline in the past polls.
  virtual Block next(int64_t deadline_ns) = 0;
  // Ends reading. Blocks that came before can still be taken.
  virtual void stop() = 0;
  // CPU time of a reading thread of its own, 0 if there is none. After stop().
  virtual int64_t cpu_ns() const = 0;
  // Times that reading had to wait because the ring was full of bytes not yet verified.
  virtual uint64_t ring_full() const = 0;
  // The caller is about to do something that may take long: a thread reads on until next().
  virtual void lend() {}
};

// One with a thread that can be told to leave the port alone.
class PausableReader : public BlockReader {
 public:
  // Reading ends behind the read under way; what it brings can still be taken. next() does not wait
  // any longer once that is so.
  virtual void request_pause() = 0;
  // From a pause, or before one has begun.
  virtual void resume() = 0;
  virtual bool is_paused() const = 0;
  // Everything read so far has been taken. Of a paused reader: nothing more will come.
  virtual bool is_drained() const = 0;
};

// Reads in the calling thread, one read a block: for acknowledged runs, where the device waits for
// the caller anyway, and for transports in virtual time.
std::unique_ptr<BlockReader> make_direct_reader(Transport& transport, size_t read_size);

struct ThreadedReaderOptions {
  size_t read_size = 65536;
  size_t ring_bytes = size_t{8} << 20;  // at least 4 * read_size is used
  int64_t nap_ns = 4'000'000;           // next() sleeps so long between takings while data flows
};

// Reads in a thread of its own into a ring; next() never makes it wait unless the ring is full.
// REQUIRES: the transport's clock is not virtual.
std::unique_ptr<PausableReader> make_threaded_reader(Transport& transport,
                                                     const ThreadedReaderOptions& options);

// Reads in the calling thread while that keeps up with the port, and in a thread of its own, into a
// ring, from lend() until the caller has taken everything again. REQUIRES: as above.
std::unique_ptr<BlockReader> make_lending_reader(Transport& transport, size_t read_size);

}  // namespace millrace::host
