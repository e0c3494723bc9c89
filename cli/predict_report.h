// SPDX-License-Identifier: Apache-2.0
// What `millrace predict` prints and writes.
#pragma once

#include <string>

#include "cli/json.h"
#include "millrace/placement/predict.h"

namespace millrace::cli {

std::string predict_report(const placement::Prediction& prediction);
Json prediction_json(const placement::Prediction& prediction);

}  // namespace millrace::cli
