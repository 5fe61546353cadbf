// SPDX-License-Identifier: Apache-2.0
// What the public handles hold. Who keeps whom: a job keeps its graph, a graph its device and its recording, a
// buffer its device. Queues are part of their device; a queue's handle shares the device's ownership.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.hpp"
#include "pianola/device.hpp"

namespace pianola {

struct Queue::Impl {
  Device::Impl* device = nullptr;
  backend::CommandQueue* backend = nullptr;

  // What wait_idle() has to wait for, and what it has to report.
  std::mutex mutex;
  std::deque<std::shared_ptr<Submission::State>> pending;
  std::optional<Error> first_error;

  /// Remembers a submission; forgets those at the front that are done.
  void track(const std::shared_ptr<Submission::State>& state) noexcept;
  /// Those were waited for and their errors reported.
  void forget(const std::deque<std::shared_ptr<Submission::State>>& reported) noexcept;
};

struct Device::Impl : std::enable_shared_from_this<Device::Impl> {
  DeviceOptions options;
  std::string spec;
  std::unique_ptr<backend::Device> backend;
  std::deque<Queue::Impl> queues;
};

struct Buffer::Impl {
  std::shared_ptr<Device::Impl> device;
  std::unique_ptr<backend::Memory> memory;
  uint64_t size = 0;
  MemoryKind kind = MemoryKind::device;
};

/// A group count that comes from a named constant; checked whenever that constant is given.
struct NamedGroups {
  ConstantId constant{};
  uint32_t dimension = 0;
  uint32_t command = 0;
};

struct Graph::Impl {
  std::shared_ptr<Device::Impl> device;
  CommandBuffer commands;
  Plan plan;
  std::shared_ptr<backend::Executable> executable;
  std::vector<NamedGroups> named_groups;
  /// From recording and instantiate; slots and constants that have none are marked.
  std::shared_ptr<const backend::Bindings> defaults;
  std::vector<bool> constant_given;
  bool complete = false;  ///< defaults leave nothing open
};

}  // namespace pianola
