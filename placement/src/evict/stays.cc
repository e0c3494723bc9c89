// SPDX-License-Identifier: Apache-2.0
// Two kinds of code stay. Interrupt handlers, because what is too late costs more than cycles; with
// what they call directly. And code that makes its memory go away: while a FlexSPI sends a command
// to the flash, and until the flash has erased or written what it was told, a fetch from there gets
// nothing, or rubbish. Teensyduino's EEPROM and LittleFS are such, and no sample shows it, since
// they hardly ever run. They are known by the addresses of the controller's registers; what they
// call, however deep, runs at that time too.
#include "evict/stays.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>

#include "millrace/placement/boot.h"

namespace millrace::placement {
namespace {

using profile::CallEdge;
using profile::CallGraph;
using profile::EdgeKind;
using profile::kNone;

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// As handlers are called by Teensyduino, CMSIS, and most others; of C++ too, and with a number
// (`_spi_dma_rxISR0`). Reset's calls the whole program.
bool is_handler_name(const std::string& symbol) {
  std::string small = lower_case(
      profile::without_parameters(profile::readable_name(profile::base_name_of_clone(symbol))));
  if (has(small, "reset")) return false;
  while (!small.empty() && std::isdigit(static_cast<unsigned char>(small.back())) != 0) {
    small.pop_back();
  }
  return small.ends_with("_irq") || small.ends_with("isr") || small.ends_with("handler") ||
         small.ends_with("interrupt_vector") || has(small, "irqhandler");
}

class StaysFinder {
 public:
  StaysFinder(const ElfIndex& index, const Units& units, const CallGraph& graph, Stays* out)
      : index_(index), units_(units), graph_(graph), out_(*out) {
    out_.units.assign(units.units.size(), false);
  }

  void interrupts() {
    const auto keep_with_callees = [&](uint32_t handler) {
      keep(handler, &out_.for_interrupts);
      for (const CallEdge& edge : graph_.from(handler)) {
        if (edge.kind != EdgeKind::address) keep(edge.to, &out_.for_interrupts);
      }
    };
    for (const uint32_t handler : interrupt_handlers(index_)) keep_with_callees(handler);
    for (const uint32_t handler : installed_handlers()) keep_with_callees(handler);
  }

  void controllers(const profile::Target& target, const profile::TargetRegion& region,
                   const profile::TargetRegion& to) {
    std::vector<uint32_t> todo;
    std::set<uint32_t> seen;
    const std::vector<profile::Function>& functions = index_.functions();
    for (uint32_t i = 0; i < functions.size(); ++i) {
      if (target.region_at(functions[i].start) != &region || !drives(target, to, i)) continue;
      seen.insert(i);
      todo.push_back(i);
      if (units_.of_function[i] != kNone) out_.drivers.push_back(i);
    }
    while (!todo.empty()) {
      const uint32_t at = todo.back();
      todo.pop_back();
      keep(at, &out_.for_controller);
      for (const CallEdge& edge : graph_.from(at)) {
        if (edge.kind != EdgeKind::address && seen.insert(edge.to).second) todo.push_back(edge.to);
      }
    }
  }

 private:
  void keep(uint32_t function, uint64_t* count) {
    const uint32_t unit = units_.of_function[function];
    if (unit == kNone || out_.units[unit]) return;
    out_.units[unit] = true;
    ++*count;
  }

  bool drives(const profile::Target& target, const profile::TargetRegion& to,
              uint32_t function) const {
    const std::vector<uint32_t> made = profile::constants_made(index_, function);
    return std::any_of(target.controllers.begin(), target.controllers.end(), [&](const auto& one) {
      if (one.region != to.name) return false;
      const auto first = std::lower_bound(made.begin(), made.end(), one.start);
      return first != made.end() && *first < one.end();
    });
  }

  // A vector table in RAM is empty in the ELF. Its entries are functions whose address is made by
  // code that also makes the table's, or calls a function that attaches handlers.
  std::set<uint32_t> installed_handlers() const {
    const std::vector<profile::Function>& functions = index_.functions();
    std::set<uint32_t> out;
    for (uint32_t i = 0; i < functions.size(); ++i) {
      if (is_handler_name(functions[i].name)) out.insert(i);
      const std::span<const CallEdge> edges = graph_.from(i);
      const bool takes_any = std::any_of(edges.begin(), edges.end(), [](const CallEdge& edge) {
        return edge.kind == EdgeKind::address;
      });
      if (!takes_any || (!attaches(edges) && !makes_vector_address(i))) continue;
      for (const CallEdge& edge : edges) {
        if (edge.kind == EdgeKind::address) out.insert(edge.to);
      }
    }
    return out;
  }

  bool attaches(std::span<const CallEdge> edges) const {
    return std::any_of(edges.begin(), edges.end(), [&](const CallEdge& edge) {
      const std::string name = lower_case(index_.functions()[edge.to].name);
      const bool attaches = has(name, "attach") || has(name, "install") || has(name, "set");
      const bool is_interrupt =
          has(name, "interrupt") || has(name, "vector") || has(name, "handler") || has(name, "irq");
      return edge.kind != EdgeKind::address && attaches && is_interrupt;
    });
  }

  bool makes_vector_address(uint32_t function) const {
    for (const uint32_t constant : profile::constants_made(index_, function)) {
      for (const profile::DataObject& one : index_.objects()) {
        const bool is_inside =
            constant >= one.address && constant < uint64_t{one.address} + one.size;
        if (is_inside && has(lower_case(one.name), "vector")) return true;
      }
    }
    return false;
  }

  const ElfIndex& index_;
  const Units& units_;
  const CallGraph& graph_;
  Stays& out_;
};

}  // namespace

Stays find_stays(const ElfIndex& index, const Units& units, const CallGraph& graph,
                 const profile::Target& target, const profile::TargetRegion& region,
                 const profile::TargetRegion* to) {
  Stays out;
  StaysFinder finder(index, units, graph, &out);
  finder.interrupts();
  if (to != nullptr) finder.controllers(target, region, *to);
  return out;
}

}  // namespace millrace::placement
