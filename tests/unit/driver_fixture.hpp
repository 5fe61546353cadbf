// SPDX-License-Identifier: Apache-2.0
// A device over the software driver, with kernels whose host code is written right here.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
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

/// A library with add_value, as PTX (its text is only a name to the software driver) and as an AMD object.
inline KernelLibrary driver_kernels() {
  format::LibraryContents contents;
  contents.name = "driver-test";
  KernelInfo info;
  info.name = "add_value";
  info.bindings = {{"from", 0, 0, Access::in, 4}, {"to", 0, 1, Access::out, 4}};
  info.constants = {{"value", 0, 4}, {"count", 4, 4}};
  info.constant_bytes = 8;
  info.workgroup = {64, 1, 1};
  contents.kernels = {info};
  const std::string ptx = ".version 6.3\n.target sm_70\n.visible .entry add_value(\n";
  const auto* bytes = reinterpret_cast<const std::byte*>(ptx.data());
  contents.objects.push_back({ObjectFormat::ptx, "sm_70", {bytes, bytes + ptx.size()}, {{0, "add_value"}}});
  Result<std::vector<std::byte>> image = format::write_library(contents);
  EXPECT_TRUE(image) << (image ? "" : to_string(image.error()));
  return KernelLibrary::from_bytes(*image).value();
}

/// Every test leaves the driver without complaints, objects and bytes.
class DriverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    sim.add_builtin();
    sim.add(driver_kernels().kernels()[0], add_value);
    sim.fail_after(-1, 0);
    sim.fault_after(-1);
    sim.revive();
    sim.forget_complaints();
    ASSERT_EQ(sim.live_objects(), 0);
    device = Device::open("cuda:0", {.driver_path = sim.path()}).value();
  }
  void TearDown() override {
    device = {};
    EXPECT_EQ(sim.live_objects(), 0);
    EXPECT_EQ(sim.live_bytes(), 0);
    EXPECT_EQ(sim.complaints(), "");
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

  sim::SimDriver sim{PIANOLA_SIM_CUDA};
  Device device;
};

}  // namespace pianola::test
