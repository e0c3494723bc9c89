// SPDX-License-Identifier: Apache-2.0
// Power-on and reset: the image goes into the memories once, at power-on; every reset then does
// what the boot ROM does (boot_rom.h) with the flash as it is by then.
#include <algorithm>
#include <array>

#include "board/rt1062_board.h"

namespace millrace::board {
namespace {

constexpr uint32_t kVtor = 0xE000ED08;
constexpr uint32_t kFlashImage = 0x60000000;
constexpr uint32_t kCopyBytes = 4096;

}  // namespace

bool Rt1062Board::boot(ImageError* error) {
  plan_ = plan_boot(image_);
  if (!plan_.error.empty()) {
    error->message = plan_.error;
    return false;
  }
  memory_.reset();
  for (const Segment& segment : image_.segments) {
    if (!memory_.program(segment.address, segment.bytes.data(),
                         static_cast<uint32_t>(segment.bytes.size()))) {
      error->message = image_.path + ": a part of it lies where the board has no memory";
      return false;
    }
  }
  return start(error);
}

bool Rt1062Board::start(ImageError* error) {
  if (plan_.start != StartKind::ram_vector_table) {
    const BootPlan plan = plan_flash_boot([this](uint32_t address, uint8_t* out, uint32_t size) {
      return memory_.dma_read(address, out, size);
    });
    if (!plan.error.empty()) {
      error->message = image_.path + ": " + plan.error;
      return false;
    }
    plan_ = plan;
  }
  peripherals_.reset();
  memory_.reset();
  system_.reset();
  cpu_.reset();
  apply_clocks();
  if (plan_.copies_to_ram) copy_to_ram();
  system_.write_register(kVtor, plan_.vtor);
  cpu_.state.r[13] = plan_.sp;
  cpu_.state.r[14] = 0xFFFFFFFF;
  cpu_.set_pc(plan_.pc);
  return true;
}

void Rt1062Board::copy_to_ram() {
  std::array<uint8_t, kCopyBytes> bytes{};
  const uint32_t length = plan_.boot_data->length;
  for (uint32_t done = 0; done < length; done += kCopyBytes) {
    const uint32_t count = std::min(kCopyBytes, length - done);
    if (!memory_.dma_read(kFlashImage + done, bytes.data(), count)) return;
    if (!memory_.dma_write(plan_.boot_data->start + done, bytes.data(), count)) return;
  }
}

}  // namespace millrace::board
