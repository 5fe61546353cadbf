// SPDX-License-Identifier: Apache-2.0
// Where a tensor's floats lie; the kernels in upscale.k rely on it.
#pragma once

#include <cstdint>

namespace upscale {

inline constexpr uint32_t workgroup_width = 64;

struct Geometry {
  Geometry(uint32_t picture_width, uint32_t picture_height)
      : width(picture_width),
        height(picture_height),
        groups(width / workgroup_width + (width % workgroup_width != 0 ? 1 : 0)),
        // Room for the column of zeros right of the picture, which is also the one left of the next row.
        stride((width / workgroup_width + 1) * workgroup_width),
        // The last workgroup of the last row looks one pixel past it.
        plane(lead_rounded + (height + 2) * stride) {}

  uint32_t width;   ///< pixels
  uint32_t height;  ///< pixels
  uint32_t groups;  ///< workgroups a row
  uint32_t stride;  ///< floats from a row to the next
  uint32_t plane;   ///< floats from a plane to the next; a multiple of 64, as ranges start at multiples of 256 bytes

  static constexpr uint32_t lead = 16;  ///< floats before the row of zeros above the picture
  static constexpr uint32_t lead_rounded = 64;

  /// Index of a pixel in a plane.
  uint32_t index(uint32_t x, uint32_t y) const { return lead + (y + 1) * stride + x; }
  uint64_t tensor_bytes() const { return uint64_t{4} * plane * sizeof(float); }
  uint64_t result_bytes() const { return uint64_t{4} * width * height * sizeof(uint32_t); }
};

}  // namespace upscale
