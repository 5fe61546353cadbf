// SPDX-License-Identifier: Apache-2.0
// Packing files that are already compiled, here those of the dialect's test kernels.
#include "kernel_build/pack.hpp"

#include "kernel_build/process.hpp"
#include "kernel_pack_fixture.hpp"

namespace pianola::kernel_build {
namespace {

constexpr const char* whole = R"({"name": "integers", "workgroup": [64], "arguments": [
  {"buffer": "a", "access": "in", "element_size": 4}, {"buffer": "b", "access": "in", "element_size": 4},
  {"buffer": "x", "access": "out", "element_size": 4}, {"buffer": "y", "access": "out", "element_size": 4},
  {"constant": "n", "size": 4}]})";
constexpr const char* only_name = R"({"name": "integers"})";
constexpr const char* ptx = R"({"file": "sm_70", "format": "ptx", "arch": "sm_70"})";
constexpr const char* hsaco = R"({"file": "gfx90a", "format": "hsaco", "arch": "gfx90a"})";
constexpr const char* spirv = R"({"file": "vulkan1.1", "format": "spirv", "arch": "vulkan1.1"})";
constexpr const char* host = R"({"file": "x86-64", "format": "host", "arch": "x86-64"})";

TEST_F(KernelPack, FilesOfEveryFormatThatAgreeWithTheManifest) {
  const auto packed = pack(whole, std::string(ptx) + "," + hsaco + "," + spirv + "," + host);
  ASSERT_TRUE(packed) << to_string(packed.error());
  const auto image = format::write_library(*packed);
  ASSERT_TRUE(image) << to_string(image.error());
  const auto library = KernelLibrary::from_bytes(*image);
  ASSERT_TRUE(library) << to_string(library.error());
  EXPECT_EQ(library->name(), "packed");
  EXPECT_EQ(library->objects().size(), 4U);
  const KernelInfo& info = library->kernels()[0];
  EXPECT_EQ(info.bindings[2].access, Access::out);
  EXPECT_EQ(info.constant_bytes, 4U);
}

TEST_F(KernelPack, WhatTheManifestLeavesOutComesFromTheFiles) {
  for (const char* object : {host, spirv}) {
    const auto packed = pack(only_name, object);
    ASSERT_TRUE(packed) << to_string(packed.error());
    const KernelInfo& info = packed->kernels[0];
    ASSERT_EQ(info.bindings.size(), 4U) << object;
    EXPECT_EQ(info.bindings[0].access, Access::in);
    EXPECT_EQ(info.bindings[3].element_size, 4U);
    EXPECT_EQ(info.constant_bytes, 4U);
    EXPECT_EQ(info.workgroup[0], 64U);
  }
  const auto amd = pack(R"({"name": "integers", "workgroup": [64]})", hsaco);
  ASSERT_TRUE(amd) << to_string(amd.error());
  EXPECT_EQ(amd->kernels[0].bindings.size(), 4U);
}

TEST_F(KernelPack, WhatNobodyTellsIsAskedFor) {
  expect_error(only_name, ptx, Errc::invalid_argument, "no file tells its arguments");
  expect_error(only_name, hsaco, Errc::invalid_argument, "no file tells its workgroup");
}

TEST_F(KernelPack, AManifestThatContradictsAFileIsRefused) {
  const std::string long_constant = R"({"name": "integers", "workgroup": [64], "arguments": [
    {"buffer": "a"}, {"buffer": "b"}, {"buffer": "x"}, {"buffer": "y"}, {"constant": "n", "size": 8}]})";
  for (const char* object : {ptx, hsaco}) expect_error(long_constant, object, Errc::mismatch, "the library says");
  const std::string read_only = R"({"name": "integers", "workgroup": [64], "arguments": [
    {"buffer": "a"}, {"buffer": "b"}, {"buffer": "x", "access": "in", "element_size": 4}, {"buffer": "y"},
    {"constant": "n", "size": 4}]})";
  expect_error(read_only, spirv, Errc::mismatch, "binding 'x' is out, the library says in");
}

