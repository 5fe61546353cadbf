// SPDX-License-Identifier: Apache-2.0
// How good the network is on a picture whose double size is known.
#pragma once

#include "image.hpp"
#include "side_by_side.hpp"

namespace upscale {

struct Evaluation {
  Image original;
  Image half;     ///< what the network is given
  Image bicubic;  ///< of the half
  Image result;   ///< the network's; filled in by the caller
};

/// Cuts the picture to width x height (0: all of it), makes the sizes even and halves it.
/// Errors: invalid_argument (the picture is smaller than that, or than 2x2).
pianola::Result<Evaluation> prepare_evaluation(const Image& photo, uint32_t width, uint32_t height);

struct Scores {
  double network = 0.0;  ///< PSNR in dB
  double bicubic = 0.0;
  double bilinear = 0.0;
};
Scores score(const Evaluation& evaluation);

/// The middle of bicubic, network and original, enlarged for the eye.
Image compare_by_eye(const Evaluation& evaluation, const std::string& network, const Scores& scores);

}  // namespace upscale
