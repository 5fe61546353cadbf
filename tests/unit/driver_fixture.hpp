// SPDX-License-Identifier: Apache-2.0
// A device over the software driver, with kernels whose host code is written right here.
#pragma once

#include <elf.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "driver/control.h"
#include "format/kernel_library_writer.hpp"
#include "pianola/pianola.hpp"
#include "sim_driver.hpp"

namespace pianola::test {

/// to[i] = from[i] + value for all i below count, in workgroups of 64.
inline void add_value(const pianola_host_launch* launch) {
  const auto* from = static_cast<const uint32_t*>(launch->buffers[0]);
  auto* to = static_cast<uint32_t*>(launch->buffers[1]);
  uint32_t constants[2];
  std::memcpy(constants, launch->constants, sizeof constants);
  for (uint64_t i = launch->begin * 64; i < launch->end * 64 && i < constants[1]; ++i) to[i] = from[i] + constants[0];
}

/// An AMD code object with one kernel descriptor symbol and no code.
inline std::vector<std::byte> amd_object(const std::string& kernel) {
  const std::string symbols = std::string(1, '\0') + kernel + ".kd" + std::string(1, '\0');
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_OSABI] = 64;  // AMD's HSA
  header.e_type = ET_DYN;
  header.e_machine = 224;  // AMD GPU
  header.e_flags = 0x3f;   // gfx90a
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shoff = sizeof header;
  const uint64_t strings = header.e_shoff + 3 * sizeof(Elf64_Shdr);
  const uint64_t table = (strings + symbols.size() + 7) / 8 * 8;
  Elf64_Shdr section[3] = {};
  section[1].sh_type = SHT_STRTAB;
  section[1].sh_offset = strings;
  section[1].sh_size = symbols.size();
  section[2].sh_type = SHT_DYNSYM;
  section[2].sh_link = 1;
  section[2].sh_offset = table;
  section[2].sh_size = 2 * sizeof(Elf64_Sym);
  header.e_shstrndx = 1;
  Elf64_Sym symbol[2] = {};
  symbol[1].st_name = 1;
  symbol[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
  std::vector<std::byte> bytes(table + sizeof symbol);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + header.e_shoff, section, sizeof section);
  std::memcpy(bytes.data() + strings, symbols.data(), symbols.size());
  std::memcpy(bytes.data() + table, symbol, sizeof symbol);
  return bytes;
}

/// A library with add_value, as PTX (its text is only a name to the software driver) and as an AMD object. The kernel
/// takes that much dynamic workgroup memory.
inline KernelLibrary driver_kernels(uint32_t dynamic_shared_bytes = 0) {
  format::LibraryContents contents;
  contents.name = "driver-test";
  KernelInfo info;
  info.name = "add_value";
  info.bindings = {{"from", 0, 0, Access::in, 4}, {"to", 0, 1, Access::out, 4}};
  info.constants = {{"value", 0, 4}, {"count", 4, 4}};
  info.constant_bytes = 8;
  info.workgroup = {64, 1, 1};
  info.dynamic_shared_bytes = dynamic_shared_bytes;
  contents.kernels = {info};
  const std::string ptx = ".version 6.3\n.target sm_70\n.visible .entry add_value(\n";
  const auto* bytes = reinterpret_cast<const std::byte*>(ptx.data());
  contents.objects.push_back({ObjectFormat::ptx, "sm_70", {bytes, bytes + ptx.size()}, {{0, "add_value"}}});
  contents.objects.push_back({ObjectFormat::hsaco, "gfx90a", amd_object("add_value"), {{0, "add_value"}}});
  Result<std::vector<std::byte>> image = format::write_library(contents);
  EXPECT_TRUE(image) << (image ? "" : to_string(image.error()));
  return KernelLibrary::from_bytes(*image).value();
}

/// One of the software driver's two faces.
struct Face {
  const char* backend;
  const char* path;
  std::string spec(int number = 0) const { return backend + (":" + std::to_string(number)); }
  bool is_cuda() const { return backend == std::string("cuda"); }
};
inline constexpr Face faces[] = {{"cuda", PIANOLA_SIM_CUDA}, {"hip", PIANOLA_SIM_HIP}};
inline std::ostream& operator<<(std::ostream& out, const Face& face) {
  return out << face.backend;
}
/// What a test on a face, or on more that is known of one, is called.
template <class Info>
std::string face_name(const ::testing::TestParamInfo<Info>& face) {
  return face.param.backend;
}

/// A driver that knows the kernels, fails nothing and has said nothing.
inline void prepare(sim::SimDriver& sim) {
  sim.add_builtin();
  sim.add(driver_kernels().kernels()[0], add_value);
  sim.fail_after(-1, 0);
  sim.fault_after(-1);
  sim.revive();
  sim.forget_complaints();
}

/// The path of a driver whose executable graphs are updated. HIP's is another spelling, as one of version 6.3: a path
/// is loaded, and asked for its version, once.
inline std::string updating_driver(const sim::SimDriver& sim, const Face& face) {
  std::string path = sim.path();
  if (face.is_cuda()) return path;
  path.insert(path.rfind('/'), "/.//");
  sim.set_version(60300000);
  EXPECT_TRUE(Device::open(face.spec(), {.driver_path = path}));
  sim.set_version(0);
  return path;
}

/// Of a test that has given back what it had. The threads of a queue that went with one of its jobs, or while some
/// waited, end by themselves, a little later.
inline void expect_nothing_left(const sim::SimDriver& sim) {
  for (int i = 0; i < 10000 && sim.live_objects() != 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(sim.live_objects(), 0);
  EXPECT_EQ(sim.live_bytes(), 0);
  EXPECT_EQ(sim.complaints(), "");
}

/// Every test leaves the driver without complaints, objects and bytes.
class DriverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    prepare(sim);
    ASSERT_EQ(sim.live_objects(), 0);
    device = Device::open("cuda:0", {.driver_path = sim.path()}).value();
  }
  void TearDown() override {
    device = {};
    expect_nothing_left(sim);
  }
  Buffer make_buffer(const std::vector<uint32_t>& values) {
    Buffer buffer = device.allocate(values.size() * 4).value();
    EXPECT_TRUE(buffer.write(0, values));
    return buffer;
  }
  static std::vector<uint32_t> read(const Buffer& buffer) {
    std::vector<uint32_t> values(buffer.size() / 4);
    EXPECT_TRUE(buffer.read(0, values));
    return values;
  }

  sim::SimDriver sim{faces[0].path};
  Device device;
};

}  // namespace pianola::test
