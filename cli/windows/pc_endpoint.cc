// SPDX-License-Identifier: Apache-2.0
#include "cli/pc_endpoint.h"

#include "cli/commands.h"

namespace millrace::cli {

using host::Endpoint;
using host::Error;
using host::ErrorCode;
using host::Result;

const char* const kPortsWithoutHardware = "";

std::vector<host::EndpointScheme> endpoint_schemes() {
  const auto refuse = [](const std::string&) {
    return Result<std::unique_ptr<Endpoint>>(
        Error{ErrorCode::usage,
              "pc: there are no PTYs on Windows (name a COM port, or use Linux or WSL)"});
  };
  return {{"pc", refuse}};
}

// Without PTYs there is no device to run.
void add_device(Command, const Program&) {}

}  // namespace millrace::cli
