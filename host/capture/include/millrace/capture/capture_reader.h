// SPDX-License-Identifier: Apache-2.0
// Records of a capture file: pcap (micro- and nanoseconds), pcapng, each in both byte orders, and
// the text of usbmon. Streams in bounded memory; bytes that make no sense end the file with a
// sentence, never more.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "millrace/capture/byte_source.h"
#include "millrace/host/result.h"

namespace millrace::capture {

enum class CaptureFormat { pcap, pcapng, usbmon_text };
const char* name_of(CaptureFormat format);

// tcpdump.org/linktypes.html.
inline constexpr uint16_t kLinkUsbmon48 = 189;
inline constexpr uint16_t kLinkUsbmon64 = 220;
inline constexpr uint16_t kLinkUsbPcap = 249;
inline constexpr uint16_t kLinkUsb20 = 288;
inline constexpr uint16_t kLinkUsb20Low = 293;
inline constexpr uint16_t kLinkUsb20Full = 294;
inline constexpr uint16_t kLinkUsb20High = 295;
inline constexpr uint16_t kLinkUsbmonText = 0xffff;  // ours: a line of usbmon's text

struct CaptureRecord {
  uint16_t link_type = 0;
  bool is_big_endian = false;  // of the file or section, and so of usbmon's headers
  bool has_time = false;
  int64_t time_ns = 0;            // since 1970 or whatever the file counts from
  uint32_t interface = 0;         // of the file, all sections counted through
  const uint8_t* data = nullptr;  // until the next call
  size_t size = 0;
  uint64_t original_size = 0;  // before the capturing program cut it
};

struct CaptureCounters {
  uint64_t bytes = 0;
  uint64_t records = 0;
  uint64_t records_cut = 0;       // shorter than what was captured, by the snap length
  uint64_t records_too_long = 0;  // of more than 512 KiB: the rest was not looked at
  uint64_t records_without_time = 0;
  uint64_t blocks_skipped = 0;  // pcapng: known or unknown, nothing for us in them
  uint64_t dropped = 0;         // by the capturing program or system, as the file itself says
  uint64_t lines_bad = 0;       // usbmon text
  // Why the end is not the end of the whole capture; empty: it is.
  bool cut_short = false;  // the file ends within a record
  std::string damage;      // a sentence with the offset; what follows was not read
};

class CaptureReader {
 public:
  virtual ~CaptureReader() = default;
  // False at the end, wherever that is.
  virtual bool next(CaptureRecord* record) = 0;
  virtual CaptureFormat format() const = 0;
  virtual CaptureCounters counters() const = 0;
  virtual uint64_t dropped() const = 0;  // counters().dropped
  // Set when reading failed or was interrupted.
  virtual std::optional<host::Error> error() const = 0;
};

// Finds out the format from the first bytes. `source` must outlive the reader. Errors: usage (no
// capture, compressed, empty), and those of the source.
host::Result<std::unique_ptr<CaptureReader>> read_capture(ByteSource* source,
                                                          const std::string& name);

}  // namespace millrace::capture
