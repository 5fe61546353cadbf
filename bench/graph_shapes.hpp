// SPDX-License-Identifier: Apache-2.0
// Shapes of graphs, each as a recording and as the nodes and edges of a graph built by hand.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hand_graph.hpp"
#include "pianola/pianola.hpp"

namespace bench {

/// The CUDA device, some of its memory, the kernels of graph_kernels.k, and the driver without Pianola.
struct Machine {
  static constexpr uint64_t memory_size = uint64_t{256} << 20;
  pianola::Device device;
  pianola::Buffer memory;
  pianola::KernelLibrary kernels;
  HandDriver* hand = nullptr;

  /// Null without a CUDA device.
  static const Machine* get();
};

struct Shape {
  std::string name;
  uint32_t lanes = 16;
  std::function<void(pianola::Recorder&, const pianola::BufferRef&, const pianola::KernelLibrary&)> record;
  std::vector<HandNode> hand;

  pianola::Result<pianola::CommandBuffer> commands() const;
  pianola::InstantiateOptions options(bool native_graph) const;
};

/// Independent small kernels, dealt to lanes.
Shape independent(uint32_t count, uint32_t lanes);
/// Groups of independent kernels with a barrier after each; every tail before every head. `rounds` of 0: small ones.
Shape groups(uint32_t count, uint32_t width, uint32_t lanes, uint32_t rounds);
/// One behind the other.
Shape chain(uint32_t count, HandNode::Kind kind, uint64_t size);
/// Kernel, fill, kernel, fill ...
Shape alternating(uint32_t count);
/// A language model's step: norm; q, k, v; attention; projection; norm; gate, up; down, for each of 12 layers.
Shape decode();

}  // namespace bench
