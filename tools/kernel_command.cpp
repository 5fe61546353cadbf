// SPDX-License-Identifier: Apache-2.0
#include "kernel_command.hpp"

#include <cstdio>
#include <filesystem>

#include "exit_codes.hpp"
#include "kernel_build/build.hpp"
#include "kernel_build/files.hpp"
#include "kernel_build/headers.hpp"
#include "kernel_build/pack.hpp"
#include "pianola/kernel_library.hpp"
#include "report.hpp"

namespace tool {
namespace {

const char* extension_of(pianola::ObjectFormat format) {
  switch (format) {
    case pianola::ObjectFormat::host: return "so";
    case pianola::ObjectFormat::ptx: return "ptx";
    case pianola::ObjectFormat::cubin: return "cubin";
    case pianola::ObjectFormat::hsaco: return "hsaco";
    case pianola::ObjectFormat::spirv: return "spv";
    case pianola::ObjectFormat::msl: return "metal";
    case pianola::ObjectFormat::metallib: return "metallib";
  }
  return "bin";
}

}  // namespace

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

int run_kernel_pack(const KernelPackOptions& options) {
  const auto packed = pianola::kernel_build::pack_library_file(options.manifest, options.output, {});
  return packed ? success : report(packed.error());
}

int run_kernel_extract(const KernelExtractOptions& options) {
  const auto library = pianola::KernelLibrary::load(options.file);
  if (!library) return report(library.error());
  std::error_code code;
  std::filesystem::create_directories(options.folder, code);
  size_t index = 0;
  for (const pianola::CodeObject& object : library->objects()) {
    const std::string name = std::to_string(index++) + "." + object.arch + "." + extension_of(object.format);
    const std::string path = (std::filesystem::path(options.folder) / name).string();
    // The zero that closes PTX for drivers is no part of the text.
    const bool is_ptx = object.format == pianola::ObjectFormat::ptx && object.bytes.back() == std::byte{0};
    const auto written =
        pianola::kernel_build::write_bytes(path, object.bytes.first(object.bytes.size() - (is_ptx ? 1 : 0)));
    if (!written) return report(written.error());
    std::printf("%s\n", path.c_str());
  }
  return success;
}

}  // namespace tool
