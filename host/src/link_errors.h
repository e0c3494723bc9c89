// SPDX-License-Identifier: Apache-2.0
// What a link that cannot be used says to the user.
#pragma once

#include <string>

#include "millrace/host/result.h"
#include "millrace/link/link_peer.h"

namespace millrace::host {

// The peer's state is failed.
Error link_failure_error(const std::string& port, const link::LinkPeer& peer);
// `what` it does.
Error broken_protocol_error(const std::string& port, const char* what);
// A device that had answered has stopped to.
Error silent_error(const std::string& port);
// HELLO was not answered: names what was heard instead.
Error no_answer_error(const std::string& port, const link::LinkPeer& peer);
// The device speaks spec/stream.md.
Error measuring_device_error(const std::string& port);

}  // namespace millrace::host
