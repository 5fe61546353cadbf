// SPDX-License-Identifier: Apache-2.0
// What a command buffer of the software device holds: plain data, written by the encoders, run by the queue.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "event.hpp"
#include "memory.hpp"
#include "msl.hpp"

namespace sim_metal {

constexpr size_t max_buffer_bindings = 31;

/// What a command needs. Only a retaining command buffer keeps it alive.
template <class T>
class Held {
 public:
  Held() = default;
  Held(const std::shared_ptr<T>& object, bool retain) : strong_(retain ? object : nullptr), weak_(object), set_(true) {}
  std::shared_ptr<T> get() const { return strong_ ? strong_ : weak_.lock(); }
  bool is_freed() const { return set_ && !strong_ && weak_.expired(); }

 private:
  std::shared_ptr<T> strong_;
  std::weak_ptr<T> weak_;
  bool set_ = false;
};

/// A use of a buffer by a command.
struct Use : Held<Memory> {
  using Held::Held;
  bool read = true;
  bool write = true;
};

struct Binding {
  enum class Kind : uint8_t { unset, buffer, bytes } kind = Kind::unset;
  Use use;
  size_t offset = 0;
  std::vector<uint8_t> bytes;
};

struct Fence {
  std::vector<uint64_t> encoders;  ///< serials of those it stands for; guarded by the device lock
};

struct Pipeline {
  std::shared_ptr<msl::Library> library;
  const msl::Kernel* kernel = nullptr;  ///< which is valid for ever: what was compiled once is kept
  uint64_t max_threads = 0;
};

/// One encoder, as far as ordering is concerned.
struct Encoder {
  uint64_t serial = 0;  ///< given when the command buffer is committed
  bool concurrent = false;
  bool blit = false;
  uint32_t queue = 0;
  Clock known;                   ///< work of any queue that is over when this encoder starts; set when it runs
  std::vector<uint64_t> fenced;  ///< serials of encoders waited for by fence
  uint32_t waits = 0;
};

/// State of a compute encoder that a dispatch copies: shared while nothing changes.
struct DispatchState {
  std::array<Binding, max_buffer_bindings> bindings;
  std::array<size_t, max_buffer_bindings> threadgroup_bytes{};
  std::vector<Use> resident;
};

/// Barriers of a concurrent encoder up to some command: the index of the first command after each.
struct BarrierState {
  int all = 0;
  std::map<const Memory*, int> of_resource;
  bool operator==(const BarrierState&) const = default;
};

struct Command {
  enum class Kind : uint8_t { fill, copy, dispatch, signal, wait, update_fence, wait_fence } kind = Kind::fill;
  std::shared_ptr<Encoder> encoder;
  uint32_t id = 0;
  int index = 0;  ///< in its encoder

  Use a, b;
  size_t a_offset = 0, b_offset = 0, size = 0;
  uint8_t value = 0;

  Held<Event> event;
  uint64_t event_value = 0;
  Held<Fence> fence;

  Held<Pipeline> pipeline;
  const msl::Kernel* kernel = nullptr;
  std::shared_ptr<const DispatchState> state;
  std::shared_ptr<const BarrierState> barriers;
  std::array<uint32_t, 3> groups = {1, 1, 1};
  std::array<uint32_t, 3> threads = {1, 1, 1};
  std::array<uint32_t, 3> total = {0, 0, 0};  ///< threads of the grid, or 0: whole groups
  bool is_indirect = false;                   ///< counts are at a, a_offset
};

struct CommandBuffer {
  std::vector<Command> commands;
  bool retained = true;
  std::optional<int64_t> fault;  ///< asked for by the test: it runs nothing and completes with this error
  std::string error;
  int64_t error_code = 0;
  uint64_t last_encoder = 0;
  Clock known;  ///< what is over before the command at hand; once all has run, what is over then
  std::function<void()> scheduled;
  std::function<void()> completed;
  void fail(int64_t code, std::string text) {
    if (!error.empty()) return;
    error_code = code;
    error = std::move(text);
  }
};

/// "dispatch of saxpy (command 3 of encoder 7)".
std::string describe(const Command& command);

/// What the command needs and was freed, "a bound buffer"; null if all is there.
const char* freed_part(const Command& command);

}  // namespace sim_metal
