// SPDX-License-Identifier: Apache-2.0
#include "evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "resample.hpp"

namespace upscale {

using pianola::Errc;
using pianola::Error;
using pianola::Result;

Result<Evaluation> prepare_evaluation(const Image& photo, uint32_t width, uint32_t height) {
  if (width > photo.width || height > photo.height) {
    return Error{Errc::invalid_argument, fmt::format("a part of {}x{} does not fit into the picture of {}x{}", width,
                                                     height, photo.width, photo.height)};
  }
  const uint32_t even_width = (width == 0 ? photo.width : width) / 2 * 2;
  const uint32_t even_height = (height == 0 ? photo.height : height) / 2 * 2;
  if (even_width == 0 || even_height == 0) {
    return Error{Errc::invalid_argument, fmt::format("a picture of {}x{} is too small to be halved; 2x2 is the least",
                                                     photo.width, photo.height)};
  }
  Evaluation evaluation;
  evaluation.original = crop(photo, even_width, even_height);
  evaluation.half = halve(evaluation.original);
  evaluation.bicubic = enlarge(evaluation.half, Filter::bicubic);
  return evaluation;
}

Scores score(const Evaluation& evaluation) {
  return {psnr(evaluation.original, evaluation.result), psnr(evaluation.original, evaluation.bicubic),
          psnr(evaluation.original, enlarge(evaluation.half, Filter::bilinear))};
}

Image compare_by_eye(const Evaluation& evaluation, const std::string& network, const Scores& scores) {
  constexpr uint32_t largest_side = 224;
  constexpr uint32_t factor = 2;
  const Image& original = evaluation.original;
  const uint32_t width = std::min(original.width, largest_side);
  const uint32_t height = std::min(original.height, largest_side);
  const auto middle = [&](const Image& image) {
    return magnify(crop(image, (image.width - width) / 2, (image.height - height) / 2, width, height), factor);
  };
  const Panel panels[] = {{fmt::format("bicubic {:.2f} dB", scores.bicubic), middle(evaluation.bicubic)},
                          {fmt::format("network {} {:.2f} dB", network, scores.network), middle(evaluation.result)},
                          {"original", middle(original)}};
  return side_by_side(panels);
}

}  // namespace upscale
