// SPDX-License-Identifier: Apache-2.0
// Failures as values. Shaped like std::expected, which g++ 12 and clang 14 do not both have in
// C++20.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace millrace::host {

enum class ErrorCode {
  usage,      // a name, option or setting that cannot be right
  not_found,  // no such port or file
  permission,
  busy,        // held by another process
  not_a_port,  // there, but no serial port
  gone,        // was there and went away
  timeout,
  protocol,     // the other side answers, but not as the specification says
  no_space,     // disk full
  io,           // anything else the system reports
  interrupted,  // Ctrl-C
  unsupported,
};

struct Error {
  ErrorCode code = ErrorCode::io;
  // One sentence that names the object and the remedy, without a final full stop:
  // `open /dev/ttyACM0: permission denied (add yourself to group dialout and log in again)`.
  std::string message;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  // REQUIRES: ok().
  T& value() { return std::get<0>(state_); }
  const T& value() const { return std::get<0>(state_); }
  T* operator->() { return &value(); }
  T& operator*() { return value(); }
  const T* operator->() const { return &value(); }
  const T& operator*() const { return value(); }
  // REQUIRES: !ok().
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)
  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  // REQUIRES: !ok().
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace millrace::host
