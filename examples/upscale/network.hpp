// SPDX-License-Identifier: Apache-2.0
// A small network that doubles a picture's size: its layers and their weights, free of any device.
//
// Every tensor is four planes of the picture's size. Layers take the picture, or tensors through
// crelu(x) = [max(x, 0), max(-x, 0)], and add 4x4 matrices times those values over 3x3 or 1x1 pixels.
// The last layers give, for red, green and blue, the 2x2 sub-pixels that are added to a bilinear enlargement.
#pragma once

#include <array>
#include <cstdint>
#include <pianola/error.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace upscale {

struct Layer {
  std::string name;
  bool takes_image = false;
  uint32_t first_input = 0;  ///< first tensor read; inputs follow each other
  uint32_t input_count = 1;  ///< tensors read; 1 for the picture
  uint32_t taps = 9;         ///< 9 or 1
  std::array<float, 4> bias{};
  std::vector<float> weights;  ///< column-major 4x4 matrices
};

/// Layer i writes tensor i.
struct Network {
  std::string name;
  uint32_t branches = 1;  ///< tensors a stage; the layers of one stage do not depend on each other
  std::vector<Layer> layers;
  std::array<uint32_t, 3> residuals{};  ///< the tensors to add to red, green and blue

  /// Which 4x4 matrix of a layer belongs to input tensor `input` (0 is the layer's first), tap and sign.
  uint32_t matrix(const Layer& layer, uint32_t input, bool negative, uint32_t tap) const;
};

/// Step from a pixel to the one that a 3x3 layer's tap reads.
struct Offset {
  int32_t x = 0;
  int32_t y = 0;
};
constexpr Offset tap_offset(uint32_t taps, uint32_t tap) {
  if (taps == 1) return {};
  return {static_cast<int32_t>(tap / 3) - 1, static_cast<int32_t>(tap % 3) - 1};
}

/// Reads the JSON form of a network. Errors: corrupt (with what is wrong).
pianola::Result<Network> parse_network(std::string_view json, const std::string& name);

/// The networks that are known: "s-an", "l-rl" and so on.
std::span<const std::string_view> network_names();

/// A known network's weights out of the data folder; the file's checksum is compared with the one expected.
/// Errors: invalid_argument (no such network), io, corrupt.
pianola::Result<Network> load_known_network(const std::string& data_folder, std::string_view name);

/// Any file of that form. Errors: io, corrupt.
pianola::Result<Network> load_network_file(const std::string& path);

}  // namespace upscale
