// SPDX-License-Identifier: Apache-2.0
// Networks and pictures made of seeded numbers, so that tests need no fetched file.
#pragma once

#include <random>

#include "image.hpp"
#include "network.hpp"

namespace upscale {

enum class Shape { small, medium, large };

class Synthetic {
 public:
  explicit Synthetic(uint32_t seed) : random_(seed) {}

  Image image(uint32_t width, uint32_t height) {
    Image result(width, height);
    for (uint8_t& byte : result.rgb) byte = static_cast<uint8_t>(random_() >> 24);
    return result;
  }

  /// The shapes of the known networks: 5, 11 and 18 dispatches.
  Network network(Shape shape) {
    Network result;
    result.name = "synthetic";
    result.branches = shape == Shape::large ? 2 : 1;
    for (uint32_t i = 0; i < result.branches; ++i) add(result, layer(true, 0, 1, 9));
    const uint32_t stages = shape == Shape::small ? 3 : 6;
    for (uint32_t stage = 0; stage < stages; ++stage) {
      const auto first = static_cast<uint32_t>(result.layers.size()) - result.branches;
      for (uint32_t i = 0; i < result.branches; ++i) add(result, layer(false, first, result.branches, 9));
    }
    const auto count = static_cast<uint32_t>(result.layers.size());
    if (shape == Shape::small) {
      result.residuals = {count - 1, count - 1, count - 1};
    } else {
      for (uint32_t i = 0; i < 3; ++i) add(result, layer(false, 0, count, 1));
      result.residuals = {count, count + 1, count + 2};
    }
    return result;
  }

 private:
  static void add(Network& network, Layer layer) {
    layer.name = "layer" + std::to_string(network.layers.size());
    network.layers.push_back(std::move(layer));
  }

  Layer layer(bool takes_image, uint32_t first, uint32_t inputs, uint32_t taps) {
    Layer result;
    result.takes_image = takes_image;
    result.first_input = first;
    result.input_count = inputs;
    result.taps = taps;
    const uint32_t matrices = (takes_image ? 1 : 2) * inputs * taps;
    // Keeps sums of any depth near 1.
    const float scale = 1.0f / static_cast<float>(matrices);
    for (float& value : result.bias) value = scale * number();
    for (uint32_t i = 0; i < 16 * matrices; ++i) result.weights.push_back(scale * number());
    return result;
  }

  /// -1 to 1.
  float number() { return static_cast<float>(static_cast<int32_t>(random_())) / 2147483648.0f; }

  std::mt19937 random_;
};

}  // namespace upscale
