// SPDX-License-Identifier: Apache-2.0
// A command buffer made ready on one device.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "pianola/buffer.hpp"
#include "pianola/command_buffer.hpp"
#include "pianola/plan.hpp"
#include "pianola/types.hpp"

namespace pianola {

/// A slot or named constant, by the reference that recording gave, by id, or by name.
template <class Id, class Ref>
struct Key {
  Key(Id value) : id(value) {}
  Key(const char* text) : name(text), by_name(true) {}
  Key(std::string text) : name(std::move(text)), by_name(true) {}
  Key(std::string_view text) : name(text), by_name(true) {}
  Key(const Ref& ref) : id(key_of(ref)), recorder(ref.recorder), by_reference(true) {}
  Id id{};
  std::string name;
  uint32_t recorder = 0;  ///< that gave the reference; it has to be the command buffer's own
  bool by_name = false;
  bool by_reference = false;

 private:
  static SlotId key_of(const BufferRef& ref) { return ref.slot; }
  static ConstantId key_of(const ConstantRef& ref) { return ref.id; }
};
using SlotKey = Key<SlotId, BufferRef>;
using ConstantKey = Key<ConstantId, ConstantRef>;

/// Memory for a slot: at least the slot's size, aligned as it asks, of its kind.
struct SlotBinding {
  SlotKey slot;
  BufferView buffer;
};

/// Bytes for a named constant; exactly its size.
struct ConstantBinding {
  template <PlainValue T>
  ConstantBinding(ConstantKey key, const T& value) : constant(std::move(key)), bytes(sizeof(T)) {
    std::memcpy(bytes.data(), &value, sizeof(T));
  }
  ConstantBinding(ConstantKey key, std::span<const std::byte> value)
      : constant(std::move(key)), bytes(value.begin(), value.end()) {}
  ConstantKey constant;
  std::vector<std::byte> bytes;
};

struct InstantiateOptions {
  PlanOptions plan;
  std::vector<SlotBinding> bindings;       ///< defaults; a submit may give others
  std::vector<ConstantBinding> constants;  ///< defaults; a submit may give others
  uint64_t expected_replays = 1000;        ///< 1 lets a backend skip making a native graph
  bool native_graph = true;                ///< false: replay the plan without the driver's graphs
  bool timestamps = false;                 ///< time every command: Submission::times(); never as a native graph
  bool check_indirect = false;             ///< Metal: check indirect counts; CPU, CUDA and HIP always do
};

/// A handle; copies share the graph. It lives until its last submission has completed.
/// Submitting is thread-safe, and one graph may be in flight several times.
class Graph {
 public:
  Graph() = default;
  explicit operator bool() const { return impl_ != nullptr; }
  const CommandBuffer& command_buffer() const;  ///< precondition: not empty
  const Plan& plan() const;                     ///< precondition: not empty
  /// What the backend made of the plan, as text; empty where it has no form of its own.
  std::string native_description() const;

  struct Impl;
  explicit Graph(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace pianola
