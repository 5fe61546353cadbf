// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/dialect_check.hpp"

#include <string>

namespace pianola::kernel_build {
namespace {

constexpr std::string_view arguments =
    "INOUT(uint, x), INOUT_AT(0, 7, uint4, y), IN(uint, only), VAL(uint, m), VALA(uint, n, 3), SHARED(uint, tile, 64), "
    "PRV(uint, own), PRVA(uint, pair, 2)";

/// A kernel whose one phase holds `phase` on line 5, after `before` on line 3.
std::string kernel(const std::string& phase, const std::string& before = "",
                   const std::string& bounds = "GID_X < (m)") {
  return "# 2 \"user.k\"\n@@kernel k @@args " + std::string(arguments) + " @@body\n" + before + "\n@@phase do { if (" +
         bounds + ") {\n" + phase + "\n} } while (false); @@endphase\n@@end\n";
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
  expect_fine(kernel("while (x[GID_X] > 0) if (m > 1u) { x[GID_X] -= 1u; } else break;"));
  expect_fine(kernel("for (uint4 v = uint4{1u, 2u, 3u, 4u}; v.x < 9u; v.x += 1u) { break; }"));
  expect_fine(kernel("switch (m) { case 1u: break; default: x[0] = 1u; }"));
  expect_refused(kernel("while (x[GID_X] > 0) if (m > 1u) { x[GID_X] -= 1u; } break;"), "break", 5);
  expect_refused(kernel("do x[GID_X] -= 1u; while (x[GID_X] > 0); break;"), "break", 5);
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
  expect_refused(kernel("u.x += 1u;", "uint4 u = uint4(0u, 0u, 0u, 0u);"), "u", 5);
  expect_refused(kernel("--u.x;", "uint4 u = uint4(0u, 0u, 0u, 0u);"), "u", 5);
  expect_refused(kernel("(sum) = 1u;", "uint sum = 0u;"), "sum", 5);
  expect_refused(kernel("((acc)[1]) = 1u;", "uint acc[2];"), "acc", 5);
  expect_refused(kernel("PIANOLA_ATOMIC_ADD(acc, 0u, 1u);", "uint acc[2];"), "acc", 5);
  expect_refused(box + kernel("box.low += 1.0f;", "Box box;"), "box", 5);
  expect_refused(box + kernel("boxes[1].low += 1.0f;", "Box boxes[2];"), "boxes", 5);
  expect_fine(kernel("uint a = 0u, b = 1u; b += 1u; x[GID_X] = b;", "uint b = 0u;"));
  expect_fine(kernel("x[b] = a; x[acc[0]] = u.x; for (uint i = b, j = a; i < a; ++i, --j) { y[1].x += 1u; }",
                     "uint a = 0u, b = 0u; uint acc[2]; uint4 u = uint4(0u, 0u, 0u, 0u);"));
}

TEST(KernelDialectCheck, AVariableOfTheWorkgroupChangesInAPhaseInNoForm) {
  for (const char* change : {"(n0)++;",
                             "++(n0);",
                             "((n0)) += 1u;",
                             "if (LID_X == 3u) x[0] = 7u; else ++n0;",
                             "do ++n0; while (x[0] < 3u);",
                             "for (;;) n0--;",
                             "while (n0++ < 3u) { }",
                             "switch (--n0) { }",
                             "x[n0++] = 1u;",
                             "x[0] = uint((n0 = 3u));",
                             "uint k = n0++;",
                             "uint k[n0++];",
                             "x[0] = m > 1u ? n0++ : 0u;",
                             "x[0] = - --n0;",
                             "switch (m) { case 1u: n0 = 1u; }",
                             "x[0] = x[1] - --n0;",
                             "x[0] = n0---m;",
                             "{ { { n0 = 1u; } } }",
                             "uint4 v = {n0++, 1u, 1u, 1u};",
                             "m, n0 = 1u;",
                             "x[0] = min((1u), (n0 *= 2u));",
                             "for (uint i = 0u; i < n0; ++n0) { }",
                             "if (n0 = 1u) { }"}) {
    expect_refused(kernel(change, "uint n0 = m;"), "n0", 5);
  }
  for (const char* form : {"*&n0 = 1u;", "(*&n0)++;", "0[&n0] = 1u;", "x[0] = *(&n0);", "f(&n0);"}) {
    EXPECT_FALSE(check_dialect(kernel(form, "uint n0 = m;"))) << form;
  }
  expect_refused(kernel("(m > 1u ? n0 : n1) = 1u;", "uint n0 = m, n1 = m;"), "=", 5);
  expect_refused(kernel("(m, n0)++;", "uint n0 = m;"), "++", 5);
  expect_refused(kernel("f(n0) = 1u;", "uint n0 = m;"), "=", 5);
  expect_refused(kernel("x[0] = ({ ++n0; n0; });", "uint n0 = m;"), "n0", 5);
  expect_refused(kernel("x[0] = ({ f(n0); n0; });", "uint n0 = m;"), ";", 5);
  expect_refused(kernel("n0<:0:> = 1u;", "uint n0[2];"), "<:", 5);
}

TEST(KernelDialectCheck, ANameHidesAnOuterOneInItsOwnBlockAlone) {
  expect_refused(kernel("{ uint n0 = 1u; n0 += 1u; } n0 += 1u;", "uint n0 = m;"), "n0", 5);
  expect_refused(kernel("for (uint n0 = 0u; n0 < 3u; ++n0) { } n0 = 1u;", "uint n0 = m;"), "n0", 5);
  expect_refused(kernel("if (m > 1u) uint n0 = 1u; n0 = 1u;", "uint n0 = m;"), "n0", 5);
  expect_refused(kernel("do { uint n0 = 1u; } while (n0++ < 3u);", "uint n0 = m;"), "n0", 5);
  expect_refused(kernel("n0 = 1u; uint n0 = 1u;", "uint n0 = m;"), "n0", 5);
  expect_fine(
      kernel("for (uint n0 = 0u; n0 < 3u; ++n0) { n0 += 1u; } { uint n0 = 1u; { n0 += 1u; } }", "uint n0 = m;"));
  expect_refused(kernel("x[0] = 1u;", "{ uint n0 = m; n0 += 1u; } n0 += 1u;"), "n0", 3);
  expect_refused(kernel("uint n0 = n0 + 1u;", "uint n0 = m;"), "n0", 5);
  expect_fine(kernel("uint f = f(y[0].f);"));
}

TEST(KernelDialectCheck, TheBoundsOfAPhaseChangeNothing) {
  expect_refused(kernel("x[0] = 1u;", "uint n0 = m;", "GID_X < (n0++)"), "n0", 4);
  expect_refused(kernel("x[0] = 1u;", "", "GID_X < (x[0] = 3u)"), "x", 4);
  expect_refused(kernel("x[0] = 1u;", "", "GID_X < (PIANOLA_ATOMIC_ADD(x, 0u, 1u))"), "x", 4);
  expect_refused(kernel("x[0] = 1u;", "", "GID_X < (@@own own)"), "own", 4);
  expect_fine(kernel("x[0] = 1u;", "uint n0 = m;", "GID_X < (n0 > m ? n0 - m : 0u) && GID_Y < (x[3])"));
}

TEST(KernelDialectCheck, APhaseStandsByItselfBetweenPhases) {
  const std::string phase = "@@phase do { if (true) { x[0] = 1u; } } while (false); @@endphase";
  expect_refused(kernel(phase), "@@phase", 5);
  expect_fine(kernel("", "for (uint i = 0u; i < m; ++i) " + phase));
  expect_fine(kernel("", "for (uint i = 0u; i < m; ++i) { " + phase + " PIANOLA_BARRIER }"));
  // The loop would end in front of the barrier.
  expect_refused(kernel("", "for (uint i = 0u; i < m; ++i) " + phase + " PIANOLA_BARRIER"), "@@phase", 3);
  expect_refused(kernel("if (m > 1u) { } } while (false); @@endphase @@phase do { if (true) { }"), "while", 5);
  expect_refused(kernel("", "} } while (false); @@endphase"), "}", 3);
  const std::string label = "@@phase do { if (true) { case 1u: x[0] = 1u; } } while (false); @@endphase";
  expect_refused(kernel("", "switch (m) { default: " + label + " }"), "case", 3);
  expect_fine(kernel("", "switch (m) { case 1u: " + phase + " break; default: break; }"));
}

TEST(KernelDialectCheck, OfMemoryOnlyElementsChange) {
  expect_refused(kernel("x = y;"), "x", 5);
  expect_refused(kernel("x++; x[0] = 1u;"), "x", 5);
  expect_refused(kernel("(x) += 4u;"), "x", 5);
  expect_refused(kernel("++only;"), "only", 5);
  expect_refused(kernel("only[0] = 1u;"), "only", 5);
  expect_refused(kernel("m = 1u;"), "m", 5);
  expect_refused(kernel("n[1] = 1u;"), "n", 5);
  expect_refused(kernel("LID_X += 2u;"), "LID_X", 5);
  expect_refused(kernel("uint LID_X = 2u;"), "LID_X", 5);
  expect_refused("# 3 \"user.k\"\n@@kernel k @@args OUT(uint, x), VAL(uint, NWG_X) @@body @@end\n", "NWG_X", 3);
  expect_refused(kernel("other = 2u;"), "other", 5);
  expect_fine(kernel("(x)[0] = 1u; (x[1]) += 1u; y[2].x = 1u; ++y[x[0]].w; tile[LID_X]--;"));
  expect_refused(kernel("uint k = 0u; PIANOLA_ATOMIC_ADD(k, 0u, 1u);"), "k", 5);
  expect_refused(kernel("PIANOLA_ATOMIC_ADD(only, 0u, 1u);"), "only", 5);
  expect_refused(kernel("PIANOLA_ATOMIC_ADD(x + 1, 0u, 1u);"), "PIANOLA_ATOMIC_ADD", 5);
  expect_fine(kernel("x[0] = PIANOLA_ATOMIC_ADD((tile), x[1] + max(1u, 2u), 1u);"));
}

TEST(KernelDialectCheck, AThreadsOwnValuesAreReadAsSuch) {
  expect_fine(kernel("@@own own = 1u; @@own own += @@item pair[0]; @@item pair[1] = @@own own; ++@@own own;"));
  expect_refused(kernel("own = 1u;"), "own", 5);
  expect_refused(kernel("x[0] = own ? 1u : 2u;"), "own", 5);
  expect_refused(kernel("x[0] = pair[1];"), "pair", 5);
  // The element of another thread on a CPU.
  expect_refused(kernel("@@own pair[1] = 1u;"), "pair", 5);
  expect_refused(kernel("@@item own[1] = 1u;"), "own", 5);
  expect_refused(kernel("uint k[2]; x[0] = @@own k ? 1u : 2u;"), "k", 5);
  expect_refused(kernel("", "uint k = @@own own;"), "own", 3);
  expect_fine(kernel("uint own = 1u; own += 1u; x[own] = y[0].pair;"));
}

TEST(KernelDialectCheck, OnlyPlainDeclarationsAreRead) {
  expect_refused(kernel("", "uint n0{m};"), "n0", 3);
  expect_refused(kernel("", "uint n0(m);"), "n0", 3);
  expect_refused(kernel("", "uint (n0) = m;"), "uint", 3);
  expect_refused(kernel("uint a = 0u, *p = 0;"), "*", 5);
  expect_refused(kernel("uint a = 0u, &r = n0;", "uint n0 = m;"), "&", 5);
  expect_refused(kernel("uint const* p = x;"), "uint", 5);
  expect_refused(kernel("for (uint v : n) { }"), ":", 5);
  expect_refused(kernel("if (uint k = m) { }"), "uint", 5);
  expect_refused(kernel("uint_fast32_t k = m;"), "uint_fast32_t", 5);
  expect_refused(kernel("uint_fast32_t* p = x;"), "p", 5);
  expect_refused(kernel("_Thread_local uint k = m;"), "_Thread_local", 5);
  expect_refused(kernel("uint k$ = m;"), "$", 5);
  expect_refused("# 3 \"user.k\"\nconst uint size{16u};\n", "uint", 3);
  expect_refused("# 3 \"user.k\"\nuint size(16u), other;\n", "uint", 3);
  expect_refused("# 3 \"user.k\"\nint64_hash f;\n", "int64_hash", 3);
  expect_fine(kernel("uint a[2] = {1u, 2u}, b = 3u; const uint c = a[b & 1u]; ; x[0] = c;"));
}

TEST(KernelDialectCheck, LongAndDeepTextsAreRead) {
  std::string chain = "if (m == 0u) x[0] = 0u;";
  std::string nested;
  for (int i = 0; i < 3000; ++i) {
    chain += " else if (m == 1u) x[0] = 1u;";
    nested += "if (m == 1u) ";
  }
  expect_fine(kernel(chain));
  expect_refused(kernel(nested + "x[0] = 1u;"), "if", 5);
  expect_refused(kernel("x[0] = " + std::string(100000, '(') + "1u" + std::string(100000, ')') + ";"), "(", 5);
}

TEST(KernelDialectCheck, WhatAllThreadsShareIsNotWrittenBetweenPhases) {
  expect_refused(kernel("x[GID_X] = 1u;", "x[0] = 1u;"), "x", 3);
  expect_refused(kernel("x[GID_X] = 1u;", "x[n[1]].y += 1u;"), "x", 3);
  expect_refused(kernel("x[GID_X] = 1u;", "(x[0])++;"), "x", 3);
  expect_refused(kernel("x[GID_X] = 1u;", "++(x[0]);"), "x", 3);
  expect_refused(kernel("x[GID_X] = 1u;", "uint k = x[0]++;"), "x", 3);
  expect_refused(kernel("x[GID_X] = 1u;", "PIANOLA_ATOMIC_ADD(x, 0u, 1u);"), "x", 3);
  expect_refused(kernel("x[GID_X] = 1u;", "x[0]++;"), "x", 3);
  expect_refused(kernel("x[GID_X] = 1u;", "++x[0];"), "x", 3);
  expect_refused(kernel("x[GID_X] = 1u;", "if (WG_X == 0u) { tile[0] = 1u; }"), "tile", 3);
  expect_fine(kernel("x[GID_X] = 1u;", "const uint v = x[0]; uint w = v, u[2]; u[0] = 1u; w += u[0]; w++;"));
  expect_fine(kernel("x[GID_X] = k;", "uint k = m; if (m > 4u) k = 2u; else ++k;"));
  expect_fine(kernel("x[GID_X] = 1u;", "for (uint i = 0u, j = 1u; i <= n && j == 1u; ++i) { j -= 1u; }"));
}

TEST(KernelDialectCheck, StructsAreTypes) {
  const std::string box = "# 1 \"user.k\"\nstruct Box { float low; float high; };\n";
  expect_refused(box + "# 3 \"user.k\"\nPIANOLA_FN float f(const Box& x) { return x.low; }\n", "Box", 3);
  expect_refused(box + "# 3 \"user.k\"\nconst Box unit = {0.0f, 1.0f};\n", "Box", 3);
  expect_refused("# 3 \"user.k\"\nstruct Box { float low; } unit;\n", "}", 3);
  expect_refused("# 3 \"user.k\"\nstruct Count { uint n; uint next() { return n++; } };\n", "(", 3);
  expect_refused("# 3 \"user.k\"\nstruct Count { uint n = 3u; };\n", "=", 3);
  expect_refused("# 3 \"user.k\"\nstruct Count { uint* n; };\n", "uint", 3);
  expect_refused(box + kernel("struct Two { Box a; } two;"), "}", 5);
  expect_fine(box + kernel("Box box; box.low = 1.0f; x[GID_X] = box.low;"));
  expect_fine(box + kernel("struct Two { Box a, b[2]; uint c; }; Two two; two.a.low = 1.0f; two.b[1].low = 2.0f;"));
}

TEST(KernelDialectCheck, MemoryHoldsNoBool) {
  const std::string flags = "# 1 \"user.k\"\nstruct Flags { uint n; bool a; };\nstruct All { Flags all[2]; };\n";
  const auto taking = [&](const std::string& entry) {
    return flags + "@@kernel k @@args " + entry + " @@body Flags f; f.a = true; bool b = f.a; @@end\n";
  };
  expect_refused(taking("IN(bool, x)"), "bool", 3);
  expect_refused(taking("IN_AT(0, 1, Flags, x)"), "Flags", 3);
  expect_refused(taking("OUT(uint, x), IN(All, y)"), "All", 3);
  expect_fine(taking("IN(uint, All), VAL(uint, Flags)"));
}

TEST(KernelDialectCheck, OtherSpellingsOfBracketsAreRefused) {
  // A compiler would close the block here, and take n0 for that of the workgroup.
  expect_refused(kernel("{ uint n0 = 1u; x[0] = n0; %> n0 += LID_X; <% ; }", "uint n0 = m;"), "%>", 5);
  expect_refused(kernel("<% x[0] = 1u; %>"), "<%", 5);
  expect_refused(kernel("x<:0] = 1u;"), "<:", 5);
  expect_refused(kernel("x[0:> = 1u;"), ":>", 5);
  expect_refused(kernel("x[0] = m %: 1u;"), "%:", 5);
  expect_fine(kernel("x[0] = m % 2u < 1u ? m : m > 2u ? 1u : 3u; x[1] %= 2u;"));
}

TEST(KernelDialectCheck, WhatAStatementChangesOnTheWayItNamesOnce) {
  const std::string i = "uint i = 0u, j = 0u; ";
  for (const char* statement :
       {"x[i] = ++i;", "x[j] = i++ + i;", "x[i++] = x[i];", "tile[i] = x[i++];", "i = i++;", "uint k = i++ + i;",
        "uint k[3] = {i, i++, 1u};", "if ((i = 1u) + i > 2u) { }", "while (i++ < m && x[i] > 0u) { }",
        "for (; i < m; x[i] = i++) { }", "x[0] = f(i, ++i);", "i += i -= 1u;", "x[i = 2u] = i;",
        "x[i] = m > 2u ? 1u, i++ : 2u;", "switch (i-- * i) { }", "i = (i += 1u);"}) {
    expect_refused(kernel(i + statement), "i", 5);
  }
  expect_refused(kernel("x[0] = x[1]++;"), "x", 5);
  expect_refused(kernel("x[0] = @@own own + ++@@own own;"), "own", 5);
  expect_refused(kernel("tile[0] = PIANOLA_ATOMIC_ADD(tile, 1u, 1u);"), "tile", 5);
  expect_refused(kernel("uint k = PIANOLA_ATOMIC_ADD(x, 0u, 1u) + PIANOLA_ATOMIC_ADD(x, 0u, 1u);"), "x", 5);
  expect_refused("# 3 \"user.k\"\nPIANOLA_FN uint f(uint v) { return v++ * v; }\n", "v", 3);
  for (const char* statement :
       {"i = i + x[i];", "x[i] = x[i] + i;", "i += i;", "++x[x[i]];", "x[x[i]]++;", "(i)++;", "x[i++] = x[j++];",
        "x[0] = y[0].x = 2u;", "i = j = 1u;", "for (i = 0u, j = i; i < m; ++i, j += i) { }", "while (i++ < m) { }",
        "x[i] = PIANOLA_ATOMIC_ADD(tile, i, 1u);", "uint k = PIANOLA_ATOMIC_ADD(x, x[1], 1u), l = i++, n0 = i;",
        "PIANOLA_ATOMIC_ADD(x, x[0], x[1]);", "@@own own = @@own own + 1u;", "++@@own own;", "y[i++].x = y[0].i;"}) {
    expect_fine(kernel(i + statement));
  }
  expect_refused(
      "# 3 \"user.k\"\n@@kernel k @@args INOUT(uint, x), INOUT(uint, y), MAY_ALIAS @@body\n@@phase do { if "
      "(true) {\n x[0] = y[0]++; } } while (false); @@endphase @@end\n",
      "y", 5);
}

TEST(KernelDialectCheck, StructsInBuffersLieTheSameEverywhere) {
  const auto taking = [](const std::string& structs) {
    return "# 2 \"user.k\"\n" + structs + "\n@@kernel k @@args IN_AT(0, 1, S, x) @@body @@end\n";
  };
  for (const char* structs :
       {"struct S { float a; float4 b; };", "struct S { float4 a; float b; };", "struct S { uint4 a[2]; u8 b; };",
        "struct In { float4 v; float w; }; struct S { In a[2]; };", "struct S { float a[3], b; uint c; float4 d; };",
        "struct In { float4 v; }; struct S { uint a; In b; };", "struct S { float a[2 * 2]; float4 b; };",
        "struct S { float a[n]; float4 b; };", "struct S { uint4 a[0x10]; half b[4][3]; };"}) {
    expect_refused(taking(structs), "S", 3);
  }
  for (const char* structs :
       {"struct S { float4 a; float b, c[2]; uint d; };", "struct S { u8 a; i16 b; float c; half d; };",
        "struct In { float4 v; float w[4]; }; struct S { In a[m]; uint4 b; };",
        "struct S { half a[0x4][2]; uint4 b; };", "struct S { float a[n]; u8 b[3]; };",
        "struct S { float a[4u]; float4 b; };"}) {
    expect_fine(taking(structs));
  }
  // Another one of that name, which no buffer holds.
  const std::string local = "# 2 \"user.k\"\nPIANOLA_FN float f() { struct S { float4 a; float b; }; return 1.0f; }\n";
  expect_fine(local + taking("struct S { float a; };"));
  expect_fine(taking("struct S { float a; }; struct Other { float4 a; float b; };"));
}

TEST(KernelDialectCheck, PragmasThatMoveMembersAreRefused) {
  for (const char* pragma :
       {"#pragma pack(1)", "# pragma pack(push, 2)", "#pragma clang attribute push(x)", "#pragma ms_struct on"}) {
    expect_refused("# 2 \"user.k\"\n" + std::string(pragma) + "\nstruct S { u8 a; float b; };\n", "#pragma", 2);
  }
  expect_fine("# 2 \"user.k\"\n#pragma unroll\n#pragma clang loop unroll(full)\n#pragma once\n");
}

TEST(KernelDialectCheck, AtomicsAreForInt) {
  const auto adding = [](const std::string& entry) {
    return "# 2 \"user.k\"\n@@kernel k @@args " + entry +
           " @@body\n@@phase do { if (true) { PIANOLA_ATOMIC_ADD(x, 0u, 1u); } } while (false); @@endphase @@end\n";
  };
  for (const char* entry : {"INOUT(float, x)", "SHARED(float, x, 64)", "INOUT_AT(0, 1, u16, x)", "INOUT(uint4, x)"}) {
    expect_refused(adding(entry), "x", 3);
  }
  expect_fine(adding("INOUT(float, y), INOUT(uint, x)") + adding("INOUT_AT(0, 1, int, x)"));
  expect_fine(adding("IN(float, y), SHARED(int, x, 64)"));
}

TEST(KernelDialectCheck, ElementsOfOneArrayAreSetInARow) {
  expect_fine(kernel("x[0] = x[1] = (x)[2] = 0u; @@item pair[0] = @@item pair[1] = m; x[2] = x[3] += 1u;"));
  for (const char* statement : {"x[x[1]] = x[1] = 0u;", "x[0] += x[0] = 1u;", "x[0] = m + (x[0] = 1u);",
                                "x[0] = x[1] = x[1] + 1u;", "x[0] = x[1] = x[2]++;", "x[0] = (x[1] = 0u);"}) {
    expect_refused(kernel(statement), "x", 5);
  }
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
