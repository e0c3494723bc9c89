// SPDX-License-Identifier: Apache-2.0
// One function a command, each in cmd_NAME.cc: describes the command under `parent`. What it
// refers to must outlive CommandLine::run().
#pragma once

#include "cli/command_line.h"
#include "cli/invocation.h"

namespace millrace::cli {

struct Program {
  CommandLine* line = nullptr;
  Invocation invocation;
};

void add_ports(Command parent, const Program& program);
void add_doctor(Command parent, const Program& program);
void add_serial(Command parent, const Program& program);
void add_turnaround(Command parent, const Program& program);
void add_udp(Command parent, const Program& program);
void add_device(Command parent, const Program& program);
void add_board(Command parent, const Program& program);
void add_profile(Command parent, const Program& program);
void add_memory(Command parent, const Program& program);
void add_place(Command parent, const Program& program);
void add_check(Command parent, const Program& program);
void add_predict(Command parent, const Program& program);
void add_tune(Command parent, const Program& program);  // posix/ only
void add_link(Command parent, const Program& program);
void add_completion(Command parent, const Program& program);

// The parts of `serial`.
void add_serial_bench(Command parent, const Program& program);
void add_serial_sweep(Command parent, const Program& program);
void add_serial_soak(Command parent, const Program& program);

// The parts of `udp`, in posix/ only.
void add_udp_bench(Command parent, const Program& program);
void add_udp_counters(Command parent, const Program& program);
void add_udp_echo(Command parent, const Program& program);
void add_udp_doctor(Command parent, const Program& program);

// Beside `profile`.
void add_profile_record(Command profile, const Program& program);

// The parts of `link`.
void add_link_bench(Command parent, const Program& program);
void add_link_receive(Command parent, const Program& program);
void add_link_send(Command parent, const Program& program);
void add_link_pipe(Command parent, const Program& program);

// The parts of `board`, in posix/ only.
void add_board_info(Command parent, const Program& program);
void add_board_run(Command parent, const Program& program);
void add_board_timing(Command parent, const Program& program);

}  // namespace millrace::cli
