// SPDX-License-Identifier: Apache-2.0
// What `link receive|send --resume` needs of an earlier call: a small file beside the one that is
// carried. The size of a received file, and the device, say how far it came; so nothing has to be
// stored while bytes flow, and a kill -9 at any moment leaves a place to go on from:
//   receive  bytes are in FILE before the device may forget them; a gap is in the place before; the
//            end too. What the device then gives once more is passed over.
//   send     the device knows how much came in order. FILE must be the same still: its size and
//            time of change are in the place.
// The place is written whole and made durable (output_file.h), and removed at the end.
#pragma once

#include <cstdint>
#include <string>

#include "millrace/host/link_session.h"
#include "millrace/host/result.h"

namespace millrace::cli {

struct StoredPlace {
  host::LinkPlace link;
  uint64_t gap_bytes = 0;  // receive: of the stream, not in the file
  bool complete = false;   // receive: the end of the stream came
  uint64_t file_size = 0;  // send
  int64_t file_time = 0;
};

// FILE.link, FILE.send.link.
std::string receive_place_path(const std::string& file);
std::string send_place_path(const std::string& file);

// Errors: as write_output().
host::Status store_place(const std::string& path, const StoredPlace& place);
// At the start of a run. False: it cannot be stored, which is said; the run goes on without it.
bool store_first_place(const std::string& path, const StoredPlace& place);
// Errors: usage (not there, or not written by store_place()).
host::Result<StoredPlace> load_place(const std::string& path);
void remove_place(const std::string& path);

// Only a regular file can be gone on with: /dev/null and pipes have no place. One that is not there
// yet counts as regular.
bool has_place(const std::string& file);
// Size and time of change of FILE into *place; false: not to be had.
bool look_at_file(const std::string& file, StoredPlace* place);

}  // namespace millrace::cli
