// SPDX-License-Identifier: Apache-2.0
#include "cli/posix/board_info.h"
#include "cli/result_json.h"
#include "millrace/board/memory_map.h"

namespace millrace::cli {

using board::BootPlan;
using board::Image;

namespace {

// Null where the board has no memory.
Json memory_json(uint32_t address) {
  const board::MemoryArea* const area = board::memory_area(address);
  return area == nullptr ? Json(nullptr) : Json(std::string(area->name));
}

Json image_json(const Image& image) {
  Json segments = Json::array();
  for (const board::Segment& segment : image.segments) {
    segments.push_back({{"address", segment.address},
                        {"memory", memory_json(segment.address)},
                        {"size_bytes", segment.bytes.size()}});
  }
  Json sections = Json::array();
  for (const board::Section& section : image.sections) {
    Json made = {{"name", section.name},
                 {"run_address", section.run_address},
                 {"run_memory", memory_json(section.run_address)},
                 {"load_address", nullptr},
                 {"load_memory", nullptr},
                 {"size_bytes", section.size},
                 {"is_code", section.is_code}};
    if (section.is_stored) {
      made["load_address"] = section.load_address;
      made["load_memory"] = memory_json(section.load_address);
    }
    sections.push_back(made);
  }
  size_t functions = 0;
  for (const board::Symbol& symbol : image.symbols) functions += symbol.is_function ? 1 : 0;
  return {{"path", image.path},
          {"kind", kind_name(image.kind)},
          {"entry_address", image.entry},
          {"build_id_hex", image.build_id},
          {"symbols", image.symbols.size()},
          {"functions", functions},
          {"segments", segments},
          {"sections", sections},
          {"notes", image.notes}};
}

Json flexspi_json(const board::FlexspiConfig& config) {
  return {{"version", config.version},
          {"serial_clock_code", config.serial_clock},
          {"serial_clock_khz", config.serial_clock_khz},
          {"read_sample_clock", config.read_sample_clock},
          {"cs_hold_sck", config.cs_hold_sck},
          {"cs_setup_sck", config.cs_setup_sck},
          {"device_type", config.device_type},
          {"pads", config.pads},
          {"flash_a1_bytes", config.flash_a1_bytes},
          {"page_bytes", config.page_bytes},
          {"sector_bytes", config.sector_bytes},
          {"read_lut", config.read_lut},
          {"read_command_sck", config.read_command_sck},
          {"read_data_pads", config.read_data_pads}};
}

Json boot_json(const Image& image, const BootPlan& plan) {
  Json boot = {{"boots", plan.error.empty()},
               {"error", plan.error},
               {"start", start_name(plan.start)},
               {"pc", nullptr},
               {"function", ""},
               {"sp", nullptr},
               {"vtor", nullptr},
               {"copies_to_ram", plan.copies_to_ram},
               {"flexspi", nullptr},
               {"image_vector_table", nullptr},
               {"boot_data", nullptr},
               {"unloadable", plan.unloadable},
               {"notes", plan.notes}};
  if (plan.start != board::StartKind::none) {
    boot["pc"] = plan.pc;
    boot["function"] = function_at(image, plan.pc);
    boot["sp"] = plan.sp;
    boot["vtor"] = plan.vtor;
  }
  if (plan.flexspi) boot["flexspi"] = flexspi_json(*plan.flexspi);
  if (plan.ivt) {
    boot["image_vector_table"] = {{"header", plan.ivt->header}, {"entry", plan.ivt->entry},
                                  {"dcd", plan.ivt->dcd},       {"boot_data", plan.ivt->boot_data},
                                  {"self", plan.ivt->self},     {"csf", plan.ivt->csf}};
  }
  if (plan.boot_data) {
    boot["boot_data"] = {{"start", plan.boot_data->start},
                         {"length_bytes", plan.boot_data->length},
                         {"plugin", plan.boot_data->plugin}};
  }
  return boot;
}

}  // namespace

void add_board_json(Json* document, const Image& image, const BootPlan& plan) {
  Json memories = Json::array();
  for (const MemoryUse& use : memory_use(image)) {
    memories.push_back({{"name", std::string(use.name)},
                        {"address", use.base},
                        {"size_bytes", use.size},
                        {"run_bytes", image.sections.empty() ? Json(nullptr) : Json(use.runs)},
                        {"stored_bytes", use.stored}});
  }
  (*document)["image"] = image_json(image);
  (*document)["memories"] = memories;
  (*document)["boot"] = boot_json(image, plan);
}

}  // namespace millrace::cli
