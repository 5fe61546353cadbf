// SPDX-License-Identifier: Apache-2.0
#include "backend/null/device.hpp"

#include "base/guarded.hpp"

namespace pianola::backend::null {
namespace {

/// Addresses are made up; they start far from any that a program has, and nobody follows them.
constexpr uintptr_t first_address = uintptr_t{1} << 56;

}  // namespace

Result<uint32_t> NullDevice::count(const DeviceOptions& /*options*/) {
  return 1U;
}

Result<std::unique_ptr<Device>> NullDevice::open(uint32_t /*index*/, const DeviceOptions& /*options*/) {
  return guarded([]() -> Result<std::unique_ptr<Device>> { return std::unique_ptr<Device>(new NullDevice); });
}

NullDevice::NullDevice() : next_address_(first_address) {
  limits_.max_buffer_size = uint64_t{1} << 48;
  limits_.max_dynamic_shared_bytes = UINT32_MAX;
  profile_.name = "null";
}

}  // namespace pianola::backend::null
