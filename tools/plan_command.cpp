// SPDX-License-Identifier: Apache-2.0
#include "plan_command.hpp"

#include <cstdio>

#include "bind_all.hpp"
#include "example_lists.hpp"
#include "exit_codes.hpp"
#include "pianola/device.hpp"
#include "report.hpp"

namespace tool {

namespace {

using pianola::Result;

// The plan, and what the backend made of it if that is asked for.
struct Shown {
  pianola::Plan plan;
  std::string native;
};

Result<Shown> show_list(const ShowPlanOptions& options, const ExampleList& list) {
  const auto kernels = example_kernels();
  if (!kernels) return kernels.error();
  const auto commands = list.record(*kernels, options.size == 0 ? list.default_size : options.size);
  if (!commands) return commands.error();
  if (options.device.empty()) {
    const auto plan = pianola::make_plan(*commands, {}, options.plan);
    if (!plan) return plan.error();
    return Shown{*plan, {}};
  }
  const auto device = pianola::Device::open(options.device, {.driver_path = options.driver});
  if (!device) return device.error();
  // What Metal replays are encoders, which are as much the plan as its waves.
  const bool is_text = !options.json && !options.graphviz;
  if (!options.native && !(is_text && options.device.starts_with("metal"))) {
    const auto plan = pianola::make_plan(*commands, device->profile(), options.plan);
    if (!plan) return plan.error();
    return Shown{*plan, {}};
  }
  auto bound = bind_all(*device, *commands);
  if (!bound) return bound.error();
  bound->plan = options.plan;
  const auto graph = device->instantiate(*commands, *bound);
  if (!graph) return graph.error();
  return Shown{graph->plan(), graph->native_description()};
}

}  // namespace

int run_show_plan(const ShowPlanOptions& options) {
  const ExampleList* list = find_example_list(options.list);
  if (list == nullptr) {
    std::fprintf(stderr, "pianola: no built-in list '%s'; see pianola show plan --help\n", options.list.c_str());
    return wrong_usage;
  }
  if (options.native && options.device.empty()) {
    std::fprintf(stderr, "pianola: --native needs --device\n");
    return wrong_usage;
  }
  const auto shown = show_list(options, *list);
  if (!shown) return report(shown.error());
  const pianola::Plan& plan = shown->plan;
  std::string text;
  if (options.json) {
    text = plan_json(options.list, plan) + "\n";
  } else {
    text = options.graphviz ? plan.to_graphviz() : plan.to_string();
  }
  text += shown->native;
  std::fputs(text.c_str(), stdout);
  return success;
}

}  // namespace tool
