// SPDX-License-Identifier: Apache-2.0
// The JSON type by name only: the whole of nlohmann/json.hpp costs seconds of compile time.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace millrace::cli {

using Json = nlohmann::ordered_json;  // members stay in the order in which they are added

}  // namespace millrace::cli
