// SPDX-License-Identifier: Apache-2.0
#include "millrace/host/link_session_c.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <system_error>

#include "millrace/host/link_session.h"

using millrace::host::Endpoint;
using millrace::host::LinkItem;
using millrace::host::LinkItemKind;
using millrace::host::LinkPlace;
using millrace::host::LinkSession;
using millrace::host::LinkSettings;
using millrace::host::Result;
using millrace::host::Status;

struct millrace_link {
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<LinkSession> session;
  std::string error;
};

namespace {

constexpr int64_t kNsPerMs = 1'000'000;
constexpr int64_t kCallStepNs = 1'000'000;

void say(const std::string& text, char* error, size_t size) {
  if (error == nullptr || size == 0) return;
  const size_t n = std::min(text.size(), size - 1);
  std::memcpy(error, text.data(), n);
  error[n] = 0;
}

// What f() gives. What the standard library throws where the system has no thread or no memory left
// must not go through C: `failed` of a sentence.
template <class Function, class Failed>
auto guarded(Function f, Failed failed) {
  try {
    return f();
  } catch (const std::system_error& error) {
    return failed(std::string("no thread can be made: ") + error.what() + " (end other programs)");
  } catch (const std::bad_alloc&) {
    return failed("out of memory (end other programs)");
  }
}

template <class Function>
auto guarded(millrace_link* link, Function f) {
  return guarded(f, [link](std::string text) -> decltype(f()) {
    link->error = std::move(text);
    return MILLRACE_LINK_ERROR;
  });
}

millrace_link* open(const char* port, const millrace_link_place* resume, char* error,
                    size_t error_size) {
  auto link = std::make_unique<millrace_link>();
  Result<std::unique_ptr<Endpoint>> endpoint = millrace::host::make_endpoint(port, {});
  if (!endpoint) {
    say(endpoint.error().message, error, error_size);
    return nullptr;
  }
  link->endpoint = std::move(*endpoint);
  LinkSettings settings;
  if (resume != nullptr && resume->session != 0) {
    LinkPlace place;
    place.session = resume->session;
    place.boot_id = resume->boot_id;
    place.taken[0] = resume->taken;
    settings.resume = place;
  }
  Result<std::unique_ptr<LinkSession>> session = LinkSession::open(*link->endpoint, settings);
  if (!session) {
    say(session.error().message, error, error_size);
    return nullptr;
  }
  link->session = std::move(*session);
  return link.release();
}

int read(millrace_link* link, uint8_t stream, int timeout_ms, const uint8_t** data, uint64_t* size,
         uint64_t* offset) {
  const int64_t deadline = link->session->clock().now_ns() + timeout_ms * kNsPerMs;
  LinkItem item = link->session->peek(stream);
  do {
    // Also when something is there already: acknowledgements must go out.
    const bool there = item.kind != LinkItemKind::nothing;
    if (Status status = link->session->wait(there ? 0 : deadline); !status) {
      link->error = status.error().message;
      return MILLRACE_LINK_ERROR;
    }
    item = link->session->peek(stream);
  } while (item.kind == LinkItemKind::nothing && link->session->clock().now_ns() < deadline);
  *data = item.data.data();
  *size = item.kind == LinkItemKind::gap ? item.gap_bytes : item.data.size();
  *offset = item.offset;
  switch (item.kind) {
    case LinkItemKind::data:
      return MILLRACE_LINK_DATA;
    case LinkItemKind::gap:
      return MILLRACE_LINK_GAP;
    case LinkItemKind::end:
      return MILLRACE_LINK_END;
    case LinkItemKind::nothing:
      break;
  }
  return MILLRACE_LINK_NOTHING;
}

int64_t write(millrace_link* link, uint8_t stream, const uint8_t* data, size_t size,
              int end_of_message, int timeout_ms) {
  LinkSession& session = *link->session;
  const int64_t deadline = session.clock().now_ns() + timeout_ms * kNsPerMs;
  size_t done = 0;
  while (true) {
    done += session.write(stream, {data + done, size - done});
    if (done == size && end_of_message != 0) session.end_of_message(stream);
    const int64_t now = session.clock().now_ns();
    if (Status status = session.wait(done == size ? 0 : std::min(deadline, now + kCallStepNs));
        !status) {
      link->error = status.error().message;
      return MILLRACE_LINK_ERROR;
    }
    if (done == size || now >= deadline) return static_cast<int64_t>(done);
  }
}

int finish(millrace_link* link, uint8_t stream, int end, int timeout_ms) {
  LinkSession& session = *link->session;
  const int64_t deadline = session.clock().now_ns() + timeout_ms * kNsPerMs;
  if (end == 0) session.end_of_message(stream);
  while (true) {
    const bool all_written = end == 0 || session.end(stream);
    if (all_written && session.drained(stream)) return 1;
    const int64_t now = session.clock().now_ns();
    if (now >= deadline) return 0;
    if (Status status = session.wait(std::min(deadline, now + kCallStepNs)); !status) {
      link->error = status.error().message;
      return MILLRACE_LINK_ERROR;
    }
  }
}

}  // namespace

millrace_link* millrace_link_open(const char* port, const millrace_link_place* resume, char* error,
                                  size_t error_size) {
  say("", error, error_size);
  if (port == nullptr) {
    say("no port given (a path, COMn, usb:VID:PID or serial:NUMBER)", error, error_size);
    return nullptr;
  }
  return guarded([&] { return open(port, resume, error, error_size); },
                 [&](const std::string& text) -> millrace_link* {
                   say(text, error, error_size);
                   return nullptr;
                 });
}

int millrace_link_read(millrace_link* link, uint8_t stream, int timeout_ms, const uint8_t** data,
                       uint64_t* size, uint64_t* offset) {
  return guarded(link, [&] { return read(link, stream, timeout_ms, data, size, offset); });
}

void millrace_link_consume(millrace_link* link, uint8_t stream, size_t size) {
  link->session->consume(stream, size);
}

int64_t millrace_link_write(millrace_link* link, uint8_t stream, const uint8_t* data, size_t size,
                            int end_of_message, int timeout_ms) {
  return guarded(link, [&] { return write(link, stream, data, size, end_of_message, timeout_ms); });
}

int millrace_link_finish(millrace_link* link, uint8_t stream, int end, int timeout_ms) {
  return guarded(link, [&] { return finish(link, stream, end, timeout_ms); });
}

uint64_t millrace_link_write_offset(const millrace_link* link, uint8_t stream) {
  return link->session->write_offset(stream);
}

void millrace_link_get_place(const millrace_link* link, millrace_link_place* place) {
  const LinkPlace now = link->session->place();
  place->session = now.session;
  place->boot_id = now.boot_id;
  place->taken = now.taken[0];
}

const char* millrace_link_error(const millrace_link* link) { return link->error.c_str(); }

void millrace_link_close(millrace_link* link, int end_session) {
  if (link == nullptr) return;
  link->session->close(end_session != 0);
  delete link;
}
