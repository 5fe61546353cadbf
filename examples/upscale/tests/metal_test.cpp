// SPDX-License-Identifier: Apache-2.0
// The network on a Metal device: the picture that the CPU gives, in one encoder.
#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>

#include "sim_metal.hpp"
#include "synthetic.hpp"
#include "upscaler.hpp"

namespace upscale {
namespace {

Upscaler make(const char* device, const Network& network, const Image& image) {
  const auto opened = pianola::Device::open(device);
  if (!opened) throw std::runtime_error(to_string(opened.error()));
  auto upscaler = Upscaler::create(*opened, network, image.width, image.height);
  if (!upscaler) throw std::runtime_error(to_string(upscaler.error()));
  return std::move(*upscaler);
}

TEST(MetalUpscale, ASmallPictureAgreesWithTheCpuWithinOneStep) {
  Synthetic synthetic(7);
  const Network network = synthetic.network(Shape::small);
  const Image image = synthetic.image(20, 14);
  const auto metal = make("metal", network, image).run(image);
  const auto cpu = make("cpu", network, image).run(image);
  ASSERT_TRUE(metal) << to_string(metal.error());
  ASSERT_TRUE(cpu) << to_string(cpu.error());
  ASSERT_EQ(metal->rgb.size(), cpu->rgb.size());
  for (size_t i = 0; i < cpu->rgb.size(); ++i) ASSERT_LE(std::abs(metal->rgb[i] - cpu->rgb[i]), 1) << "byte " << i;
}

TEST(MetalUpscale, EveryNetworkIsOneEncoder) {
  Synthetic synthetic(8);
  const Image image = synthetic.image(16, 16);
  for (const Shape shape : {Shape::small, Shape::medium, Shape::large}) {
    auto upscaler = make("metal", synthetic.network(shape), image);
    const std::string text = upscaler.graph().native_description();
    EXPECT_NE(text.find("metal: 1 command buffers, 1 encoders, 0 switches"), std::string::npos) << text;
    sim_metal::reset_counts();
    ASSERT_TRUE(upscaler.replay());
    const auto counts = sim_metal::counts();
    EXPECT_EQ(counts.command_buffers, 1U);
    EXPECT_EQ(counts.compute_encoders, 1U);
    EXPECT_EQ(counts.blit_encoders, 0U);
    EXPECT_EQ(counts.switches, 0U);
    EXPECT_EQ(counts.events, 0U);
    EXPECT_EQ(counts.bytes_staged, 0U);
  }
}

}  // namespace
}  // namespace upscale
