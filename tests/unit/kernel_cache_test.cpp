// SPDX-License-Identifier: Apache-2.0
// What the cache of compiled kernels gives is what a compiler would make now.
#include "kernel_build/cache.hpp"

#include <algorithm>

#include "kernel_build/compile.hpp"
#include "kernel_build_fixture.hpp"

namespace pianola::kernel_build {
namespace {

using Bytes = std::vector<std::byte>;

class KernelCache : public KernelBuild {
 protected:
  void SetUp() override {
    KernelBuild::SetUp();
    write_wrapper("");
  }

  /// A compiler that is clang but for `around`, which a compilation runs through; the preprocessor does not.
  void write_wrapper(const std::string& around) const {
    const std::string path = folder_ + "/clang";
    std::ofstream(path) << "#!/bin/sh\ncase \" $* \" in\n  *' -E '* | *' --version '*) ;;\n  *) " << around
                        << ";;\nesac\nexec clang-19 \"$@\"\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  void let_compilers_fail() const { write_wrapper("echo it runs; exit 1"); }

  BuildOptions cached(const std::string& path, std::vector<std::string> targets = {"x86-64"}) const {
    BuildOptions build = options({path}, std::move(targets));
    build.cache = folder_ + "/cache";
    build.compilers.clang = folder_ + "/clang";
    return build;
  }
  static Bytes object_of(const BuildOptions& build) {
    const auto built = build_kernels(build);
    EXPECT_TRUE(built) << to_string(built.error());
    return built ? built->contents.objects[0].bytes : Bytes();
  }
  /// What the same options make without a cache.
  static Bytes fresh_object_of(BuildOptions build) {
    build.cache.clear();
    return object_of(build);
  }

  std::string write_header(const std::string& name, int number) const {
    const std::string path = folder_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << "#define NUMBER " << number << "u\n";
    return path;
  }
};

constexpr const char* uses_header =
    "#include \"h.h\"\nKERNEL(k, 64, 1, 1, OUT(uint, x))\nPHASE x[GID_X] = NUMBER; END_PHASE\nEND_KERNEL\n";

TEST_F(KernelCache, ALaterBuildTakesUnchangedObjectsFromTheCache) {
  write_header("h.h", 1);
  const BuildOptions build = cached(write("k.k", uses_header), {"x86-64", "sm_70", "gfx90a", "vulkan1.1"});
  const auto first = build_kernels(build);
  ASSERT_TRUE(first) << to_string(first.error());
  let_compilers_fail();
  const auto second = build_kernels(build);
  ASSERT_TRUE(second) << to_string(second.error());
  ASSERT_EQ(second->contents.objects.size(), 4U);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(first->contents.objects[i].bytes, second->contents.objects[i].bytes);
  EXPECT_EQ(first->dependencies, second->dependencies);
}

TEST_F(KernelCache, TheSameTextInAnotherFolderIsTheSameObject) {
  for (const char* folder : {"one", "two"}) {
    write_header(std::string(folder) + "/h.h", 1);
    ASSERT_FALSE(object_of(cached(write(std::string(folder) + "/k.k", uses_header))).empty());
    let_compilers_fail();
  }
}

TEST_F(KernelCache, AChangedSourceOrHeaderIsCompiledAgain) {
  write_header("h.h", 1);
  const BuildOptions build = cached(write("k.k", uses_header));
  const Bytes first = object_of(build);
  write_header("h.h", 2);
  const Bytes second = object_of(build);
  EXPECT_NE(first, second);
  EXPECT_EQ(second, fresh_object_of(build));
  write("k.k", std::string(uses_header) + "KERNEL(more, 64, 1, 1)\nPHASE END_PHASE\nEND_KERNEL\n");
  EXPECT_EQ(object_of(build), fresh_object_of(build));
}

TEST_F(KernelCache, EqualSourcesWithDifferentHeadersBesideThemAreDifferent) {
  write_header("one/h.h", 1);
  write_header("two/h.h", 2);
  const BuildOptions one = cached(write("one/k.k", uses_header));
  const BuildOptions two = cached(write("two/k.k", uses_header));
  EXPECT_NE(object_of(one), object_of(two));
  EXPECT_EQ(object_of(two), fresh_object_of(two));
}

TEST_F(KernelCache, AHeaderThatNewlyStandsInFrontOfAnotherCounts) {
  std::filesystem::create_directories(folder_ + "/early");
  write_header("late/h.h", 1);
  BuildOptions build = cached(write("k.k", uses_header));
  build.include_dirs.insert(build.include_dirs.begin(), {folder_ + "/early", folder_ + "/late"});
  const Bytes first = object_of(build);
  write_header("early/h.h", 2);
  EXPECT_NE(object_of(build), first);
}

TEST_F(KernelCache, HeadersInFoldersOfStrangeNamesCount) {
  for (const char* name : {"a#b", "a$b", "a b", "a$$ #b"}) {
    const std::string header = write_header(std::string(name) + "/h.h", 1);
    BuildOptions build = cached(write("k.k", uses_header));
    build.include_dirs.push_back(folder_ + "/" + name);
    const auto built = build_kernels(build);
    ASSERT_TRUE(built) << to_string(built.error());
    EXPECT_EQ(std::ranges::count(built->dependencies, header), 1) << name;
    write_header(std::string(name) + "/h.h", 2);
    EXPECT_NE(object_of(build), built->contents.objects[0].bytes) << name;
  }
}

TEST_F(KernelCache, AnObjectWhoseSourceWasSavedMeanwhileIsNotKept) {
  write_header("h.h", 1);
  const BuildOptions build = cached(write("k.k", uses_header));
  // Saved between the compiler's end and what is kept, and before it begins.
  write_wrapper("clang-19 \"$@\"; echo '#define NUMBER 2u' >'" + folder_ + "/h.h'; exit");
  const Bytes first = object_of(build);
  write_wrapper("");
  const Bytes second = object_of(build);
  EXPECT_NE(first, second);
  EXPECT_EQ(second, fresh_object_of(build));

  write_header("h.h", 3);
  write_wrapper("echo '#define NUMBER 4u' >'" + folder_ + "/h.h'");
  object_of(build);
  write_wrapper("");
  write_header("h.h", 3);
  EXPECT_EQ(object_of(build), fresh_object_of(build));
}

TEST_F(KernelCache, ADamagedEntryIsCompiledAgain) {
  write_header("h.h", 1);
  const BuildOptions build = cached(write("k.k", uses_header));
  const Bytes first = object_of(build);
  for (const auto& entry : std::filesystem::directory_iterator(build.cache)) {
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-100, std::ios::end);
    file.put('\x55').put('\xaa');
  }
  EXPECT_EQ(object_of(build), first);
}

TEST(KernelMakeRule, NamesAreReadAsClangWritesThem) {
  EXPECT_EQ(parse_rule("object: a.k \\\n  /x\\ y/b\\#c$$d.h \\\n  e\\f.h\n"),
            (std::vector<std::string>{"a.k", "/x y/b#c$d.h", "e\\f.h"}));
}

}  // namespace
}  // namespace pianola::kernel_build
