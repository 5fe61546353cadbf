// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/headers.hpp"

#include <fmt/format.h>

#include <filesystem>

#if defined(__APPLE__)
#include <mach-o/dyld.h>
#endif

namespace pianola::kernel_build {
namespace {

/// Of the program that runs; empty if the system does not say.
std::filesystem::path program_path() {
  std::error_code code;
#if defined(__APPLE__)
  uint32_t size = 0;
  _NSGetExecutablePath(nullptr, &size);
  std::string path(size, '\0');
  if (_NSGetExecutablePath(path.data(), &size) != 0) return {};
  return std::filesystem::canonical(path.c_str(), code);
#else
  return std::filesystem::read_symlink("/proc/self/exe", code);
#endif
}

}  // namespace

Result<std::string> find_headers() {
  namespace fs = std::filesystem;
  std::error_code code;
  const fs::path installed = program_path().parent_path().parent_path() / "include";
  for (const fs::path& folder : {installed, fs::path(PIANOLA_SOURCE_INCLUDE)}) {
    if (fs::exists(folder / "pianola" / "kernel.h", code)) return folder.string();
  }
  return Error{.code = Errc::io,
               .message = fmt::format("pianola/kernel.h is neither in {} nor in {}; give its folder with -I",
                                      installed.string(), PIANOLA_SOURCE_INCLUDE)};
}

}  // namespace pianola::kernel_build