TEST_F(KernelPack, WhatTheManifestStatesBesideARecordStays) {
  const auto packed = pack(R"({"name": "integers", "shared_bytes": 128, "dynamic_shared_bytes": 4096})", host);
  ASSERT_TRUE(packed) << to_string(packed.error());
  EXPECT_EQ(packed->kernels[0].shared_bytes, 128U);
  EXPECT_EQ(packed->kernels[0].dynamic_shared_bytes, 4096U);
  EXPECT_EQ(packed->kernels[0].bindings[0].name, "a");
  EXPECT_EQ(packed->kernels[0].workgroup[0], 64U);
  const auto flags = pack(R"({"name": "holes"})", host);
  ASSERT_TRUE(flags) << to_string(flags.error());
  EXPECT_TRUE(flags->kernels[0].opaque && flags->kernels[0].may_alias);
  expect_error(R"({"name": "integers", "workgroup": [32]})", host, Errc::mismatch,
               "workgroups of 64 x 1 x 1, the library says 32 x 1 x 1");
  expect_error(R"({"name": "integers", "opaque": true})", host, Errc::mismatch, "the library says opaque");
  expect_error(R"({"name": "integers", "may_alias": true})", host, Errc::mismatch, "the library says may_alias");
  expect_error(R"({"name": "holes", "opaque": false})", host, Errc::mismatch, "the library says not opaque");
}

TEST_F(KernelPack, SpirvHasNoDynamicWorkgroupMemory) {
  expect_error(R"({"name": "integers", "dynamic_shared_bytes": 512})", spirv, Errc::mismatch,
               "kernel 'integers', spirv for vulkan1.1: SPIR-V has no dynamic workgroup memory");
}

TEST_F(KernelPack, ASymbolOrFileThatIsNotThereIsNamed) {
  expect_error(whole, R"({"file": "sm_70", "format": "ptx", "arch": "sm_70", "symbols": {"integers": "nope"}})",
               Errc::mismatch, "nope");
  expect_error(whole, R"({"file": "sm_70", "format": "ptx", "arch": "sm_70", "symbols": {"other": "x"}})",
               Errc::missing_kernel, "other");
  expect_error(whole, R"({"file": "missing.ptx", "format": "ptx", "arch": "sm_70"})", Errc::io, "missing.ptx");
  expect_error(whole, R"({"file": "gfx90a", "format": "ptx", "arch": "sm_70"})", Errc::corrupt, "gfx90a");
}

TEST_F(KernelPack, AFileThatIsNoObjectIsNamedWithItsTarget) {
  std::ofstream(folder_ + "/notes.txt")
      << "Nothing that a compiler made, and longer than any header of an object file.\n";
  const auto notes = [](const std::string& format, const std::string& arch) {
    return R"({"file": "notes.txt", "format": ")" + format + R"(", "arch": ")" + arch + R"("})";
  };
  constexpr std::pair<const char*, const char*> targets[] = {{"host", "x86-64"},     {"ptx", "sm_70"},
                                                             {"cubin", "sm_90"},     {"hsaco", "gfx90a"},
                                                             {"spirv", "vulkan1.1"}, {"metallib", "metal3.1"}};
  for (const auto& [format, arch] : targets) {
    expect_error(whole, notes(format, arch), Errc::corrupt,
                 std::string("notes.txt: ") + format + " for " + arch + ": ");
  }
}

TEST_F(KernelPack, AFileForAnotherArchitectureIsNamed) {
  struct Case {
    const char *file, *format, *listed;
    bool suits;
  };
  for (const Case& each : {Case{"sm_70", "ptx", "sm_75", false}, Case{"sm_90", "ptx", "sm_90a", true},
                           Case{"gfx90a", "hsaco", "gfx942", false}, Case{"gfx90a", "hsaco", "gfx90a:xnack+", true},
                           Case{"aarch64", "host", "x86-64", false}, Case{"x86-64", "host", "x86-64-v3", true}}) {
    const std::string object = std::string(R"({"file": ")") + each.file + R"(", "format": ")" + each.format +
                               R"(", "arch": ")" + each.listed + R"("})";
    if (each.suits) {
      const auto packed = pack(whole, object);
      EXPECT_TRUE(packed) << to_string(packed.error());
    } else {
      expect_error(
          whole, object, Errc::mismatch,
          std::string(each.file) + ": " + each.format + " for " + each.listed + ": the file is for " + each.file);
    }
  }
}

TEST_F(KernelPack, ItsArchitectureIsFoundBehindAnyBlanks) {
  std::ofstream(folder_ + "/blanks.ptx") << ".version 6.3\n.target \t sm_80\n.entry k() { ret; }\n";
  const auto kernel = R"({"name": "k", "workgroup": [1], "arguments": []})";
  expect_error(kernel, R"({"file": "blanks.ptx", "format": "ptx", "arch": "sm_70"})", Errc::mismatch,
               "the file is for sm_80");
  EXPECT_TRUE(pack(kernel, R"({"file": "blanks.ptx", "format": "ptx", "arch": "sm_80"})"));
}

TEST_F(KernelPack, TwoObjectsOfOneKernelForOneTargetAreRefused) {
  expect_error(whole, std::string(ptx) + "," + ptx, Errc::invalid_argument,
               "kernel 'integers' has two objects of ptx for sm_70: sm_70 and sm_70");
  EXPECT_TRUE(pack(whole, std::string(hsaco) + R"(, {"file": "gfx90a", "format": "hsaco", "arch": "gfx90a:xnack+"})"));
}

