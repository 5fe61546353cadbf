// SPDX-License-Identifier: Apache-2.0
#include "resample.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace upscale {
namespace {

double weight_at(Filter filter, double distance) {
  const double x = std::abs(distance);
  if (filter == Filter::bilinear) return x < 1.0 ? 1.0 - x : 0.0;
  // Keys' cubic convolution.
  constexpr double a = -0.5;
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * a;
  return 0.0;
}

/// Which inputs make one output, and with what weight.
struct Taps {
  uint32_t first = 0;
  std::vector<double> weights;
};

std::vector<Taps> taps_for_doubling(uint32_t size, Filter filter) {
  const double support = filter == Filter::bilinear ? 1.0 : 2.0;
  std::vector<Taps> all(size_t{2} * size);
  for (size_t i = 0; i < all.size(); ++i) {
    const double center = (static_cast<double>(i) + 0.5) / 2.0;
    const auto first = static_cast<int64_t>(std::max(center - support + 0.5, 0.0));
    const auto last = std::min<int64_t>(static_cast<int64_t>(center + support + 0.5), size);
    Taps& taps = all[i];
    taps.first = static_cast<uint32_t>(first);
    double sum = 0.0;
    for (int64_t k = first; k < last; ++k) {
      taps.weights.push_back(weight_at(filter, static_cast<double>(k) - center + 0.5));
      sum += taps.weights.back();
    }
    for (double& weight : taps.weights) weight /= sum;
  }
  return all;
}

uint8_t to_byte(double value) {
  return static_cast<uint8_t>(std::clamp(std::floor(value + 0.5), 0.0, 255.0));
}

/// Weighted sum of bytes `stride` apart.
uint8_t apply(const Taps& taps, const uint8_t* first, size_t stride) {
  double sum = 0.0;
  for (const double weight : taps.weights) {
    sum += weight * *first;
    first += stride;
  }
  return to_byte(sum);
}

}  // namespace

Image crop(const Image& image, uint32_t width, uint32_t height) {
  return crop(image, 0, 0, width, height);
}

Image crop(const Image& image, uint32_t left, uint32_t top, uint32_t width, uint32_t height) {
  Image part(width, height);
  for (uint32_t y = 0; y < height; ++y) {
    std::memcpy(part.pixel(0, y), image.pixel(left, top + y), size_t{3} * width);
  }
  return part;
}

Image halve(const Image& image) {
  Image half(image.width / 2, image.height / 2);
  for (uint32_t y = 0; y < half.height; ++y) {
    for (uint32_t x = 0; x < half.width; ++x) {
      const uint8_t* above = image.pixel(2 * x, 2 * y);
      const uint8_t* below = image.pixel(2 * x, 2 * y + 1);
      for (uint32_t c = 0; c < 3; ++c) {
        half.pixel(x, y)[c] = static_cast<uint8_t>((above[c] + above[c + 3] + below[c] + below[c + 3] + 2) / 4);
      }
    }
  }
  return half;
}

Image enlarge(const Image& image, Filter filter) {
  const std::vector<Taps> columns = taps_for_doubling(image.width, filter);
  const std::vector<Taps> rows = taps_for_doubling(image.height, filter);
  Image wide(2 * image.width, image.height);
  for (uint32_t y = 0; y < wide.height; ++y) {
    for (uint32_t x = 0; x < wide.width; ++x) {
      for (uint32_t c = 0; c < 3; ++c) {
        wide.pixel(x, y)[c] = apply(columns[x], image.pixel(columns[x].first, y) + c, 3);
      }
    }
  }
  Image large(wide.width, 2 * image.height);
  const size_t row_bytes = size_t{3} * wide.width;
  for (uint32_t y = 0; y < large.height; ++y) {
    const uint8_t* first = wide.pixel(0, rows[y].first);
    for (size_t i = 0; i < row_bytes; ++i) large.pixel(0, y)[i] = apply(rows[y], first + i, row_bytes);
  }
  return large;
}

Image magnify(const Image& image, uint32_t factor) {
  Image large(image.width * factor, image.height * factor);
  for (uint32_t y = 0; y < large.height; ++y) {
    for (uint32_t x = 0; x < large.width; ++x) {
      std::memcpy(large.pixel(x, y), image.pixel(x / factor, y / factor), 3);
    }
  }
  return large;
}

double psnr(const Image& a, const Image& b) {
  double sum = 0.0;
  for (size_t i = 0; i < a.rgb.size(); ++i) {
    const double difference = static_cast<double>(a.rgb[i]) - b.rgb[i];
    sum += difference * difference;
  }
  if (sum == 0.0) return std::numeric_limits<double>::infinity();
  return 10.0 * std::log10(255.0 * 255.0 * static_cast<double>(a.rgb.size()) / sum);
}

}  // namespace upscale
