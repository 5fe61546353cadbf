// SPDX-License-Identifier: Apache-2.0
// A folder with the files that hold one of the dialect's test kernels, and what packing makes of them.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "dialect_kernel_image.hpp"
#include "kernel_build/pack.hpp"
#include "pianola/kernel_library.hpp"

namespace pianola::kernel_build {

class KernelPack : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "pianola_kernel_pack_" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
    const auto library = KernelLibrary::from_bytes(dialect_kernel_image());
    ASSERT_TRUE(library);
    const uint32_t integers = library->find("integers").value();
    for (const CodeObject& object : library->objects()) {
      const auto holds = [&](const CodeObject::Entry& entry) { return entry.kernel == integers; };
      if (std::ranges::none_of(object.entries, holds)) continue;
      std::ofstream file(folder_ + "/" + object.arch, std::ios::binary);
      file.write(reinterpret_cast<const char*>(object.bytes.data()), static_cast<std::streamsize>(object.bytes.size()));
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<format::LibraryContents> pack(const std::string& kernel, const std::string& objects) const {
    const auto manifest =
        parse_manifest(R"({"name": "packed", "kernels": [)" + kernel + R"(], "objects": [)" + objects + "]}");
    if (!manifest) return manifest.error();
    return pack_kernels(*manifest, folder_);
  }

  void expect_error(const std::string& kernel, const std::string& objects, Errc code, std::string_view part) const {
    const auto packed = pack(kernel, objects);
    ASSERT_FALSE(packed);
    EXPECT_EQ(packed.error().code, code) << to_string(packed.error());
    EXPECT_NE(packed.error().message.find(part), std::string::npos) << packed.error().message;
  }

  std::string folder_;
};

}  // namespace pianola::kernel_build
