// SPDX-License-Identifier: Apache-2.0
// The only source that includes the JSON library.
#include <nlohmann/json.hpp>

#include "report.hpp"

namespace tool {

namespace {

using Json = nlohmann::ordered_json;

// A driver's name may hold any bytes.
std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string devices_json(std::span<const pianola::DeviceDescription> devices) {
  Json list = Json::array();
  for (const pianola::DeviceDescription& device : devices) {
    Json entry = {{"device", device.spec}, {"name", device.name}, {"available", device.available}};
    if (!device.available) entry["reason"] = device.reason;
    list.push_back(std::move(entry));
  }
  return text_of({{"devices", list}});
}

std::string bench_json(std::string_view device, std::span<const BenchRow> rows) {
  Json list = Json::array();
  for (const BenchRow& row : rows) {
    list.push_back({{"list", row.list},
                    {"commands", row.commands},
                    {"record_ns", row.record_ns},
                    {"plan_ns", row.plan_ns},
                    {"instantiate_ns", row.instantiate_ns},
                    {"replay_ns", row.replay_ns}});
  }
  return text_of({{"device", device}, {"unit", "nanoseconds for one command"}, {"rows", list}});
}

std::string trace_json(std::span<const TraceRow> rows) {
  const auto us = [](std::chrono::nanoseconds time) { return static_cast<double>(time.count()) / 1000; };
  Json events = Json::array();
  for (size_t i = 0; i < rows.size(); ++i) {
    events.push_back({{"ph", "M"}, {"name", "process_name"}, {"pid", i}, {"args", {{"name", rows[i].list}}}});
    for (const pianola::CommandTime& time : rows[i].times) {
      events.push_back({{"ph", "X"},
                        {"name", time.name},
                        {"cat", time.group},
                        {"pid", i},
                        {"tid", time.lane},
                        {"ts", us(time.begin)},
                        {"dur", us(time.end - time.begin)},
                        {"args", {{"command", time.command}}}});
    }
  }
  return text_of({{"displayTimeUnit", "ns"}, {"traceEvents", events}});
}

std::string kernel_library_json(const pianola::KernelLibrary& library) {
  const auto access = [](pianola::Access value) {
    return value == pianola::Access::in ? "in" : value == pianola::Access::out ? "out" : "inout";
  };
  Json kernels = Json::array();
  for (const pianola::KernelInfo& kernel : library.kernels()) {
    Json bindings = Json::array();
    for (const pianola::KernelBinding& each : kernel.bindings) {
      bindings.push_back({{"name", each.name},
                          {"set", each.set},
                          {"binding", each.binding},
                          {"access", access(each.access)},
                          {"element_size", each.element_size}});
    }
    Json constants = Json::array();
    for (const pianola::KernelConstant& each : kernel.constants) {
      constants.push_back({{"name", each.name}, {"offset", each.offset}, {"size", each.size}});
    }
    kernels.push_back({{"name", kernel.name},
                       {"workgroup", kernel.workgroup},
                       {"bindings", bindings},
                       {"constants", constants},
                       {"constant_bytes", kernel.constant_bytes},
                       {"shared_bytes", kernel.shared_bytes},
                       {"dynamic_shared_bytes", kernel.dynamic_shared_bytes},
                       {"opaque", kernel.opaque},
                       {"may_alias", kernel.may_alias},
                       {"argument_order", kernel.argument_order}});
  }
  Json objects = Json::array();
  for (const pianola::CodeObject& object : library.objects()) {
    Json entries = Json::array();
    for (const pianola::CodeObject::Entry& entry : object.entries) {
      entries.push_back({{"kernel", library.kernels()[entry.kernel].name}, {"symbol", entry.symbol}});
    }
    objects.push_back({{"format", pianola::to_string(object.format)},
                       {"arch", object.arch},
                       {"bytes", object.bytes.size()},
                       {"entries", entries}});
  }
  return text_of({{"library", library.name()}, {"hash", library.hash()}, {"kernels", kernels}, {"objects", objects}});
}

std::string plan_json(std::string_view list, const pianola::Plan& plan) {
  const pianola::PlanStats& stats = plan.stats();
  return text_of({{"list", list},
                  {"form", plan.form() == pianola::PlanForm::lanes ? "lanes" : "waves"},
                  {"commands", stats.commands},
                  {"nodes", stats.nodes},
                  {"merged", stats.merged},
                  {"elided", stats.elided},
                  {"barriers_recorded", stats.barriers_recorded},
                  {"edges", stats.edges},
                  {"lanes", stats.lanes},
                  {"sync_points", stats.sync_points},
                  {"kind_switches", stats.kind_switches}});
}

}  // namespace tool
