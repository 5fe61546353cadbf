// SPDX-License-Identifier: Apache-2.0
// Small shared vocabulary: ids, access kinds, and the references a recorder hands out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

namespace pianola {

enum class SlotId : uint32_t {};      ///< a buffer slot of one command buffer
enum class ConstantId : uint32_t {};  ///< a named constant of one command buffer
enum class EventId : uint32_t {};     ///< an event of one command buffer
enum class ChannelId : uint32_t {};   ///< a channel slot of one command buffer

/// How a kernel touches a binding. `out` may write any part, and never counts as a full overwrite.
enum class Access : uint8_t { in = 1, out = 2, inout = 3 };

constexpr bool reads(Access access) {
  return (static_cast<uint8_t>(access) & 1U) != 0;
}
constexpr bool writes(Access access) {
  return (static_cast<uint8_t>(access) & 2U) != 0;
}

/// Where memory lives. On a unified device (the CPU) all kinds are the same memory.
enum class MemoryKind : uint8_t {
  device,    ///< fastest for the device; the host reaches it through write() and read()
  upload,    ///< mapped, written by the host and read by the device
  readback,  ///< mapped, written by the device and read by the host
};

inline constexpr uint64_t whole_size = std::numeric_limits<uint64_t>::max();

/// A vector, array, span or anything else with data() and size() whose elements are plain bytes.
template <class C>
concept TrivialContainer = requires(C& container) {
  std::data(container);
  std::size(container);
} && std::is_trivially_copyable_v<std::remove_pointer_t<decltype(std::data(std::declval<C&>()))>>;

/// A value that is its own bytes: a number, an enum, a trivially copyable struct, or an array of them. Pointers,
/// and views such as std::span and std::string_view, whose bytes are an address, are not.
template <class T>
concept PlainValue = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_member_pointer_v<T> &&
                     !std::is_null_pointer_v<T> &&
                     (!TrivialContainer<const T> || std::is_array_v<T> || requires { std::tuple_size<T>::value; });

/// The bytes of a container's elements.
template <TrivialContainer C>
auto bytes_of(C& container) {
  auto* first = std::data(container);
  if constexpr (std::is_const_v<std::remove_pointer_t<decltype(first)>>) {
    return std::as_bytes(std::span(first, std::size(container)));
  } else {
    return std::as_writable_bytes(std::span(first, std::size(container)));
  }
}

/// Limits of the library itself, the same on every backend.
inline constexpr uint32_t max_constant_bytes = 1024;  ///< constants of one dispatch
inline constexpr uint32_t max_bindings = 64;          ///< bindings of one dispatch
inline constexpr uint32_t max_descriptor_sets = 16;   ///< sets given to push_descriptor_set
inline constexpr uint32_t default_slot_alignment = 256;

/// A byte range of one slot, as handed out by Recorder::buffer(). Half-open: [offset, offset + size).
struct BufferRef {
  uint32_t recorder = 0;  ///< which recorder made it; 0 is never valid
  SlotId slot{};
  uint64_t offset = 0;
  uint64_t size = 0;
  bool in_bounds = true;  ///< false after a view() past the end; recording with it is an error

  /// Bytes [offset, offset + size) of this range; `whole_size` means up to its end.
  /// A view past the end is reported by the command that uses it.
  constexpr BufferRef view(uint64_t view_offset, uint64_t view_size = whole_size) const {
    BufferRef result = *this;
    const bool fits = view_offset <= size;
    if (view_size == whole_size) view_size = fits ? size - view_offset : 0;
    result.in_bounds = in_bounds && fits && view_size <= size - view_offset;
    result.offset = offset + view_offset;
    result.size = view_size;
    return result;
  }
};

/// A named constant: bytes that are given at instantiate or submit.
struct ConstantRef {
  uint32_t recorder = 0;
  ConstantId id{};
  uint32_t size = 0;       ///< bytes
  uint32_t alignment = 4;  ///< in a constant block
};

struct EventRef {
  uint32_t recorder = 0;
  EventId id{};
};

struct ChannelRef {
  uint32_t recorder = 0;
  ChannelId id{};
};

}  // namespace pianola
