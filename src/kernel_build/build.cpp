// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/build.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "kernel_build/check.hpp"
#include "kernel_build/compile.hpp"
#include "kernel_build/dialect_check.hpp"
#include "kernel_build/files.hpp"
#include "kernel_build/host_records.hpp"
#include "kernel_build/kernel_text.hpp"
#include "kernel_build/parallel.hpp"

namespace pianola::kernel_build {
namespace {

/// Everything made from one source: what its kernels are comes from the first object, which is the host's.
struct Unit {
  Source source;
  std::vector<Result<Compiled>> compiled;  ///< one a target
};

Target reference_target(const BuildOptions& options) {
  const auto at = std::ranges::find(options.targets, ObjectFormat::host, &Target::format);
  return at != options.targets.end() ? *at : Target{.format = ObjectFormat::host, .arch = "x86-64"};
}

/// What is refused for all targets is refused first. Errors that the preprocessor finds are left to the compiler.
Result<> check_source(const Source& source, const Target& target, const Toolchain& tools) {
  const auto text = preprocess(source, target, tools, text_options());
  if (!text) return {};
  return check_dialect({reinterpret_cast<const char*>(text->bytes.data()), text->bytes.size()});
}

/// A CPU keeps all that a workgroup has on the stack of one thread.
Result<> check_host_storage(const Source& source) {
  for (const DialectKernel& kernel : source.kernels) {
    if (kernel.host_bytes <= max_host_bytes) continue;
    return Error{.code = Errc::limit_exceeded,
                 .message = fmt::format("{}: kernel '{}' needs {} bytes of workgroup memory and its threads' private "
                                        "storage for one workgroup, at most {} are possible",
                                        source.path, kernel.info.name, kernel.host_bytes, max_host_bytes)};
  }
  return {};
}

/// Compiles for the host to learn what the kernels are.
Result<Compiled> compile_reference(Unit& unit, const Target& target, const Toolchain& tools) {
  if (auto ok = check_source(unit.source, target, tools); !ok) return ok.error();
  auto compiled = compile(unit.source, target, tools);
  if (!compiled) return compiled;
  format::ObjectContents& object = compiled->objects.front();
  auto kernels = read_host_records(object.bytes);
  if (!kernels && kernels.error().code == Errc::limit_exceeded) {
    return Error{.code = Errc::limit_exceeded,
                 .message = fmt::format("{}: {}", unit.source.path, kernels.error().message)};
  }
  if (!kernels) return compile_error(unit.source, target, kernels.error().message);
  unit.source.kernels = std::move(*kernels);
  if (auto ok = check_host_storage(unit.source); !ok) return ok.error();
  object = whole_object(unit.source, target, std::move(object.bytes));
  return compiled;
}

std::vector<Unit> compile_all(const BuildOptions& options) {
  const Target reference = reference_target(options);
  const Toolchain tools{.programs = options.compilers,
                        .include_dirs = options.include_dirs,
                        .cache = Cache::open(options.cache, options.compilers)};
  const auto target_count = static_cast<uint32_t>(options.targets.size());
  std::vector<Unit> units(options.sources.size());
  for (size_t i = 0; i < units.size(); ++i) {
    units[i].source.path = options.sources[i];
    units[i].compiled.resize(target_count);
  }
  std::vector<Result<Compiled>> references(units.size());
  run_parallel(static_cast<uint32_t>(units.size()), options.jobs,
               [&](uint32_t i) { references[i] = compile_reference(units[i], reference, tools); });
  run_parallel(static_cast<uint32_t>(units.size()) * target_count, options.jobs, [&](uint32_t job) {
    Unit& unit = units[job / target_count];
    const uint32_t index = job % target_count;
    const Result<Compiled>& first = references[job / target_count];
    const Target& target = options.targets[index];
    unit.compiled[index] = !first || target == reference ? first : compile(unit.source, target, tools);
  });
  return units;
}

/// The library as it grows, and which file each kernel came from.
struct Assembly {
  format::LibraryContents contents;
  std::map<std::string, uint32_t, std::less<>> index_of;
  std::vector<std::string> source_of;
  std::set<std::string> dependencies;
};

Result<> add_kernels(Assembly& assembly, const Source& source) {
  for (const DialectKernel& kernel : source.kernels) {
    const auto index = static_cast<uint32_t>(assembly.contents.kernels.size());
    const auto [at, is_new] = assembly.index_of.try_emplace(kernel.info.name, index);
    if (!is_new) {
      return Error{.code = Errc::invalid_argument,
                   .message = fmt::format("{}: kernel '{}' exists already, in {}", source.path, kernel.info.name,
                                          assembly.source_of[at->second])};
    }
    assembly.contents.kernels.push_back(kernel.info);
    assembly.source_of.push_back(source.path);
  }
  return {};
}

Result<> add_unit(Assembly& assembly, Unit& unit) {
  const auto first = static_cast<uint32_t>(assembly.contents.kernels.size());
  for (const auto& compiled : unit.compiled) {
    if (!compiled) return compiled.error();
  }
  if (auto ok = add_kernels(assembly, unit.source); !ok) return ok;
  for (auto& compiled : unit.compiled) {
    assembly.dependencies.insert(compiled->dependencies.begin(), compiled->dependencies.end());
    for (format::ObjectContents& object : compiled->objects) {
      for (CodeObject::Entry& entry : object.entries) entry.kernel += first;
      assembly.contents.objects.push_back(std::move(object));
    }
  }
  return {};
}

/// Every file must tell the same of a kernel as its record in the host object.
Result<> check(const format::LibraryContents& contents) {
  for (const format::ObjectContents& object : contents.objects) {
    const ObjectView view{
        .format = object.format, .arch = object.arch, .bytes = object.bytes, .entries = object.entries};
    const auto lines = find_disagreements(contents.kernels, view);
    if (!lines.empty()) return Error{.code = Errc::mismatch, .message = fmt::format("{}", fmt::join(lines, "\n"))};
  }
  return {};
}

}  // namespace

Result<BuildResult> build_kernels(const BuildOptions& options) {
  if (options.sources.empty() || options.targets.empty()) {
    return Error{.code = Errc::invalid_argument, .message = "a kernel library needs a source and a target"};
  }
  std::vector<Unit> units = compile_all(options);
  Assembly assembly;
  assembly.contents.name = options.name;
  for (Unit& unit : units) {
    if (auto ok = add_unit(assembly, unit); !ok) return ok.error();
  }
  if (auto ok = check(assembly.contents); !ok) return ok.error();
  return BuildResult{.contents = std::move(assembly.contents),
                     .dependencies = {assembly.dependencies.begin(), assembly.dependencies.end()}};
}

Result<> build_library_file(const BuildOptions& options, const std::string& output, const std::string& depfile) {
  if (auto ok = check_outputs(output, depfile, options.sources); !ok) return ok;
  const auto built = build_kernels(options);
  if (!built) return built.error();
  if (auto ok = check_outputs(output, depfile, built->dependencies); !ok) return ok;  // headers too
  const auto image = format::write_library(built->contents);
  if (!image) return image.error();
  if (auto ok = write_make_rule(depfile, output, built->dependencies); !ok) return ok;
  return write_bytes(output, *image);
}

}  // namespace pianola::kernel_build
