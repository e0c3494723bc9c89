// SPDX-License-Identifier: Apache-2.0
#include "millrace/capture/capture_reader.h"

#include <fmt/core.h>

#include <cstring>
#include <string_view>

#include "readers.h"
#include "usbmon_text.h"

namespace millrace::capture {

using host::Error;
using host::ErrorCode;
using host::Result;

namespace {

struct Packed {
  std::string_view magic;
  const char* what;
  const char* tool;
};

constexpr Packed kPacked[] = {{"\x1f\x8b", "gzip", "zcat"},
                              {"\x28\xb5\x2f\xfd", "zstd", "zstdcat"},
                              {"\xfd"
                               "7zXZ",
                               "xz", "xzcat"},
                              {"BZh", "bzip2", "bzcat"},
                              {"\x04\x22\x4d\x18", "lz4", "lz4cat"}};

// The first line may be in the middle of a trace, cut at its beginning, and a report of a fault
// begins with what its author says: any line of what was looked at will do.
bool looks_like_text(std::string_view text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    UrbEvent event;
    if (parse_usbmon_line(text.substr(0, end), &event)) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

}  // namespace

const char* name_of(CaptureFormat format) {
  switch (format) {
    case CaptureFormat::pcap:
      return "pcap";
    case CaptureFormat::pcapng:
      return "pcapng";
    case CaptureFormat::usbmon_text:
      return "usbmon text";
  }
  return "";
}

bool WindowedReader::damaged(const std::string& what) {
  is_over_ = true;
  counters_.damage = fmt::format("{} at byte {}", what, window_->offset());
  return false;
}

bool WindowedReader::step() {
  const uint64_t size = pending_;
  pending_ = 0;
  if (size == 0) return true;
  if (size <= InputWindow::kBytes && window_->ensure(static_cast<size_t>(size)) >= size) {
    window_->consume(static_cast<size_t>(size));
    return true;
  }
  if (window_->skip(size) == size) return true;
  is_over_ = true;
  if (!window_->error()) counters_.cut_short = true;
  return false;
}

int64_t to_ns(uint64_t units, uint8_t resolution) {
  using Wide = unsigned __int128;
  const unsigned exponent = resolution & 0x7fu;
  if ((resolution & 0x80u) != 0) {
    return static_cast<int64_t>(static_cast<uint64_t>(Wide{units} * 1'000'000'000 >> exponent));
  }
  Wide ns = units;
  for (unsigned i = exponent; i < 9; ++i) ns *= 10;
  for (unsigned i = 9; i < exponent && ns != 0; ++i) ns /= 10;
  return static_cast<int64_t>(static_cast<uint64_t>(ns));
}

Result<std::unique_ptr<CaptureReader>> read_capture(ByteSource* source, const std::string& name) {
  constexpr size_t kLook = 4096;
  auto window = std::make_unique<InputWindow>(source);
  // Four bytes tell the binary formats; a pipe that has no more yet is not waited for.
  size_t have = window->ensure(4);
  if (window->error()) return *window->error();
  if (have == 0) {
    return Error{ErrorCode::usage,
                 fmt::format("{}: is empty (nothing was captured, or it is still buffered)", name)};
  }
  if (have >= 4) {
    const uint32_t magic = kLittle.u32(window->data()), swapped = kBig.u32(window->data());
    if (magic == kPcapngSection) return make_pcapng_reader(std::move(window));
    for (const uint32_t known : {kPcapMicro, kPcapNano}) {
      if (magic == known || swapped == known) return make_pcap_reader(std::move(window));
    }
  }
  have = window->ensure(kLook);
  const std::string_view head(reinterpret_cast<const char*>(window->data()), std::min(have, kLook));
  for (const Packed& packed : kPacked) {
    if (head.substr(0, packed.magic.size()) != packed.magic) continue;
    return Error{ErrorCode::usage,
                 fmt::format("{0}: is compressed with {1} ({2} {0} | millrace turnaround -)", name,
                             packed.what, packed.tool)};
  }
  if (looks_like_text(head)) return make_text_reader(std::move(window));
  return Error{ErrorCode::usage,
               fmt::format("{}: is no pcap, no pcapng and no text of usbmon (capture with tcpdump "
                           "-i usbmon1 -w FILE, Wireshark or USBPcap)",
                           name)};
}

}  // namespace millrace::capture
