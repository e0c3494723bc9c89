// SPDX-License-Identifier: Apache-2.0
#include "cli/pc_endpoint.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;

std::string with_fault(const std::string& port, const std::string& fault) {
  if (port.find('?') == std::string::npos) return port + '?' + fault;
  return port.back() == '?' ? port + fault : port + '&' + fault;
}

host::Result<std::string> fault_query(const std::string& text) {
  std::string rest = text;
  const bool scheme = rest.rfind("pc:", 0) == 0;
  if (scheme) rest.erase(0, 3);
  if (!rest.empty() && rest[0] == '?') return rest.substr(1);
  if (scheme && !rest.empty()) {
    return Error{ErrorCode::usage, text + ": write pc: or pc:?FAULTS, as in pc:?drop=1536@4194304"};
  }
  return rest;
}

}  // namespace millrace::cli
