// SPDX-License-Identifier: Apache-2.0
#include "plain.hpp"

#include <algorithm>
#include <cmath>

namespace upscale {
namespace {

using Float4 = std::array<float, 4>;

/// sum += matrix * value, with the matrix in columns.
void multiply_add(Float4& sum, const float* matrix, const Float4& value) {
  for (size_t row = 0; row < 4; ++row) {
    sum[row] +=
        matrix[row] * value[0] + matrix[4 + row] * value[1] + matrix[8 + row] * value[2] + matrix[12 + row] * value[3];
  }
}

/// The positive or the negative part of each value, as a positive number.
Float4 rectified(const Float4& value, float sign) {
  Float4 result;
  for (size_t i = 0; i < 4; ++i) result[i] = std::max(sign * value[i], 0.0f);
  return result;
}

/// One input of a layer at one tap.
struct Term {
  const Float4* from;  ///< as seen from the border's first pixel
  const float* matrix;
  const float* negative_matrix;  ///< null for the picture
};

/// Two sums, so that one multiply-add need not wait for the one before.
Float4 pixel(const Float4& bias, const std::vector<Term>& terms, size_t at) {
  Float4 sum = bias;
  Float4 negative_sum{};
  for (const Term& term : terms) {
    const Float4& value = term.from[at];
    if (term.negative_matrix == nullptr) {
      multiply_add(sum, term.matrix, value);
    } else {
      multiply_add(sum, term.matrix, rectified(value, 1.0f));
      multiply_add(negative_sum, term.negative_matrix, rectified(value, -1.0f));
    }
  }
  for (size_t i = 0; i < 4; ++i) sum[i] += negative_sum[i];
  return sum;
}

}  // namespace

PlainNetwork::PlainNetwork(const Network& network, uint32_t width, uint32_t height)
    : network_(network),
      width_(width),
      height_(height),
      row_(size_t{width} + 2),
      image_(row_ * (size_t{height} + 2)),
      tensors_(network.layers.size(), image_),
      result_(2 * width, 2 * height) {}

void PlainNetwork::set_image(const Image& image) {
  for (uint32_t y = 0; y < height_; ++y) {
    for (uint32_t x = 0; x < width_; ++x) {
      const uint8_t* rgb = image.pixel(x, y);
      image_[(y + 1) * row_ + x + 1] = {static_cast<float>(rgb[0]) / 255.0f, static_cast<float>(rgb[1]) / 255.0f,
                                        static_cast<float>(rgb[2]) / 255.0f, 1.0f};
    }
  }
}

void PlainNetwork::run() {
  for (size_t i = 0; i < tensors_.size(); ++i) run_layer(i);
  enlarge();
}

void PlainNetwork::run_layer(size_t index) {
  const Layer& layer = network_.layers[index];
  std::vector<Term> terms;
  for (uint32_t input = 0; input < layer.input_count; ++input) {
    const Tensor& tensor = layer.takes_image ? image_ : tensors_[layer.first_input + input];
    for (uint32_t tap = 0; tap < layer.taps; ++tap) {
      const Offset offset = tap_offset(layer.taps, tap);
      const auto matrix_at = [&](bool is_negative) {
        return layer.weights.data() + 16 * size_t{network_.matrix(layer, input, is_negative, tap)};
      };
      const ptrdiff_t shift = offset.y * static_cast<ptrdiff_t>(row_) + offset.x;
      terms.push_back({tensor.data() + shift, matrix_at(false), layer.takes_image ? nullptr : matrix_at(true)});
    }
  }
  Tensor& target = tensors_[index];
  for (uint32_t y = 0; y < height_; ++y) {
    const size_t first = (size_t{y} + 1) * row_ + 1;
    for (uint32_t x = 0; x < width_; ++x) target[first + x] = pixel(layer.bias, terms, first + x);
  }
}

void PlainNetwork::enlarge() {
  const auto mix = [](float near, float far) { return 0.75f * near + 0.25f * far; };
  for (uint32_t y = 0; y < result_.height; ++y) {
    // Half-pixel centres: even rows lean to the row above, odd ones to the row below.
    const uint32_t near_y = y / 2;
    const uint32_t far_y = y % 2 == 0 ? std::max(near_y, 1u) - 1 : std::min(near_y + 1, height_ - 1);
    for (uint32_t x = 0; x < result_.width; ++x) {
      const uint32_t near_x = x / 2;
      const uint32_t far_x = x % 2 == 0 ? std::max(near_x, 1u) - 1 : std::min(near_x + 1, width_ - 1);
      const auto at = [&](uint32_t px, uint32_t py) -> size_t { return (size_t{py} + 1) * row_ + px + 1; };
      for (size_t c = 0; c < 3; ++c) {
        const float near_column = mix(image_[at(near_x, near_y)][c], image_[at(near_x, far_y)][c]);
        const float far_column = mix(image_[at(far_x, near_y)][c], image_[at(far_x, far_y)][c]);
        const float residual = tensors_[network_.residuals[c]][at(near_x, near_y)][x % 2 + 2 * (y % 2)];
        const float value = std::clamp(mix(near_column, far_column) + residual, 0.0f, 1.0f);
        result_.pixel(x, y)[c] = static_cast<uint8_t>(value * 255.0f + 0.5f);
      }
    }
  }
}

}  // namespace upscale
