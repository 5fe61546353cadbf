// SPDX-License-Identifier: Apache-2.0
// Packing CUDA binaries.
#include "kernel_build/files.hpp"
#include "kernel_build/reflect.hpp"
#include "kernel_pack_fixture.hpp"
#include "made_elf.hpp"

namespace pianola::kernel_build {
namespace {

/// A cubin is an ELF file; NVIDIA's compilers are not needed to make one that only its sections are read of.
class KernelPackCubin : public KernelPack {
 protected:
  using Section = ElfFileSection;
  void write_cubin(uint8_t abi_version, uint32_t flags, std::vector<Section> sections) const {
    const std::string file =
        make_elf({.abi_version = abi_version, .machine = 190, .flags = flags}, std::move(sections));
    std::ofstream(folder_ + "/made.cubin", std::ios::binary) << file;
  }
  /// One parameter of 8 bytes at 0, as nvcc writes it.
  static Section one_pointer() {
    return {.name = ".nv.info.scale",
            .bytes = {0x04, 0x17, 0x0c, 0x00, 0, 0, 0, 0, 0, 0, 0, 0, 0x00, 0xf0, 0x21, 0x00}};
  }
  static std::string cubin(const std::string& arch) {
    return R"({"file": "made.cubin", "format": "cubin", "arch": ")" + arch + R"("})";
  }
  static constexpr const char* scale = R"({"name": "scale", "workgroup": [32], "arguments": [{"buffer": "x"}]})";
};

TEST_F(KernelPackCubin, BothLayoutsOfItsFlagsTellTheArchitecture) {
  struct Case {
    uint8_t abi_version;
    uint32_t flags;
    const char *listed, *found;
    bool suits;
  };
  for (const Case& each : {Case{7, 0x00500550, "sm_80", "sm_80", true}, Case{7, 0x00500550, "sm_90", "sm_80", false},
                           Case{8, 0x06005a04, "sm_90", "sm_90", true}, Case{8, 0x06005a04, "sm_90a", "sm_90", true},
                           Case{8, 0x06006402, "sm_90", "sm_100", false}}) {
    write_cubin(each.abi_version, each.flags, {one_pointer()});
    if (each.suits) {
      const auto packed = pack(scale, cubin(each.listed));
      EXPECT_TRUE(packed) << to_string(packed.error());
    } else {
      expect_error(scale, cubin(each.listed), Errc::mismatch,
                   std::string("cubin for ") + each.listed + ": the file is for " + each.found);
    }
  }
}

TEST_F(KernelPackCubin, ItsSharedSectionTellsStaticWorkgroupMemory) {
  const Section shared = {.name = ".nv.shared.scale", .type = made_elf_no_bits, .size = 2224};
  write_cubin(7, 0x00500550, {one_pointer(), shared});
  EXPECT_EQ(pack(scale, cubin("sm_80")).value().kernels[0].shared_bytes, 2224U);
  // 1,024 bytes of it are the system's from sm_90 on.
  write_cubin(8, 0x06005a04, {one_pointer(), shared});
  EXPECT_EQ(pack(scale, cubin("sm_90")).value().kernels[0].shared_bytes, 1200U);
}

TEST_F(KernelPackCubin, ItTellsTheRegistersOfEachKernel) {
  // As nvcc 13 writes them: symbol 2 has 32 registers, symbol 1 has 8; another attribute between.
  const Section info = {.name = ".nv.info", .bytes = {0x04, 0x2f, 0x08, 0, 2, 0, 0, 0, 0x20, 0, 0, 0,  //
                                                      0x04, 0x11, 0x08, 0, 2, 0, 0, 0, 0x40, 0, 0, 0,  //
                                                      0x04, 0x2f, 0x08, 0, 1, 0, 0, 0, 0x08, 0, 0, 0,  //
                                                      0x04, 0x2f, 0x08, 0, 9, 0, 0, 0, 0x09, 0, 0, 0}};
  Section symbols = {.name = ".symtab", .bytes = std::vector<uint8_t>(3 * 24)};
  symbols.bytes[24] = 1;
  symbols.bytes[48] = 5;
  const std::string names("\0two\0scale", 11);
  const Section strings = {.name = ".strtab", .bytes = std::vector<uint8_t>(names.begin(), names.end())};
  write_cubin(8, 0x06005a04, {info, symbols, strings, one_pointer()});
  const auto bytes = read_bytes(folder_ + "/made.cubin");
  const auto found = reflect_cubin(bytes.value());
  ASSERT_TRUE(found) << to_string(found.error());
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(found->front().symbol, "scale");
  EXPECT_EQ(found->front().registers, 32U);
}

TEST_F(KernelPackCubin, WithoutKernelsItIsRefusedUnlessItIsAFatBinary) {
  write_cubin(8, 0x06005a04, {});
  expect_error(scale, cubin("sm_90"), Errc::corrupt, "holds no kernel");
  std::ofstream(folder_ + "/made.cubin", std::ios::binary) << "\x50\xed\x55\xba and what is compressed";
  const auto packed = pack(scale, cubin("sm_90"));
  EXPECT_TRUE(packed) << to_string(packed.error());
}

}  // namespace
}  // namespace pianola::kernel_build
