// SPDX-License-Identifier: Apache-2.0
// The recorded network gives what the plain loops give, for every shape and for sizes around a workgroup's.
#include <gtest/gtest.h>

#include <pianola/pianola.hpp>

#include "plain.hpp"
#include "synthetic.hpp"
#include "upscaler.hpp"

namespace upscale {
namespace {

struct Size {
  uint32_t width, height;
};
constexpr Size sizes[] = {{1, 1}, {2, 3}, {1, 9}, {63, 4}, {64, 2}, {65, 3}, {127, 2}, {128, 5}, {130, 17}};

pianola::Device open_cpu(bool serial = false) {
  auto device = pianola::Device::open("cpu", {.serial = serial});
  EXPECT_TRUE(device) << device.error().message;
  return *device;
}

Image upscaled(const pianola::Device& device, const Network& network, const Image& image, uint32_t tile = 512) {
  auto upscaler = Upscaler::create(device, network, image.width, image.height, tile);
  EXPECT_TRUE(upscaler) << upscaler.error().message;
  if (!upscaler) return {};
  auto result = upscaler->run(image);
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : Image{};
}

Image upscaled_plainly(const Network& network, const Image& image) {
  PlainNetwork plain(network, image.width, image.height);
  plain.set_image(image);
  plain.run();
  return plain.result();
}

/// Sums are rounded in another order, which may move a byte by one.
void expect_near(const Image& a, const Image& b) {
  ASSERT_EQ(a.rgb.size(), b.rgb.size());
  for (size_t i = 0; i < a.rgb.size(); ++i) ASSERT_NEAR(a.rgb[i], b.rgb[i], 1) << "byte " << i;
}

class EveryShape : public testing::TestWithParam<Shape> {};

TEST_P(EveryShape, RecordedNetworkEqualsPlainLoops) {
  const pianola::Device device = open_cpu();
  Synthetic synthetic(1);
  const Network network = synthetic.network(GetParam());
  for (const Size size : sizes) {
    SCOPED_TRACE(std::to_string(size.width) + "x" + std::to_string(size.height));
    const Image image = synthetic.image(size.width, size.height);
    expect_near(upscaled(device, network, image), upscaled_plainly(network, image));
  }
}

TEST_P(EveryShape, LanesGiveTheBytesOfTheSerialDevice) {
  Synthetic synthetic(2);
  const Network network = synthetic.network(GetParam());
  const Image image = synthetic.image(150, 40);
  EXPECT_EQ(upscaled(open_cpu(), network, image).rgb, upscaled(open_cpu(true), network, image).rgb);
}

TEST_P(EveryShape, TilesGiveTheBytesOfTheWholePicture) {
  const pianola::Device device = open_cpu();
  Synthetic synthetic(3);
  const Network network = synthetic.network(GetParam());
  const Image image = synthetic.image(101, 67);
  const Image whole = upscaled(device, network, image);
  const uint32_t least = 2 * Upscaler::reach(network) + 1;
  for (const uint32_t tile : {least, least + 7, 66U, 67U, 100U}) {
    SCOPED_TRACE(tile);
    EXPECT_EQ(upscaled(device, network, image, tile).rgb, whole.rgb);
  }
}

TEST_P(EveryShape, ReplaysGiveTheSameBytes) {
  const pianola::Device device = open_cpu();
  Synthetic synthetic(4);
  const Network network = synthetic.network(GetParam());
  const Image first = synthetic.image(70, 9);
  const Image second = synthetic.image(70, 9);
  auto upscaler = Upscaler::create(device, network, 70, 9);
  ASSERT_TRUE(upscaler) << upscaler.error().message;
  const Image expected = *upscaler->run(first);
  EXPECT_NE(upscaler->run(second)->rgb, expected.rgb);
  EXPECT_EQ(upscaler->run(first)->rgb, expected.rgb);
}

INSTANTIATE_TEST_SUITE_P(Upscale, EveryShape, testing::Values(Shape::small, Shape::medium, Shape::large));

TEST(Upscale, LargeNetworkIsEighteenDispatchesInNineStages) {
  auto upscaler = Upscaler::create(open_cpu(), Synthetic(5).network(Shape::large), 64, 64);
  ASSERT_TRUE(upscaler) << upscaler.error().message;
  EXPECT_EQ(upscaler->dispatch_count(), 18U);
  EXPECT_EQ(upscaler->graph().plan().stats().nodes, 18U);
  EXPECT_EQ(upscaler->graph().plan().stats().barriers_recorded, 8U);
}

TEST(Upscale, TileSmallerThanTheNetworksReachIsRefused) {
  const Network network = Synthetic(6).network(Shape::large);
  const uint32_t least = 2 * Upscaler::reach(network) + 1;
  const auto upscaler = Upscaler::create(open_cpu(), network, 64, 64, least - 1);
  ASSERT_FALSE(upscaler);
  EXPECT_EQ(upscaler.error().code, pianola::Errc::invalid_argument);
}

TEST(Upscale, EmptyPictureIsRefused) {
  const auto upscaler = Upscaler::create(open_cpu(), Synthetic(7).network(Shape::small), 0, 4);
  ASSERT_FALSE(upscaler);
  EXPECT_EQ(upscaler.error().code, pianola::Errc::invalid_argument);
}

}  // namespace
}  // namespace upscale
