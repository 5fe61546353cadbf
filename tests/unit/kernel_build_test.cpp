// SPDX-License-Identifier: Apache-2.0
// Building kernel libraries: what is refused, and with which words.
#include "kernel_build/build.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "dialect_kernel_image.hpp"
#include "kernel_build/check.hpp"
#include "kernel_build/kernel_text.hpp"
#include "kernel_build/target.hpp"

namespace pianola::kernel_build {
namespace {

class KernelBuild : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "pianola_kernel_build_" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = folder_ + "/" + name;
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

bool has(const Error& error, std::string_view part) {
  return error.message.find(part) != std::string::npos;
}

constexpr const char* good = "KERNEL(good, 64, 1, 1, OUT(uint, x))\nPHASE x[GID_X] = 1u; END_PHASE\nEND_KERNEL\n";

TEST_F(KernelBuild, AMistakeNamesFileLineTargetAndTheCompilersText) {
  const std::string path =
      write("bad.k", "KERNEL(bad, 64, 1, 1, OUT(uint, x))\nPHASE x[GID_X] = y; END_PHASE\nEND_KERNEL\n");
  const Error error = error_of(options({path}, {"x86-64"}));
  EXPECT_EQ(error.code, Errc::compile_failed);
  EXPECT_TRUE(has(error, path + " for x86-64")) << error.message;
  EXPECT_TRUE(has(error, "bad.k:3")) << error.message;
  EXPECT_TRUE(has(error, "'y'")) << error.message;
}

TEST_F(KernelBuild, TwoKernelsOfOneNameAreRefusedWithBothFiles) {
  const Error error = error_of(options({write("one.k", good), write("two.k", good)}, {"x86-64"}));
  EXPECT_EQ(error.code, Errc::invalid_argument);
  EXPECT_TRUE(has(error, "'good'") && has(error, "one.k") && has(error, "two.k")) << error.message;
}

TEST_F(KernelBuild, AMissingCompilerIsNamed) {
  BuildOptions build = options({write("good.k", good)}, {"x86-64"});
  build.compilers.clang = "no-such-clang";
  const Error error = error_of(build);
  EXPECT_EQ(error.code, Errc::compile_failed);
  EXPECT_TRUE(has(error, "no-such-clang") && has(error, "good.k") && has(error, "x86-64")) << error.message;
}

TEST_F(KernelBuild, WhatOnlyVulkanCannotTakeIsRefusedWithTheUsersLine) {
  const std::string path = write("cast.k",
                                 "KERNEL(cast, 64, 1, 1, OUT(uint, x))\n"
                                 "PHASE\n  x[GID_X] = (uint)3.5f;\nEND_PHASE\nEND_KERNEL\n");
  const Error error = error_of(options({path}, {"vulkan1.1"}));
  EXPECT_EQ(error.code, Errc::compile_failed);
  EXPECT_TRUE(has(error, "cast.k") && has(error, "vulkan1.1") && has(error, "'cast'")) << error.message;
  EXPECT_TRUE(has(error, ":4:")) << error.message;
}

TEST_F(KernelBuild, WhatTheDialectDoesNotHaveIsRefusedForEveryTarget) {
  const std::string path = write("pointer.k",
                                 "KERNEL(pointer, 64, 1, 1, OUT(uint, x))\n"
                                 "PHASE\n  uint* at = &x[GID_X];\n  *at = 1u;\nEND_PHASE\nEND_KERNEL\n");
  const Error error = error_of(options({path}, {"x86-64"}));
  EXPECT_EQ(error.code, Errc::unsupported);
  EXPECT_TRUE(has(error, "pointer.k:4: 'uint': pointers")) << error.message;
}

TEST_F(KernelBuild, FunctionsOfOtherLibrariesAreRefused) {
  const std::string path = write("calls.k",
                                 "KERNEL(calls, 64, 1, 1, INOUT(float, x))\n"
                                 "PHASE x[GID_X] = __builtin_erff(x[GID_X]); END_PHASE\nEND_KERNEL\n");
  const Error error = error_of(options({path}, {"x86-64"}));
  EXPECT_EQ(error.code, Errc::compile_failed);
  EXPECT_TRUE(has(error, "erff")) << error.message;
}

TEST_F(KernelBuild, ALaterBuildTakesUnchangedObjectsFromTheCache) {
  const std::string path = write("good.k", good);
  BuildOptions build = options({path}, {"x86-64", "sm_70"});
  build.cache = folder_ + "/cache";
  const auto first = build_kernels(build);
  ASSERT_TRUE(first) << to_string(first.error());
  const auto kept = std::distance(std::filesystem::directory_iterator(build.cache), {});
  EXPECT_EQ(kept, 2);
  const auto second = build_kernels(build);
  ASSERT_TRUE(second);
  EXPECT_EQ(first->contents.objects[0].bytes, second->contents.objects[0].bytes);
  EXPECT_EQ(first->dependencies, second->dependencies);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(build.cache), {}), kept);

