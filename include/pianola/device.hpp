// SPDX-License-Identifier: Apache-2.0
// Devices: what there is, what one can do, and what is made on it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pianola/buffer.hpp"
#include "pianola/error.hpp"
#include "pianola/graph.hpp"
#include "pianola/plan.hpp"
#include "pianola/queue.hpp"

namespace pianola {

struct DeviceLimits {
  std::array<uint32_t, 3> max_groups = {65535, 65535, 65535};  ///< workgroups of one dispatch
  std::array<uint32_t, 3> max_workgroup = {1024, 1024, 64};    ///< threads of one workgroup, each dimension
  uint32_t max_workgroup_threads = 1024;                       ///< threads of one workgroup, product
  uint32_t max_shared_bytes = 48 * 1024;                       ///< static workgroup memory of one kernel
  /// Static and dynamic workgroup memory together, of a kernel that takes some of the latter.
  uint32_t max_dynamic_shared_bytes = 48 * 1024;
  uint32_t dispatch_alignment = 1;  ///< where a bound range may start; 0 means the element's size
  uint64_t max_buffer_size = 0;     ///< bytes of one buffer
  bool native_indirect = true;      ///< counts are read by the device, not by a thread of the library
  bool timestamps = false;          ///< commands can be timed: InstantiateOptions::timestamps
  bool unified_memory = false;      ///< map() works for every memory kind
};

struct DeviceOptions {
  bool serial = false;      ///< CPU: recorded order, one command after another, no merging. The oracle.
  uint32_t threads = 0;     ///< CPU: workers, the submitting thread included; at most 1,024; 0 means one a core
  std::string driver_path;  ///< a driver library to load instead of the one on the search path
};

/// One line of `pianola devices`: a device, or the reason why a backend has none.
struct DeviceDescription {
  std::string spec;  ///< what open() takes: "cpu", "cuda:0"; the backend's name if there is no device
  std::string name;  ///< as the driver gives it
  bool available = false;
  std::string reason;  ///< why not, if it isn't
};

/// Every backend of this build, in order of preference. Never fails: a backend without a device says why.
std::vector<DeviceDescription> list_devices();

/// A handle; copies share the device. Every call is thread-safe.
/// Precondition of the getters and of queue(): the handle is not empty.
class Device {
 public:
  Device() = default;
  explicit operator bool() const { return impl_ != nullptr; }

  /// "cpu", "null", "hip:0", "cuda:0", "metal", or "auto": the first that works, the CPU last. Vulkan is not there yet.
  /// Errors: invalid_argument (no such backend), no_device (with the backend's reason), limit_exceeded (over 1,024
  /// threads), out_of_memory.
  static Result<Device> open(std::string_view spec, const DeviceOptions& options = {});

  std::string_view spec() const;
  std::string_view name() const;
  const DeviceLimits& limits() const;
  const DeviceProfile& profile() const;

  uint32_t queue_count() const;
  /// Precondition: index < queue_count(). Queues of one device run independently of each other.
  Queue queue(uint32_t index = 0) const;

  /// Uninitialised memory. Errors: invalid_argument (0 bytes), limit_exceeded, out_of_memory, device_lost.
  Result<Buffer> allocate(uint64_t size, MemoryKind kind = MemoryKind::device) const;

  /// Plans the recording and makes native objects for it. Checks the device's limits, and the bindings given.
  /// Errors: invalid_argument (an empty handle, no such slot or constant, memory of another device, lanes),
  /// out_of_range (memory smaller than its slot), misaligned, mismatch, overlap, limit_exceeded, missing_kernel,
  /// corrupt (damaged code), compile_failed (Metal), unsupported, out_of_memory, device_lost.
  Result<Graph> instantiate(const CommandBuffer& commands, const InstantiateOptions& options = {}) const;

  struct Impl;
  explicit Device(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace pianola
