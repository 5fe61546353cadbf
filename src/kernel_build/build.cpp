// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/build.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "kernel_build/compile.hpp"
#include "kernel_build/host_records.hpp"

namespace pianola::kernel_build {
namespace {

/// The library as it grows, and which file each kernel came from.
struct Assembly {
  format::LibraryContents contents;
  std::map<std::string, uint32_t, std::less<>> index_of;
  std::vector<std::string> source_of;
  std::set<std::string> dependencies;
};

Result<> add_kernels(Assembly& assembly, const std::string& source, const std::vector<DialectKernel>& kernels) {
  for (const DialectKernel& kernel : kernels) {
    const auto index = static_cast<uint32_t>(assembly.contents.kernels.size());
    const auto [at, is_new] = assembly.index_of.try_emplace(kernel.info.name, index);
    if (!is_new) {
      return Error{.code = Errc::invalid_argument,
                   .message = fmt::format("{}: kernel '{}' exists already, in {}", source, kernel.info.name,
                                          assembly.source_of[at->second])};
    }
    assembly.contents.kernels.push_back(kernel.info);
    assembly.source_of.push_back(source);
  }
  return {};
}

Result<std::vector<DialectKernel>> kernels_of(const std::string& source, const CompiledFile& file) {
  auto kernels = read_host_records(file.bytes);
  if (!kernels) {
    Error error = kernels.error();
    error.message = fmt::format("{}: {}", source, error.message);
    return error;
  }
  return kernels;
}

Result<> add_source(Assembly& assembly, const std::string& source, const BuildOptions& options) {
  const auto first = static_cast<uint32_t>(assembly.contents.kernels.size());
  for (const Target& target : options.targets) {
    auto file = compile_host(source, target, options);
    if (!file) return file.error();
    assembly.dependencies.insert(file->dependencies.begin(), file->dependencies.end());
    if (assembly.contents.kernels.size() == first) {
      const auto kernels = kernels_of(source, *file);
      if (!kernels) return kernels.error();
      if (auto ok = add_kernels(assembly, source, *kernels); !ok) return ok;
    }
    format::ObjectContents object{
        .format = target.format, .arch = std::string(target.arch), .bytes = std::move(file->bytes), .entries = {}};
    for (uint32_t i = first; i < assembly.contents.kernels.size(); ++i) {
      object.entries.push_back({.kernel = i, .symbol = assembly.contents.kernels[i].name});
    }
    assembly.contents.objects.push_back(std::move(object));
  }
  return {};
}

}  // namespace

Result<BuildResult> build_kernels(const BuildOptions& options) {
  if (options.sources.empty() || options.targets.empty()) {
    return Error{.code = Errc::invalid_argument, .message = "a kernel library needs a source and a target"};
  }
  Assembly assembly;
  assembly.contents.name = options.name;
  for (const std::string& source : options.sources) {
    if (auto ok = add_source(assembly, source, options); !ok) return ok.error();
  }
  return BuildResult{.contents = std::move(assembly.contents),
                     .dependencies = {assembly.dependencies.begin(), assembly.dependencies.end()}};
}

std::string make_rule(const std::string& output, const std::vector<std::string>& dependencies) {
  const auto escaped = [](const std::string& name) {
    std::string text;
    for (const char c : name) {
      if (c == ' ' || c == '#') text += '\\';
      text += c;
      if (c == '$') text += '$';
    }
    return text;
  };
  std::string rule = escaped(output) + ":";
  for (const std::string& file : dependencies) rule += " \\\n  " + escaped(file);
  return rule + "\n";
}

}  // namespace pianola::kernel_build
