// SPDX-License-Identifier: Apache-2.0
// A folder for sources, and the builds of them.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "kernel_build/build.hpp"

namespace pianola::kernel_build {

class KernelBuild : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "pianola_kernel_build_" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = folder_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << "#include <pianola/kernel.h>\n" << text;
    return path;
  }

  static BuildOptions options(std::vector<std::string> sources, std::vector<std::string> targets) {
    BuildOptions build;
    build.name = "test";
    build.sources = std::move(sources);
    build.targets = parse_targets(targets).value();
    build.include_dirs = {PIANOLA_TEST_INCLUDE};
    return build;
  }

  static Error error_of(const BuildOptions& build) {
    const auto built = build_kernels(build);
    EXPECT_FALSE(built);
    return built ? Error() : built.error();
  }

  std::string folder_;
};

inline bool has(const Error& error, std::string_view part) {
  return error.message.find(part) != std::string::npos;
}

}  // namespace pianola::kernel_build
