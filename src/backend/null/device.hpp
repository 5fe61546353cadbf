// SPDX-License-Identifier: Apache-2.0
// The null backend: accepts every plan, moves no bytes, completes jobs in order. It measures what the library
// itself costs, and it is the smallest complete backend: start a new one from a copy of this folder.
//
//   device.cpp   the device: limits, costs, queues      memory.cpp   allocations
//   lower.cpp    a plan becomes an executable           submit.cpp   a queue runs jobs
#pragma once

#include <array>
#include <atomic>
#include <memory>

#include "backend/backend.hpp"
#include "backend/host_queue.hpp"

namespace pianola::backend::null {

class NullMemory final : public Memory {
 public:
  explicit NullMemory(std::byte* address, std::shared_ptr<void> owner = nullptr)
      : address_(address), owner_(std::move(owner)) {}
  void* native() const override { return address_; }
  std::byte* host() const override { return nullptr; }
  Result<> write(uint64_t offset, std::span<const std::byte> bytes) override;
  Result<> read(uint64_t offset, std::span<std::byte> bytes) override;

 private:
  std::byte* address_;
  std::shared_ptr<void> owner_;
};

class NullExecutable final : public Executable {
 public:
  explicit NullExecutable(Plan plan) : plan_(std::move(plan)) {}
  std::string describe() const override;

 private:
  Plan plan_;
};

class NullQueue final : public CommandQueue {
 public:
  NullQueue();
  void submit(Job job) noexcept override { jobs_.submit(std::move(job)); }

 private:
  HostQueue jobs_;
};

class NullDevice final : public Device {
 public:
  static Result<uint32_t> count(const DeviceOptions& options);
  static Result<std::unique_ptr<Device>> open(uint32_t index, const DeviceOptions& options);

  NullDevice();
  std::string_view name() const override { return "null device"; }
  const DeviceLimits& limits() const override { return limits_; }
  const DeviceProfile& profile() const override { return profile_; }
  uint32_t queue_count() const override { return static_cast<uint32_t>(queues_.size()); }
  CommandQueue& queue(uint32_t index) override { return queues_[index]; }
  Result<std::unique_ptr<Memory>> allocate(uint64_t size, MemoryKind kind) override;
  Result<std::unique_ptr<Memory>> import(const NativeMemory& memory) override;
  Result<std::shared_ptr<Executable>> make_executable(const Plan& plan, const InstantiateOptions& options,
                                                      const std::shared_ptr<const Bindings>& defaults) override;

 private:
  DeviceLimits limits_;
  DeviceProfile profile_;
  std::atomic<uintptr_t> next_address_;
  std::array<NullQueue, 4> queues_;
};

}  // namespace pianola::backend::null
