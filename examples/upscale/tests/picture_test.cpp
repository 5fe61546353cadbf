// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "evaluate.hpp"
#include "resample.hpp"
#include "side_by_side.hpp"
#include "synthetic.hpp"

namespace upscale {
namespace {

/// A picture of one row, with the same value in all channels.
Image row_of(std::initializer_list<uint8_t> values) {
  Image image(static_cast<uint32_t>(values.size()), 1);
  uint32_t x = 0;
  for (const uint8_t value : values) std::fill_n(image.pixel(x++, 0), 3, value);
  return image;
}

std::vector<int> first_channel_of_row(const Image& image) {
  std::vector<int> values;
  for (uint32_t x = 0; x < image.width; ++x) values.push_back(image.pixel(x, 0)[0]);
  return values;
}

/// A file name that goes away with the test.
struct TemporaryFile {
  std::string path = testing::TempDir() + "pianola_picture_test_" + std::to_string(::getpid()) + ".png";
  ~TemporaryFile() { std::filesystem::remove(path); }
};

TEST(Picture, HalvingRoundsTheMeanOfFour) {
  Image image(2, 2);
  image.rgb = {0, 1, 255, 0, 1, 255, 0, 2, 255, 1, 2, 254};
  EXPECT_EQ(halve(image).rgb, (std::vector<uint8_t>{0, 2, 255}));
}

TEST(Picture, BilinearWeighsHalfPixelCentres) {
  EXPECT_EQ(first_channel_of_row(enlarge(row_of({0, 200}), Filter::bilinear)), (std::vector<int>{0, 50, 150, 200}));
}

TEST(Picture, BicubicOvershootsAndIsClamped) {
  // Weights of a = -0.5 at a quarter of a pixel: 111/128 and 29/128 inside, -9/128 and -3/128 outside.
  const auto values = first_channel_of_row(enlarge(row_of({100, 100, 100, 228, 228, 228}), Filter::bicubic));
  ASSERT_EQ(values.size(), 12U);
  EXPECT_EQ(values[3], 97);   // 100 - 3
  EXPECT_EQ(values[4], 91);   // 100 - 9
  EXPECT_EQ(values[5], 126);  // 100 + 29 - 3
  EXPECT_EQ(values[6], 202);  // 228 - 29 + 3
  EXPECT_EQ(values[7], 237);  // 228 + 9
  EXPECT_EQ(values[8], 231);  // 228 + 3
  EXPECT_EQ(first_channel_of_row(enlarge(row_of({0, 0, 255, 255, 255}), Filter::bicubic))[2], 0);
}

TEST(Picture, EnlargingKeepsAConstant) {
  for (const Filter filter : {Filter::bilinear, Filter::bicubic}) {
    Image image(5, 3);
    std::fill(image.rgb.begin(), image.rgb.end(), uint8_t{77});
    const Image large = enlarge(image, filter);
    EXPECT_EQ(large.width, 10U);
    EXPECT_EQ(large.height, 6U);
    EXPECT_EQ(large.rgb, std::vector<uint8_t>(180, 77));
  }
}

TEST(Picture, PsnrOfOneStepEverywhereIs48Decibels) {
  Image a(4, 4);
  Image b(4, 4);
  std::fill(b.rgb.begin(), b.rgb.end(), uint8_t{1});
  EXPECT_NEAR(psnr(a, b), 48.1308, 1e-4);
  EXPECT_TRUE(std::isinf(psnr(a, a)));
}

TEST(Picture, PngComesBackAsWritten) {
  const TemporaryFile file;
  const Image image = Synthetic(1).image(33, 17);
  const auto written = write_png(file.path, image);
  ASSERT_TRUE(written) << written.error().message;
  const auto read = read_image(file.path);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->width, image.width);
  EXPECT_EQ(read->rgb, image.rgb);
}

TEST(Picture, EvaluationRefusesAPartBiggerThanThePicture) {
  const Image image = Synthetic(2).image(10, 8);
  EXPECT_TRUE(prepare_evaluation(image, 10, 8));
  const auto wide = prepare_evaluation(image, 11, 8);
  ASSERT_FALSE(wide);
  EXPECT_EQ(wide.error().code, pianola::Errc::invalid_argument);
  const auto tiny = prepare_evaluation(image, 1, 8);
  ASSERT_FALSE(tiny);
  EXPECT_EQ(tiny.error().code, pianola::Errc::invalid_argument);
}

TEST(Picture, EvaluationMakesOddSizesEven) {
  const auto evaluation = prepare_evaluation(Synthetic(3).image(11, 9), 0, 0);
  ASSERT_TRUE(evaluation);
  EXPECT_EQ(evaluation->original.width, 10U);
  EXPECT_EQ(evaluation->half.height, 4U);
  EXPECT_EQ(evaluation->bicubic.width, 10U);
}

TEST(Picture, SideBySideHoldsEveryPanelAndItsLabel) {
  Image grey(40, 10);
  std::fill(grey.rgb.begin(), grey.rgb.end(), uint8_t{128});
  const Panel panels[] = {{"a", grey}, {"a label much longer than its panel is wide", grey}};
  const Image picture = side_by_side(panels);
  EXPECT_EQ(std::count(picture.rgb.begin(), picture.rgb.end(), 128), 2 * 3 * 40 * 10);
  EXPECT_GT(std::count(picture.rgb.begin(), picture.rgb.end(), 0), 0);
}

}  // namespace
}  // namespace upscale
