// SPDX-License-Identifier: Apache-2.0
// The firmware image of the `board` commands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/command_line.h"
#include "millrace/board/board.h"
#include "millrace/board/image.h"
#include "millrace/host/result.h"

namespace millrace::cli {

struct ImageOptions {
  std::string path;
  std::optional<uint32_t> address;  // of a raw binary
};

// IMAGE and --address. `options` must outlive CommandLine::run().
void add_image_options(Command& command, ImageOptions* options);

// Errors: usage (the file cannot be read), protocol (its content is no image for this board).
host::Result<board::Image> load_image(const ImageOptions& options);

// Of a trace of that image on that board, from now on.
board::TraceHeader trace_header(const board::Image& image, const board::Board& board);

}  // namespace millrace::cli