  std::ofstream(path, std::ios::app) << "// changed\n";
  ASSERT_TRUE(build_kernels(build));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(build.cache), {}), 2 * kept);
}

TEST(KernelTargets, GroupsAndArchitecturesAreKnownAndEachComesOnce) {
  const std::vector<std::string> names = {"ptx", "sm_90", "gfx942"};
  const auto targets = parse_targets(names);
  ASSERT_TRUE(targets);
  ASSERT_EQ(targets->size(), 3U);
  EXPECT_EQ((*targets)[2].format, ObjectFormat::hsaco);
  const std::vector<std::string> wrong = {"sm_20"};
  const auto unknown = parse_targets(wrong);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Errc::invalid_argument);
  EXPECT_TRUE(has(unknown.error(), "sm_20") && has(unknown.error(), "sm_90")) << unknown.error().message;
}

TEST(KernelText, IsCutIntoKernelsAndKeepsTheUsersLines) {
  const auto text = split_kernel_text(
      "# 1 \"a.k\"\nfloat f;\n# 7 \"a.k\" 2\n@@kernel one @@body\n@@phase do { x;\n} while (false); "
      "@@endphase\n@@end\n");
  ASSERT_TRUE(text) << to_string(text.error());
  EXPECT_EQ(text->common, "#line 1 \"a.k\"\nfloat f;\n");
  ASSERT_EQ(text->kernels.size(), 1U);
  EXPECT_EQ(text->kernels[0].name, "one");
  EXPECT_EQ(text->kernels[0].body, "#line 8 \"a.k\"\n do { x;\n} while (false); \n");
  EXPECT_FALSE(split_kernel_text("@@kernel one @@body\nx;\n"));
}

TEST(KernelText, ReservedWordsAreRenamedOnlyAsWholeWords) {
  constexpr std::array<std::string_view, 2> words = {"input", "sample"};
  EXPECT_EQ(rename_words("input + my_input - sample1 * sample;", words), "input_ + my_input - sample1 * sample_;");
  EXPECT_EQ(rename_words("#line 3 \"input\"\ninput", words), "#line 3 \"input\"\ninput_");
}

// Files of every target, made from one source: each is compared with what the library says, then with a lie.
class KernelCheck : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(library_); }

  /// Lines about `kernel` over all objects, after `lie` changed what the library says of it.
  std::vector<std::string> lines_after(std::string_view kernel, void (*lie)(KernelInfo&)) {
    std::vector<KernelInfo> kernels(library_->kernels().begin(), library_->kernels().end());
    lie(kernels[library_->find(kernel).value()]);
    std::vector<std::string> lines;
    for (const CodeObject& object : library_->objects()) {
      const ObjectView view{
          .format = object.format, .arch = object.arch, .bytes = object.bytes, .entries = object.entries};
      const auto found = find_disagreements(kernels, view);
      lines.insert(lines.end(), found.begin(), found.end());
    }
    return lines;
  }

  static size_t count(const std::vector<std::string>& lines, std::string_view part) {
    return static_cast<size_t>(
        std::ranges::count_if(lines, [&](const std::string& line) { return line.find(part) != std::string::npos; }));
  }

  Result<KernelLibrary> library_ = KernelLibrary::from_bytes(dialect_kernel_image());
};