TEST_F(KernelPack, MslMustHaveTheKernelsName) {
  const std::string object = R"({"file": "by_hand.metal", "format": "msl", "arch": "msl"})";
  const auto write = [&](const std::string& text) { std::ofstream(folder_ + "/by_hand.metal") << text; };
  for (const char* text : {"#include <metal_stdlib>\nkernel void other() {}\n", "kernel void integers2() {}\n",
                           "kernel void my_integers() {}\n", ""}) {
    write(text);
    expect_error(whole, object, Errc::mismatch, "kernel 'integers', msl for msl: the file has no 'integers'");
  }
  for (const char* text : {"#include <metal_stdlib>\nkernel void integers() {}\n", "# include \"all.h\"\n",
                           "#define K(n) kernel void inte##n() {}\nK(gers)\n"}) {
    write(text);
    const auto packed = pack(whole, object);
    EXPECT_TRUE(packed) << text << to_string(packed.error());
  }
}

TEST_F(KernelPack, AMetallibBeginsWithItsMagic) {
  const std::string object = R"({"file": "made.metallib", "format": "metallib", "arch": "metal3.1"})";
  for (const char* magic : {"MTLB", "\xcb\xfe\xba\xbe", "\xca\xfe\xba\xbe"}) {
    std::ofstream(folder_ + "/made.metallib") << magic << " and what only Apple's compiler writes";
    const auto packed = pack(whole, object);
    EXPECT_TRUE(packed) << to_string(packed.error());
  }
}

/// Host objects without records of the dialect.
class KernelPackByHand : public KernelPack {
 protected:
  void compile(const std::string& text) const {
    std::ofstream(folder_ + "/by_hand.c") << text;
    const auto result = run_process({"clang-19", "--target=x86_64-linux-gnu", "-shared", "-nostdlib", "-o",
                                     folder_ + "/by_hand.so", folder_ + "/by_hand.c"});
    ASSERT_TRUE(result) << to_string(result.error());
    ASSERT_EQ(result->status, 0) << result->output;
  }
};

constexpr const char* by_hand = R"({"file": "by_hand.so", "format": "host", "arch": "x86-64"})";

TEST_F(KernelPackByHand, OnlyNamesAreChecked) {
  compile("const unsigned pianola_host_abi = 1; void integers(const void* launch) { (void)launch; }");
  const auto packed = pack(whole, by_hand);
  EXPECT_TRUE(packed) << to_string(packed.error());
  compile("const unsigned pianola_host_abi = 1; void other(const void* launch) { (void)launch; }");
  expect_error(whole, by_hand, Errc::mismatch, "kernel 'integers', host for x86-64: the file has no 'integers'");
  compile("void integers(const void* launch) { (void)launch; }");
  expect_error(whole, by_hand, Errc::corrupt, "by_hand.so: host for x86-64: this is no host object");
}

// A kernel as people write them, with none of this library's headers.
constexpr const char* foreign_source = R"(
struct Box { float low[3], high[3]; };
extern "C" __attribute__((global)) void clip(unsigned long long n, const float* from, Box box, float* to,
                                             unsigned char axis) {
  for (unsigned long long i = 0; i < n; ++i) to[i] = from[i] < box.low[axis] ? box.low[axis] : from[i];
})";
constexpr const char* clip = R"({"name": "clip", "workgroup": [1], "arguments": [{"constant": "n", "size": 8},
  {"buffer": "from"}, {"constant": "box", "size": 24, "align": 4}, {"buffer": "to"}, {"constant": "axis", "size": 1}]})";
constexpr const char* clip_ptx = R"({"file": "clip.ptx", "format": "ptx", "arch": "sm_75"})";
constexpr const char* clip_hsaco = R"({"file": "clip.hsaco", "format": "hsaco", "arch": "gfx90a"})";

class KernelPackForeign : public KernelPack {
 protected:
  void SetUp() override {
    KernelPack::SetUp();
    std::ofstream(folder_ + "/clip.cu") << foreign_source;
    compile({"-x", "cuda", "--cuda-path=" + folder_, "--cuda-gpu-arch=sm_75", "-nocudainc", "-nocudalib", "-S"}, "ptx");
    compile({"-x", "hip", "--offload-arch=gfx90a", "-nogpuinc", "-nogpulib", "--no-gpu-bundle-output"}, "hsaco");
  }
  void compile(std::vector<std::string> options, const std::string& extension) const {
    std::vector<std::string> command = {"clang-19", "--cuda-device-only", "-O2", "-o", folder_ + "/clip." + extension};
    command.insert(command.end(), options.begin(), options.end());
    command.push_back(folder_ + "/clip.cu");
    const auto result = run_process(command);
    ASSERT_TRUE(result) << to_string(result.error());
    ASSERT_EQ(result->status, 0) << result->output;
  }
};

