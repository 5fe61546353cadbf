// SPDX-License-Identifier: Apache-2.0
// Every backend of this build. The only place that asks which ones there are.
#include <algorithm>
#include <array>

#include "backend/backend.hpp"
#include "backend/cpu/device.hpp"
#include "backend/null/device.hpp"
#if PIANOLA_HAS_CUDA
#include "backend/cuda/device.hpp"
#endif
#if PIANOLA_HAS_HIP
#include "backend/hip/device.hpp"
#endif
#if PIANOLA_HAS_METAL
#include "backend/metal/entry.hpp"
#endif

namespace pianola::backend {
namespace {

constexpr auto entries = std::to_array<Entry>({
#if PIANOLA_HAS_METAL
    {.name = "metal", .indexed = false, .automatic = PIANOLA_METAL_IS_REAL, .count = metal::count, .open = metal::open},
#endif
#if PIANOLA_HAS_CUDA
    {.name = "cuda", .indexed = true, .count = cuda::count, .open = cuda::open},
#endif
#if PIANOLA_HAS_HIP
    {.name = "hip", .indexed = true, .count = hip::count, .open = hip::open},
#endif
    {.name = "cpu", .count = cpu::CpuDevice::count, .open = cpu::CpuDevice::open},
    {.name = "null", .automatic = false, .count = null::NullDevice::count, .open = null::NullDevice::open},
});

constexpr auto optional_names = std::to_array<std::string_view>({"metal", "vulkan", "cuda", "hip"});

}  // namespace

bool may_be_absent(std::string_view name) {
  return std::ranges::find(optional_names, name) != optional_names.end();
}

std::span<const Entry> registry() {
  return entries;
}

}  // namespace pianola::backend
