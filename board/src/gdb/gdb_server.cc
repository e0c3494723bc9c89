// SPDX-License-Identifier: Apache-2.0
// The session: which packet is answered how, and when the board runs. What a packet does is in the
// files beside this one. The protocol is "all-stop" with one thread, number 1: while the board runs
// gdb sends nothing but Ctrl-C, and a stop reply ends the run.
#include "millrace/board/gdb_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "gdb/answers.h"
#include "gdb/memory_commands.h"
#include "gdb/packet.h"
#include "gdb/run_control.h"
#include "gdb/stop_points.h"

namespace millrace::board {

using namespace gdb;  // NOLINT: this file is its only user

namespace {

constexpr int kSigInt = 2;  // gdb's numbers, not the host's
constexpr int kSigTrap = 5;
constexpr int kSigSegv = 11;
constexpr size_t kConsolePiece = 2000;  // characters in one O packet
constexpr size_t kMostConsole = 16000;  // of one text; the rest is cut

int signal_of(StopReason reason) {
  switch (reason) {
    case StopReason::requested:
      return kSigInt;
    case StopReason::locked_up:
    case StopReason::fault_loop:
      return kSigSegv;
    case StopReason::cycles:
    case StopReason::reset_loop:
    case StopReason::exited:
    case StopReason::breakpoint:
    case StopReason::watchpoint:
    case StopReason::asleep:
      return kSigTrap;
  }
  return kSigTrap;
}

// What gdb's user is told besides the signal.
std::string words_of(const StopInfo& stop) {
  switch (stop.reason) {
    case StopReason::locked_up:
      return "locked up: " + stop.detail + "\n";
    case StopReason::fault_loop:
      return "the same fault again and again: " + stop.detail + "\n";
    case StopReason::reset_loop:
      return "does nothing but reset itself: " + stop.detail + "\n";
    case StopReason::requested:
      return stop.detail.empty() ? "" : "in a fault handler: " + stop.detail + "\n";
    case StopReason::asleep:
      return "asleep (WFI or WFE), and nothing is scheduled that could ever wake it\n";
    default:
      return {};
  }
}

}  // namespace

struct GdbServer::Parts {
  explicit Parts(Board& the_board)
      : board(the_board),
        points(the_board),
        answers(the_board, points),
        control(the_board, points) {}

  void reply(std::string_view payload);
  void console(std::string_view text);
  void on_packet(std::string_view packet);
  void resume(std::string_view packet);
  void resume_v(std::string_view actions);
  void step_range(std::string_view range);
  void go(bool single, uint32_t from, uint32_t to);
  void detach(GdbState next);
  void on_stop(const StopInfo& stop);
  std::string stop_reply() const;

