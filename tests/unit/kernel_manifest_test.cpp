// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/manifest.hpp"

#include <gtest/gtest.h>

namespace pianola::kernel_build {
namespace {

TEST(KernelManifest, AnArchitectureThatNoDeviceAsksForIsRefused) {
  struct Case {
    const char* format;
    std::vector<const char*> names, no_names;
  };
  const Case cases[] = {
      {"host", {"x86-64", "x86-64-v3", "x86-64-v4", "aarch64"}, {"x86-64-v9", "x86-64-v2", "arm64", "banana", "../x"}},
      {"ptx", {"sm_70", "sm_90a", "sm_100f"}, {"sm_", "sm_9", "sm_90b", "sm_90 ", "sm_1000", "gfx90a", "../x"}},
      {"cubin", {"sm_75", "sm_120a"}, {"banana", "sm_90aa"}},
      {"hsaco",
       {"gfx90a", "gfx942", "gfx1030", "gfx90a:xnack+", "gfx942:sramecc+:xnack-"},
       {"gfx", "gfx90a:", "gfx90a:xnack", "gfx90a:banana+", "banana"}},
      {"spirv", {"vulkan1.0", "vulkan1.1", "vulkan1.3"}, {"banana", "vulkan", "vulkan2.0", "spirv1.3"}},
      {"msl", {"msl", "metal3.1"}, {"../x", "", "m/sl", "MSL"}},
      {"metallib", {"metal3.1", "air64", "apple8"}, {"../x", "a b"}}};
  const auto manifest = [](const std::string& format, const std::string& arch) {
    return parse_manifest(R"({"kernels": [{"name": "k"}], "objects": [{"file": "f", "format": ")" + format +
                          R"(", "arch": ")" + arch + R"("}]})");
  };
  for (const Case& each : cases) {
    for (const char* name : each.names) EXPECT_TRUE(manifest(each.format, name)) << each.format << " " << name;
    for (const char* name : each.no_names) {
      const auto found = manifest(each.format, name);
      ASSERT_FALSE(found) << each.format << " " << name;
      EXPECT_EQ(found.error().code, Errc::invalid_argument);
      EXPECT_NE(found.error().message.find("object 'f'"), std::string::npos) << found.error().message;
    }
  }
}

TEST(KernelManifest, StructsAndWideNumbersLieWhereACompilerPutsThem) {
  const auto manifest = parse_manifest(R"({"kernels": [{"name": "k", "arguments": [{"buffer": "a"},
    {"constant": "c", "size": 1}, {"constant": "wide", "size": 8}, {"constant": "pair", "size": 12, "align": 4},
    {"constant": "last", "size": 8}]}], "objects": [{"file": "f", "format": "ptx", "arch": "sm_80"}]})");
  ASSERT_TRUE(manifest) << to_string(manifest.error());
  const auto& constants = manifest->kernels[0].constants;
  EXPECT_EQ(constants[1].offset, 8U);
  EXPECT_EQ(constants[2].offset, 16U);
  EXPECT_EQ(constants[3].offset, 32U);
}

TEST(KernelManifest, MistakesAreNamed) {
  struct Case {
    const char* text;
    Errc code;
    const char* part;
  };
  const std::string objects = R"("objects": [{"file": "f", "format": "ptx", "arch": "sm_80"}])";
  const std::string deep =
      R"({"kernels": [{"name": "k", "workgroup": [)" + std::string(200000, '[') + std::string(200000, ']') + "]}], ";
  for (const Case& each : {
           Case{deep.c_str(), Errc::invalid_argument, "holds a list or an object"},
           Case{"{", Errc::corrupt, "no JSON"},
           Case{"[]", Errc::invalid_argument, "no object"},
           Case{R"({"kernels": [], )", Errc::invalid_argument, "no kernels"},
           Case{R"({"kernel": [], )", Errc::invalid_argument, "'kernel'"},
           Case{R"({"kernels": [{"name": 3}], )", Errc::invalid_argument, "'name'"},
           Case{R"({"kernels": [{"name": "k", "workgroup": [1, 2, 3, 4]}], )", Errc::invalid_argument, "4 numbers"},
           Case{R"({"kernels": [{"name": "k", "workgroup": [64.7]}], )", Errc::invalid_argument, "holds 64.7"},
           Case{R"({"kernels": [{"name": "k", "workgroup": [8, -64]}], )", Errc::invalid_argument, "holds -64"},
           Case{R"({"kernels": [{"name": "k", "workgroup": [4294967296]}], )", Errc::invalid_argument, "4294967296"},
           Case{R"({"kernels": [{"name": "k", "workgroup": 64}], )", Errc::invalid_argument, "'workgroup' is no list"},
           Case{R"({"kernels": [{"name": "k", "arguments": [{"buffer": "a", "access": "x"}]}], )",
                Errc::invalid_argument, "'x'"},
           Case{R"({"kernels": [{"name": "k", "arguments": [{"constant": "a", "size": 0}]}], )", Errc::invalid_argument,
                "0 bytes"},
           Case{R"({"kernels": [{"name": "k", "arguments": [{"constant": "a", "size": 16, "align": 16}]}], )",
                Errc::invalid_argument, "alignment 16"},
       }) {
    std::string text = each.text;
    if (text.ends_with(", ")) text += objects + "}";
    const auto manifest = parse_manifest(text);
    ASSERT_FALSE(manifest) << text;
    EXPECT_EQ(manifest.error().code, each.code) << text;
    EXPECT_NE(manifest.error().message.find(each.part), std::string::npos) << manifest.error().message;
  }
}

}  // namespace
}  // namespace pianola::kernel_build
