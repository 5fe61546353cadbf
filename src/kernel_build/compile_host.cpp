// SPDX-License-Identifier: Apache-2.0
// Host objects: clang makes a shared object that needs no library but the C library's memory functions.
#include <fmt/format.h>

#include <algorithm>

#include "kernel_build/compile.hpp"
#include "kernel_build/elf.hpp"

namespace pianola::kernel_build {
namespace {

/// Whether this system's own linker makes the target's shared objects, which are ELF files.
bool links_here(const Target& target) {
#if defined(__linux__) && defined(__x86_64__)
  return target.arch != "aarch64";
#else
  static_cast<void>(target);
  return false;
#endif
}

std::vector<std::string> host_options(const Target& target) {
  std::vector<std::string> options = {"-x", "c++"};
  if (target.arch == "aarch64") {
    // Atomics in place: a function of the compiler's library would be missing at load.
    options.insert(options.end(), {"--target=aarch64-linux-gnu", "-mno-outline-atomics"});
  } else {
    options.insert(options.end(), {"--target=x86_64-linux-gnu", "-march=" + std::string(target.arch)});
  }
  if (!links_here(target)) options.emplace_back("-fuse-ld=lld");
  // Vectors of 512 bits pay in kernels, which stay in such code for long.
  if (target.arch == "x86-64-v4") options.emplace_back("-mprefer-vector-width=512");
  options.insert(options.end(), {"-fno-math-errno", "-fno-trapping-math", "-fvisibility=hidden", "-fPIC", "-shared",
                                 "-nostdlib", "-nostdlibinc", "-Wl,--build-id=none", "-s"});
  return options;
}

Result<> check_imports(const Source& source, const Target& target, std::span<const std::byte> object) {
  const auto elf = read_elf(object);
  if (!elf) return compile_error(source, target, elf.error().message);
  for (const std::string_view name : undefined_symbols(*elf)) {
    if (name == "memcpy" || name == "memset" || name == "memmove" || name == "memcmp") continue;
    return compile_error(source, target, fmt::format("it calls '{}', which is no function of the dialect", name));
  }
  return {};
}

}  // namespace

Result<Compiled> compile_host(const Source& source, const Target& target, const Toolchain& tools) {
  auto output = run_clang(source, target, tools, host_options(target));
  if (!output) return output.error();
  if (auto ok = check_imports(source, target, output->bytes); !ok) return ok.error();
  return Compiled{.objects = {whole_object(source, target, std::move(output->bytes))},
                  .dependencies = std::move(output->dependencies)};
}

}  // namespace pianola::kernel_build
