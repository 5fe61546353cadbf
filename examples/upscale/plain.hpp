// SPDX-License-Identifier: Apache-2.0
// The network as plain C++ loops on one thread: what the recorded one is compared with, in bytes and in time.
#pragma once

#include <array>
#include <vector>

#include "image.hpp"
#include "network.hpp"

namespace upscale {

class PlainNetwork {
 public:
  PlainNetwork(const Network& network, uint32_t width, uint32_t height);

  void set_image(const Image& image);
  void run();
  const Image& result() const { return result_; }

 private:
  using Float4 = std::array<float, 4>;
  using Tensor = std::vector<Float4>;  ///< rows of width + 2, with a border of zeros

  void run_layer(size_t index);
  void enlarge();

  Network network_;
  uint32_t width_;
  uint32_t height_;
  size_t row_;
  Tensor image_;
  std::vector<Tensor> tensors_;
  Image result_;
};

}  // namespace upscale
