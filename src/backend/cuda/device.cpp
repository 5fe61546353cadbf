// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/device.hpp"

#include "backend/cuda/api.hpp"

namespace pianola::cuda {

Result<uint32_t> count(const DeviceOptions& options) {
  return driver_graph::count_devices<Vendor>(options);
}

Result<std::unique_ptr<backend::Device>> open(uint32_t index, const DeviceOptions& options) {
  return driver_graph::open_device<Vendor>(index, options);
}

}  // namespace pianola::cuda
