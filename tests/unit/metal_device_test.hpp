// SPDX-License-Identifier: Apache-2.0
// A Metal device over the software Metal with its settings as they are at first; what that finds fails the test.
#pragma once

#include <gtest/gtest.h>

#include "pianola/device.hpp"
#include "sim_metal.hpp"

namespace pianola::metal_test {

class MetalDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    sim_metal::configure({});
    sim_metal::take_findings();
    auto opened = Device::open("metal");
    ASSERT_TRUE(opened) << to_string(opened.error());
    device = *opened;
  }
  void TearDown() override {
    for (const auto& finding : sim_metal::take_findings()) ADD_FAILURE() << finding;
    sim_metal::configure({});
  }
  Device device;
};

}  // namespace pianola::metal_test
