// SPDX-License-Identifier: Apache-2.0
// Building kernel libraries: what is refused, and with which words.
#include "kernel_build/build.hpp"

#include "kernel_build/kernel_text.hpp"
#include "kernel_build/target.hpp"
#include "kernel_build_fixture.hpp"

namespace pianola::kernel_build {
namespace {

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

TEST_F(KernelBuild, WhatOnlyVulkanCannotTakeIsReportedWithTheUsersLine) {
  // GLSL takes no uint for an int unasked.
  const std::string path = write("narrow.k",
                                 "KERNEL(narrow, 64, 1, 1, OUT(int, x))\n"
                                 "PHASE\n  x[GID_X] = GID_X;\nEND_PHASE\nEND_KERNEL\n");
  const Error error = error_of(options({path}, {"vulkan1.1"}));
  EXPECT_EQ(error.code, Errc::compile_failed);
  EXPECT_TRUE(has(error, "narrow.k") && has(error, "vulkan1.1") && has(error, "'narrow'")) << error.message;
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
  EXPECT_EQ(error.code, Errc::unsupported);
  EXPECT_TRUE(has(error, "calls.k:3: '__builtin_erff'")) << error.message;
}

TEST_F(KernelBuild, ArgumentsMayBeLeftUnused) {
  const std::string path =
      write("unused.k",
            "KERNEL(unused, 64, 1, 1, IN(float, a), INOUT(float, b), VAL(uint, n), VALA(uint, m, 2), "
            "SHARED(int, s, 4), PRV(int, p), PRVA(int, q, 2))\nPHASE END_PHASE\nEND_KERNEL\n");
  const auto built = build_kernels(options({path}, {"x86-64", "sm_70", "gfx90a", "vulkan1.1", "msl"}));
  EXPECT_TRUE(built) << to_string(built.error());
}

TEST_F(KernelBuild, ShortNamesAreTheUsersOwn) {
  std::string text;
  for (const char* name :
       {"nx", "ny", "nz", "wx", "wy", "wz", "x", "y", "z", "t", "n", "k", "s", "b", "q", "extra", "name"}) {
    text += std::string("#define ") + name + " 4u\n";
  }
  text += "KERNEL(own, 64, 1, 1, OUT(uint, into))\nPHASE into[GID_X] = nx + wx + x; END_PHASE\nEND_KERNEL\n";
  const auto built = build_kernels(options({write("own.k", text)}, {"x86-64", "sm_70", "gfx90a", "vulkan1.1", "msl"}));
  EXPECT_TRUE(built) << to_string(built.error());
}

TEST_F(KernelBuild, WhatAWorkgroupKeepsOnAStackIsLimited) {
  const auto kernel = [&](const std::string& entries) {
    return options({write("big.k", "KERNEL(big, 1024, 1, 1, OUT(float, y)" + entries +
                                       ")\nPHASE y[GID_X] = 1.0f; END_PHASE\nEND_KERNEL\n")},
                   {"x86-64"});
  };
  struct Case {
    const char* entries;
    const char* part;
  };
  for (const Case& each :
       {Case{", PRVA(float, acc, 4096)", "kernel 'big' needs 16777216 bytes"},
        Case{", PRVA(float, acc, 63), PRV(uint, more), SHARED(int, s, 1)", "kernel 'big' needs 262148 bytes"},
        Case{", SHARED(float, s, 0x40000001)", "kernel 'big': 4294967300 bytes of workgroup memory"},
        Case{", SHARED(float, s, 0x30000000), SHARED(float, t, 0x30000000)", "6442450944 bytes of workgroup memory"}}) {
    const Error error = error_of(kernel(each.entries));
    EXPECT_EQ(error.code, Errc::limit_exceeded) << each.entries;
    EXPECT_TRUE(has(error, each.part) && has(error, "big.k: ")) << error.message;
  }
  EXPECT_TRUE(build_kernels(kernel(", PRVA(float, acc, 63), PRV(uint, more)")));
  const Error error = error_of(kernel(", VALA(uint, v, 0x40000001)"));
  EXPECT_EQ(error.code, Errc::compile_failed);
  EXPECT_TRUE(has(error, "at most 1024 bytes of constants")) << error.message;
}

// Each kernel is another one where the symbol OTHER is defined.
constexpr const char* different = R"(
#if defined(OTHER)
#define IF_OTHER(here, elsewhere) here
#else
#define IF_OTHER(here, elsewhere) elsewhere
#endif
KERNEL(more_bindings, 64, 1, 1, OUT(uint, x), IF_OTHER(OUT(uint, y), VAL(uint, n)))
PHASE x[GID_X] = 1u; IF_OTHER(y[GID_X] = 1u, x[GID_X] = n); END_PHASE END_KERNEL
KERNEL(longer_constant, 64, 1, 1, OUT(uint, x), IF_OTHER(VALA(uint, n, 2), VAL(uint, n)))
PHASE x[GID_X] = IF_OTHER(n[0], n); END_PHASE END_KERNEL
KERNEL(other_group, IF_OTHER(32, 64), 1, 1, OUT(uint, x))
PHASE x[GID_X] = 1u; END_PHASE END_KERNEL
KERNEL(more_shared, 64, 1, 1, OUT(uint, x), SHARED(uint, tile, IF_OTHER(1024, 64)))
PHASE tile[LID_X] = GID_X; END_SYNC PHASE x[GID_X] = tile[63u - LID_X]; END_PHASE END_KERNEL
#if defined(OTHER)
KERNEL(another_name, 64, 1, 1, OUT(uint, x))
#else
KERNEL(one_name, 64, 1, 1, OUT(uint, x))
#endif
PHASE x[GID_X] = 1u; END_PHASE END_KERNEL
)";

TEST_F(KernelBuild, KernelsThatDependOnTheTargetAreNamedOneByOne) {
  struct Case {
    const char* symbol;
    const char* target;
    const char* name;
  };
  for (const Case& each :
       {Case{"__AVX2__", "x86-64-v3", "host for x86-64-v3"}, Case{"PIANOLA_KERNEL_PTX", "sm_70", "ptx for sm_70"},
        Case{"PIANOLA_KERNEL_AMDGPU", "gfx90a", "hsaco for gfx90a"}}) {
    const std::string text = std::string("#if defined(") + each.symbol + ")\n#define OTHER\n#endif\n" + different;
    const Error error = error_of(options({write("different.k", text)}, {"x86-64", each.target}));
    EXPECT_EQ(error.code, Errc::mismatch);
    for (const char* kernel : {"more_bindings", "longer_constant", "other_group", "more_shared", "one_name"}) {
      EXPECT_TRUE(has(error, std::string("kernel '") + kernel + "', " + each.name)) << kernel << "\n" << error.message;
    }
  }
}

TEST_F(KernelBuild, TextTargetsWithOtherKernelsAreNamed) {
  const std::string text = std::string("#if defined(PIANOLA_KERNEL_TEXT)\n#define OTHER\n#endif\n") + different;
  const std::string path = write("different.k", text);
  for (const char* target : {"vulkan1.1", "msl"}) {
    const Error error = error_of(options({path}, {"x86-64", target}));
    EXPECT_EQ(error.code, Errc::compile_failed);
    EXPECT_TRUE(has(error, "different.k for " + std::string(target))) << error.message;
    EXPECT_TRUE(has(error, "'one_name'") && has(error, "'another_name'")) << error.message;
  }
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

TEST(KernelText, KernelsAndHelpersOfOneLineAreCutAtTheirMarks) {
  const auto text = split_kernel_text(
      "# 4 \"a.k\"\nPIANOLA_FN int f(int v) { return v; } @@kernel one @@body @@phase a; @@endphase @@end @@kernel two "
      "@@body b; @@end struct S { int m; }; @@kernel three @@body\nc;\n@@end\n");
  ASSERT_TRUE(text) << to_string(text.error());
  EXPECT_EQ(text->common,
            "#line 4 \"a.k\"\nPIANOLA_FN int f(int v) { return v; } \n#line 4 \"a.k\"\n struct S { int m; }; \n");
  EXPECT_EQ(text->names, (std::vector<std::string>{"f", "S"}));
  ASSERT_EQ(text->kernels.size(), 3U);
  EXPECT_EQ(text->kernels[0].name, "one");
  EXPECT_EQ(text->kernels[0].body, "#line 4 \"a.k\"\n  a;  \n");
  EXPECT_EQ(text->kernels[1].name, "two");
  EXPECT_EQ(text->kernels[1].body, "#line 4 \"a.k\"\n b; \n");
  EXPECT_EQ(text->kernels[2].body, "#line 5 \"a.k\"\nc;\n");
}

TEST_F(KernelBuild, KernelsThatAMacroWritesOnOneLine) {
  const std::string path =
      write("both.k",
            "#define MAKE(T) FN T twice_##T(T a) { return a + a; } KERNEL(k_##T, 64, 1, 1, OUT(T, y)) "
            "PHASE y[GID_X] = twice_##T(T(GID_X)); END_PHASE END_KERNEL\n"
            "#define BOTH MAKE(int) MAKE(float)\nBOTH\n");
  const auto built = build_kernels(options({path}, {"x86-64", "sm_70", "vulkan1.1", "msl"}));
  ASSERT_TRUE(built) << to_string(built.error());
  EXPECT_EQ(built->contents.kernels.size(), 2U);
}

TEST(KernelText, ReservedWordsAreRenamedOnlyAsWholeWords) {
  const std::vector<std::string> reserved = {"sample", "input"};
  const std::vector<std::string> names = {"mix", "x", "own_"};
  const Renaming renaming(reserved, names, {});
  EXPECT_EQ(renaming.in("input + my_input - sample1 * sample;"), "input_ + my_input - sample1 * sample_;");
  EXPECT_EQ(renaming.in("#line 3 \"input\"\ninput"), "#line 3 \"input\"\ninput_");
  EXPECT_EQ(renaming.in("mix(v.x, own_(mixed))"), "mix_(v.x, own_(mixed))");
}

TEST(KernelText, ARenamedNameIsNoOtherNameOfTheSource) {
  const auto text = split_kernel_text(
      "# 1 \"a.k\"\nPIANOLA_FN int mix(int mix_) { return mix_; }\n@@kernel one @@args VAL(int, input_) @@body\n"
      "uint input = sample_ + sample_2;\n@@end\n");
  ASSERT_TRUE(text) << to_string(text.error());
  const std::vector<std::string> reserved = {"sample", "input"};
  const Renaming renaming(reserved, *text);
  EXPECT_EQ(renaming.of("mix"), "mix_2");
  EXPECT_EQ(renaming.of("input"), "input_2");
  EXPECT_EQ(renaming.of("sample"), "sample_3");
}

TEST_F(KernelBuild, WhatIsRenamedForOtherLanguagesKeepsItsMeaning) {
  const std::string path =
      write("names.k",
            "KERNEL(vertex, 64, 1, 1, OUT(float, y), VAL(float, sample), VAL(float, thread))\nPHASE\n"
            "float sample_ = sample * 2.0f; float thread_ = thread;\n"
            "y[GID_X] = sample + sample_ + thread_;\nEND_PHASE\nEND_KERNEL\n"
            "KERNEL(vertex_, 64, 1, 1, OUT(float, y))\nPHASE y[GID_X] = 1.0f; END_PHASE\nEND_KERNEL\n");
  const auto built = build_kernels(options({path}, {"x86-64", "vulkan1.1", "msl"}));
  ASSERT_TRUE(built) << to_string(built.error());
  const format::ObjectContents& object = built->contents.objects.back();
  const std::string msl(reinterpret_cast<const char*>(object.bytes.data()), object.bytes.size());
  EXPECT_NE(msl.find("float thread_ = thread_2;"), std::string::npos) << msl;
  ASSERT_EQ(object.entries.size(), 2U);
  EXPECT_EQ(object.entries[0].symbol, "vertex_2");
  EXPECT_EQ(object.entries[1].symbol, "vertex_");
}

TEST_F(KernelBuild, ABufferMayHoldAStructOfTheSource) {
  const std::string path = write("items.k",
                                 "struct Item { float a; uint b; };\n"
                                 "KERNEL(take, 64, 1, 1, OUT(float, y), INOUT(Item, items))\nPHASE\n"
                                 "y[GID_X] = items[GID_X].a; items[GID_X].b = 1u;\nEND_PHASE\nEND_KERNEL\n");
  const auto built = build_kernels(options({path}, {"x86-64", "sm_70", "gfx90a", "vulkan1.1", "msl"}));
  ASSERT_TRUE(built) << to_string(built.error());
  EXPECT_EQ(built->contents.kernels[0].bindings[1].element_size, 8U);
  const format::ObjectContents& object = built->contents.objects.back();
  const std::string msl(reinterpret_cast<const char*>(object.bytes.data()), object.bytes.size());
  EXPECT_NE(msl.find("device Item_* items"), std::string::npos) << msl;
}

TEST_F(KernelBuild, NamesOfTheDialectsOwnAreRefused) {
  const auto with = [&](const std::string& kernel, const std::string& argument, const std::string& helper) {
    return options(
        {write("own.k", "FN float " + helper + "(float v) { return v; }\nKERNEL(" + kernel + ", 64, 1, 1, OUT(float, " +
                            argument + "))\nPHASE " + argument + "[GID_X] = 1.0f; END_PHASE\nEND_KERNEL\n")},
        {"x86-64"});
  };
  for (const BuildOptions& build : {with("k", "pianola_y", "f"), with("k", "gl_y", "f"), with("k", "y", "pianola_f"),
                                    with("k", "y", "PianolaConstants"), with("k", "y", "sin"), with("k", "y", "max")}) {
    const Error error = error_of(build);
    EXPECT_EQ(error.code, Errc::unsupported) << error.message;
    EXPECT_TRUE(has(error, "own.k:")) << error.message;
  }
  // An argument that no phase uses.
  const std::string path = write("unused.k",
                                 "KERNEL(k, 64, 1, 1, OUT(float, y), VAL(uint, pianola_n))\nPHASE y[GID_X] = "
                                 "1.0f; END_PHASE\nEND_KERNEL\n");
  const Error error = error_of(options({path}, {"x86-64"}));
  EXPECT_EQ(error.code, Errc::unsupported);
  EXPECT_TRUE(has(error, "unused.k:2: 'pianola_n'")) << error.message;
}

}  // namespace
}  // namespace pianola::kernel_build
