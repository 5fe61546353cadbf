// SPDX-License-Identifier: Apache-2.0
#include "plan_command.hpp"

#include <cstdio>

#include "example_lists.hpp"
#include "exit_codes.hpp"
#include "pianola/device.hpp"
#include "report.hpp"

namespace tool {

namespace {

using pianola::Result;

struct Planned {
  pianola::Plan plan;
  std::string native;  ///< what the device makes of it, if one was asked for that has something to say
};

Result<Planned> plan_list(const ShowPlanOptions& options, const ExampleList& list) {
  const auto kernels = example_kernels();
  if (!kernels) return kernels.error();
  const auto commands = list.record(*kernels, options.size == 0 ? list.default_size : options.size);
  if (!commands) return commands.error();
  if (options.device.empty()) {
    auto plan = pianola::make_plan(*commands, pianola::DeviceProfile{}, options.plan);
    if (!plan) return plan.error();
    return Planned{*plan, {}};
  }
  const auto device = pianola::Device::open(options.device);
  if (!device) return device.error();
  const auto graph = device->instantiate(*commands, {.plan = options.plan});
  if (!graph) return graph.error();
  return Planned{graph->plan(), graph->native_description()};
}

}  // namespace

int run_show_plan(const ShowPlanOptions& options) {
  const ExampleList* list = find_example_list(options.list);
  if (list == nullptr) {
    std::fprintf(stderr, "pianola: no built-in list '%s'; see pianola show plan --help\n", options.list.c_str());
    return wrong_usage;
  }
  const auto planned = plan_list(options, *list);
  if (!planned) return report(planned.error());
  std::string text;
  if (options.json) {
    text = plan_json(options.list, planned->plan) + "\n";
  } else {
    text = options.graphviz ? planned->plan.to_graphviz() : planned->plan.to_string() + planned->native;
  }
  std::fputs(text.c_str(), stdout);
  return success;
}

}  // namespace tool
