// SPDX-License-Identifier: Apache-2.0
// An open serial port, and the name that leads to it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "millrace/host/clock.h"
#include "millrace/host/result.h"

namespace millrace::host {

// What a read or write came to. Never a bare 0: on Windows 0 bytes mean "nothing yet", on Linux
// "gone".
enum class IoKind {
  done,         // read: 1 or more bytes; write: all bytes
  nothing_yet,  // the deadline passed; write: `size` bytes (perhaps 0) were taken before
  gone,         // the device went away; write: `size` bytes were taken before
  error,        // see `error`
};

struct IoResult {
  IoKind kind = IoKind::nothing_yet;
  size_t size = 0;
  Error error;  // only with kind error (and gone: what the system said)
};

struct ModemLines {
  bool dtr = false;
  bool rts = false;
  bool cts = false;
  bool dsr = false;
  bool dcd = false;
  bool ri = false;
};

// Who stands behind a port; empty or 0 where the system does not say.
struct PortIdentity {
  std::string path;         // what was opened: /dev/ttyACM0, COM7, /dev/pts/5
  std::string description;  // product string
  std::string manufacturer;
  std::string serial_number;
  std::string driver;    // cdc_acm, usbser.sys, ...
  std::string usb_path;  // Linux: 1-2.3:1.0
  uint16_t vid = 0;
  uint16_t pid = 0;
  double usb_speed_mbit = 0;  // negotiated: 480, 12, 1.5, ...; 0: not USB or unknown
  bool is_usb = false;
};

// One open port in raw mode, exclusively ours. read() and write() may be called from two threads
// at once, each from one; everything else from one thread with neither under way.
class Transport {
 public:
  virtual ~Transport() = default;
  // Waits until at least one byte is there or `deadline_ns` (of clock()) has passed, then takes
  // what is there, at most into.size(). A deadline in the past polls.
  virtual IoResult read(std::span<uint8_t> into, int64_t deadline_ns) = 0;
  // From any thread. While false, a read() waits for nothing, and one that waits ends soon. True
  // at first. Where a system has no way to end a read, it lasts until its deadline.
  virtual void let_reads_wait(bool may_wait) { (void)may_wait; }
  // Writes all of `from`, or as much as goes before the deadline. Does not drain.
  virtual IoResult write(std::span<const uint8_t> from, int64_t deadline_ns) = 0;
  virtual Clock& clock() = 0;
  virtual const PortIdentity& identity() const = 0;
  // ErrorCode::unsupported where the port has no modem lines (a PTY).
  virtual Result<ModemLines> modem_lines() = 0;
  virtual Status set_modem_lines(std::optional<bool> dtr, std::optional<bool> rts) = 0;
  // Other processes that have the port open, although it is locked: what they read is missing
  // here. `pid 812 (cat)`; empty where the system does not say. Takes milliseconds.
  virtual std::vector<std::string> other_holders() { return {}; }
  // The settings in force, as one line for reports: `raw 8N1, VMIN 1 VTIME 0, exclusive, HUPCL
  // off`.
  virtual std::string settings() const = 0;
};

struct OpenOptions {
  std::optional<bool> dtr;  // empty: as the system leaves it after open (Linux: raised)
  std::optional<bool> rts;
};

// What a port name leads to. Can be opened again and again (reopen and replug cycles).
class Endpoint {
 public:
  virtual ~Endpoint() = default;
  virtual const std::string& name() const = 0;
  virtual Clock& clock() = 0;
  virtual Result<std::unique_ptr<Transport>> open(const OpenOptions& options) = 0;
  // After the device went away: waits until it is back, perhaps under another path (followed by
  // its USB serial number, or by what the name says), and opens it. ErrorCode::gone at the
  // deadline.
  virtual Result<std::unique_ptr<Transport>> reopen(const OpenOptions& options,
                                                    int64_t deadline_ns) = 0;
  // Asked once when all runs are over, with no transport open: an error if something that the name
  // asked for besides (a capture) could not be written. Nothing can be opened afterwards.
  virtual Status finish() { return {}; }
};

// A scheme (`pc`, later `board`) that makes an endpoint from what stands behind `scheme:`.
struct EndpointScheme {
  std::string scheme;
  std::function<Result<std::unique_ptr<Endpoint>>(const std::string& rest)> make;
};

// `name`: a path or COMn, usb:VID:PID (hex), serial:NUMBER, or SCHEME:... of `schemes`.
// Every name is resolved anew at every open, symlinks too. Errors: usage (cannot be a name);
// Endpoint::open() says not_found (naming what is there) and usage (several boards match).
Result<std::unique_ptr<Endpoint>> make_endpoint(const std::string& name,
                                                const std::vector<EndpointScheme>& schemes);

}  // namespace millrace::host
