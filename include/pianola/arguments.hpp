// SPDX-License-Identifier: Apache-2.0
// What a command is given: patterns, group counts, constants, dispatch arguments.
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "pianola/types.hpp"

namespace pianola {

/// A fill pattern of 1, 2, 4, 8 or 16 bytes; it starts at the range's first byte.
class Pattern {
 public:
  template <PlainValue T>
  constexpr Pattern(const T& value) : size_(sizeof(T)) {
    static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16,
                  "a fill pattern has 1, 2, 4, 8 or 16 bytes");
    std::memcpy(bytes_.data(), &value, sizeof(T));
  }
  /// Any bytes; a size other than 1, 2, 4, 8 or 16 is refused when it is recorded.
  static Pattern from_bytes(std::span<const std::byte> bytes) {
    Pattern pattern{uint8_t{0}};
    pattern.size_ = bytes.size() < UINT32_MAX ? static_cast<uint32_t>(bytes.size()) : UINT32_MAX;
    if (!bytes.empty()) std::memcpy(pattern.bytes_.data(), bytes.data(), bytes.size() < 16 ? bytes.size() : 16);
    return pattern;
  }
  const std::array<std::byte, 16>& bytes() const { return bytes_; }
  uint32_t size() const { return size_; }

 private:
  std::array<std::byte, 16> bytes_{};
  uint32_t size_;
};

/// Workgroups in one dimension: a number, or a named constant (4 bytes, read at submit).
struct GroupCount {
  uint64_t value = 1;
  ConstantRef constant;
  bool is_constant = false;
  constexpr GroupCount() = default;
  template <std::integral T>
  constexpr GroupCount(T count) : value(static_cast<uint64_t>(count)) {}
  constexpr GroupCount(ConstantRef ref) : constant(ref), is_constant(true) {}
};

/// Workgroups in x, y and z; those left out are 1. A count of 0 does nothing and keeps order.
struct Groups {
  GroupCount x;
  GroupCount y;
  GroupCount z;
};

/// The constant block of a dispatch: values one after another, each at its natural alignment.
class Constants {
 public:
  /// A number, a trivially copyable struct of at most 64 bytes, or a named constant.
  struct Value {
    template <PlainValue T>
      requires(sizeof(T) <= 64)
    Value(const T& value) : size(sizeof(T)), alignment(alignof(T) < 4 ? 4 : alignof(T)) {
      std::memcpy(bytes.data(), &value, sizeof(T));
    }
    Value(ConstantRef ref)
        : size(ref.size <= max_constant_bytes ? ref.size : 0),
          alignment(ref.alignment == 8 ? 8 : 4),
          constant(ref),
          is_constant(true) {}
    std::array<std::byte, 64> bytes{};
    uint32_t size;
    uint32_t alignment;
    ConstantRef constant;
    bool is_constant = false;
  };
  /// A named constant and where in the block its bytes go.
  struct Named {
    ConstantRef constant;
    uint32_t offset = 0;
  };

  Constants() = default;
  Constants(std::initializer_list<Value> values);
  /// The whole block as bytes, for layouts that another compiler made.
  static Constants from_bytes(std::span<const std::byte> bytes);

  std::span<const std::byte> bytes() const { return bytes_; }
  std::span<const Named> named() const { return named_; }
  bool empty() const { return bytes_.empty(); }

 private:
  std::vector<std::byte> bytes_;
  std::vector<Named> named_;
};

/// Memory that a dispatch reaches other than through its bindings.
struct Use {
  BufferRef range;
  Access access = Access::inout;
};

/// Arguments of a dispatch. Bindings are in the kernel's order; left empty, they come from
/// push_descriptor_set(). Constants left empty come from push_constants().
struct Dispatch {
  Groups groups;
  Constants constants;
  std::vector<BufferRef> bindings;
  std::vector<Use> uses;
  std::chrono::nanoseconds expected_time{0};  ///< a hint for scheduling; 0 means unknown
};

/// One entry of push_descriptor_set().
struct Descriptor {
  uint32_t binding = 0;
  BufferRef buffer;
};

enum class CollectiveKind : uint8_t { all_reduce, all_gather, reduce_scatter, broadcast, all_to_all };
enum class ReduceOp : uint8_t { sum, product, min, max };
enum class ElementType : uint8_t { i8, u8, i32, u32, i64, u64, f16, bf16, f32, f64 };

/// A collective over a channel's ranks. Ranges are those of this rank.
struct Collective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  ChannelRef channel;
  BufferRef send;
  BufferRef receive;
  uint64_t count = 0;  ///< elements, as in NCCL's call of the same name
  ElementType type = ElementType::f32;
  ReduceOp op = ReduceOp::sum;
  uint32_t root = 0;
};

}  // namespace pianola
