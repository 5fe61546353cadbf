// SPDX-License-Identifier: Apache-2.0
// Kernel libraries that only declare kernels: enough for recording and planning.
#pragma once

#include <algorithm>
#include <numeric>

#include "format/kernel_library_data.hpp"

namespace pianola {

/// Reads binding 0, writes binding 1, takes two 4-byte constants.
inline KernelInfo binary_kernel() {
  return {.name = "binary",
          .bindings = {{.name = "source", .binding = 0, .access = Access::in, .element_size = 4},
                       {.name = "target", .binding = 1, .access = Access::inout, .element_size = 4}},
          .constants = {{.name = "a", .offset = 0, .size = 4}, {.name = "b", .offset = 4, .size = 4}},
          .constant_bytes = 8,
          .workgroup = {64, 1, 1}};
}

inline KernelLibrary test_library(std::vector<KernelInfo> kernels) {
  auto data = std::make_shared<KernelLibrary::Data>();
  data->name = "test";
  data->kernels = std::move(kernels);
  data->by_name.resize(data->kernels.size());
  std::iota(data->by_name.begin(), data->by_name.end(), 0U);
  std::sort(data->by_name.begin(), data->by_name.end(),
            [&](uint32_t a, uint32_t b) { return data->kernels[a].name < data->kernels[b].name; });
  return KernelLibrary(data);
}

}  // namespace pianola
