// SPDX-License-Identifier: Apache-2.0
// Overlapped I/O on a COM port: a read takes what is there in one call, and waits for the first
// byte by WaitCommEvent when nothing is.
//
// The timeouts {MAXDWORD, 0, 0} make every ReadFile return at once with what the driver holds, so
// block size follows the load and a call takes up to 64 KB. Wine keeps an overlapped read pending
// until the first byte instead; each read is therefore given until the deadline and then
// cancelled, which is right for both. The obvious alternative, {MAXDWORD, MAXDWORD, ms} (return at
// the first byte, else after ms), saves the wait for the event, but makes Wine wait for a full
// buffer; {1, 0, 0} adds a gap of 1 to 15 ms to the end of each block. Frame size never decides
// the number of calls: the callers read large blocks.
//
// The wait for EV_RXCHAR stays pending from one read() to the next; it is cancelled only when the
// port is closed. Drivers note characters that came since the last wait, so none is missed between
// the read that found nothing and the wait. Should a driver lose the event all the same, the wait
// is cut into slices of 20 ms with a read after each: late, but never stuck.
#include "windows/serial_transport.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "windows/handle.h"

namespace millrace::host {
namespace {

constexpr int64_t kMillisecond = 1'000'000;
constexpr DWORD kLongestWait = 20;    // ms, see above
constexpr DWORD kLeastRead = 5;       // ms that a read may take to say that nothing is there
constexpr DWORD kQueueSize = 65536;   // a wish; drivers take what they like
constexpr DWORD kNoSuchDevice = 433;  // ERROR_NO_SUCH_DEVICE, not in every SDK
constexpr DWORD kLargestWrite = 1 << 20;

// What drivers report once the device behind a handle is gone; which one depends on the driver.
bool means_gone(DWORD error) {
  switch (error) {
    case ERROR_ACCESS_DENIED:
    case ERROR_BAD_COMMAND:
    case ERROR_DEVICE_NOT_CONNECTED:
    case ERROR_DEVICE_REMOVED:
    case ERROR_FILE_NOT_FOUND:
    case ERROR_GEN_FAILURE:
    case ERROR_INVALID_HANDLE:
    case kNoSuchDevice:
    case ERROR_OPERATION_ABORTED:
    case ERROR_BROKEN_PIPE:
    case ERROR_NOT_READY:
    case ERROR_IO_DEVICE:
      return true;
    default:
      return false;
  }
}

struct Operation {
  Handle event;
  OVERLAPPED overlapped{};

  Operation() : event(::CreateEventW(nullptr, TRUE, FALSE, nullptr)) {}
  OVERLAPPED* fresh() {
    overlapped = {};
    overlapped.hEvent = event.get();
    return &overlapped;
  }
};

class SerialTransport final : public Transport {
 public:
  SerialTransport(Handle port, PortIdentity identity)
      : port_(std::move(port)), identity_(std::move(identity)) {}
  SerialTransport(const SerialTransport&) = delete;
  SerialTransport& operator=(const SerialTransport&) = delete;

  ~SerialTransport() override {
    // The system writes into wait_ and wait_mask_ until the wait has really ended.
    if (wait_pending_) finish(wait_, 0);
  }

  bool ready() const { return read_.event.valid() && write_.event.valid() && wait_.event.valid(); }

  // Timeouts, format and modem lines. REQUIRES: just opened.
  Status set_up(const OpenOptions& options) {
    DCB settings{};
    settings.DCBlength = sizeof settings;
    if (!::GetCommState(port_.get(), &settings)) return setup_error("read the settings of");
    // Every field that bears on data; 134 baud would reboot a Teensy, 1200 many other boards.
    settings.BaudRate = std::max<DWORD>(settings.BaudRate, CBR_115200);
    settings.fBinary = TRUE;
    settings.fParity = FALSE;
    settings.fOutxCtsFlow = FALSE;
    settings.fOutxDsrFlow = FALSE;
    settings.fDtrControl = options.dtr.value_or(true) ? DTR_CONTROL_ENABLE : DTR_CONTROL_DISABLE;
    settings.fDsrSensitivity = FALSE;
    settings.fTXContinueOnXoff = TRUE;
    settings.fOutX = FALSE;
    settings.fInX = FALSE;
    settings.fErrorChar = FALSE;
    settings.fNull = FALSE;
    settings.fRtsControl = options.rts.value_or(true) ? RTS_CONTROL_ENABLE : RTS_CONTROL_DISABLE;
    settings.fAbortOnError = FALSE;
    settings.ByteSize = 8;
    settings.Parity = NOPARITY;
    settings.StopBits = ONESTOPBIT;
    if (!::SetCommState(port_.get(), &settings)) return setup_error("set up");
    baud_ = settings.BaudRate;

    COMMTIMEOUTS timeouts{};
    timeouts.ReadIntervalTimeout = MAXDWORD;
    if (!::SetCommTimeouts(port_.get(), &timeouts)) return setup_error("set the timeouts of");
    ::SetupComm(port_.get(), kQueueSize, kQueueSize);  // a hint: not every driver knows it
    has_events_ = ::SetCommMask(port_.get(), EV_RXCHAR) != FALSE;

    if (options.dtr || options.rts) {
      const Status set = set_modem_lines(options.dtr, options.rts);
      if (!set && set.error().code != ErrorCode::unsupported) return set;
    }
    return {};
  }

