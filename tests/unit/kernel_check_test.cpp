// SPDX-License-Identifier: Apache-2.0
// What compiled files say is compared with what their library says, and no disagreement passes in silence.
#include "kernel_build/check.hpp"

#include <algorithm>
#include <cstring>

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

TEST_F(KernelCheck, AWrongConstantBlockIsFoundWhereSpirvHasItInABuffer) {
  const auto lines = lines_after("weigh_33", [](KernelInfo& kernel) {
    kernel.constants.push_back({.name = "more", .offset = 132, .size = 4});
    kernel.constant_bytes = 136;
  });
  expect_in(lines, every_format);
}

TEST_F(KernelCheck, AConstantsBufferThatStandsElsewhereThanItIsBoundIsFound) {
  const auto lines = lines_after("weigh_33", [](KernelInfo& kernel) {
    kernel.bindings.push_back({.name = "last", .set = 2, .binding = 0, .element_size = 4});
  });
  EXPECT_EQ(count(lines, "a buffer 'PianolaConstants' at (1, 4), right behind the library's last binding is (2, 1)"),
            1U);
}

/// The SPIR-V of a kernel, with every instruction of that number changed.
class SpirvOf : public KernelCheck {
 protected:
  using Words = std::span<uint32_t>;
  std::vector<uint32_t> changed(std::string_view kernel, uint32_t instruction, void (*change)(Words operands)) {
    std::vector<uint32_t> words;
    for (const CodeObject& object : library_->objects()) {
      if (object.format != ObjectFormat::spirv || object.entries[0].symbol != kernel) continue;
      words.resize(object.bytes.size() / 4);
      std::memcpy(words.data(), object.bytes.data(), object.bytes.size());
    }
    EXPECT_FALSE(words.empty()) << kernel;
    for (size_t at = 5; at < words.size(); at += words[at] >> 16U) {
      if ((words[at] & 0xffffU) == instruction) change(Words(words).subspan(at + 1, (words[at] >> 16U) - 1));
    }
    return words;
  }
  static void expect_refused(const std::vector<uint32_t>& words, const char* why) {
    const auto found = reflect(ObjectFormat::spirv, std::as_bytes(std::span(words)));
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Errc::unsupported);
    EXPECT_NE(found.error().message.find(why), std::string::npos) << found.error().message;
  }
  static constexpr uint32_t name = 5;
  static constexpr uint32_t constant = 43;
  static constexpr uint32_t decorate = 71;
};

TEST_F(SpirvOf, MoreConstantsThanVulkanGuaranteesAreNoPushConstants) {
  const auto longer = [](Words operands) { operands[2] = operands[2] == 32 ? 33 : operands[2]; };
  expect_refused(changed("weigh_32", constant, longer), "132 bytes of push constants; a block over 128");
}

TEST_F(SpirvOf, FewConstantsAreInNoBuffer) {
  const auto shorter = [](Words operands) { operands[2] = operands[2] == 33 ? 32 : operands[2]; };
  expect_refused(changed("weigh_33", constant, shorter), "has 128 bytes; a block up to 128 is push constants");
}

TEST_F(SpirvOf, ConstantsInABufferStandBehindTheLastBinding) {
  const auto first = [](Words operands) {
    constexpr uint32_t binding_number = 33;
    if (operands[1] == binding_number && operands[2] == 4) operands[2] = 2;
  };
  expect_refused(changed("weigh_33", decorate, first), "is (1, 2), not behind the last binding (1, 3)");
}

TEST_F(SpirvOf, ConstantsInABufferAreKnownByName) {
  const auto other = [](Words operands) { operands[1] ^= 1U; };
  const auto found =
      reflect(ObjectFormat::spirv, std::as_bytes(std::span<const uint32_t>(changed("weigh_33", name, other))));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->at(0).bindings->size(), 3U);
  EXPECT_EQ(found->at(0).constant_bytes, 0U);
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

}  // namespace
}  // namespace pianola::kernel_build
