// SPDX-License-Identifier: Apache-2.0
// What the tests of whole runs in virtual time share.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "millrace/host/serial_run.h"
#include "testing/fake_device.h"

namespace millrace::host::testing {

inline constexpr int64_t kMs = 1'000'000;

inline RunSettings frames(uint32_t size, uint32_t count) {
  RunSettings settings;
  settings.frame_size = size;
  settings.frame_count = count;
  return settings;
}

inline RunResult run(FakeEndpoint& endpoint, const RunSettings& settings,
                     const RunHooks& hooks = {}) {
  auto result = run_serial(endpoint, settings, hooks);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? std::move(*result) : RunResult{};
}

inline RunResult run(const FakeDeviceOptions& options, const RunSettings& settings,
                     const RunHooks& hooks = {}) {
  FakeEndpoint endpoint(options);
  return run(endpoint, settings, hooks);
}

}  // namespace millrace::host::testing
