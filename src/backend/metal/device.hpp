// SPDX-License-Identifier: Apache-2.0
// The objects of the Metal backend. entry.hpp lists the files.
#pragma once
#import <Metal/Metal.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "backend/host_queue.hpp"
#include "backend/metal/buffer_table.hpp"
#include "backend/metal/job_end.hpp"
#include "backend/metal/kernels.hpp"
#include "backend/metal/lower.hpp"
#include "backend/metal/ref.hpp"

namespace pianola::backend::metal {

class MetalDevice;

/// Whether a device has failed for good; shared with work in flight, which may outlive it.
class Loss {
 public:
  bool is_lost() const { return is_lost_->load(std::memory_order_acquire); }
  void note(Errc code) const {
    if (code == Errc::device_lost) is_lost_->store(true, std::memory_order_release);
  }
  /// Errors: device_lost.
  Result<> check() const;

 private:
  std::shared_ptr<std::atomic<bool>> is_lost_ = std::make_shared<std::atomic<bool>>(false);
};

/// A place in a buffer.
struct Bound {
  id<MTLBuffer> buffer = nil;
  uint64_t offset = 0;
};

class MetalMemory final : public Memory {
 public:
  /// Errors: unsupported (another buffer lies over the same memory of the host).
  static Result<std::unique_ptr<Memory>> make(MetalDevice& device, Ref<id<MTLBuffer>> buffer,
                                              std::shared_ptr<void> owner);
  MetalMemory(MetalDevice& device, Ref<id<MTLBuffer>> buffer, std::shared_ptr<void> owner);
  ~MetalMemory() override;
  void* native() const override { return native_; }
  std::byte* host() const override { return host_; }
  Result<> write(uint64_t offset, std::span<const std::byte> bytes) override;
  Result<> read(uint64_t offset, std::span<std::byte> bytes) override;
  id<MTLBuffer> buffer() const { return buffer_.get(); }

 private:
  MetalDevice& device_;
  std::shared_ptr<void> owner_;  ///< outlives the buffer, which may lie over its memory
  Ref<id<MTLBuffer>> buffer_;
  std::byte* native_ = nullptr;  ///< set once it is in the device's table
  std::byte* host_ = nullptr;
};

/// Addresses of more buffers than can be bound directly, encoded once for each content.
using ArgumentBuffer = std::shared_ptr<Ref<id<MTLBuffer>>>;
/// One for each argument set of a program.
using ArgumentBuffers = std::shared_ptr<const std::vector<ArgumentBuffer>>;

class MetalExecutable final : public Executable {
 public:
  static Result<std::shared_ptr<Executable>> make(MetalDevice& device, const Plan& plan, bool check_indirect);
  std::string describe() const override { return to_string(program); }

  /// For a submission's checked counts; null if none are checked. Errors: out_of_memory.
  Result<Ref<id<MTLBuffer>>> make_checks() const;
  /// The first dispatch, if any, whose counts were over the device's limit.
  std::optional<Error> failed_check(id<MTLBuffer> checks) const;
  /// The argument buffers for these bindings; null if the program needs none. Thread-safe. Errors: out_of_memory.
  Result<ArgumentBuffers> argument_buffers(const std::shared_ptr<const Bindings>& bindings);

  Program program;
  std::vector<std::shared_ptr<const Pipeline>> pipelines;  ///< one a kernel of the program
  Ref<id<MTLBuffer>> staging;                              ///< bytes of updates, or none
  id<MTLBuffer> nothing = nil;                             ///< the device's
  std::vector<Ref<NSString*>> labels;                      ///< one a debug group
  bool concurrent = true;

 private:
  using Content = std::vector<uint64_t>;
  Result<> load_kernels(MetalDevice& device);
  Result<> make_staging(MetalDevice& device);
  Result<ArgumentBuffer> argument_buffer(uint32_t set, const Bindings& bindings);

  id<MTLDevice> native_ = nil;
  std::array<uint32_t, 3> most_groups_{};
  std::mutex mutex_;  ///< argument encoders are not thread-safe
  std::map<uint32_t, Ref<id<MTLArgumentEncoder>>> encoders_;
  std::map<std::pair<uint32_t, Content>, ArgumentBuffer> known_;
  std::weak_ptr<const Bindings> last_bindings_;
  ArgumentBuffers last_;  ///< of last_bindings_
};

/// A job between its turn and its completion.
struct InFlight {
  Job job;
  size_t command_buffers = 1;  ///< that it may take
  ArgumentBuffers argument_buffers;
  Ref<id<MTLBuffer>> checks;  ///< counts of indirect dispatches, or none
  std::vector<std::pair<SemaphoreValue, std::shared_ptr<const JobEnd>>> promises;  ///< that the device waits for
  std::shared_ptr<const JobEnd> end;                                               ///< what the device signals, or null
  size_t running = 0;        ///< command buffers that the device has
  size_t unmet = 0;          ///< promises that are still open
  bool is_launched = false;  ///< the device has all of it
  bool is_promised = false;  ///< or never to be
  std::optional<Error> error;
  bool is_over() const { return is_launched && running == 0 && unmet == 0; }
};

/// What a queue shares with the completion handlers, which may outlive it.
class Flights : public std::enable_shared_from_this<Flights> {
 public:
  using Flight = std::list<InFlight>::iterator;

