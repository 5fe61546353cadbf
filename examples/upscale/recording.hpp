// SPDX-License-Identifier: Apache-2.0
// The network as a command buffer: one dispatch a layer, one more that enlarges the picture.
#pragma once

#include <pianola/command_buffer.hpp>
#include <pianola/kernel_library.hpp>
#include <vector>

#include "geometry.hpp"
#include "network.hpp"

namespace upscale {

/// The kernels of upscale.k, which are part of the program. Errors: corrupt, version.
pianola::Result<pianola::KernelLibrary> load_kernels();

/// A layer's weights in the order in which the kernels read them.
std::vector<float> pack_weights(const Network& network, const Layer& layer);

/// A recorded network. Its slots: "image" and "tensors" (borders zero), "weights", "result" (a word a pixel).
struct Recording {
  pianola::CommandBuffer commands;
  uint64_t tensors_bytes = 0;
  std::vector<float> weights;  ///< contents of the slot "weights"
};

/// Errors: those of the recorder.
pianola::Result<Recording> record(const Network& network, const pianola::KernelLibrary& kernels,
                                  const Geometry& geometry);

}  // namespace upscale
