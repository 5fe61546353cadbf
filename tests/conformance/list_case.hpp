// SPDX-License-Identifier: Apache-2.0
// One recorded list with its inputs and the bytes it must leave, run in the way this run's mode says.
#pragma once

#include <string>
#include <vector>

#include "fixture.hpp"

namespace pianola::conformance {

/// Base of suites whose lists run in every mode.
class ListTest : public ConformanceTest {};

class ListCase {
 public:
  Recorder record;

  /// A slot with these contents before each run. Unless expect() says otherwise they must still be there after it.
  BufferRef buffer(std::string name, Bytes contents, MemoryKind kind = MemoryKind::device);
  template <class T>
  BufferRef buffer(std::string name, const std::vector<T>& values) {
    return buffer(std::move(name), to_bytes(values));
  }
  /// A named constant with this value in each run.
  template <class T>
  ConstantRef constant(std::string name, const T& value) {
    return constant_bytes(std::move(name), to_bytes(std::vector<T>{value}));
  }

  /// Contents after each run.
  void expect(const BufferRef& slot, Bytes contents);
  template <class T>
  void expect(const BufferRef& slot, const std::vector<T>& values) {
    expect(slot, to_bytes(values));
  }

  /// Fewer launches for lists that take long. Launches 1, 2 and the last are checked.
  void limit_launches(uint32_t launches) { launches_ = launches; }

  /// Finishes the recording and runs it.
  void run();

 private:
  struct Slot {
    std::string name;
    BufferRef ref;
    MemoryKind kind = MemoryKind::device;
    Bytes before;
    Bytes after;
  };
  struct Constant {
    std::string name;
    Bytes value;
  };
  using Memory = std::vector<GuardedBuffer>;  ///< one a slot

  ConstantRef constant_bytes(std::string name, Bytes value);
  Memory make_memory(uint64_t lead) const;
  std::vector<SlotBinding> bind(const Memory& memory) const;
  std::vector<ConstantBinding> bind_constants(bool zeros = false) const;
  InstantiateOptions instantiate_options() const;
  void reset(Memory& memory) const;
  void check(const Memory& memory, bool ran, std::string_view when) const;
  bool launch(const Graph& graph, const SubmitInfo& info, std::string_view when) const;

  void run_replays(const CommandBuffer& commands, uint32_t launches);
  void run_rebound(const CommandBuffer& commands);
  void check_mixed(const Graph& graph, Memory& first, Memory& second) const;
  void run_oneshot(const CommandBuffer& commands);

  std::vector<Slot> slots_;
  std::vector<Constant> constants_;
  Memory direct_;
  uint32_t launches_ = 100;
};

/// Every word of `source` into `result`, after so long that whatever fails to wait for it comes too early.
Dispatch slow_copy(const BufferRef& source, const BufferRef& result);

}  // namespace pianola::conformance
