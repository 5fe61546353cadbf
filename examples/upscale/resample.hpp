// SPDX-License-Identifier: Apache-2.0
// Plain picture arithmetic: halving, the classic ways to enlarge, and how far two pictures differ.
#pragma once

#include "image.hpp"

namespace upscale {

enum class Filter : uint8_t { bilinear, bicubic };

/// The top left part. Precondition: it lies within the image.
Image crop(const Image& image, uint32_t width, uint32_t height);
/// A part of any place. Precondition: it lies within the image.
Image crop(const Image& image, uint32_t left, uint32_t top, uint32_t width, uint32_t height);

/// Each channel of 2x2 pixels becomes (a + b + c + d + 2) / 4. Precondition: even sizes.
Image halve(const Image& image);

/// Twice the size as Pillow does it: half-pixel centres, bicubic with a = -0.5, weights renormalised at the
/// edges, columns first, rounded to 8 bits after each direction.
Image enlarge(const Image& image, Filter filter);

/// Every pixel as a square of `factor` pixels.
Image magnify(const Image& image, uint32_t factor);

/// Peak signal-to-noise ratio over all bytes, in dB; infinite if equal. Precondition: equal sizes.
double psnr(const Image& a, const Image& b);

}  // namespace upscale