  IoResult read(std::span<uint8_t> into, int64_t deadline_ns) override {
    if (into.empty()) return {};
    while (true) {
      const IoResult got = read_now(into, std::max(ms_until(deadline_ns), kLeastRead));
      if (got.kind != IoKind::nothing_yet) return got;
      const DWORD left_ms = ms_until(deadline_ns);
      if (left_ms == 0) return got;
      const DWORD error = wait_for_data(std::min(left_ms, kLongestWait));
      if (error != ERROR_SUCCESS) return failure("wait for", error, 0);
    }
  }

  IoResult write(std::span<const uint8_t> from, int64_t deadline_ns) override {
    size_t done = 0;
    while (done < from.size()) {
      const auto size = static_cast<DWORD>(std::min<size_t>(from.size() - done, kLargestWrite));
      DWORD put = 0;
      if (!::WriteFile(port_.get(), from.data() + done, size, nullptr, write_.fresh())) {
        const DWORD error = ::GetLastError();
        if (error != ERROR_IO_PENDING) return failure("write to", error, done);
      }
      bool cancelled = false;
      const DWORD error = finish(write_, ms_until(deadline_ns), &put, &cancelled);
      done += put;
      if (cancelled) return {done == from.size() ? IoKind::done : IoKind::nothing_yet, done, {}};
      if (error != ERROR_SUCCESS) return failure("write to", error, done);
      if (put == 0 && clock().now_ns() >= deadline_ns) return {IoKind::nothing_yet, done, {}};
    }
    return {IoKind::done, done, {}};
  }

  Clock& clock() override { return system_clock(); }
  const PortIdentity& identity() const override { return identity_; }

  // Windows does not tell the state of the outputs: they are as set last.
  Result<ModemLines> modem_lines() override {
    DWORD status = 0;
    if (!::GetCommModemStatus(port_.get(), &status)) return modem_error(::GetLastError());
    if (!has_lines_) return no_lines();
    ModemLines lines;
    lines.dtr = dtr_;
    lines.rts = rts_;
    lines.cts = (status & MS_CTS_ON) != 0;
    lines.dsr = (status & MS_DSR_ON) != 0;
    lines.dcd = (status & MS_RLSD_ON) != 0;
    lines.ri = (status & MS_RING_ON) != 0;
    return lines;
  }

  Status set_modem_lines(std::optional<bool> dtr, std::optional<bool> rts) override {
    if (dtr) {
      if (!::EscapeCommFunction(port_.get(), *dtr ? SETDTR : CLRDTR)) {
        return modem_error(::GetLastError());
      }
      dtr_ = *dtr;
    }
    if (rts) {
      if (!::EscapeCommFunction(port_.get(), *rts ? SETRTS : CLRRTS)) {
        return modem_error(::GetLastError());
      }
      rts_ = *rts;
    }
    return {};
  }

  std::string settings() const override {
    const std::string lines =
        has_lines_ ? fmt::format("DTR {}, RTS {}", dtr_ ? "on" : "off", rts_ ? "on" : "off")
                   : "no modem lines";
    return fmt::format(
        "binary 8N1, {} baud, no flow control, exclusive, overlapped, timeouts "
        "MAXDWORD 0 0 0 0, {}",
        baud_, lines);
  }

 private:
  // Rounded up; 0: passed.
  DWORD ms_until(int64_t deadline_ns) {
    const int64_t left = deadline_ns - clock().now_ns();
    if (left <= 0) return 0;
    return static_cast<DWORD>(std::min<int64_t>(left / kMillisecond + 1, INFINITE - 1));
  }

  IoResult read_now(std::span<uint8_t> into, DWORD ms) {
    const auto size = static_cast<DWORD>(std::min<size_t>(into.size(), kLargestWrite));
    if (!::ReadFile(port_.get(), into.data(), size, nullptr, read_.fresh())) {
      const DWORD error = ::GetLastError();
      if (error != ERROR_IO_PENDING) return failure("read from", error, 0);
    }
    DWORD got = 0;
    bool cancelled = false;
    const DWORD error = finish(read_, ms, &got, &cancelled);
    if (got > 0) return {IoKind::done, got, {}};
    if (error == ERROR_SUCCESS || cancelled || error == ERROR_TIMEOUT) return {};
    return failure("read from", error, 0);
  }

