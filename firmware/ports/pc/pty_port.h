// SPDX-License-Identifier: Apache-2.0
// A Port on the master side of a Linux pseudo-terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include "firmware/port/port.h"

namespace millrace::firmware {

// One open PTY. The slave is held open too: it is raw before any host comes, so nothing is echoed,
// and what is in it survives until the next host opens it.
class Pty {
 public:
  Pty() = default;
  ~Pty() { close(); }
  Pty(Pty&& other) noexcept { *this = static_cast<Pty&&>(other); }
  Pty& operator=(Pty&& other) noexcept;

  // False on failure, with a sentence in *error.
  bool open(std::string* error);
  // A host that has the slave open sees a hangup.
  void close();

  int master() const { return master_; }
  const std::string& path() const { return path_; }  // of the slave
  // A host has read everything that was written, if that was no more than 4 KB; after more than
  // that it may be true for a moment before the end.
  bool drained() const;
  // Adds flags such as ICRNL to the input modes of the terminal, as a host does that forgot raw
  // mode: the kernel mangles what comes after.
  void add_input_modes(unsigned flags);

 private:
  int master_ = -1;
  int slave_ = -1;
  std::string path_;
};

class PtyPort final : public Port {
 public:
  // False on failure, with a sentence in *error. Everything else REQUIRES success.
  bool open(std::string* error);
  ~PtyPort();

  size_t write(const uint8_t* data, size_t size) override;
  size_t read(uint8_t* data, size_t size) override;
  void flush() override {}
  uint32_t now_us() override;
  uint32_t entropy() override { return static_cast<uint32_t>(random_()); }
  void idle(uint32_t max_us) override;
  PortInfo info() override;

  Pty& pty() { return pty_; }
  void set_boot_counter(uint32_t value) { boot_counter_ = value; }
  // Sleeps without looking at the terminal; wake() ends it early.
  void pause(uint32_t max_us);
  // Ends an idle() or pause(), the present or the next one. From any thread.
  void wake();

 private:
  Pty pty_;
  int wake_ = -1;
  bool blocked_ = false;  // the last write took less than it was offered
  uint32_t boot_counter_ = 1;
  std::mt19937 random_{std::random_device{}()};
};

}  // namespace millrace::firmware
