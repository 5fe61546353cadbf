// SPDX-License-Identifier: Apache-2.0
#include "side_by_side.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#include <stb_easy_font.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

namespace upscale {
namespace {

constexpr uint32_t gap = 8;
constexpr uint32_t label_height = 32;
constexpr uint32_t letter_scale = 2;
constexpr uint8_t paper = 255;
constexpr uint8_t ink = 0;

/// A corner as stb_easy_font writes it; four make an upright rectangle.
struct Corner {
  float x, y, z;
  uint8_t colour[4];
};

void fill_rectangle(Image& image, const Corner& first, const Corner& last, uint32_t left, uint32_t right) {
  const auto scaled = [](float value) { return static_cast<uint32_t>(std::lround(value * letter_scale)); };
  const uint32_t x_end = std::min(left + scaled(last.x), right);
  const uint32_t y_end = std::min(scaled(last.y), label_height);
  for (uint32_t y = scaled(first.y); y < y_end; ++y) {
    for (uint32_t x = left + scaled(first.x); x < x_end; ++x) std::memset(image.pixel(x, y), ink, 3);
  }
}

void draw_label(Image& image, const std::string& text, uint32_t left, uint32_t right) {
  std::vector<Corner> corners(text.size() * 80);
  std::string changeable = text;  // the font's interface asks for it
  const int bytes = static_cast<int>(corners.size() * sizeof(Corner));
  const int rectangles = stb_easy_font_print(0, 4, changeable.data(), nullptr, corners.data(), bytes);
  for (int i = 0; i < rectangles; ++i) fill_rectangle(image, corners[4 * i], corners[4 * i + 2], left, right);
}

}  // namespace

Image side_by_side(std::span<const Panel> panels) {
  const uint32_t width = panels[0].image.width;
  const uint32_t height = panels[0].image.height;
  const auto count = static_cast<uint32_t>(panels.size());
  Image result(count * width + (count + 1) * gap, height + label_height + gap);
  std::fill(result.rgb.begin(), result.rgb.end(), paper);
  uint32_t left = gap;
  for (const Panel& panel : panels) {
    for (uint32_t y = 0; y < height; ++y) {
      std::memcpy(result.pixel(left, label_height + y), panel.image.pixel(0, y), size_t{3} * width);
    }
    draw_label(result, panel.label, left, left + width);
    left += width + gap;
  }
  return result;
}

}  // namespace upscale
