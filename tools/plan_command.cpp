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

Result<pianola::DeviceProfile> profile_of(const std::string& device) {
  if (device.empty()) return pianola::DeviceProfile{};
  auto opened = pianola::Device::open(device);
  if (!opened) return opened.error();
  return opened->profile();
}

Result<pianola::Plan> plan_list(const ShowPlanOptions& options, const ExampleList& list) {
  const auto profile = profile_of(options.device);
  if (!profile) return profile.error();
  const auto kernels = example_kernels();
  if (!kernels) return kernels.error();
  const auto commands = list.record(*kernels, options.size == 0 ? list.default_size : options.size);
  if (!commands) return commands.error();
  return pianola::make_plan(*commands, *profile, options.plan);
}

}  // namespace

int run_show_plan(const ShowPlanOptions& options) {
  const ExampleList* list = find_example_list(options.list);
  if (list == nullptr) {
    std::fprintf(stderr, "pianola: no built-in list '%s'; see pianola show plan --help\n", options.list.c_str());
    return wrong_usage;
  }
  const auto plan = plan_list(options, *list);
  if (!plan) return report(plan.error());
  std::string text;
  if (options.json) {
    text = plan_json(options.list, *plan) + "\n";
  } else {
    text = options.graphviz ? plan->to_graphviz() : plan->to_string();
  }
  std::fputs(text.c_str(), stdout);
  return success;
}

}  // namespace tool
