// SPDX-License-Identifier: Apache-2.0
#include "cli/record_target.h"

#include <fmt/core.h>

#include <cstdlib>
#include <utility>

#include "cli/pc_endpoint.h"
#include "cli/print.h"
#include "cli/profile_options.h"
#include "cli/result_json.h"
#include "cli/values.h"
#include "millrace/profile/recorded.h"
#include "millrace/sampling/serial_channel.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Result;
using host::Status;

namespace {

constexpr uint64_t kLeastBytes = 32, kMostBytes = 1472;
constexpr double kMostRate = 1e7;
constexpr uint32_t kMostInFlight = 65'536;
constexpr uint32_t kFrameBytes = 2048;

Error wrong_load(const std::string& text) {
  return {ErrorCode::usage,
          fmt::format("{}: no load (none, udp:32@1500 for 32 bytes 1,500 times a second, udp:32x8 "
                      "for 8 under way, serial:in, serial:out, serial:both)",
                      text)};
}

class SerialTarget final : public RecordTarget {
 public:
  SerialTarget(std::unique_ptr<host::Endpoint> endpoint, const RecordLoad& load, bool has_load,
               std::string elf)
      : endpoint_(std::move(endpoint)),
        elf_(std::move(elf)),
        channel_(*endpoint_, host::OpenOptions()),
        has_load_(has_load),
        load_(channel_, settings_of(load)) {}

  sampling::SamplerChannel& channel() override { return channel_; }
  sampling::Workload workload() override {
    return has_load_ ? load_.workload() : sampling::waiting(endpoint_->clock());
  }
  std::string load_line() const override {
    if (!has_load_) return {};
    const auto& figures = load_.figures();
    return fmt::format("stream: {} MB/s, {}", megabytes_per_s(figures.bytes_per_s),
                       plural(figures.faults, "fault"));
  }
  Json load_json() const override {
    if (!has_load_) return nullptr;
    const auto& figures = load_.figures();
    return {{"kind", "serial"},
            {"bytes", figures.bytes},
            {"bytes_per_s", figures.bytes_per_s},
            {"faults", figures.faults}};
  }
  bool is_virtual() const override { return endpoint_->clock().is_virtual(); }
  std::string elf() const override { return elf_; }
  Status finish() override {
    channel_.close();
    return endpoint_->finish();
  }

 private:
  static host::RunSettings settings_of(const RecordLoad& load) {
    host::RunSettings settings;
    settings.frame_size = kFrameBytes;
    settings.direction = load.direction;
    return settings;
  }

  std::unique_ptr<host::Endpoint> endpoint_;
  std::string elf_;
  sampling::SerialSamplerChannel channel_;
  bool has_load_;
  sampling::SerialLoad load_;
};

// Names the program that was sampled, or says that it is another one. `sent`: by the target itself.
Status identify(const std::string& elf, bool was_asked_for, profile::SampleSet* samples) {
  if (elf.empty()) return {};
  profile::ElfIndex index;
  if (const profile::Failure failure = profile::ElfIndex::read(elf, {}, &index)) {
    if (was_asked_for) return to_error(*failure);
    return {};  // board:IMAGE is no ELF
  }
  if (samples->identity.kind == profile::IdentityKind::none) {
    samples->identity = index.build_id();
    if (samples->identity.kind == profile::IdentityKind::none) {
      samples->identity = index.image_hash();
    }
    return {};
  }
  if (index.is_same_program(samples->identity)) return {};
  return Error{ErrorCode::protocol,
               fmt::format("{}: the target runs another program, of {} (give --elf what was "
                           "flashed, or leave it out)",
                           printable(elf), samples->identity.text())};
}

}  // namespace

std::string board_image(const std::string& name) {
  const std::string board = "board:";
  if (name.rfind(board, 0) != 0) return {};
  return name.substr(board.size(), name.find('?') - board.size());
}

