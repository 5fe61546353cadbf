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
#include "kernel_command.hpp"
#include "pianola/version.hpp"
#include "plan_command.hpp"
#include "report.hpp"

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

// An option that takes one of the names.
template <class Value, class Target>
void add_choice(CLI::App& command, const std::string& name, Target& target, const std::map<std::string, Value>& values,
                const std::string& description) {
  command
      .add_option_function<std::string>(
          name, [&target, values](const std::string& chosen) { target = values.at(chosen); }, description)
      ->check(CLI::IsMember(values));
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
  command->add_option("--driver", options->driver, "A driver library instead of the one on the search path");
  command->add_option("--trace", options->trace, "Write when each command of a replay ran, for chrome://tracing");
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
  add_choice(*command, "--form", options->plan.form, forms, "lanes or waves; the profile's if left out");
  const std::map<std::string, pianola::Ordering> orderings = {{"barriers", pianola::Ordering::barriers},
                                                              {"inferred", pianola::Ordering::inferred},
                                                              {"serial", pianola::Ordering::serial}};
  add_choice(*command, "--ordering", options->plan.ordering, orderings, "barriers (default), inferred or serial");
  command->add_option("--lanes", options->plan.lanes, "Most lanes, 1 to 32")->check(CLI::Range(1U, 32U));
  command->add_option("--size", options->size, "Repetitions of the list's repeating part, 1 to 100000")
      ->check(CLI::Range(1U, 100000U));
  command->add_flag_callback("--no-merge", [options] { options->plan.merge = false; }, "Keep neighbouring fills apart");
  command->add_option("--driver", options->driver, "A driver library instead of the one on the search path");
  CLI::Option* native = command->add_flag("--native", options->native,
                                          "Print what the device's backend made of it, too; needs the device");
  CLI::Option* graphviz = command->add_flag("--graphviz", options->graphviz, "Print a dot file");
  command->add_flag("--json", options->json, "Print the plan's sizes as JSON")->excludes(graphviz)->excludes(native);
  command->footer(list_names());
  command->callback([options, &action] { action = [options] { return tool::run_show_plan(*options); }; });
}

void add_kernel_build(CLI::App& kernel, Action& action) {
  auto options = std::make_shared<tool::KernelBuildOptions>();
  CLI::App* build = kernel.add_subcommand("build", "Build a kernel library from sources in the portable dialect");
  build->add_option("files", options->files, "Sources")->required()->check(CLI::ExistingFile);
  build->add_option("-o,--output", options->output, "The library file")->required();
  build->add_option("--target", options->targets,
                    "host (default), ptx, hsaco, spirv, msl, all, or one architecture such as sm_90; may be repeated");
  build->add_option("--name", options->name, "The library's name; the file's if left out");
  build->add_option("-I", options->include_dirs, "A folder of headers; may be repeated");
  build->add_option("--cache", options->cache, "Keep compiled objects by content in this folder");
  build->add_option("--jobs", options->jobs, "Compilers at a time; one a processor if left out");
  build->add_option("--clang", options->clang, "The compiler")->capture_default_str();
  build->add_option("--glslang", options->glslang, "The compiler for SPIR-V")->capture_default_str();
  build->add_option("--depfile", options->depfile, "Write the files that were read as a make rule");
  build->callback([options, &action] { action = [options] { return tool::run_kernel_build(*options); }; });
}

void add_kernel_views(CLI::App& kernel, Action& action) {
  auto show_options = std::make_shared<tool::KernelShowOptions>();
  CLI::App* show = kernel.add_subcommand("show", "Show a library's kernels, arguments, targets and sizes");
  show->add_option("library", show_options->file, "A kernel library")->required();
  show->add_flag("--json", show_options->json, "Print JSON for machines");
  show->callback([show_options, &action] { action = [show_options] { return tool::run_kernel_show(*show_options); }; });
  auto extract_options = std::make_shared<tool::KernelExtractOptions>();
  CLI::App* extract = kernel.add_subcommand("extract", "Write each compiled file of a library to a file of its own");
  extract->add_option("library", extract_options->file, "A kernel library")->required();
  extract->add_option("-o,--output", extract_options->folder, "The folder for the files")->required();
  extract->callback([extract_options, &action] {
    action = [extract_options] { return tool::run_kernel_extract(*extract_options); };
  });
  auto check_options = std::make_shared<tool::KernelCheckOptions>();
  CLI::App* check = kernel.add_subcommand("check", "Compare what the compiled files say with what the library says");
  check->add_option("library", check_options->file, "A kernel library")->required();
  check->callback(
      [check_options, &action] { action = [check_options] { return tool::run_kernel_check(*check_options); }; });
}

void add_kernel(CLI::App& app, Action& action) {
  CLI::App* kernel = app.add_subcommand("kernel", "Build kernel libraries and look into them");
  kernel->require_subcommand(1);
  add_kernel_build(*kernel, action);
  auto pack_options = std::make_shared<tool::KernelPackOptions>();
  CLI::App* pack = kernel->add_subcommand("pack", "Put files that other compilers made into a kernel library");
  pack->add_option("manifest", pack_options->manifest, "The list of files, as JSON")->required();
  pack->add_option("-o,--output", pack_options->output, "The library file")->required();
  pack->callback([pack_options, &action] { action = [pack_options] { return tool::run_kernel_pack(*pack_options); }; });
  add_kernel_views(*kernel, action);
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
  add_kernel(app, action);
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
    const int code = run(argc, argv);
    const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
    if (written || code != tool::success) return code;
    return tool::report({.code = pianola::Errc::io, .message = "cannot write standard output"});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pianola: %s\n", error.what());
    return tool::failed;
  }
}
