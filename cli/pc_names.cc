// SPDX-License-Identifier: Apache-2.0
#include "cli/pc_endpoint.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;

std::string with_fault(const std::string& port, const std::string& fault) {
  if (port.find('?') == std::string::npos) return port + '?' + fault;
  return port.back() == '?' ? port + fault : port + '&' + fault;
}

bool speaks_link(const std::string& port) {
  return port == "pc:link" || port.rfind("pc:link?", 0) == 0;
}

host::Result<std::string> fault_query(const std::string& text) {
  std::string rest = text;
  const bool scheme = rest.rfind("pc:", 0) == 0;
  if (scheme) rest.erase(0, 3);
  if (speaks_link(text)) rest.erase(0, 4);
  if (!rest.empty() && rest[0] == '?') return rest.substr(1);
  if (scheme && !rest.empty()) {
    return Error{
        ErrorCode::usage,
        text + ": write pc:, pc:?FAULTS, pc:link or pc:link?FAULTS, as in pc:?drop=1536@4194304"};
  }
  return rest;
}

}  // namespace millrace::cli
