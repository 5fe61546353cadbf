// SPDX-License-Identifier: Apache-2.0
// Pictures of 8-bit RGB, and their files.
#pragma once

#include <cstdint>
#include <pianola/error.hpp>
#include <span>
#include <string>
#include <vector>

namespace upscale {

struct Image {
  uint32_t width = 0;
  uint32_t height = 0;
  std::vector<uint8_t> rgb;  ///< rows from the top, 3 bytes a pixel

  Image() = default;
  Image(uint32_t w, uint32_t h) : width(w), height(h), rgb(size_t{3} * w * h) {}
  uint8_t* pixel(uint32_t x, uint32_t y) { return rgb.data() + (size_t{y} * width + x) * 3; }
  const uint8_t* pixel(uint32_t x, uint32_t y) const { return rgb.data() + (size_t{y} * width + x) * 3; }
};

/// JPEG, PNG and whatever else stb reads; transparency is dropped. Errors: io (no such file), corrupt.
pianola::Result<Image> read_image(const std::string& path);

/// A PNG. Nothing half written stays under that name. Errors: io, out_of_memory.
pianola::Result<> write_png(const std::string& path, const Image& image);

/// A whole file. Errors: io.
pianola::Result<std::string> read_file(const std::string& path);

/// Writes to a temporary name first and renames it. A device or pipe is written to directly. Errors: io.
pianola::Result<> write_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace upscale