TEST_F(KernelPackForeign, StructsWideNumbersAndBuffersBehindValues) {
  const auto packed = pack(clip, std::string(clip_ptx) + "," + clip_hsaco);
  ASSERT_TRUE(packed) << to_string(packed.error());
  const auto library = KernelLibrary::from_bytes(format::write_library(*packed).value());
  ASSERT_TRUE(library) << to_string(library.error());
  const KernelInfo& info = library->kernels()[0];
  EXPECT_EQ(info.argument_order, (std::vector<uint32_t>{2, 0, 3, 1, 4}));
  ASSERT_EQ(info.constants.size(), 3U);
  EXPECT_EQ(info.constants[1].offset, 8U);
  EXPECT_EQ(info.constants[2].offset, 32U);
  EXPECT_EQ(info.constant_bytes, 33U);
}

TEST_F(KernelPackForeign, AmdsNotesTellTheOrder) {
  const auto packed = pack(R"({"name": "clip", "workgroup": [1]})", clip_hsaco);
  ASSERT_TRUE(packed) << to_string(packed.error());
  const KernelInfo& info = packed->kernels[0];
  EXPECT_EQ(info.argument_order, (std::vector<uint32_t>{2, 0, 3, 1, 4}));
  ASSERT_EQ(info.constants.size(), 3U);
  EXPECT_EQ(info.constants[1].size, 24U);
}

TEST_F(KernelPackForeign, AnotherOrderOrSizeThanTheFilesIsNamed) {
  const std::string swapped = R"({"name": "clip", "workgroup": [1], "arguments": [{"constant": "n", "size": 8},
    {"constant": "box", "size": 24, "align": 4}, {"buffer": "from"}, {"buffer": "to"}, {"constant": "axis", "size": 1}]})";
  std::string longer = clip;
  longer.replace(longer.find("24"), 2, "32");
  for (const char* object : {clip_ptx, clip_hsaco}) {
    expect_error(swapped, object, Errc::mismatch, "kernel 'clip'");
    expect_error(longer, object, Errc::mismatch, "parameter 2 has 24 bytes");
  }
  expect_error(swapped, clip_ptx, Errc::mismatch, "ptx for sm_75");
  expect_error(swapped, clip_hsaco, Errc::mismatch, "hsaco for gfx90a");
}

TEST_F(KernelPack, PtxTellsThatItTakesDynamicWorkgroupMemory) {
  std::ofstream(folder_ + "/dynamic.ptx") << R"(.version 6.3
.target sm_70
.address_size 64
.extern .shared .align 16 .b8 words[];
.visible .entry takes(.param .u64 takes_param_0) {
  .shared .align 4 .b8 own[400];
  st.shared.u32 [words], 1;
  st.shared.u32 [own], 1;
}
.visible .entry takes_none(.param .u64 takes_none_param_0) {
  ret;
})";
  const std::string object = R"({"file": "dynamic.ptx", "format": "ptx", "arch": "sm_70"})";
  const auto kernel = [](const std::string& name, const std::string& more) {
    return R"({"name": ")" + name + R"(", "workgroup": [32], "arguments": [{"buffer": "x"}])" + more + "}";
  };
  expect_error(kernel("takes", ""), object, Errc::mismatch,
               "kernel 'takes', ptx for sm_70: the file says dynamic shared memory, the library says none");
  const auto packed = pack(kernel("takes", R"(, "dynamic_shared_bytes": 65536)"), object);
  ASSERT_TRUE(packed) << to_string(packed.error());
  EXPECT_EQ(packed->kernels[0].shared_bytes, 400U);
  EXPECT_EQ(packed->kernels[0].dynamic_shared_bytes, 65536U);
  EXPECT_TRUE(pack(kernel("takes_none", ""), object));
  // One function may be several kernels, which differ in what they add.
  const auto two = pack(kernel("large", R"(, "dynamic_shared_bytes": 65536)") + "," +
                            kernel("small", R"(, "dynamic_shared_bytes": 1024)"),
                        R"({"file": "dynamic.ptx", "format": "ptx", "arch": "sm_70",
                            "symbols": {"large": "takes", "small": "takes"}})");
  ASSERT_TRUE(two) << to_string(two.error());
  EXPECT_EQ(two->kernels[1].dynamic_shared_bytes, 1024U);
}

}  // namespace
}  // namespace pianola::kernel_build
