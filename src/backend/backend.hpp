// SPDX-License-Identifier: Apache-2.0
// The backend contract.
//
// A backend turns a plan into the form its device replays fastest, binds memory, submits, and reports the
// first error. It never re-derives order: the plan's lanes and edges (or waves and sync points) are all the
// order there is, and they are enough.
//
// What a backend may assume on entry:
//  * The command buffer is valid: every range lies inside its slot, kernels exist in their library, numbers
//    and sizes of arguments match, copies do not overlap, patterns are 1, 2, 4, 8 or 16 bytes.
//  * The plan was made from that command buffer with this device's profile. No node is of zero size, but for
//    dispatches whose counts come from memory or from named constants.
//  * Limits that `limits()` states have been checked, for named group counts at submit too.
//  * Bindings given to submit() are complete: every slot of the plan has memory of this device, large enough,
//    aligned as the slot asks, and overlapping no written slot unless both may alias.
//
// What it owes:
//  * make_executable() either gives an object ready to run or an error, with nothing left behind. It fails
//    with `missing_kernel` where the library has no code for the device, and with `unsupported` for a command
//    it cannot do; never later.
//  * submit() never blocks on the device. It takes the job whatever happens: each job completes exactly once,
//    with its first error. Jobs of one queue run in submission order, as if a full barrier stood between them.
//  * Waits are met before the first command runs; signals happen after the last one, and before the
//    submission completes. A wait may be for a value whose signal comes later, from any queue, any backend of
//    the process or the host. If a wait fails, the job completes with `dependency_failed` and runs nothing.
//    A failed job fails the semaphores it would have signalled.
//  * run_now() does a whole replay before it returns, as a job without waits and signals, or does nothing. It is only
//    for replays that cannot fail and that are as soon done as handed over; most backends have none.
//  * Job::keep_alive, the executable and the bindings live until the job has completed, and are released before
//    it completes, except on the thread that is inside submit().
//  * Zero group counts do nothing. Indirect counts over the limit launch nothing; the rest of the job still
//    runs where the library launches, and the job completes with `execution_failed`.
//  * A device that failed for good answers every later job with `device_lost`.
//
// Threads: every function may be called from any thread at any time, except that one Memory is not read or
// written by the host while work in flight uses it. Destructors never throw and may run on any thread.
// Ownership: the Device outlives everything made from it (callers hold it through `keep_alive`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/completion.hpp"
#include "pianola/device.hpp"
#include "plan/plan_data.hpp"

namespace pianola::backend {

/// One allocation.
class Memory {
 public:
  virtual ~Memory() = default;
  /// What kernels receive for offset 0.
  virtual void* native() const = 0;
  /// Host address of offset 0, or null if the host cannot reach it.
  virtual std::byte* host() const = 0;
  /// Blocking; ranges are checked by the caller.
  virtual Result<> write(uint64_t offset, std::span<const std::byte> bytes) = 0;
  virtual Result<> read(uint64_t offset, std::span<std::byte> bytes) = 0;
};

/// Memory for one slot.
struct BoundSlot {
  Memory* memory = nullptr;
  uint64_t offset = 0;
  uint64_t size = 0;
  std::byte* address = nullptr;  ///< memory->native() + offset
};

/// What a submission was given: complete, checked, immutable, shared between submissions.
struct Bindings {
  std::vector<BoundSlot> slots;           ///< one a slot of the command buffer
  std::vector<std::byte> constants;       ///< values of the named constants, one after another
  std::vector<uint32_t> constant_offset;  ///< where each one's value starts
  std::vector<std::shared_ptr<void>> keep_alive;
};

/// A plan made ready on one device.
class Executable {
 public:
  virtual ~Executable() = default;
  virtual std::string describe() const { return {}; }
};

struct Job {
  std::shared_ptr<Executable> executable;
  std::shared_ptr<const Bindings> bindings;
  std::vector<SemaphoreValue> wait;
  std::vector<SemaphoreValue> signal;
  std::shared_ptr<Submission::State> done;
  std::shared_ptr<void> keep_alive;
};

/// host_queue.hpp keeps order and holds back waits for backends whose driver does not.
class CommandQueue {
 public:
  virtual ~CommandQueue() = default;  ///< on any thread; jobs that are left complete all the same
  virtual void submit(Job job) noexcept = 0;
  /// True if it is done. The caller keeps both alive.
  virtual bool run_now(Executable& /*executable*/, const Bindings& /*bindings*/) noexcept { return false; }
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;
  virtual const DeviceLimits& limits() const = 0;
  virtual const DeviceProfile& profile() const = 0;
  virtual uint32_t queue_count() const = 0;
  virtual CommandQueue& queue(uint32_t index) = 0;
  virtual Result<std::unique_ptr<Memory>> allocate(uint64_t size, MemoryKind kind) = 0;
  virtual Result<std::unique_ptr<Memory>> import(const NativeMemory& memory) = 0;
  /// `defaults` are the bindings given at instantiate, or null if they are incomplete. A backend whose native
  /// objects hold addresses makes them from these; without them, at the first submit.
  virtual Result<std::shared_ptr<Executable>> make_executable(const Plan& plan, const InstantiateOptions& options,
                                                              const std::shared_ptr<const Bindings>& defaults) = 0;
};

/// One backend of this build. `count` gives the number of devices or the reason for none.
struct Entry {
  std::string_view name;
  bool indexed = false;   ///< specs carry an index ("cuda:0"); otherwise the name alone is the spec
  bool automatic = true;  ///< "auto" may choose it
  Result<uint32_t> (*count)(const DeviceOptions& options);
  Result<std::unique_ptr<Device>> (*open)(uint32_t index, const DeviceOptions& options);
};

/// In order of preference for "auto".
std::span<const Entry> registry();
/// The name of a backend that not every build has.
bool may_be_absent(std::string_view name);

}  // namespace pianola::backend
