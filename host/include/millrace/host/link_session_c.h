/* SPDX-License-Identifier: Apache-2.0
 * link_session.h for C, and for languages that call C (libmillrace.so). One thread uses a handle.
 * docs/examples/link_receive.c and link_receive.py show its use. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) && !defined(_WIN32)
#define MILLRACE_API __attribute__((visibility("default")))
#else
#define MILLRACE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct millrace_link millrace_link;

enum {
  MILLRACE_LINK_NOTHING = 0,
  MILLRACE_LINK_DATA = 1,
  MILLRACE_LINK_GAP = 2, /* the device's producer outran the link; size bytes at offset are lost */
  MILLRACE_LINK_END = 3,
  MILLRACE_LINK_ERROR = -1 /* millrace_link_error() says what */
};

/* What a later process needs to go on: store it with how much of the stream it has. */
typedef struct millrace_link_place {
  uint32_t session; /* 0: a new session */
  uint32_t boot_id;
  uint64_t taken; /* bytes of stream 0 that were consumed, gaps included */
} millrace_link_place;

/* `port`: a path, COMn, usb:VID:PID or serial:NUMBER. `resume` may be null. Null on failure, with a
 * sentence in error[0..error_size), cut if it does not fit. */
MILLRACE_API millrace_link* millrace_link_open(const char* port, const millrace_link_place* resume,
                                               char* error, size_t error_size);

/* Moves bytes both ways until `stream` has something or timeout_ms passed; what there is stands in
 * *data, *size and *offset until the next call. Returns one of the constants above. */
MILLRACE_API int millrace_link_read(millrace_link* link, uint8_t stream, int timeout_ms,
                                    const uint8_t** data, uint64_t* size, uint64_t* offset);

/* The first `size` bytes were taken, or the gap or the end was seen: the device may forget them. */
MILLRACE_API void millrace_link_consume(millrace_link* link, uint8_t stream, size_t size);

/* Takes all of `data` and sends it, waiting for room at most timeout_ms; returns the bytes taken,
 * or MILLRACE_LINK_ERROR. `end_of_message`: nothing more comes with it. */
MILLRACE_API int64_t millrace_link_write(millrace_link* link, uint8_t stream, const uint8_t* data,
                                         size_t size, int end_of_message, int timeout_ms);

/* Waits until the device has taken all that was written. `end` not 0: nothing more will be written,
 * and the device hears of it. 1: it has; 0: not within timeout_ms, call again;
 * MILLRACE_LINK_ERROR. Without it close() throws away what is still under way. */
MILLRACE_API int millrace_link_finish(millrace_link* link, uint8_t stream, int end, int timeout_ms);

/* Where the next byte written stands in the stream: after a resume, what the device expects. */
MILLRACE_API uint64_t millrace_link_write_offset(const millrace_link* link, uint8_t stream);

MILLRACE_API void millrace_link_get_place(const millrace_link* link, millrace_link_place* place);
/* The sentence of the last error; empty: none. */
MILLRACE_API const char* millrace_link_error(const millrace_link* link);
/* `end_session` 0: another process may go on with the place. */
MILLRACE_API void millrace_link_close(millrace_link* link, int end_session);

#ifdef __cplusplus
}
#endif
