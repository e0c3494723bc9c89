// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target without a fuzzer: every file of the corpus folder, each of its prefixes up to
// 300 bytes, and 2,000 seeded mutations. The same cases on every machine.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  std::set<std::filesystem::path> files;  // a folder has no order of its own
  if (argc > 1 && std::filesystem::is_directory(argv[1])) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[1]))
      files.insert(entry.path());
  }
  std::vector<std::vector<uint8_t>> corpus;
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "no corpus in %s\n", argc > 1 ? argv[1] : "(no folder given)");
    return 1;
  }
  size_t runs = 0;
  for (const auto& input : corpus) {
    for (size_t size = 0; size <= input.size() && size <= 300; ++size, ++runs) {
      LLVMFuzzerTestOneInput(input.data(), size);
    }
    LLVMFuzzerTestOneInput(input.data(), input.size());
    ++runs;
  }
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i, ++runs) {
    std::vector<uint8_t> input = corpus[random() % corpus.size()];
    const size_t edits = 1 + random() % 8;
    for (size_t edit = 0; edit < edits; ++edit) {
      const size_t at = input.empty() ? 0 : random() % input.size();
      switch (random() % 3) {
        case 0:
          if (!input.empty()) input[at] = static_cast<uint8_t>(random());
          break;
        case 1:
          if (!input.empty()) input.erase(input.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        default:
          input.insert(input.begin() + static_cast<std::ptrdiff_t>(at),
                       static_cast<uint8_t>(random()));
      }
    }
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  std::printf("%zu inputs\n", runs);
  return 0;
}
