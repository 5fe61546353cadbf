// SPDX-License-Identifier: Apache-2.0
// The program's own option: --update writes the expected files instead of comparing with them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "golden.hpp"

namespace pianola::golden {
namespace {

bool is_update = false;

}  // namespace

void expect_file(const std::string& file, std::string_view text) {
  const std::filesystem::path path = std::filesystem::path(PIANOLA_GOLDEN_FOLDER) / file;
  if (is_update) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream stream(path, std::ios::binary);
  ASSERT_TRUE(stream) << path << " is missing; --update writes it";
  std::stringstream expected;
  expected << stream.rdbuf();
  EXPECT_EQ(expected.str(), text) << path << " differs; if that is meant, --update writes it";
}

}  // namespace pianola::golden

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) pianola::golden::is_update |= std::string_view(argv[i]) == "--update";
  return RUN_ALL_TESTS();
}
