// SPDX-License-Identifier: Apache-2.0
#include "pianola/kernel_library.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "format/kernel_library_file.hpp"
#include "format/kernel_library_writer.hpp"

namespace pianola {
namespace {

using format::LibraryContents;
using Bytes = std::vector<std::byte>;

LibraryContents two_kernels() {
  LibraryContents contents{.name = "pair", .kernels = {}, .objects = {}};
  contents.kernels.push_back(
      {.name = "saxpy",
       .bindings = {{.name = "x", .set = 0, .binding = 0, .access = Access::in, .element_size = 4},
                    {.name = "y", .set = 0, .binding = 5, .access = Access::inout, .element_size = 4}},
       .constants = {{.name = "a", .offset = 0, .size = 4}, {.name = "n", .offset = 4, .size = 4}},
       .constant_bytes = 8,
       .workgroup = {256, 1, 1}});
  contents.kernels.push_back(
      {.name = "chase", .workgroup = {8, 8, 4}, .shared_bytes = 1024, .opaque = true, .may_alias = true});
  contents.objects.push_back({.format = ObjectFormat::host,
                              .arch = "x86-64",
                              .bytes = Bytes(100, std::byte{7}),
                              .entries = {{.kernel = 0, .symbol = "saxpy"}, {.kernel = 1, .symbol = "chase"}}});
  contents.objects.push_back({.format = ObjectFormat::ptx,
                              .arch = "sm_70",
                              .bytes = Bytes(3, std::byte{9}),
                              .entries = {{.kernel = 1, .symbol = "c"}}});
  return contents;
}

Bytes image_of(const LibraryContents& contents) {
  auto image = format::write_library(contents);
  EXPECT_TRUE(image) << to_string(image.error());
  return image ? *image : Bytes();
}

/// Makes the frame right again after the middle was changed.
void seal(Bytes& image) {
  const uint64_t size = image.size();
  std::memcpy(image.data() + offsetof(format::LibraryHeader, file_size), &size, sizeof(size));
  const uint64_t hash = format::hash_of_image(image);
  std::memcpy(image.data() + offsetof(format::LibraryHeader, hash), &hash, sizeof(hash));
}

Errc code_of(const Bytes& image) {
  const auto library = KernelLibrary::from_bytes(image);
  EXPECT_FALSE(library);
  return library ? Errc::invalid_argument : library.error().code;
}

TEST(KernelLibraryFile, ReadsBackWhatWasWritten) {
  const auto library = KernelLibrary::from_bytes(image_of(two_kernels()));
  ASSERT_TRUE(library) << to_string(library.error());
  EXPECT_EQ(library->name(), "pair");
  ASSERT_EQ(library->kernels().size(), 2U);
  const KernelInfo& saxpy = library->kernels()[0];
  EXPECT_EQ(saxpy.name, "saxpy");
  ASSERT_EQ(saxpy.bindings.size(), 2U);
  EXPECT_EQ(saxpy.bindings[1].name, "y");
  EXPECT_EQ(saxpy.bindings[1].binding, 5U);
  EXPECT_EQ(saxpy.bindings[0].access, Access::in);
  EXPECT_EQ(saxpy.bindings[1].access, Access::inout);
  EXPECT_EQ(saxpy.bindings[1].element_size, 4U);
  ASSERT_EQ(saxpy.constants.size(), 2U);
  EXPECT_EQ(saxpy.constants[1].offset, 4U);
  EXPECT_EQ(saxpy.constant_bytes, 8U);
  EXPECT_FALSE(saxpy.opaque);
  const KernelInfo& chase = library->kernels()[1];
  EXPECT_EQ(chase.workgroup, (std::array<uint32_t, 3>{8, 8, 4}));
  EXPECT_EQ(chase.shared_bytes, 1024U);
  EXPECT_TRUE(chase.opaque && chase.may_alias);
  ASSERT_EQ(library->objects().size(), 2U);
  EXPECT_EQ(library->objects()[0].bytes.size(), 100U);
  EXPECT_EQ(library->objects()[1].bytes[2], std::byte{9});
  EXPECT_EQ(library->objects()[1].format, ObjectFormat::ptx);
  EXPECT_EQ(library->objects()[1].entries[0].symbol, "c");
}

TEST(KernelLibraryFile, FindsKernelsByNameAndKeepsTheNameOfAMissingOne) {
  const auto library = KernelLibrary::from_bytes(image_of(two_kernels()));
  ASSERT_TRUE(library);
  EXPECT_EQ(library->find("chase"), 1U);
  EXPECT_EQ(library->find("chas"), std::nullopt);
  const Kernel saxpy = (*library)["saxpy"];
  ASSERT_TRUE(saxpy.is_present());
  EXPECT_EQ(saxpy.info().name, "saxpy");
  const Kernel missing = (*library)["sgemm"];
  EXPECT_FALSE(missing.is_present());
  EXPECT_EQ(missing.missing_name(), "sgemm");
  EXPECT_FALSE(KernelLibrary()["saxpy"].is_present());
}

TEST(KernelLibraryFile, SameContentsGiveTheSameBytesAndHash) {
  const Bytes image = image_of(two_kernels());
  EXPECT_EQ(image, image_of(two_kernels()));
  LibraryContents other = two_kernels();
  other.objects[0].bytes[50] = std::byte{8};
  EXPECT_NE(KernelLibrary::from_bytes(image)->hash(), KernelLibrary::from_bytes(image_of(other))->hash());
}

TEST(KernelLibraryFile, EveryChangedByteIsFound) {
  const Bytes image = image_of(two_kernels());
  for (size_t i = 0; i < image.size(); ++i) {
    Bytes damaged = image;
    damaged[i] ^= std::byte{0x41};
    const auto library = KernelLibrary::from_bytes(damaged);
    ASSERT_FALSE(library) << "byte " << i;
    ASSERT_TRUE(library.error().code == Errc::corrupt || library.error().code == Errc::version) << "byte " << i;
  }
}

TEST(KernelLibraryFile, EveryTruncationIsFound) {
  const Bytes image = image_of(two_kernels());
  for (size_t size = 0; size < image.size(); ++size) {
    ASSERT_EQ(code_of(Bytes(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(size))), Errc::corrupt) << size;
  }
}

// With the hash made right again, only the checks of the contents stand between the bytes and the reader.
TEST(KernelLibraryFile, ADamagedTableWithARightHashNeverCrashes) {
  const Bytes image = image_of(two_kernels());
  uint32_t refused = 0;
  for (size_t i = 16; i < image.size(); ++i) {
    for (const unsigned flip : {0x01U, 0x80U, 0xffU}) {
      Bytes damaged = image;
      damaged[i] ^= static_cast<std::byte>(flip);
      seal(damaged);
      const auto library = KernelLibrary::from_bytes(damaged);
      refused += library ? 0 : 1;
      ASSERT_TRUE(library || library.error().code == Errc::corrupt || library.error().code == Errc::version);
    }
  }
  EXPECT_GT(refused, 100U);
}

TEST(KernelLibraryFile, ANewerVersionIsNamed) {
  Bytes image = image_of(two_kernels());
  const uint32_t newer = format::LibraryHeader::current_version + 1;
  std::memcpy(image.data() + offsetof(format::LibraryHeader, version), &newer, sizeof(newer));
  seal(image);
  const auto library = KernelLibrary::from_bytes(image);
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, Errc::version);
  EXPECT_NE(library.error().message.find("version " + std::to_string(newer)), std::string::npos)
      << library.error().message;
}

TEST(KernelLibraryFile, TheVersionIsTheLowestThatTheContentsNeed) {
  const auto version_of = [](const LibraryContents& contents) {
    const Bytes image = image_of(contents);
    uint32_t version = 0;
    std::memcpy(&version, image.data() + offsetof(format::LibraryHeader, version), sizeof(version));
    return version;
  };
  LibraryContents contents = two_kernels();
  EXPECT_EQ(version_of(contents), 1U);
  contents.kernels[0].argument_order = {1, 0, 2, 3};
  EXPECT_EQ(version_of(contents), 2U);
  contents.kernels[1].dynamic_shared_bytes = 100000;
  EXPECT_EQ(version_of(contents), 3U);
  const auto library = KernelLibrary::from_bytes(image_of(contents));
  ASSERT_TRUE(library);
  EXPECT_EQ(library->kernels()[0].dynamic_shared_bytes, 0U);
  EXPECT_EQ(library->kernels()[1].dynamic_shared_bytes, 100000U);
}

TEST(KernelLibraryFile, JunkIsNoLibrary) {
  EXPECT_EQ(code_of(Bytes()), Errc::corrupt);
  EXPECT_EQ(code_of(Bytes(4096, std::byte{0x5a})), Errc::corrupt);
}

TEST(KernelLibraryFile, LoadNamesTheFile) {
  const auto missing = KernelLibrary::load("/nowhere/kernels.pkl");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::io);
  EXPECT_NE(missing.error().message.find("/nowhere/kernels.pkl"), std::string::npos);

