// SPDX-License-Identifier: Apache-2.0
// The same work as a hand-built CUDA graph, with the driver called directly: what Pianola is compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace bench {

/// One node: after which others it comes, and what it does with its bytes of the memory.
struct HandNode {
  enum class Kind { small, busy, fill, copy, upload } kind = Kind::small;  ///< upload: a copy from pinned memory
  std::vector<uint32_t> after;
  uint64_t offset = 0;
  uint64_t source_offset = 0;  ///< copy
  uint64_t size = 1024;        ///< fill, copy, upload: bytes
  uint32_t groups = 1;         ///< kernels
  uint32_t rounds = 1;         ///< busy
};

/// The CUDA driver with its first device's primary context and one stream.
class HandDriver {
 public:
  /// An executable graph with the nodes it was made from.
  class Graph {
   public:
    ~Graph();

   private:
    friend HandDriver;
    void* graph = nullptr;
    void* exec = nullptr;
    std::vector<void*> nodes;
  };

  using Code = std::span<const std::byte>;
  /// Works on this device memory with the first of these PTX texts that the device takes. Null if there is no CUDA
  /// device here, or it takes none.
  static HandDriver* get(std::span<const Code> codes, void* memory);

  /// Builds and instantiates; null on failure.
  std::unique_ptr<Graph> build(std::span<const HandNode> nodes);
  /// Gives the first `count` nodes, which are kernels, the parameters of these.
  bool update(const Graph& graph, std::span<const HandNode> nodes, size_t count);
  bool launch(const Graph& graph);
  bool wait();
  /// Launches it `count` times on two streams in turn, each after the one before by an event, and waits for the last.
  bool hand_over(const Graph& graph, uint32_t count);
  /// The nodes as launches on one stream, in their order. Kernels only.
  bool stream_and_wait(std::span<const HandNode> nodes);

 private:
  HandDriver() = default;
  bool open(std::span<const Code> codes);
  bool load(Code ptx);
  bool add(void* graph, const HandNode& node, std::span<void* const> after, void** made);

  void* context_ = nullptr;
  void* stream_ = nullptr;
  void* second_stream_ = nullptr;
  void* events_[2] = {};
  void* small_ = nullptr;
  void* busy_ = nullptr;
  void* pinned_ = nullptr;
  unsigned long long memory_ = 0;
};

}  // namespace bench
