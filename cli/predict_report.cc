// SPDX-License-Identifier: Apache-2.0
#include "cli/predict_report.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "cli/print.h"
#include "cli/table.h"
#include "cli/values.h"

namespace millrace::cli {

using placement::Cycles;
using placement::Prediction;

namespace {

constexpr KeyRow row(12);

Json cycles_json(const Cycles& one) {
  return {
      {"busy", one.busy}, {"fetch", one.fetch}, {"misses", one.misses}, {"veneers", one.veneers}};
}

std::string claim(const Prediction& p) {
  std::string out =
      row("predicted", fmt::format("{} cycles an event, {} to {}; {:.2f} times as fast",
                                   whole(p.predicted.busy), whole(p.low), whole(p.high),
                                   p.predicted.busy > 0 ? p.recorded.busy / p.predicted.busy : 0));
  if (p.events > 1 && p.predicted.busy > 0 && p.core_khz > 0) {
    const double khz = p.core_khz;
    out += row("at most", fmt::format("{} events/s by the core's {:.0f} MHz, {} as traced",
                                      whole(khz * 1000 / p.predicted.busy), khz / 1000,
                                      whole(khz * 1000 / p.recorded.busy)));
  }
  return out;
}

}  // namespace

std::string predict_report(const Prediction& p) {
  std::string out =
      row("trace", fmt::format("{} event{}, {} blocks run, {} distinct lines of cached code",
                               grouped(p.events), p.events == 1 ? "" : "s", grouped(p.visits),
                               grouped(p.lines_before)));
  out += row("list", fmt::format("moves {} bytes of code; {} distinct lines stay",
                                 grouped(p.moved_bytes), grouped(p.lines_after)));
  Table table({"<cycles an event", "busy", "waiting for code", "misses", "veneers"});
  const auto add = [&](const char* name, const Cycles& one) {
    table.add({name, whole(one.busy), whole(one.fetch), whole(one.misses), whole(one.veneers)});
  };
  add("as traced", p.recorded);
  add("  by the model", p.model);
  add("with the list", p.predicted);
  out += '\n' + table.text() + '\n';
  if (!p.is_usable) {
    out +=
        row("predicted",
            fmt::format("not usable: the program as it is takes {} cycles an event by the model, "
                        "{} in the trace (trace more events: {} counted here)",
                        whole(p.model.busy), whole(p.recorded.busy),
                        p.events == 1 ? "1 is" : grouped(p.events) + " are"));
  } else {
    out += claim(p);
  }
  for (const std::string& one : p.notes) out += row("note", one);
  return out;
}

Json prediction_json(const Prediction& p) {
  return {{"events", p.events},
          {"visits", p.visits},
          {"is_partial", p.is_partial},
          {"recorded", cycles_json(p.recorded)},
          {"model", cycles_json(p.model)},
          {"predicted", cycles_json(p.predicted)},
          {"low", p.low},
          {"high", p.high},
          {"is_usable", p.is_usable},
          {"moved_bytes", p.moved_bytes},
          {"lines_before", p.lines_before},
          {"lines_after", p.lines_after},
          {"core_khz", p.core_khz},
          {"notes", p.notes}};
}

}  // namespace millrace::cli
