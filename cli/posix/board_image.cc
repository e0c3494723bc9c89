// SPDX-License-Identifier: Apache-2.0
#include "cli/posix/board_image.h"

#include "cli/values.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;

void add_image_options(Command& command, ImageOptions* options) {
  command.positional("IMAGE", "Firmware: an ELF, Intel HEX or binary file, told by its content",
                     ValueKind::file, true, &options->path);
  command.option("--address", "A", "Where a binary stands, decimal or 0x hex (0x60000000)",
                 ValueKind::text, [options](const std::string& text) {
                   uint32_t address = 0;
                   host::Status status = number_into(&address, Scale::count, 0, UINT32_MAX)(text);
                   if (status) options->address = address;
                   return status;
                 });
}

host::Result<board::Image> load_image(const ImageOptions& options) {
  board::Image image;
  board::ImageError error;
  const uint32_t address = options.address.value_or(0);
  if (!board::load_image(options.path, address, &image, &error)) {
    return Error{error.unreadable ? ErrorCode::usage : ErrorCode::protocol, error.message};
  }
  if (options.address && image.kind != board::Image::Kind::binary) {
    return Error{ErrorCode::usage, options.path +
                                       ": has its own addresses, so it must not be given one "
                                       "(leave --address out)"};
  }
  // For the loader address 0 is the default; on the command line it is ITCM.
  if (options.address) image.segments.front().address = address;
  return image;
}

board::TraceHeader trace_header(const board::Image& image, const board::Board& board) {
  board::TraceHeader header;
  header.core_khz = static_cast<uint32_t>(board.core_hz() / 1000);
  header.base = board.cycles();
  for (size_t i = 0; 2 * i + 1 < image.build_id.size() && i < header.build_id.size(); ++i) {
    header.build_id[i] =
        static_cast<uint8_t>(std::stoul(image.build_id.substr(2 * i, 2), nullptr, 16));
  }
  return header;
}

}  // namespace millrace::cli
