// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/outputs.h"
#include "cli/posix/board_image.h"
#include "cli/posix/board_info.h"
#include "cli/print.h"
#include "cli/result_json.h"
#include "millrace/board/boot_rom.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;

namespace {

struct Options {
  OutputOptions outputs;
  ImageOptions image;
};

int run(const Options& options, const Invocation& invocation) {
  const host::Status writable = check_outputs(options.outputs);
  if (!writable) return fail_output(writable.error());
  const host::Result<board::Image> image = load_image(options.image);
  if (!image) return fail(image.error());
  const board::BootPlan plan = board::plan_boot(*image);
  write_text(report_file(options.outputs), board_report(*image, plan));
  Json document = result_document("board info", invocation);
  add_board_json(&document, *image, plan);
  const host::Status written = write_outputs(options.outputs, document);
  if (!written) return fail_output(written.error());
  return plan.error.empty() ? kOk : fail(Error{ErrorCode::protocol, plan.error});
}

}  // namespace

void add_board_info(Command parent, const Program& program) {
  const auto options = std::make_shared<Options>();
  Command info = parent.add_command(
      "info", "What a firmware image holds, where it runs and whether it boots",
      "Examples:\n"
      "  millrace board info firmware.elf\n"
      "  millrace board info firmware.hex --json -\n"
      "  millrace board info ram.bin --address 0x20200000\n"
      "Memories: where sections run (VMA) beside where they are stored (LMA). Exit code 1 if the\n"
      "image would not boot, with one sentence that says why.");
  add_image_options(info, &options->image);
  add_json_option(info, &options->outputs);
  info.action([options, &program] { return run(*options, program.invocation); });
}

}  // namespace millrace::cli