  const std::string path = testing::TempDir() + std::to_string(getpid()) + "_cut.pkl";
  const Bytes image = image_of(two_kernels());
  std::FILE* file = std::fopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  std::fwrite(image.data(), 1, image.size() - 1, file);
  std::fclose(file);
  const auto cut = KernelLibrary::load(path);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, Errc::corrupt);
  EXPECT_NE(cut.error().message.find(path), std::string::npos) << cut.error().message;
  std::remove(path.c_str());
}

TEST(KernelLibraryFile, LoadsFromAFile) {
  const std::string path = testing::TempDir() + std::to_string(getpid()) + "_whole.pkl";
  const Bytes image = image_of(two_kernels());
  std::FILE* file = std::fopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  std::fwrite(image.data(), 1, image.size(), file);
  std::fclose(file);
  const auto library = KernelLibrary::load(path);
  std::remove(path.c_str());
  ASSERT_TRUE(library) << to_string(library.error());
  EXPECT_EQ(library->kernels().size(), 2U);
}

struct BadContents {
  const char* what;
  void (*spoil)(LibraryContents&);
};

class KernelLibraryWriter : public testing::TestWithParam<BadContents> {};

TEST_P(KernelLibraryWriter, RefusesWhatAReaderWouldRefuse) {
  LibraryContents contents = two_kernels();
  GetParam().spoil(contents);
  const auto image = format::write_library(contents);
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().code, Errc::invalid_argument) << to_string(image.error());
}

