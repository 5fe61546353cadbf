// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/device.hpp"

#include "backend/cuda/table.hpp"
#include "backend/driver_graph/device.hpp"

namespace pianola::cuda {

Result<uint32_t> count(const DeviceOptions& options) {
  Result<const Api*> api = load(options.driver_path);
  if (!api) return api.error();
  int number = 0;
  const Status status = (*api)->f.device_count(&number);
  if (status != success) {
    Error error = (*api)->error("cuDeviceGetCount", status);
    error.code = Errc::no_device;
    return error;
  }
  return static_cast<uint32_t>(number);
}

Result<std::unique_ptr<backend::Device>> open(uint32_t index, const DeviceOptions& options) {
  Result<const Api*> api = load(options.driver_path);
  if (!api) return api.error();
  Result<driver_graph::DriverTable> table = make_table(**api, static_cast<int>(index));
  if (!table) return table.error();
  return driver_graph::GraphDevice::create(std::move(*table));
}

}  // namespace pianola::cuda