  Board& board;
  StopPoints points;
  Answers answers;
  RunControl control;
  PacketDecoder decoder;
  GdbState state = GdbState::idle;
  std::string output;
  std::string last_sent;  // for '-'
  StopInfo stop;
  bool acknowledge = true;
  bool send_again = false;
};

void GdbServer::Parts::reply(std::string_view payload) {
  last_sent = framed(payload);
  output += last_sent;
}

// gdb shows an O packet while the board runs and while it waits for a monitor command's end.
void GdbServer::Parts::console(std::string_view text) {
  text = text.substr(0, kMostConsole);
  for (; !text.empty(); text.remove_prefix(std::min(text.size(), kConsolePiece))) {
    std::string payload(1, 'O');
    payload += to_hex(text.substr(0, kConsolePiece));
    output += framed(payload);
  }
}

std::string GdbServer::Parts::stop_reply() const {
  if (state == GdbState::exited) return fmt::format("W{:02x}", stop.exit_code & 0xFF);
  std::string text = fmt::format("T{:02x}thread:1;", signal_of(stop.reason));
  if (stop.reason == StopReason::watchpoint) text += points.watch_text(stop.watch_address);
  if (stop.reason == StopReason::breakpoint && answers.knows_hwbreak() &&
      points.has_breakpoint(stop.pc)) {
    text += "hwbreak:;";
  }
  return text;
}

void GdbServer::Parts::on_stop(const StopInfo& info) {
  const bool attached = state == GdbState::running;
  stop = info;
  if (info.reason == StopReason::exited) {
    state = GdbState::exited;
  } else {
    state = attached ? GdbState::stopped : GdbState::ended;
  }
  if (!attached) return;
  console(words_of(info));
  reply(stop_reply());
}

void GdbServer::Parts::detach(GdbState next) {
  points.clear();
  control.reset();
  board.set_debugger_attached(false);
  state = next;
}

// ---- resuming ----

void GdbServer::Parts::go(bool single, uint32_t from, uint32_t to) {
  if (state == GdbState::exited) {
    reply(stop_reply());
    return;
  }
  if (single) {
    control.start_step(from, to);
  } else {
    control.start();
  }
  state = GdbState::running;
}

// c, s, with an address, or C, S with a signal (which a chip does not have) and an address.
void GdbServer::Parts::resume(std::string_view packet) {
  Arguments arguments(packet.substr(1));
  const bool single = packet[0] == 's' || packet[0] == 'S';
  const bool with_signal = packet[0] == 'C' || packet[0] == 'S';
  if (with_signal) arguments.hex32();
  if (with_signal && arguments.at(';')) arguments.expect(';');
  std::optional<uint32_t> address;
  if (arguments.ok() && !arguments.rest().empty()) address = arguments.hex32();
  if (!arguments.complete()) {
    reply(kBadPacket);
    return;
  }
  if (address && state != GdbState::exited) board.write_register(15, *address);
  go(single, 0, 0);
}

// "c;s:1": the first action that is for thread 1, or for all.
void GdbServer::Parts::resume_v(std::string_view actions) {
  while (!actions.empty()) {
    const std::string_view action = actions.substr(0, actions.find(';'));
    actions.remove_prefix(std::min(actions.size(), action.size() + 1));
    const size_t colon = action.find(':');
    const std::string_view thread = colon == std::string_view::npos ? "" : action.substr(colon + 1);
    if (!thread.empty() && thread != "1" && thread != "-1" && thread != "0") continue;
    const std::string_view what = action.substr(0, colon);
    if (what == "c" || (what.size() == 3 && what[0] == 'C')) {
      go(false, 0, 0);
    } else if (what == "s" || (what.size() == 3 && what[0] == 'S')) {
      go(true, 0, 0);
    } else if (what.starts_with("r")) {
      step_range(what.substr(1));
    } else {
      break;
    }
    return;
  }
  reply(kBadPacket);
}

void GdbServer::Parts::step_range(std::string_view range) {
  Arguments arguments(range);
  const uint32_t from = arguments.hex32();
  arguments.expect(',');
  const uint32_t to = arguments.hex32();
  if (!arguments.complete() || to < from) {
    reply(kBadPacket);
    return;
  }
  go(true, from, to);
}

// ---- packets ----

void GdbServer::Parts::on_packet(std::string_view packet) {
  if (state == GdbState::running) {
    reply(kBadPacket);  // gdb waits for the stop reply: this is not gdb
    return;
  }
  if (state != GdbState::stopped && state != GdbState::exited) return;
  const char name = packet.empty() ? '\0' : packet[0];
  if (name == 'c' || name == 's' || name == 'C' || name == 'S') {
    resume(packet);
  } else if (packet.starts_with("vCont;")) {
    resume_v(packet.substr(6));
  } else if (packet == "vCont?") {
    reply("vCont;c;C;s;S;r");
  } else if (packet == "?") {
    reply(stop_reply());
  } else if (packet.starts_with("vKill;")) {
    reply("OK");
    detach(GdbState::killed);
  } else if (name == 'k') {
    detach(GdbState::killed);  // no reply
  } else if (name == 'R') {
    board.reset();  // no reply
    stop = {};
    control.reset();
    if (state == GdbState::exited) state = GdbState::stopped;
  } else if (name == 'D') {
    reply("OK");
    detach(state == GdbState::exited ? GdbState::exited : GdbState::detached);
  } else if (packet == "QStartNoAckMode") {
    reply("OK");
    acknowledge = false;
    decoder.ignore_checksums(true);
  } else {
    std::string text;
    const std::string answer = answers.answer(packet, &text);
    console(text);
    reply(answer);
  }
}

// ---- the interface ----

GdbServer::GdbServer(Board& board) : parts_(std::make_unique<Parts>(board)) {}
GdbServer::~GdbServer() = default;

void GdbServer::connect() {
  Parts& p = *parts_;
  p.decoder.reset();
  p.output.clear();
  p.last_sent.clear();
  p.acknowledge = true;
  p.send_again = false;
  p.answers.reset();
  p.control.reset();
  p.board.set_debugger_attached(true);
  if (p.state == GdbState::detached) p.stop = {};
  if (p.state != GdbState::exited) p.state = GdbState::stopped;
}

void GdbServer::disconnect() {
  Parts& p = *parts_;
  const bool over =
      p.state == GdbState::detached || p.state == GdbState::exited || p.state == GdbState::killed;
  p.detach(over ? p.state : GdbState::idle);
  p.output.clear();
}

void GdbServer::receive(std::span<const uint8_t> bytes) {
  Parts& p = *parts_;
  for (const uint8_t byte : bytes) {
    const PacketEvent event = p.decoder.put(byte);
    if (event == PacketEvent::none || event == PacketEvent::ack) continue;
    if (event == PacketEvent::interrupt) {
      if (p.state != GdbState::running) continue;  // it stopped by itself meanwhile
      StopInfo stop;
      stop.reason = StopReason::requested;
      stop.pc = p.board.read_register(15);
      stop.detail = p.board.fault_state();
      p.on_stop(stop);
    } else if (event == PacketEvent::nak) {
      p.send_again = p.acknowledge;
    } else if (event == PacketEvent::damaged) {
      if (p.acknowledge) p.output += '-';
    } else {
      if (p.acknowledge) p.output += '+';
      if (event == PacketEvent::packet) {
        p.on_packet(p.decoder.payload());
      } else {
        p.reply(kTooMany);
      }
    }
  }
  // Once for all of them: a stream of '-' must not make gigabytes.
  if (std::exchange(p.send_again, false)) p.output += p.last_sent;
}

std::string GdbServer::take_output() { return std::exchange(parts_->output, {}); }

GdbState GdbServer::state() const { return parts_->state; }

bool GdbServer::running() const {
  return parts_->state == GdbState::running || parts_->state == GdbState::detached;
}

void GdbServer::run(uint64_t cycles) {
  if (!running()) return;
  if (const std::optional<StopInfo> stop = parts_->control.run(cycles)) parts_->on_stop(*stop);
}

const StopInfo& GdbServer::last_stop() const { return parts_->stop; }

}  // namespace millrace::board
