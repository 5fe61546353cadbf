// SPDX-License-Identifier: Apache-2.0
// Pictures of any size through a recorded network: in one replay, or tile by tile.
#pragma once

#include <chrono>
#include <functional>
#include <pianola/device.hpp>
#include <pianola/graph.hpp>
#include <pianola/queue.hpp>

#include "image.hpp"
#include "recording.hpp"

namespace upscale {

class Upscaler {
 public:
  static constexpr uint32_t max_tile = 2048;  ///< memory and 32-bit indices are fine up to here

  /// Called after each tile with how many of how many are done.
  using Progress = std::function<void(uint32_t done, uint32_t all)>;

  /// For pictures of one size. Bigger ones than `tile` in a direction are cut there; the result does not depend on
  /// it. Errors: invalid_argument (a size of 0, a tile too small), and those of the device.
  static pianola::Result<Upscaler> create(const pianola::Device& device, const Network& network, uint32_t width,
                                          uint32_t height, uint32_t tile = 512);

  /// Precondition: the picture has the size given at create(). Errors: those of the device.
  pianola::Result<Image> run(const Image& image, const Progress& progress = {});

  /// One replay of what is in the buffers now, waited for. Errors: those of the device.
  pianola::Result<> replay();

  /// The middle of `count` replays' times. Errors: those of the device.
  pianola::Result<std::chrono::nanoseconds> time_replay(uint32_t count);

  const pianola::Graph& graph() const { return graph_; }
  uint32_t dispatch_count() const { return dispatch_count_; }
  uint32_t tile_count() const;

  /// How far, in pixels, the network looks.
  static uint32_t reach(const Network& network);

 private:
  Upscaler(const Network& network, uint32_t width, uint32_t height, uint32_t tile);

  pianola::Result<> make_buffers(const pianola::Device& device, const Recording& recording);
  pianola::Result<> upload(const Image& image, uint32_t left, uint32_t top);
  pianola::Result<> download(Image& target, uint32_t left, uint32_t top);

  uint32_t width_;   ///< of the picture
  uint32_t height_;  ///< of the picture
  uint32_t halo_;    ///< pixels at a tile's inner edges that are not used
  uint32_t dispatch_count_;
  Geometry geometry_;  ///< of a tile
  pianola::Queue queue_;
  pianola::Graph graph_;
  pianola::Buffer image_, tensors_, weights_, result_;
  std::vector<float> staging_;
  std::vector<uint32_t> pixels_;
};

}  // namespace upscale
