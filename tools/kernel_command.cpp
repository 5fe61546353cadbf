// SPDX-License-Identifier: Apache-2.0
#include "kernel_command.hpp"

#include <cstdio>
#include <filesystem>

#include "exit_codes.hpp"
#include "kernel_build/build.hpp"
#include "kernel_build/headers.hpp"
#include "report.hpp"

namespace tool {

int run_kernel_build(const KernelBuildOptions& options) {
  using namespace pianola::kernel_build;
  const std::vector<std::string> host = {"host"};
  const auto targets = parse_targets(options.targets.empty() ? host : options.targets);
  if (!targets) {
    report(targets.error());
    return wrong_usage;
  }
  const auto headers = find_headers();
  if (!headers && options.include_dirs.empty()) return report(headers.error());
  BuildOptions build{.name = options.name,
                     .sources = options.files,
                     .targets = *targets,
                     .include_dirs = options.include_dirs,
                     .compilers = {.clang = options.clang, .glslang = options.glslang},
                     .cache = options.cache,
                     .jobs = options.jobs};
  if (headers) build.include_dirs.push_back(*headers);
  if (build.name.empty()) build.name = std::filesystem::path(options.output).stem().string();
  const auto built = build_library_file(build, options.output, options.depfile);
  return built ? success : report(built.error());
}

}  // namespace tool
