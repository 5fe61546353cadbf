// SPDX-License-Identifier: Apache-2.0
// Where members of structs lie in buffers. A CPU's float4 and uint4 lie at any multiple of 4, a GPU's at multiples
// of 16.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

namespace pianola::kernel_build {

class Layouts {
 public:
  struct Layout {
    uint32_t size = 0;       ///< on a CPU; what exceeds multiples of 16 is right
    uint32_t alignment = 1;  ///< on a GPU
    bool has_vector = false;
    bool is_size_known = true;
    bool differs = false;  ///< between CPUs and GPUs
  };

  /// Of a type of the dialect or a struct that is known.
  Layout of(std::string_view type) const;
  /// Makes it an array; `count` is what stands in the brackets, if that is one token.
  static void repeat(Layout& array, std::string_view count);
  /// Puts a member behind the others of a struct.
  static void add(Layout& whole, const Layout& member);
  /// All members of the struct are added.
  void finish(std::string_view name, Layout whole);

 private:
  std::unordered_map<std::string_view, Layout> structs_;
};

}  // namespace pianola::kernel_build
