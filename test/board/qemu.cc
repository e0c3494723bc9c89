// SPDX-License-Identifier: Apache-2.0
#include "qemu.h"

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/bytes.h"

namespace millrace::board::diff {

bool run_on_qemu(const std::vector<uint8_t>& image, const std::string& folder,
                 std::vector<uint32_t>* records) {
  const std::string binary = folder + "/image.bin";
  std::ofstream(binary, std::ios::binary)
      .write(reinterpret_cast<const char*>(image.data()),
             static_cast<std::streamsize>(image.size()));
  const std::string dump = folder + "/dump.bin";
  std::filesystem::remove(dump);
  const std::string command = fmt::format(
      "cd '{}' && timeout 120 qemu-system-arm -M mps2-an500 -display none -monitor none -serial "
      "none "
      "-semihosting-config enable=on,target=native -device loader,file=image.bin,addr=0 "
      "-nodefaults </dev/null >qemu.log 2>&1",
      folder);
  const int status = std::system(command.c_str());
  std::ifstream in(dump, std::ios::binary);
  if (!in) {
    fmt::print(stderr, "qemu-system-arm wrote no records (status {}): see {}/qemu.log\n", status,
               folder);
    return false;
  }
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  for (size_t k = 0; k + 4 <= bytes.size(); k += 4) {
    records->push_back(load_le(reinterpret_cast<const uint8_t*>(bytes.data()) + k, 4));
  }
  return true;
}

}  // namespace millrace::board::diff
