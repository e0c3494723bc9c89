// SPDX-License-Identifier: Apache-2.0
// The control channel of the sampler over UDP (spec/sampler_control.md): `millrace profile record`.
#include <zephyr/kernel.h>
#include <zephyr/net/socket.h>

#include "firmware/ports/zephyr/sampler_chip.h"
#include "millrace/link/sampler_control.h"

extern "C" {
#include "echo.h"
}

namespace {

constexpr int kStackBytes = 3072, kPriority = 7, kPauseMs = 100;

void serve_sampler(void*, void*, void*) {
  millrace::firmware::Sampler& sampler = millrace::firmware::make_zephyr_sampler(echo_replies);
  static uint8_t request[64];
  static uint8_t reply[millrace::link::kSamplerReplyBytes];
  while (true) {
    const int socket = echo_open(millrace::link::kSamplerPort);
    echo_peer peer;
    int received = socket;
    while (socket >= 0 && (received = echo_receive(socket, request, sizeof(request), &peer)) >= 0) {
      const size_t size =
          sampler.answer(request, static_cast<size_t>(received), reply, sizeof(reply));
      // What has no room is asked for again.
      if (size > 0) (void)echo_send(socket, reply, size, &peer);
    }
    if (socket >= 0) zsock_close(socket);
    k_msleep(kPauseMs);
  }
}

K_THREAD_DEFINE(sampler_control, kStackBytes, serve_sampler, nullptr, nullptr, nullptr, kPriority,
                0, 0);

}  // namespace
