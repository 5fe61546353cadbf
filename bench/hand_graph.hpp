// SPDX-License-Identifier: Apache-2.0
// The same work as a hand-built CUDA graph, with the driver called directly: what Pianola is compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bench {

/// One node: after which others it comes, and what it does with its bytes of the memory.
struct HandNode {
  enum class Kind { kernel, fill, copy } kind = Kind::kernel;
  std::vector<uint32_t> after;
  uint64_t offset = 0;
  uint64_t source_offset = 0;  ///< copy
  uint64_t size = 1024;        ///< fill and copy: bytes
};

/// The CUDA driver with its first device's primary context and one stream.
class HandDriver {
 public:
  using Graph = void*;

  /// Null if there is no CUDA device here, or it cannot take the kernel `small` from this PTX.
  static HandDriver* get(std::span<const std::byte> ptx, uint64_t memory);

  /// Builds and instantiates; null on failure.
  Graph build(std::span<const HandNode> nodes);
  bool launch_and_wait(Graph graph);
  bool launch(Graph graph);
  bool wait();
  void destroy(Graph graph);
  /// The nodes as launches on one stream, in their order. Kernels only.
  bool stream_and_wait(std::span<const HandNode> nodes);

 private:
  HandDriver() = default;
  bool open(std::span<const std::byte> ptx, uint64_t memory);
  bool add(void* graph, const HandNode& node, std::span<void* const> after, void** made);

  void* context_ = nullptr;
  void* stream_ = nullptr;
  void* function_ = nullptr;
  unsigned long long memory_ = 0;
};

}  // namespace bench
