// SPDX-License-Identifier: Apache-2.0
#include "backend/driver_graph/device.hpp"

#include "backend/driver_graph/executable.hpp"
#include "backend/driver_graph/profile.hpp"

namespace pianola::driver_graph {
namespace {

constexpr uint32_t queues_per_device = 4;

}  // namespace

Result<std::unique_ptr<backend::Device>> GraphDevice::create(DriverTable table) {
  auto driver = std::make_shared<Driver>(std::move(table));
  std::unique_ptr<GraphDevice> device(new GraphDevice(driver));
  Result<std::shared_ptr<Transfers>> transfers = Transfers::create(driver);
  if (!transfers) return transfers.error();
  device->transfers_ = std::move(*transfers);
  device->profile_ = profile_of(driver->facts());
  for (uint32_t i = 0; i < queues_per_device; ++i) device->queues_.push_back(std::make_unique<GraphQueue>(driver));
  return std::unique_ptr<backend::Device>(std::move(device));
}

GraphDevice::~GraphDevice() {
  queues_.clear();
}

Result<std::unique_ptr<backend::Memory>> GraphDevice::allocate(uint64_t size, MemoryKind kind) {
  return DriverMemory::allocate(transfers_, size, kind);
}

Result<std::unique_ptr<backend::Memory>> GraphDevice::import(const NativeMemory& memory) {
  return DriverMemory::import(transfers_, memory);
}

Result<std::shared_ptr<backend::Executable>> GraphDevice::make_executable(
    const Plan& plan, const InstantiateOptions& options, const std::shared_ptr<const backend::Bindings>& defaults) {
  if (std::optional<Error> lost = driver_->lost()) return *std::move(lost);
  Result<std::shared_ptr<GraphExecutable>> made =
      GraphExecutable::create(driver_, libraries_, plan, options, defaults, profile_.lanes);
  if (!made) return driver_->note(std::move(made.error()));
  return std::shared_ptr<backend::Executable>(std::move(*made));
}

}  // namespace pianola::driver_graph