Result<RecordLoad> parse_load(const std::string& text) {
  RecordLoad load;
  load.text = text;
  const std::string udp = "udp:", serial = "serial:";
  if (text == "none") {
    load.kind = LoadKind::none;
  } else if (text.rfind(udp, 0) == 0) {
    load.kind = LoadKind::udp;
    const size_t mark = text.find_first_of("@x", udp.size());
    if (mark == std::string::npos) return wrong_load(text);
    const Result<uint64_t> bytes = parse_number(text.substr(udp.size(), mark - udp.size()),
                                                Scale::bytes, kLeastBytes, kMostBytes);
    if (!bytes) {
      return Error{ErrorCode::usage,
                   fmt::format("{}: give {} to {} bytes", text, kLeastBytes, kMostBytes)};
    }
    load.bytes = static_cast<uint32_t>(*bytes);
    const std::string number = text.substr(mark + 1);
    if (text[mark] == 'x') {
      const Result<uint64_t> count = parse_number(number, Scale::count, 1, kMostInFlight);
      if (!count) return wrong_load(text);
      load.in_flight = static_cast<uint32_t>(*count);
    } else {
      char* end = nullptr;
      load.rate_per_s = std::strtod(number.c_str(), &end);
      if (number.empty() || number[0] < '0' || number[0] > '9' || *end != '\0' ||
          !(load.rate_per_s > 0) || load.rate_per_s > kMostRate) {
        return wrong_load(text);
      }
    }
  } else if (text.rfind(serial, 0) == 0) {
    load.kind = LoadKind::serial;
    const std::string direction = text.substr(serial.size());
    if (direction == "out") {
      load.direction = link::Direction::out;
    } else if (direction == "both") {
      load.direction = link::Direction::both;
    } else if (direction != "in") {
      return wrong_load(text);
    }
  } else {
    return wrong_load(text);
  }
  return load;
}

Result<std::unique_ptr<RecordTarget>> open_serial_target(const std::string& name,
                                                         const RecordLoad& load) {
  if (load.kind == LoadKind::udp) {
    return Error{ErrorCode::usage,
                 fmt::format("{}: a serial port takes no load {} (serial:in, serial:out, "
                             "serial:both, none)",
                             printable(name), load.text)};
  }
  Result<std::unique_ptr<host::Endpoint>> endpoint = host::make_endpoint(name, endpoint_schemes());
  if (!endpoint) return endpoint.error();
  const bool has_load = load.kind == LoadKind::serial ||
                        (load.kind == LoadKind::automatic && (*endpoint)->clock().is_virtual());
  return std::unique_ptr<RecordTarget>(
      std::make_unique<SerialTarget>(std::move(*endpoint), load, has_load, board_image(name)));
}

Result<RecordOutcome> record_samples(const std::string& name, const RecordLoad& load,
                                     const sampling::RecordPlan& plan, const std::string& elf,
                                     const sampling::RecordHooks& hooks) {
  Result<std::unique_ptr<RecordTarget>> target = open_record_target(name, load);
  if (!target) return target.error();
  Result<sampling::Recording> recording =
      sampling::record((*target)->channel(), plan, (*target)->workload(), hooks);
  RecordOutcome outcome;
  outcome.load_line = (*target)->load_line();
  outcome.load = (*target)->load_json();
  const std::string known_elf = elf.empty() ? (*target)->elf() : elf;
  const Status finished = (*target)->finish();
  if (!recording) {
    Error error = recording.error();
    if (error.code == ErrorCode::not_found && !board_image(name).empty() &&
        !error.message.ends_with(')')) {
      error.message += " (link a sampler and USB serial or USB network into it, docs/profile.md)";
    }
    return error;
  }
  if (!finished) return finished.error();
  outcome.samples = profile::recorded_samples(name, recording->status, recording->words);
  outcome.rounds = recording->rounds;
  outcome.is_interrupted = recording->is_interrupted;
  outcome.trouble = recording->trouble;
  if (Status known = identify(known_elf, !elf.empty(), &outcome.samples); !known) {
    return known.error();
  }
  return outcome;
}

}  // namespace millrace::cli
