// SPDX-License-Identifier: Apache-2.0
// A HIP or CUDA device behind a table of driver calls.
#pragma once

#include <vector>

#include "backend/backend.hpp"
#include "backend/driver_graph/kernels.hpp"
#include "backend/driver_graph/memory.hpp"
#include "backend/driver_graph/queue.hpp"

namespace pianola::driver_graph {

class GraphDevice final : public backend::Device {
 public:
  /// Takes the table of an opened device. Errors: those of making a stream.
  static Result<std::unique_ptr<backend::Device>> create(DriverTable table);
  ~GraphDevice() override;

  std::string_view name() const override { return driver_->facts().name; }
  const DeviceLimits& limits() const override { return driver_->facts().limits; }
  const DeviceProfile& profile() const override { return profile_; }
  uint32_t queue_count() const override { return static_cast<uint32_t>(queues_.size()); }
  const DriverRef& driver() const { return driver_; }
  backend::CommandQueue& queue(uint32_t index) override { return *queues_[index]; }
  Result<std::unique_ptr<backend::Memory>> allocate(uint64_t size, MemoryKind kind) override;
  Result<std::unique_ptr<backend::Memory>> import(const NativeMemory& memory) override;
  Result<std::shared_ptr<backend::Executable>> make_executable(
      const Plan& plan, const InstantiateOptions& options,
      const std::shared_ptr<const backend::Bindings>& defaults) override;

 private:
  explicit GraphDevice(DriverRef driver) : driver_(std::move(driver)), libraries_(driver_) {}
  DriverRef driver_;
  std::shared_ptr<Transfers> transfers_;
  LibraryCache libraries_;
  DeviceProfile profile_;
  std::vector<std::unique_ptr<GraphQueue>> queues_;
};

}  // namespace pianola::driver_graph
