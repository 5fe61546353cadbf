// SPDX-License-Identifier: Apache-2.0
// Pictures next to each other, each with a line of text above it.
#pragma once

#include <span>
#include <string>

#include "image.hpp"

namespace upscale {

struct Panel {
  std::string label;
  Image image;
};

/// Precondition: all pictures have the same size. Labels are cut at the panel's width.
Image side_by_side(std::span<const Panel> panels);

}  // namespace upscale
