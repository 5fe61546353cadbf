// SPDX-License-Identifier: Apache-2.0
// pianola-kernelc: builds kernel libraries while Pianola itself is being built. It needs nothing of the library.
// People use `pianola kernel build`.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "kernel_build/build.hpp"
#include "kernel_build/pack.hpp"

namespace {

using namespace pianola;
using namespace pianola::kernel_build;

struct Arguments {
  BuildOptions build;
  std::vector<std::string> targets;
  std::string output;
  std::string depfile;
  std::string manifest;
};

constexpr const char* usage =
    "usage: pianola-kernelc FILE... -o LIBRARY [--name NAME] [--target TARGET]... [-I FOLDER]... [--clang PATH]\n"
    "                       [--glslang PATH] [--cache FOLDER] [--depfile FILE]\n"
    "       pianola-kernelc --pack MANIFEST -o LIBRARY [--depfile FILE]\n";

/// False if an option lacks its value or is unknown.
bool parse(int count, char** values, Arguments& arguments) {
  for (int i = 1; i < count; ++i) {
    const std::string_view option = values[i];
    if (!option.starts_with("-")) {
      arguments.build.sources.emplace_back(option);
      continue;
    }
    if (++i == count) return false;
    const std::string value = values[i];
    if (option == "-o") {
      arguments.output = value;
    } else if (option == "--name") {
      arguments.build.name = value;
    } else if (option == "--target") {
      arguments.targets.push_back(value);
    } else if (option == "-I") {
      arguments.build.include_dirs.push_back(value);
    } else if (option == "--clang") {
      arguments.build.compilers.clang = value;
    } else if (option == "--glslang") {
      arguments.build.compilers.glslang = value;
    } else if (option == "--cache") {
      arguments.build.cache = value;
    } else if (option == "--pack") {
      arguments.manifest = value;
    } else if (option == "--depfile") {
      arguments.depfile = value;
    } else {
      return false;
    }
  }
  return arguments.build.sources.empty() != arguments.manifest.empty() && !arguments.output.empty();
}

Result<> run(Arguments arguments) {
  if (!arguments.manifest.empty()) return pack_library_file(arguments.manifest, arguments.output, arguments.depfile);
  if (arguments.targets.empty()) arguments.targets = {"host"};
  auto targets = parse_targets(arguments.targets);
  if (!targets) return targets.error();
  arguments.build.targets = std::move(*targets);
  if (arguments.build.name.empty()) {
    arguments.build.name = std::filesystem::path(arguments.output).stem().string();
  }
  return build_library_file(arguments.build, arguments.output, arguments.depfile);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Arguments arguments;
    if (!parse(argc, argv, arguments)) {
      std::fputs(usage, stderr);
      return 2;
    }
    const auto ok = run(std::move(arguments));
    if (ok) return 0;
    std::fprintf(stderr, "pianola-kernelc: %s\n", to_string(ok.error()).c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pianola-kernelc: %s\n", error.what());
  }
  return 1;
}
