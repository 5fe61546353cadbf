// SPDX-License-Identifier: Apache-2.0
// The CPU backend: the embedded default, and in serial mode the oracle for every other backend.
//
//   device.cpp  limits, costs, queues            memory.cpp    allocations and import
//   kernels.cpp host objects become functions    segments.cpp  a plan cut into segments
//   lower.cpp   a plan becomes a program         fill.cpp      fills by a pattern
//   run.cpp     tasks                            workers.cpp   segments on several threads
//   submit.cpp  executables and queues
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "backend/backend.hpp"
#include "backend/cpu/kernels.hpp"
#include "backend/cpu/program.hpp"
#include "backend/cpu/workers.hpp"
#include "backend/host_queue.hpp"

namespace pianola::backend::cpu {

class CpuExecutable final : public Executable {
 public:
  CpuExecutable(Program program, const DeviceLimits& limits, Workers* workers)
      : program_(std::move(program)), limits_(limits), workers_(workers) {}

  /// Worth doing at once on the submitting thread.
  bool is_small() const;
  bool can_fail() const { return program_.has_indirect; }
  std::optional<Error> run(const Bindings& bindings);
  /// By the calling thread, and for what cannot fail.
  void run_small(const Bindings& bindings) noexcept;
  std::string describe() const override;

 private:
  void run_here(Replay& replay);
  void run_by_workers(Replay& replay, SegmentState& state);
  SegmentStatePtr take_state();
  void give_back(SegmentStatePtr state);

  Program program_;
  const DeviceLimits& limits_;
  Workers* workers_;                     ///< null: one thread
  std::atomic<double> us_here_{0};       ///< time of a replay by one thread, or a guess at it; 0 before the first
  std::atomic<uint32_t> by_workers_{0};  ///< short replays with unknown counts by several threads
  std::mutex mutex_;
  std::vector<SegmentStatePtr> states_;
};

class CpuQueue final : public CommandQueue {
 public:
  CpuQueue();
  void submit(Job job) noexcept override { jobs_.submit(std::move(job)); }
  bool run_now(Executable& executable, const Bindings& bindings) noexcept override;

 private:
  HostQueue jobs_;
};

class CpuDevice final : public Device {
 public:
  static Result<uint32_t> count(const DeviceOptions& options);
  static Result<std::unique_ptr<Device>> open(uint32_t index, const DeviceOptions& options);

  explicit CpuDevice(const DeviceOptions& options);
  std::string_view name() const override { return name_; }
  const DeviceLimits& limits() const override { return limits_; }
  const DeviceProfile& profile() const override { return profile_; }
  uint32_t queue_count() const override { return static_cast<uint32_t>(queues_.size()); }
  CommandQueue& queue(uint32_t index) override { return queues_[index]; }
  Result<std::unique_ptr<Memory>> allocate(uint64_t size, MemoryKind kind) override;
  Result<std::unique_ptr<Memory>> import(const NativeMemory& memory) override;
  Result<std::shared_ptr<Executable>> make_executable(const Plan& plan, const InstantiateOptions& options,
                                                      const std::shared_ptr<const Bindings>& defaults) override;

 private:
  std::string name_;
  DeviceLimits limits_;
  DeviceProfile profile_;
  uint32_t threads_;
  KernelCache kernels_;
  std::unique_ptr<Workers> workers_;  ///< null with one thread
  std::array<CpuQueue, 4> queues_;
};

}  // namespace pianola::backend::cpu
