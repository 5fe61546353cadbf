// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/headers.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace pianola::kernel_build {

Result<std::string> find_headers() {
  namespace fs = std::filesystem;
  std::error_code code;
  const fs::path program = fs::read_symlink("/proc/self/exe", code);
  const fs::path installed = program.parent_path().parent_path() / "include";
  for (const fs::path& folder : {installed, fs::path(PIANOLA_SOURCE_INCLUDE)}) {
    if (fs::exists(folder / "pianola" / "kernel.h", code)) return folder.string();
  }
  return Error{.code = Errc::io,
               .message = fmt::format("pianola/kernel.h is neither in {} nor in {}; give its folder with -I",
                                      installed.string(), PIANOLA_SOURCE_INCLUDE)};
}

}  // namespace pianola::kernel_build
