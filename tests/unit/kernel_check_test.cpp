// SPDX-License-Identifier: Apache-2.0
// What compiled files say is compared with what their library says, and no disagreement passes in silence.
#include "kernel_build/check.hpp"

#include <algorithm>

#include "dialect_kernel_image.hpp"
#include "kernel_build/build.hpp"

namespace pianola::kernel_build {
namespace {

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

  static void expect_in(const std::vector<std::string>& lines, std::initializer_list<const char*> formats) {
    for (const char* format : formats) EXPECT_GE(count(lines, format), 1U) << format;
  }
  static constexpr std::initializer_list<const char*> every_format = {
      "host for x86-64", "host for aarch64", "ptx for sm_70", "hsaco for gfx90a", "spirv for vulkan1.1", "msl for msl"};

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
  expect_in(lines, every_format);
}

TEST_F(KernelCheck, AWrongWorkgroupIsFoundWhereTheFileKnowsIt) {
  const auto lines = lines_after("numbers", [](KernelInfo& kernel) { kernel.workgroup = {64, 1, 1}; });
  expect_in(lines, every_format);
}

TEST_F(KernelCheck, AMissingBindingIsFoundInEveryFormat) {
  const auto lines = lines_after("integers", [](KernelInfo& kernel) { kernel.bindings.pop_back(); });
  expect_in(lines, every_format);
}

TEST_F(KernelCheck, AWriteThatTheLibraryDoesNotAdmitIsFound) {
  const auto lines = lines_after("integers", [](KernelInfo& kernel) { kernel.bindings[2].access = Access::in; });
  expect_in(lines, {"host for x86-64", "spirv for vulkan1.1", "msl for msl"});
}

TEST_F(KernelCheck, ABindingThatNoFileHasIsFoundWhereAllAreListed) {
  const auto lines = lines_after("integers", [](KernelInfo& kernel) {
    kernel.bindings.push_back({.name = "more", .set = 0, .binding = 9, .access = Access::in, .element_size = 4});
  });
  // SPIR-V may leave out what a kernel does not use.
  expect_in(lines, {"host for x86-64", "ptx for sm_70", "hsaco for gfx90a", "msl for msl"});
}

TEST_F(KernelCheck, ABufferTakenForANumberIsFoundWhereTheFileKnows) {
  const auto lines = lines_after("integers", [](KernelInfo& kernel) {
    kernel.bindings.pop_back();
    kernel.constants = {{.name = "y", .offset = 0, .size = 8}, {.name = "n", .offset = 8, .size = 4}};
    kernel.constant_bytes = 12;
  });
  expect_in(lines, {"host for x86-64", "hsaco for gfx90a", "spirv for vulkan1.1", "msl for msl"});
}

TEST_F(KernelCheck, WrongSizesOfElementsAreFound) {
  const auto lines = lines_after("halves", [](KernelInfo& kernel) { kernel.bindings[0].element_size = 4; });
  expect_in(lines, {"host for x86-64", "spirv for vulkan1.1"});
}

TEST_F(KernelCheck, ConstantsCutInOtherPlacesAreFound) {
  const auto lines = lines_after("numbers", [](KernelInfo& kernel) {
    kernel.constants[0].size = 8;
    kernel.constants[1] = {.name = "pitch", .offset = 8, .size = 8};
  });
  // SPIR-V tells the block's size only.
  expect_in(lines, {"host for x86-64", "ptx for sm_70", "hsaco for gfx90a", "msl for msl"});
}

TEST_F(KernelCheck, FlagsThatTheRecordDoesNotHaveAreFound) {
  const auto lines = lines_after("holes", [](KernelInfo& kernel) { kernel.opaque = kernel.may_alias = false; });
  EXPECT_GE(count(lines, "it is opaque, the library says not opaque"), 1U);
  EXPECT_GE(count(lines, "it is may_alias, the library says not may_alias"), 1U);
}

TEST_F(KernelCheck, TooLittleSharedMemoryIsFound) {
  const auto lines = lines_after("numbers", [](KernelInfo& kernel) { kernel.shared_bytes = 0; });
  expect_in(lines, {"host for x86-64", "ptx for sm_70", "hsaco for gfx90a", "spirv for vulkan1.1"});
}

TEST_F(KernelCheck, AnEntryThatAFileLacksIsNamed) {
  for (const CodeObject& object : library_->objects()) {
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