  // Returns when data may be there, an event came or the time is up.
  DWORD wait_for_data(DWORD ms) {
    if (!has_events_) {
      ::Sleep(std::min<DWORD>(ms, 1));
      return ERROR_SUCCESS;
    }
    if (!wait_pending_) {
      if (::WaitCommEvent(port_.get(), &wait_mask_, wait_.fresh())) return ERROR_SUCCESS;
      const DWORD error = ::GetLastError();
      if (error == ERROR_INVALID_PARAMETER || error == ERROR_NOT_SUPPORTED) {
        has_events_ = false;
        return ERROR_SUCCESS;
      }
      if (error != ERROR_IO_PENDING) return error;
      wait_pending_ = true;
    }
    if (::WaitForSingleObject(wait_.event.get(), ms) != WAIT_OBJECT_0) return ERROR_SUCCESS;
    wait_pending_ = false;
    DWORD ignored = 0;
    return ::GetOverlappedResult(port_.get(), &wait_.overlapped, &ignored, FALSE)
               ? ERROR_SUCCESS
               : ::GetLastError();
  }

  // Waits `ms` for `operation`, then cancels it. In either case it is over on return.
  DWORD finish(Operation& operation, DWORD ms, DWORD* size = nullptr, bool* cancelled = nullptr) {
    bool cut = false;
    if (::WaitForSingleObject(operation.event.get(), ms) != WAIT_OBJECT_0) {
      ::CancelIoEx(port_.get(), &operation.overlapped);
      cut = true;
    }
    DWORD moved = 0;
    const bool good = ::GetOverlappedResult(port_.get(), &operation.overlapped, &moved, TRUE);
    const DWORD error = good ? ERROR_SUCCESS : ::GetLastError();
    if (size != nullptr) *size = moved;
    if (cancelled != nullptr) *cancelled = cut && (good || error == ERROR_OPERATION_ABORTED);
    return error;
  }

  IoResult failure(const char* what, DWORD error, size_t size) const {
    if (means_gone(error)) {
      return {IoKind::gone,
              size,
              {ErrorCode::gone,
               fmt::format("{}: the device went away: {}", identity_.path, windows_error(error))}};
    }
    return {IoKind::error,
            size,
            {ErrorCode::io, fmt::format("{} {}: {}", what, identity_.path, windows_error(error))}};
  }

  Error setup_error(const char* what) const {
    const DWORD error = ::GetLastError();
    if (error == ERROR_INVALID_FUNCTION || error == ERROR_INVALID_HANDLE) {
      return {
          ErrorCode::not_a_port,
          fmt::format("open {}: not a serial port (`millrace ports` lists those)", identity_.path)};
    }
    return {ErrorCode::io, fmt::format("{} {}: {}", what, identity_.path, windows_error(error))};
  }

  Error no_lines() const {
    return {ErrorCode::unsupported, fmt::format("{} has no modem lines", identity_.path)};
  }

  Error modem_error(DWORD error) {
    if (error == ERROR_NOT_SUPPORTED || error == ERROR_INVALID_FUNCTION ||
        error == ERROR_CALL_NOT_IMPLEMENTED || error == ERROR_INVALID_PARAMETER) {
      has_lines_ = false;
      return no_lines();
    }
    if (means_gone(error)) {
      return {ErrorCode::gone, fmt::format("{}: the device went away", identity_.path)};
    }
    return {ErrorCode::io,
            fmt::format("modem lines of {}: {}", identity_.path, windows_error(error))};
  }

  Handle port_;
  PortIdentity identity_;
  Operation read_;   // the reading thread's, as is wait_
  Operation write_;  // the writing thread's
  Operation wait_;
  DWORD wait_mask_ = 0;
  bool wait_pending_ = false;
  bool has_events_ = false;
  bool has_lines_ = true;
  bool dtr_ = true;
  bool rts_ = true;
  DWORD baud_ = 0;
};

Error open_error(const std::string& name, DWORD error) {
  switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
    case ERROR_BAD_PATHNAME:
      return {ErrorCode::not_found, fmt::format("open {}: there is no such port", name)};
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
      return {ErrorCode::busy,
              fmt::format("open {}: held by another program (close terminal programs and IDEs; "
                          "Windows does not say which)",
                          name)};
    case ERROR_GEN_FAILURE:
    case ERROR_DEVICE_NOT_CONNECTED:
    case kNoSuchDevice:
      return {ErrorCode::not_found,
              fmt::format("open {}: no device behind it (plug it in again)", name)};
    default:
      return {ErrorCode::io, fmt::format("open {}: {}", name, windows_error(error))};
  }
}

}  // namespace

Result<std::unique_ptr<Transport>> open_serial(const std::string& name, PortIdentity identity,
                                               const OpenOptions& options) {
  identity.path = name;
  Handle port(::CreateFileW(to_wide("\\\\.\\" + name).c_str(), GENERIC_READ | GENERIC_WRITE, 0,
                            nullptr, OPEN_EXISTING, FILE_FLAG_OVERLAPPED, nullptr));
  if (!port.valid()) return open_error(name, ::GetLastError());
  auto transport = std::make_unique<SerialTransport>(std::move(port), std::move(identity));
  if (!transport->ready()) {
    return Error{ErrorCode::io,
                 fmt::format("open {}: no events left: {}", name, windows_error(::GetLastError()))};
  }
  if (Status status = transport->set_up(options); !status) return status.error();
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace millrace::host
