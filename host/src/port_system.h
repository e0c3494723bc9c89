// SPDX-License-Identifier: Apache-2.0
// What endpoint.cc needs of an operating system; an in-memory double stands in for it in tests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "millrace/host/result.h"
#include "millrace/host/transport.h"

namespace millrace::host {

class PortSystem {
 public:
  virtual ~PortSystem() = default;
  // True: `name` is a port by itself (a path, COMn), not SCHEME:REST.
  virtual bool is_port_name(const std::string& name) = 0;
  // The port that `name` stands for now, in its full form: symlinks resolved (/dev/ttyACM1), COM7
  // in upper case. Errors: not_found, usage.
  virtual Result<std::string> resolve(const std::string& name) = 0;
  virtual Result<std::vector<PortIdentity>> list() = 0;
  // REQUIRES: `path` comes from resolve() or list().
  virtual Result<std::unique_ptr<Transport>> open(const std::string& path,
                                                  const OpenOptions& options) = 0;
  // False: once gone, whatever stands under this name later is something else.
  virtual bool may_return(const std::string& name) = 0;
  virtual Clock& clock() = 0;
};

// The one this program runs on: src/linux/ or src/windows/.
PortSystem& this_system();

// make_endpoint() on a given system. `system` must outlive the endpoint.
Result<std::unique_ptr<Endpoint>> make_endpoint_on(PortSystem& system, const std::string& name,
                                                   const std::vector<EndpointScheme>& schemes);

}  // namespace millrace::host