INSTANTIATE_TEST_SUITE_P(
    All, KernelLibraryWriter,
    testing::Values(
        BadContents{"TwoOfOneName", [](LibraryContents& c) { c.kernels[1].name = "saxpy"; }},
        BadContents{"NoName", [](LibraryContents& c) { c.kernels[1].name = ""; }},
        BadContents{"BindingsOutOfOrder", [](LibraryContents& c) { c.kernels[0].bindings[1].binding = 0; }},
        BadContents{"BadAccess", [](LibraryContents& c) { c.kernels[0].bindings[1].access = Access{0}; }},
        BadContents{"ElementOfNoBytes", [](LibraryContents& c) { c.kernels[0].bindings[1].element_size = 0; }},
        BadContents{"TooManyBindings", [](LibraryContents& c) { c.kernels[0].bindings.resize(65); }},
        BadContents{"TooManyConstantBytes", [](LibraryContents& c) { c.kernels[0].constant_bytes = 1028; }},
        BadContents{"ConstantPastTheBlock", [](LibraryContents& c) { c.kernels[0].constants[1].size = 8; }},
        BadContents{"OverlappingConstants", [](LibraryContents& c) { c.kernels[0].constants[1].offset = 2; }},
        BadContents{"EmptyWorkgroup", [](LibraryContents& c) { c.kernels[0].workgroup[2] = 0; }},
        BadContents{"HugeWorkgroup", [](LibraryContents& c) { c.kernels[0].workgroup = {64, 64, 1}; }},
        BadContents{"EntryOfNoKernel", [](LibraryContents& c) { c.objects[1].entries[0].kernel = 2; }},
        BadContents{"EntryTwice", [](LibraryContents& c) { c.objects[0].entries[1].kernel = 0; }},
        BadContents{"EmptyObject", [](LibraryContents& c) { c.objects[0].bytes.clear(); }},
        BadContents{"NoArchitecture", [](LibraryContents& c) { c.objects[0].arch = ""; }}),
    [](const auto& each) { return std::string(each.param.what); });

}  // namespace
}  // namespace pianola
