// SPDX-License-Identifier: Apache-2.0
#include "backend/hip/device.hpp"

#include "backend/hip/api.hpp"

namespace pianola::hip {

Result<uint32_t> count(const DeviceOptions& options) {
  return driver_graph::count_devices<Vendor>(options);
}

Result<std::unique_ptr<backend::Device>> open(uint32_t index, const DeviceOptions& options) {
  return driver_graph::open_device<Vendor>(index, options);
}

}  // namespace pianola::hip
