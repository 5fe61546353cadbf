// SPDX-License-Identifier: Apache-2.0
// `pianola kernel`: build, look into and check kernel libraries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tool {

struct KernelBuildOptions {
  std::vector<std::string> files;
  std::string output;
  std::string name;                  ///< of the library; the output's if left out
  std::vector<std::string> targets;  ///< "host" if left out
  std::vector<std::string> include_dirs;
  std::string clang = "clang-19";
  std::string glslang = "glslangValidator";
  std::string cache;
  std::string depfile;
  uint32_t jobs = 0;
};

int run_kernel_build(const KernelBuildOptions& options);

struct KernelPackOptions {
  std::string manifest;
  std::string output;
};

int run_kernel_pack(const KernelPackOptions& options);

struct KernelExtractOptions {
  std::string file;
  std::string folder;
};

/// Writes each object to a file of its own.
int run_kernel_extract(const KernelExtractOptions& options);

struct KernelShowOptions {
  std::string file;
  bool json = false;
};

int run_kernel_show(const KernelShowOptions& options);

struct KernelCheckOptions {
  std::string file;
};

/// Fails if a compiled file says something else than the library.
int run_kernel_check(const KernelCheckOptions& options);

}  // namespace tool