  Flights(id<MTLDevice> device, Loss loss) : device_(device), loss_(std::move(loss)) {}
  /// `flight` has one element. Cannot fail, so that a job is never lost.
  Flight add(std::list<InFlight> flight) noexcept;
  /// An end that no other job in flight has. Errors: out_of_memory.
  Result<std::shared_ptr<const JobEnd>> make_end();
  /// The flight is over no sooner than what `promise` promises, and fails with it. Errors: out_of_memory.
  Result<> follow(Flight flight, const SemaphoreValue& promise);
  bool has_room(size_t command_buffers);
  /// Metal's own call would block otherwise.
  void wait_for_room(size_t command_buffers);
  /// The device gets one more of the flight's command buffers.
  void hand_over(Flight flight) noexcept;
  /// One of them has ended. The last one signals.
  void land(Flight flight, std::optional<Error> error, bool is_last) noexcept;
  /// No more of them will come.
  void launched(Flight flight, std::optional<Error> error) noexcept;
  void wait_until_empty();

 private:
  bool is_room(size_t command_buffers) const;
  void met(Flight flight, std::optional<Error> error) noexcept;
  void note(InFlight& flight, std::optional<Error> error) noexcept;
  void settle(std::unique_lock<std::mutex>& lock) noexcept;
  void keep_spare(std::shared_ptr<const JobEnd> end) noexcept;
  void promise_first() noexcept;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::list<InFlight> flights_;
  size_t command_buffers_ = 0;                             ///< of them all
  std::vector<std::shared_ptr<const JobEnd>> spare_ends_;  ///< of completed jobs
  bool is_landing_ = false;
  id<MTLDevice> device_;
  Loss loss_;
};

class MetalQueue final : public CommandQueue {
 public:
  /// Errors: out_of_memory.
  static Result<std::unique_ptr<MetalQueue>> make(id<MTLDevice> device, Loss loss);
  MetalQueue(id<MTLDevice> device, Ref<id<MTLCommandQueue>> queue, Loss loss);
  ~MetalQueue() override;
  void submit(Job job) noexcept override { jobs_->submit(std::move(job)); }
  id<MTLCommandQueue> native() const { return queue_.get(); }

 private:
  std::optional<Error> start(Job& job, std::optional<Error> failed);
  Result<> gather_promises(InFlight& flight);
  Result<> launch(Flights::Flight flight);
  Result<> follow_promises(Flights::Flight flight);

  Ref<id<MTLCommandQueue>> queue_;
  Loss loss_;
  std::shared_ptr<Flights> flights_;
  std::unique_ptr<HostQueue> jobs_;
};

class MetalDevice final : public Device {
 public:
  static Result<std::unique_ptr<Device>> open(uint32_t index);

  std::string_view name() const override { return name_; }
  const DeviceLimits& limits() const override { return limits_; }
  const DeviceProfile& profile() const override { return target_.profile; }
  uint32_t queue_count() const override { return static_cast<uint32_t>(queues_.size()); }
  CommandQueue& queue(uint32_t index) override { return *queues_[index]; }
  Result<std::unique_ptr<Memory>> allocate(uint64_t size, MemoryKind kind) override;
  Result<std::unique_ptr<Memory>> import(const NativeMemory& memory) override;
  /// Errors: unsupported (a buffer without hazard tracking, one over memory that another has), out_of_memory.
  Result<std::unique_ptr<Memory>> import(id<MTLBuffer> native, std::shared_ptr<void> owner);
  Result<std::shared_ptr<Executable>> make_executable(const Plan& plan, const InstantiateOptions& options,
                                                      const std::shared_ptr<const Bindings>& defaults) override;

  id<MTLDevice> native() const { return device_.get(); }
  const Target& target() const { return target_; }
  PipelineCache& pipelines() { return pipelines_; }
  BufferTable& buffers() { return buffers_; }
  id<MTLBuffer> nothing() const { return nothing_.get(); }
  bool has_argument_buffers() const { return has_argument_buffers_; }
  /// Copies these bytes and touches no other, blocking. The places lie alike within 16 bytes.
  /// Errors: out_of_memory, execution_failed, device_lost, those of PipelineCache::get.
  Result<> copy(const Bound& to, const Bound& from, uint64_t size);

 private:
  explicit MetalDevice(Ref<id<MTLDevice>> device);

  Ref<id<MTLDevice>> device_;
  std::string name_;
  DeviceLimits limits_;
  Target target_;
  bool has_argument_buffers_ = false;
  Loss loss_;
  BufferTable buffers_;
  PipelineCache pipelines_;
  Ref<id<MTLCommandQueue>> transfer_queue_;  ///< for reads and writes of private memory
  Ref<id<MTLBuffer>> nothing_;               ///< for nothing_slot
  std::vector<std::unique_ptr<MetalQueue>> queues_;
};

/// Gives the command buffer to encode into from now on, or nil if there is none. The one before may be committed.
using NextCommandBuffer = std::function<id<MTLCommandBuffer>()>;

/// Encodes the program with the flight's bindings and buffers. Errors: out_of_memory. After one the last command buffer
/// has no open encoder and is to be dropped.
Result<> encode(const MetalExecutable& executable, const InFlight& flight, const NextCommandBuffer& next);

}  // namespace pianola::backend::metal
