// SPDX-License-Identifier: Apache-2.0
// The recorded commands as data. Each is a trivially copyable struct at the head of a record in the arena;
// arrays follow it directly. Everything is a multiple of 8 bytes, so that records lie at 8-byte addresses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "pianola/arguments.hpp"
#include "pianola/types.hpp"

namespace pianola {

enum class Op : uint8_t {
  fill,
  update,
  copy,
  barrier,
  dispatch,
  dispatch_indirect,
  collective,
  execute,
  signal_event,
  wait_event,
  reset_event,
  discard,
  begin_group,
  end_group,
};
std::string_view to_string(Op op);

/// Bytes [offset, offset + size) of a slot. `tag` belongs to the command: an access, a pattern size.
struct Range {
  SlotId slot{};
  uint32_t tag = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
};

struct CommandHeader {
  Op op = Op::barrier;
  uint8_t flags = 0;
  uint16_t count = 0;  ///< of the command's first array
  uint32_t words = 0;  ///< length of the whole record in 8-byte words
};

struct Fill {
  static constexpr auto op = Op::fill;
  CommandHeader header;
  Range destination;  ///< tag: bytes of the pattern
  std::array<std::byte, 16> pattern{};
};

/// Followed by destination.size bytes.
struct Update {
  static constexpr auto op = Op::update;
  CommandHeader header;
  Range destination;
  std::span<const std::byte> bytes() const {
    return {reinterpret_cast<const std::byte*>(this + 1), static_cast<size_t>(destination.size)};
  }
};

struct Copy {
  static constexpr auto op = Op::copy;
  CommandHeader header;
  Range destination;
  Range source;
};

/// Followed by header.count ranges. Without flag `narrowed` it is whole.
struct Barrier {
  static constexpr auto op = Op::barrier;
  static constexpr uint8_t narrowed = 1;
  CommandHeader header;
  std::span<const Range> ranges() const { return {reinterpret_cast<const Range*>(this + 1), header.count}; }
};

/// Where a named constant's bytes go in a constant block.
struct NamedConstant {
  ConstantId constant{};
  uint16_t offset = 0;
  uint16_t size = 0;
};

/// dispatch and dispatch_indirect. Followed by: the counts' range (indirect only), header.count bindings,
/// use_count uses (tag of both: Access), named_count named constants, constant_bytes bytes, padding.
struct DispatchCommand {
  /// groups[i] is the id of a named constant of 4 bytes
  static constexpr std::array<uint8_t, 3> group_is_constant = {1, 2, 4};
  CommandHeader header;
  uint32_t library = 0;  ///< index into the command buffer's libraries
  uint32_t entry = 0;    ///< index into that library's kernels
  std::array<uint32_t, 3> groups = {1, 1, 1};
  uint16_t use_count = 0;
  uint16_t named_count = 0;
  uint16_t constant_bytes = 0;
  uint16_t reserved = 0;
  float expected_us = 0;  ///< 0: unknown

  bool is_indirect() const { return header.op == Op::dispatch_indirect; }
  const Range* ranges() const { return reinterpret_cast<const Range*>(this + 1); }
  const Range& counts() const { return ranges()[0]; }  ///< precondition: is_indirect()
  std::span<const Range> bindings() const { return {ranges() + (is_indirect() ? 1 : 0), header.count}; }
  std::span<const Range> uses() const { return {bindings().data() + header.count, use_count}; }
  /// Counts, bindings and uses together.
  std::span<const Range> all_ranges() const {
    return {ranges(), static_cast<size_t>(is_indirect() ? 1 : 0) + header.count + use_count};
  }
  std::span<const NamedConstant> named() const {
    return {reinterpret_cast<const NamedConstant*>(ranges() + all_ranges().size()), named_count};
  }
  std::span<const std::byte> constants() const {
    return {reinterpret_cast<const std::byte*>(named().data() + named_count), constant_bytes};
  }
};

struct CollectiveCommand {
  static constexpr auto op = Op::collective;
  CommandHeader header;
  CollectiveKind kind{};
  ElementType type{};
  ReduceOp reduce{};
  uint8_t reserved = 0;
  ChannelId channel{};
  uint64_t count = 0;
  uint32_t root = 0;
  uint32_t reserved2 = 0;
  Range send;
  Range receive;
};

/// Followed by one outer range for each inner slot (slot_count of them), then constant_count
/// ExecuteConstant, then value_bytes bytes of values, padding.
struct ExecuteConstant {
  static constexpr uint32_t by_value = UINT32_MAX;
  uint32_t outer = by_value;  ///< id of an outer named constant, or by_value
  uint32_t offset = 0;        ///< of the value in the bytes that follow
};
struct Execute {
  static constexpr auto op = Op::execute;
  CommandHeader header;
  uint32_t nested = 0;  ///< index into the command buffer's nested command buffers
  uint32_t constant_count = 0;
  uint32_t value_bytes = 0;
  uint32_t slot_count = 0;
  std::span<const Range> slots() const { return {reinterpret_cast<const Range*>(this + 1), slot_count}; }
  std::span<const ExecuteConstant> constants() const {
    return {reinterpret_cast<const ExecuteConstant*>(slots().data() + slot_count), constant_count};
  }
  std::span<const std::byte> values() const {
    return {reinterpret_cast<const std::byte*>(constants().data() + constant_count), value_bytes};
  }
};

/// signal_event, wait_event and reset_event.
struct EventCommand {
  CommandHeader header;
  EventId event{};
  uint32_t signal = 0;  ///< wait_event: index of the command that signalled
};

struct Discard {
  static constexpr auto op = Op::discard;
  CommandHeader header;
  Range range;
};

/// Followed by the label's header.count bytes, padding.
struct BeginGroup {
  static constexpr auto op = Op::begin_group;
  CommandHeader header;
  uint32_t rgba = 0;
  uint32_t reserved = 0;
  std::string_view label() const { return {reinterpret_cast<const char*>(this + 1), header.count}; }
};

struct EndGroup {
  static constexpr auto op = Op::end_group;
  CommandHeader header;
};

/// The record as its own type; the caller has looked at header.op.
template <class T>
const T& as(const CommandHeader& header) {
  return reinterpret_cast<const T&>(header);
}

template <class... T>
inline constexpr bool are_records =
    ((std::is_trivially_copyable_v<T> && sizeof(T) % 8 == 0 && std::is_standard_layout_v<T>) && ...);
static_assert(sizeof(Range) == 24 && sizeof(Fill) == 48 && sizeof(DispatchCommand) == 40);

}  // namespace pianola
