// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "network.hpp"
#include "recording.hpp"
#include "synthetic.hpp"

namespace upscale {
namespace {

std::string numbers(size_t count, const std::string& value = "0.5") {
  std::string text = "[";
  for (size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + value;
  return text + "]";
}

std::string layer(const std::string& name, const std::string& inputs, size_t weights, size_t biases = 4) {
  return "\"" + name + R"(": {"type": "conv", "inputs": [)" + inputs + "], \"weights\": " + numbers(weights) +
         ", \"bias\": " + numbers(biases) + "}";
}

const std::string shuffle = R"("pixel_shuffle": {"type": "pixel_shuffle", "inputs": ["b"]})";

std::string file(const std::string& layers) {
  return "{\"layers\": {" + layers + "}}";
}

void expect_damaged(const std::string& json, const std::string& reason) {
  const auto network = parse_network(json, "test");
  ASSERT_FALSE(network) << reason;
  EXPECT_EQ(network.error().code, pianola::Errc::corrupt);
  EXPECT_NE(network.error().message.find(reason), std::string::npos) << network.error().message;
}

TEST(Weights, FileOfTheRightFormIsRead) {
  const auto network =
      parse_network(file(layer("a", "\"input_image\"", 144) + "," + layer("b", "\"a\"", 288) + "," + shuffle), "test");
  ASSERT_TRUE(network) << network.error().message;
  EXPECT_EQ(network->branches, 1U);
  ASSERT_EQ(network->layers.size(), 2U);
  EXPECT_TRUE(network->layers[0].takes_image);
  EXPECT_EQ(network->layers[1].taps, 9U);
  EXPECT_EQ(network->residuals, (std::array<uint32_t, 3>{1, 1, 1}));
}

TEST(Weights, DamagedFilesAreRefusedWithTheReason) {
  const std::string first = layer("a", "\"input_image\"", 144);
  const std::string whole = file(first + "," + layer("b", "\"a\"", 288) + "," + shuffle);
  expect_damaged("", "not JSON");
  expect_damaged("[1, 2]", "wrong kind");
  expect_damaged("{}", "'layers'");
  expect_damaged(R"({"layers": {"a": 3}})", "wrong kind");
  expect_damaged(file(first), "no layer 'pixel_shuffle'");
  expect_damaged(file(first + "," + layer("b", "\"a\"", 287) + "," + shuffle), "287 weights, not 32 or 288");
  expect_damaged(file(first + "," + layer("b", "\"a\"", 288, 3) + "," + shuffle), "3 biases");
  expect_damaged(file(first + "," + layer("b", "\"c\"", 288) + "," + shuffle), "unknown input");
  expect_damaged(file(first + "," + layer("b", "", 288) + "," + shuffle), "no inputs");
  expect_damaged(file(first + "," + layer("b", "\"a\",\"a\"", 576) + "," + shuffle), "do not follow each other");
  expect_damaged(file(first + "," + shuffle), "unknown input");
  expect_damaged(file(shuffle + "," + first), "unknown input");
  for (size_t length = 1; length < whole.size(); length += 7) expect_damaged(whole.substr(0, length), "not JSON");
}

TEST(Weights, NumbersThatAreNoneOrInfiniteAreRefused) {
  const std::string text = file(layer("a", "\"input_image\"", 144));
  for (const std::string bad : {"\"x\"", "null", "1e39"}) {
    std::string json = text;
    json.replace(json.find("0.5"), 3, bad);
    expect_damaged(json, "layer 'a' holds");
  }
}

TEST(Weights, EveryFactorIsPackedOnce) {
  Network network = Synthetic(1).network(Shape::large);
  for (Layer& layer : network.layers) {
    // Numbers the factors, so that the packed ones can be recognised.
    float next = 0.0f;
    for (float& value : layer.weights) value = next++;
    std::vector<float> packed = pack_weights(network, layer);
    packed.erase(packed.begin(), packed.begin() + 4);
    std::sort(packed.begin(), packed.end());
    EXPECT_EQ(packed, layer.weights) << layer.name;
  }
}

TEST(Weights, UnknownNetworkNamesThoseThatThereAre) {
  const auto network = load_known_network(testing::TempDir(), "xl-an");
  ASSERT_FALSE(network);
  EXPECT_EQ(network.error().code, pianola::Errc::invalid_argument);
  EXPECT_NE(network.error().message.find("l-an"), std::string::npos);
}

TEST(Weights, MissingFileNamesTheScriptThatFetchesIt) {
  const auto network = load_known_network(testing::TempDir() + "nothing_here", "l-an");
  ASSERT_FALSE(network);
  EXPECT_EQ(network.error().code, pianola::Errc::io);
  EXPECT_NE(network.error().message.find("scripts/fetch-data"), std::string::npos);
}

}  // namespace
}  // namespace upscale
