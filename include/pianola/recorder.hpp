// SPDX-License-Identifier: Apache-2.0
// Records one flat command list. Errors are sticky, carry the command's index and come out of finish().
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include "pianola/arguments.hpp"
#include "pianola/buffer.hpp"
#include "pianola/command_buffer.hpp"
#include "pianola/error.hpp"
#include "pianola/kernel_library.hpp"

namespace pianola {

/// What a slot requires of the memory bound to it.
struct SlotOptions {
  uint32_t alignment = default_slot_alignment;  ///< of the bound range's first byte; a power of two up to 256
  std::optional<MemoryKind> kind;
  bool may_alias = false;
};

/// Outer ranges and values for the slots and named constants of a nested command buffer.
struct ExecuteArguments {
  struct SlotMap {
    SlotId inner{};
    BufferRef outer;
  };
  struct ConstantMap {
    ConstantId inner{};
    Constants::Value outer;  ///< bytes, or a named constant of the outer command buffer
  };
  std::vector<SlotMap> bindings;
  std::vector<ConstantMap> constants;
};

/// Not thread-safe: one recorder belongs to one thread at a time. Every verb appends one command,
/// except push_constants() and push_descriptor_set(), whose state is resolved into later dispatches.
/// Commands between two barriers may run at the same time and in any order.
/// After the first error all further verbs do nothing.
class Recorder {
 public:
  Recorder();
  ~Recorder();
  Recorder(Recorder&&) noexcept;
  Recorder& operator=(Recorder&&) noexcept;

  /// A slot of at least `size` bytes, bound at instantiate or submit. Names are unique and not empty.
  /// Errors: invalid_argument (the name, the alignment), limit_exceeded (`whole_size`, which is no size).
  BufferRef buffer(std::string_view name, uint64_t size, const SlotOptions& options = {});
  /// A slot bound to this memory now. Views of one buffer are ranges of one slot.
  /// Errors: invalid_argument (an empty buffer), out_of_range (the view ends past its buffer).
  BufferRef buffer(const BufferView& view);
  /// Bytes that are given at instantiate or submit; 1 to 1,024. Names are unique and not empty. The alignment, 4 or 8,
  /// is that in the Constants of a dispatch: 8 is for wide numbers of packed kernels. Errors: invalid_argument (the
  /// name, the alignment), limit_exceeded (the size).
  ConstantRef constant(std::string_view name, uint32_t size, uint32_t alignment = 4);
  EventRef event();
  ChannelRef channel(std::string_view name);  ///< Errors: invalid_argument (an empty name).

  /// Writes the pattern over the range. The range is a multiple of the pattern's size, at any byte offset.
  Recorder& fill(const BufferRef& destination, const Pattern& pattern);
  /// Writes bytes that are copied now; their number is the range's size.
  Recorder& update(const BufferRef& destination, std::span<const std::byte> bytes);
  template <TrivialContainer C>
  Recorder& update(const BufferRef& destination, const C& values) {
    return update(destination, std::span<const std::byte>(bytes_of(values)));
  }
  /// Copies between ranges of equal size that do not overlap.
  Recorder& copy(const BufferRef& destination, const BufferRef& source);

  /// Orders everything before against everything after.
  Recorder& barrier();
  /// Orders exactly the conflicts on these ranges.
  Recorder& barrier(std::span<const BufferRef> ranges);
  Recorder& barrier(std::initializer_list<BufferRef> ranges) {
    return barrier(std::span<const BufferRef>(ranges.begin(), ranges.size()));
  }

  /// Sets bytes [offset, offset + size) of the constant state; both multiples of 4. Other bytes stay.
  Recorder& push_constants(uint32_t offset, std::span<const std::byte> bytes);
  template <class T>
    requires(std::is_trivially_copyable_v<T> && !TrivialContainer<const T>)
  Recorder& push_constants(uint32_t offset, const T& value) {
    return push_constants(offset, std::span<const std::byte>(std::as_bytes(std::span(&value, 1))));
  }
  template <TrivialContainer C>
  Recorder& push_constants(uint32_t offset, const C& values) {
    return push_constants(offset, std::span<const std::byte>(bytes_of(values)));
  }
  /// Sets some bindings of a descriptor set. Others stay. Holes are legal.
  Recorder& push_descriptor_set(uint32_t set, std::span<const Descriptor> descriptors);
  Recorder& push_descriptor_set(uint32_t set, std::initializer_list<Descriptor> descriptors) {
    return push_descriptor_set(set, std::span<const Descriptor>(descriptors.begin(), descriptors.size()));
  }

  Recorder& dispatch(const Kernel& kernel, const Dispatch& arguments);
  /// Group counts are three uint32 at the first 12 bytes of `counts`, whose offset and slot are aligned to 4.
  /// The counts are a tracked read and must not be written by the same dispatch. arguments.groups is unused.
  Recorder& dispatch_indirect(const Kernel& kernel, const BufferRef& counts, const Dispatch& arguments);
  Recorder& collective(const Collective& arguments);

  /// The inner commands stand here, with inner slots mapped to outer ranges. Inner barriers order outer
  /// commands too; push state is isolated both ways. Every inner slot that isn't direct and every inner
  /// constant needs an entry.
  Recorder& execute(const CommandBuffer& inner, const ExecuteArguments& arguments = {});

  /// Events are split barriers: what came before the signal is done before what comes after the wait.
  Recorder& signal_event(EventRef event);
  Recorder& wait_event(EventRef event);   ///< of the latest earlier signal; none is an error
  Recorder& reset_event(EventRef event);  ///< forgets the signal

  /// Contents become undefined; for order it counts as a write.
  Recorder& discard(const BufferRef& range);

  Recorder& begin_debug_group(std::string_view label, uint32_t rgba = 0);
  Recorder& end_debug_group();

  /// The recording, or the first error; after an error it returns that error again. Once it has given the recording, it
  /// returns invalid_state, and so it does on a recorder that was moved from.
  Result<CommandBuffer> finish();

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
  bool is_out_of_memory_ = false;  // from the start; else no impl_ means moved from
};

}  // namespace pianola
