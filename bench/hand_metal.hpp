// SPDX-License-Identifier: Apache-2.0
// Command lists encoded straight with Metal's own calls: what Pianola's encoding is compared with. Each list stands in
// metal_encode_bench.cpp as a recording and in hand_metal.mm as the calls that a person would write for it.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "pianola/device.hpp"
#include "pianola/queue.hpp"

namespace bench {

enum class MetalList {
  dispatches,  ///< of one kernel, a barrier after every 32
  pipelines,   ///< of two kernels by turns, one to three buffers, a barrier of eight buffers after every 8
  transfers,   ///< fills and copies
  switches,    ///< 32 dispatches, 32 copies, and again
  arguments,   ///< of a kernel with 33 buffers, a barrier after every 8
};

/// What all lists work on.
constexpr size_t metal_buffers = 40;
constexpr uint64_t metal_buffer_size = uint64_t{1} << 20;
constexpr uint32_t metal_commands = 8192;

/// The software Metal then completes work without running it; with Apple's there is nothing to do.
void accept_everything();

class HandMetal {
 public:
  /// `source` has the kernels of encode_kernels.k. Null on failure.
  static std::unique_ptr<HandMetal> make(const pianola::Device& device, std::string_view source,
                                         const std::vector<pianola::Buffer>& buffers);
  ~HandMetal();
  /// Encodes the list into new command buffers and commits each once it is full.
  bool submit(MetalList list);
  /// For the last one submitted, if there is one.
  bool wait();
  /// What the list's last line is in Graph::native_description().
  static const char* totals(MetalList list);

 private:
  struct Objects;
  explicit HandMetal(std::unique_ptr<Objects> objects);
  std::unique_ptr<Objects> objects_;
};

}  // namespace bench
