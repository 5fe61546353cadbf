// SPDX-License-Identifier: Apache-2.0
// The command-line tool. The only source that includes the option parser.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <map>

#include "bench_command.hpp"
#include "devices_command.hpp"
#include "example_lists.hpp"
#include "exit_codes.hpp"
#include "pianola/version.hpp"
#include "plan_command.hpp"

namespace {

using Action = std::function<int()>;

std::string list_names() {
  std::string text = "Built-in lists:";
  for (const tool::ExampleList& list : tool::example_lists()) {
    text += "\n  " + std::string(list.name) + std::string(14 - list.name.size(), ' ') + std::string(list.description);
  }
  return text;
}

std::vector<std::string> list_choices() {
  std::vector<std::string> names;
  for (const tool::ExampleList& list : tool::example_lists()) {
    names.emplace_back(list.name);
  }
  return names;
}

void add_devices(CLI::App& app, Action& action) {
  auto options = std::make_shared<tool::DevicesOptions>();
  CLI::App* command = app.add_subcommand("devices", "List every backend of this build, and why one has no device");
  command->add_flag("--json", options->json, "Print JSON for machines");
  command->callback([options, &action] { action = [options] { return tool::run_devices(*options); }; });
}

void add_bench(CLI::App& app, Action& action) {
  auto options = std::make_shared<tool::BenchOptions>();
  CLI::App* command =
      app.add_subcommand("bench", "Measure recording, planning, instantiating and replaying the built-in lists");
  command->add_option("lists", options->lists, "Lists to measure; all if left out")
      ->check(CLI::IsMember(list_choices()));
  command->add_option("--device", options->device, "Device to run on: cpu, cuda:0, ..., or auto")
      ->capture_default_str();
  command->add_flag("--quick", options->quick, "Measure for a tenth of the time");
  command->add_flag("--json", options->json, "Print JSON for machines");
  command->footer(list_names());
  command->callback([options, &action] { action = [options] { return tool::run_bench(*options); }; });
}

void add_show(CLI::App& app, Action& action) {
  auto options = std::make_shared<tool::ShowPlanOptions>();
  CLI::App* show = app.add_subcommand("show", "Show what something consists of");
  show->require_subcommand(1);
  CLI::App* command = show->add_subcommand("plan", "Show what really waits for what in a built-in list");
  command->add_option("list", options->list, "Which list")->required()->check(CLI::IsMember(list_choices()));
  command->add_option("--device", options->device, "Plan with this device's profile; needs the device");
  const std::map<std::string, pianola::PlanForm> forms = {{"lanes", pianola::PlanForm::lanes},
                                                          {"waves", pianola::PlanForm::waves}};
  command->add_option("--form", options->plan.form, "lanes or waves; the profile's if left out")
      ->transform(CLI::CheckedTransformer(forms));
  const std::map<std::string, pianola::Ordering> orderings = {{"barriers", pianola::Ordering::barriers},
                                                              {"inferred", pianola::Ordering::inferred},
                                                              {"serial", pianola::Ordering::serial}};
  command->add_option("--ordering", options->plan.ordering, "barriers (default), inferred or serial")
      ->transform(CLI::CheckedTransformer(orderings));
  command->add_option("--lanes", options->plan.lanes, "Most lanes, 1 to 32")->check(CLI::Range(1U, 32U));
  command->add_option("--size", options->size, "Repetitions of the list's repeating part, 1 to 100000")
      ->check(CLI::Range(1U, 100000U));
  command->add_flag_callback("--no-merge", [options] { options->plan.merge = false; }, "Keep neighbouring fills apart");
  CLI::Option* graphviz = command->add_flag("--graphviz", options->graphviz, "Print a dot file");
  command->add_flag("--json", options->json, "Print the plan's sizes as JSON")->excludes(graphviz);
  command->footer(list_names());
  command->callback([options, &action] { action = [options] { return tool::run_show_plan(*options); }; });
}

int run(int argc, char** argv) {
  CLI::App app("Pianola records GPU compute commands once and replays them anywhere.", "pianola");
  app.set_version_flag("--version", std::string(pianola::version()));
  app.require_subcommand(1);
  app.footer(
      "Exit status: 0 success; 1 the work failed, and one line on standard error says why;\n"
      "2 the command line is wrong; 3 the device that was asked for is not here.");
  Action action;
  add_devices(app, action);
  add_bench(app, action);
  add_show(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? tool::success : tool::wrong_usage;
  }
  return action();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pianola: %s\n", error.what());
    return tool::failed;
  }
}