TEST_F(KernelCheck, EveryFileAgreesWithTheLibrary) {
  const auto lines = lines_after("nothing", [](KernelInfo&) {});
  EXPECT_TRUE(lines.empty()) << lines.front();
  EXPECT_GE(library_->objects().size(), 11U);
}

TEST_F(KernelCheck, AWrongConstantBlockIsFoundInEveryFormat) {
  const auto lines = lines_after("integers", [](KernelInfo& kernel) {
    kernel.constants.push_back({.name = "more", .offset = 4, .size = 4});
    kernel.constant_bytes = 8;
  });
  for (const char* format : {"host for x86-64", "ptx for sm_70", "hsaco for gfx90a", "spirv for vulkan1.1"}) {
    EXPECT_GE(count(lines, format), 1U) << format;
  }
}

TEST_F(KernelCheck, AWrongWorkgroupIsFoundWhereTheFileKnowsIt) {
  const auto lines = lines_after("numbers", [](KernelInfo& kernel) { kernel.workgroup = {64, 1, 1}; });
  for (const char* format : {"host for x86-64", "ptx for sm_70", "hsaco for gfx90a", "spirv for vulkan1.1"}) {
    EXPECT_GE(count(lines, format), 1U) << format;
  }
}

TEST_F(KernelCheck, AMissingBindingIsFoundInEveryFormat) {
  const auto lines = lines_after("integers", [](KernelInfo& kernel) { kernel.bindings.pop_back(); });
  for (const char* format : {"host for x86-64", "ptx for sm_70", "hsaco for gfx90a", "spirv for vulkan1.1"}) {
    EXPECT_GE(count(lines, format), 1U) << format;
  }
}

TEST_F(KernelCheck, AWriteThatTheLibraryDoesNotAdmitIsFound) {
  const auto lines = lines_after("integers", [](KernelInfo& kernel) { kernel.bindings[2].access = Access::in; });
  EXPECT_GE(count(lines, "spirv for vulkan1.1"), 1U);
  EXPECT_GE(count(lines, "host for x86-64"), 1U);
}

TEST_F(KernelCheck, TooLittleSharedMemoryIsFound) {
  const auto lines = lines_after("numbers", [](KernelInfo& kernel) { kernel.shared_bytes = 0; });
  for (const char* format : {"host for x86-64", "ptx for sm_70", "hsaco for gfx90a", "spirv for vulkan1.1"}) {
    EXPECT_GE(count(lines, format), 1U) << format;
  }
}

TEST_F(KernelCheck, AnEntryThatAFileLacksIsNamed) {
  for (const CodeObject& object : library_->objects()) {
    if (object.format == ObjectFormat::msl) continue;
    const std::vector<CodeObject::Entry> entries = {{.kernel = 0, .symbol = "no_such_entry"}};
    const auto lines = find_disagreements(
        library_->kernels(), {.format = object.format, .arch = object.arch, .bytes = object.bytes, .entries = entries});
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_NE(lines[0].find("no_such_entry"), std::string::npos) << lines[0];
  }
}

TEST_F(KernelCheck, AFileThatIsNoObjectIsRefused) {
  const std::vector<std::byte> junk(300, std::byte{0x7f});
  for (const ObjectFormat format :
       {ObjectFormat::host, ObjectFormat::ptx, ObjectFormat::cubin, ObjectFormat::hsaco, ObjectFormat::spirv}) {
    const auto found = reflect(format, junk);
    ASSERT_FALSE(found) << to_string(format);
    EXPECT_EQ(found.error().code, Errc::corrupt);
  }
}

TEST_F(KernelCheck, CutOffFilesNeverCrashTheReader) {
  for (const CodeObject& object : library_->objects()) {
    const size_t step = std::max<size_t>(1, object.bytes.size() / 97);
    for (size_t size = 0; size < object.bytes.size(); size += step) {
      static_cast<void>(reflect(object.format, object.bytes.first(size)));
    }
  }
}

}  // namespace
}  // namespace pianola::kernel_build
