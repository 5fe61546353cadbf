// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/dialect_check.hpp"

#include <string>

namespace pianola::kernel_build {
namespace {

/// A kernel whose one phase holds `phase` on line 5, after `before` on line 3.
std::string kernel(const std::string& phase, const std::string& before = "") {
  return "# 2 \"user.k\"\n@@kernel k @@body\n" + before + "\n@@phase do { if (GID_X < (n)) {\n" + phase +
         "\n} } while (false); @@endphase\n@@end\n";
}

void expect_refused(const std::string& text, const std::string& word, int line) {
  const auto ok = check_dialect(text);
  ASSERT_FALSE(ok) << text;
  EXPECT_EQ(ok.error().code, Errc::unsupported);
  const std::string start = "user.k:" + std::to_string(line) + ": '" + word + "'";
  EXPECT_TRUE(ok.error().message.starts_with(start)) << ok.error().message;
}

void expect_fine(const std::string& text) {
  const auto ok = check_dialect(text);
  EXPECT_TRUE(ok) << ok.error().message;
}

TEST(KernelDialectCheck, ReturnInAKernelIsRefusedAndInAHelperIsFine) {
  expect_refused(kernel("if (x[GID_X] > 0) return;"), "return", 5);
  expect_fine("# 1 \"user.k\"\nPIANOLA_FN float f(float x) { return x; }\n" + kernel("x[GID_X] = f(1.0f);"));
}

TEST(KernelDialectCheck, BreakOutOfAPhaseIsRefusedAndOutOfALoopIsFine) {
  expect_refused(kernel("if (x[GID_X] > 0) { break; }"), "break", 5);
  expect_fine(kernel("for (uint i = 0u; i < 3u; ++i) { if (x[i] > 0) { break; } }"));
  expect_fine(kernel("for (uint i = 0u; i < 3u; ++i) if (x[i] > 0) break;"));
  expect_refused(kernel("for (uint i = 0u; i < 3u; ++i) { x[i] = 0; } break;"), "break", 5);
  expect_fine(kernel("if (x[GID_X] > 0) { continue; }"));
}

TEST(KernelDialectCheck, ChangingAVariableOfTheWorkgroupInAPhaseIsRefused) {
  for (const char* change : {"sum += x[GID_X];", "sum = 1u;", "++sum;", "sum--;", "sum <<= 1u;"}) {
    const auto ok = check_dialect(kernel(change, "uint sum = 0u;"));
    ASSERT_FALSE(ok) << change;
    EXPECT_NE(ok.error().message.find("PRV"), std::string::npos);
  }
  expect_fine(kernel("x[GID_X] = sum;", "uint sum = 0u;"));
  expect_fine(kernel("if (sum == 3u && sum <= 4u) { x[GID_X] = sum; }", "uint sum = 0u;"));
  expect_fine(kernel("uint sum = 1u; sum += 2u; x[GID_X] = sum;", "uint sum = 0u;"));
  expect_fine(kernel("x[GID_X] = 1u;", "uint sum = 0u; sum += 3u;"));
}

TEST(KernelDialectCheck, EveryKindOfVariableOfTheWorkgroupIsKnown) {
  const std::string box = "# 1 \"user.k\"\nstruct Box { float low; float high; };\n";
  expect_refused(kernel("b += 1u;", "uint a = max(1u, 2u), b = 0u;"), "b", 5);
  expect_refused(kernel("c = 1u;", "uint a, b[2], c;"), "c", 5);
  expect_refused(kernel("acc[1] += LID_X;", "uint acc[2];"), "acc", 5);
  expect_refused(kernel("acc[n[1]]++;", "uint acc[2];"), "acc", 5);
  expect_refused(kernel("++acc[1];", "uint acc[2];"), "acc", 5);
  expect_refused(kernel("u.x += 1u;", "uint4 u = uint4(0u, 0u, 0u, 0u);"), "u.x", 5);
  expect_refused(kernel("--u.x;", "uint4 u = uint4(0u, 0u, 0u, 0u);"), "u.x", 5);
  expect_refused(kernel("(sum) = 1u;", "uint sum = 0u;"), "sum", 5);
  expect_refused(kernel("PIANOLA_ATOMIC_ADD(acc, 0u, 1u);", "uint acc[2];"), "acc", 5);
  expect_refused(box + kernel("box.low += 1.0f;", "Box box;"), "box.low", 5);
  expect_refused(box + kernel("boxes[1].low += 1.0f;", "Box boxes[2];"), "boxes", 5);
  expect_fine(kernel("uint a = 0u, b = 1u; b += 1u; x[GID_X] = b;", "uint b = 0u;"));
  expect_fine(kernel("x[b] = a; x[acc[0]] = u.x; for (uint i = b, j = a; i < a; ++i, --j) { y.x += 1u; }",
                     "uint a = 0u, b = 0u; uint acc[2]; uint4 u = uint4(0u, 0u, 0u, 0u);"));
}

TEST(KernelDialectCheck, WhatAllThreadsShareIsNotWrittenBetweenPhases) {
  expect_refused(kernel("x[GID_X] = 1u;", "x[0] = 1u;"), "x", 3);
  expect_refused(kernel("x[GID_X] = 1u;", "x[n[1]].y += 1u;"), "x", 3);
  expect_refused(kernel("x[GID_X] = 1u;", "PIANOLA_ATOMIC_ADD(x, 0u, 1u);"), "x", 3);
  expect_refused(kernel("x[GID_X] = 1u;", "x[0]++;"), "x", 3);
  expect_refused(kernel("x[GID_X] = 1u;", "++x[0];"), "x", 3);
  expect_refused(kernel("x[GID_X] = 1u;", "if (WG_X == 0u) { own = 1u; }"), "own", 3);
  expect_fine(kernel("x[GID_X] = 1u;", "const uint v = x[0]; uint w = v, u[2]; u[0] = 1u; w += u[0]; w++;"));
  expect_fine(kernel("x[GID_X] = 1u;", "for (uint i = 0u, j = 1u; i <= n && j == 1u; ++i) { j -= 1u; }"));
}

TEST(KernelDialectCheck, StructsAreTypes) {
  const std::string box = "# 1 \"user.k\"\nstruct Box { float low; float high; };\n";
  expect_refused(box + "# 3 \"user.k\"\nPIANOLA_FN float f(const Box& x) { return x.low; }\n", "Box", 3);
  expect_refused(box + "# 3 \"user.k\"\nconst Box unit = {0.0f, 1.0f};\n", "Box", 3);
  expect_refused("# 3 \"user.k\"\nstruct Box { float low; } unit;\n", "}", 3);
  expect_fine(box + kernel("Box box; box.low = 1.0f; x[GID_X] = box.low;"));
}

TEST(KernelDialectCheck, PointersAndReferencesAreRefused) {
  expect_refused(kernel("uint* at = x;"), "uint", 5);
  expect_refused("# 4 \"user.k\"\nPIANOLA_FN float f(const float& x) { return x; }\n", "float", 4);
  expect_fine(kernel("x[GID_X] = 2u * uint(y) & 3u;"));
}

TEST(KernelDialectCheck, WhatGlslOrMslCannotTakeIsRefusedInHelpersToo) {
  const auto helper = [](const std::string& text) { return "# 3 \"user.k\"\nPIANOLA_FN " + text + "\n"; };
  expect_refused(helper("float f(float x = 1.0f) { return x; }"), "=", 3);
  expect_refused(helper("float f(float x[4]) { return x[0]; }"), "[", 3);
  expect_refused(helper("float f(float x);"), ";", 3);
  expect_refused(helper("float f(float x) { return x > 0.0f ? f(x - 1.0f) : x; }"), "f", 3);
  expect_fine(helper("float f(float x) { return x; }") + helper("float g(float x) { return f(x) + f(2.0f * x); }"));
  expect_refused("# 8 \"user.k\"\nconst float pi = 3.0f;\n", "float", 8);
  expect_refused(kernel("x[GID_X] = 1u;") + "# 9 \"user.k\"\nuint after;\n", "uint", 9);
}

TEST(KernelDialectCheck, NumbersThatMeanSomethingElseElsewhereAreRefused) {
  for (const char* number : {"1.0", "2.", ".5", "1e5", "0b101", "0x1.8p3", "3l", "7ull"}) {
    expect_refused(kernel("x[GID_X] = " + std::string(number) + ";"), number, 5);
  }
  expect_refused(kernel("x[GID_X] = 1e-5;"), "1e", 5);
  for (const char* number : {"1.0f", ".5f", "1e5f", "1e-5f", "1.5e+3F", "0xffu", "0xE", "12u", "3"}) {
    expect_fine(kernel("x[GID_X] = " + std::string(number) + ";"));
  }
  expect_fine(kernel("x[GID_X] = v[3].x + v[e1].w;"));
  for (const char* number : {"2147483648", "0x80000000", "4000000000", "020000000000", "4294967296u", "0x1ffffffffu",
                             "99999999999999999999"}) {
    expect_refused(kernel("x[GID_X] = " + std::string(number) + ";"), number, 5);
  }
  for (const char* number : {"2147483647", "0x7fffffff", "4294967295u", "0xffffffffU", "017777777777", "0", "0u"}) {
    expect_fine(kernel("x[GID_X] = " + std::string(number) + ";"));
  }
}

TEST(KernelDialectCheck, FormsOfCppAloneAreRefused) {
  expect_refused(kernel("x[GID_X] = (uint)y;"), "(", 5);
  expect_refused(kernel("x[GID_X] = (int)(y + 1);"), "(", 5);
  expect_refused(kernel("x[GID_X] = [&] { return 1u; }();"), "[", 5);
  expect_refused(kernel("x[GID_X] = std::min(y, z);"), "::", 5);
  expect_refused(kernel("x[GID_X] = __builtin_popcount(y);"), "__builtin_popcount", 5);
  expect_refused(kernel("x[GID_X] = 'a';"), "'", 5);
  expect_fine(kernel("x[GID_X] = uint(y) + (z) + (y > 1u ? 2u : 3u);"));
}

TEST(KernelDialectCheck, WordsOfOtherLanguagesAreRefusedByLine) {
  for (const char* word :
       {"template", "static", "double", "auto", "unsigned", "goto", "void", "uint64_t", "and", "reinterpret_cast"}) {
    expect_refused(kernel(std::string(word) + " a;"), word, 5);
  }
  expect_fine(kernel("x[GID_X] = void_count + template_size;"));
}

}  // namespace
}  // namespace pianola::kernel_build
