// SPDX-License-Identifier: Apache-2.0
// A recorded command list: immutable, device-free (but for buffers bound while recording), shared.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pianola/error.hpp"
#include "pianola/types.hpp"

namespace pianola {

/// How a slot is used by its command buffer; a set of bits.
enum class SlotUsage : uint8_t {
  none = 0,
  transfer_source = 1,
  transfer_destination = 2,
  kernel_read = 4,
  kernel_write = 8,
  indirect = 16,
  collective = 32,
};
constexpr SlotUsage operator|(SlotUsage a, SlotUsage b) {
  return static_cast<SlotUsage>(static_cast<uint8_t>(a) | static_cast<uint8_t>(b));
}
constexpr bool has(SlotUsage set, SlotUsage bit) {
  return (static_cast<uint8_t>(set) & static_cast<uint8_t>(bit)) != 0;
}

/// What plans and backends may rely on for a slot. Every bind is checked against it.
struct SlotInfo {
  std::string name;
  uint64_t size = 0;                            ///< least number of bytes that may be bound
  uint32_t alignment = default_slot_alignment;  ///< of the bound range's first byte
  std::optional<MemoryKind> kind;               ///< required memory kind, or any
  SlotUsage usage = SlotUsage::none;
  bool may_alias = false;  ///< may overlap other may_alias slots; plans treat them as one memory
  bool written = false;
  bool direct = false;  ///< bound to a buffer when recorded
};

struct ConstantInfo {
  std::string name;
  uint32_t size = 0;  ///< bytes
};

/// A handle; copies share the recording. Safe to use from any thread.
class CommandBuffer {
 public:
  CommandBuffer() = default;
  explicit operator bool() const { return data_ != nullptr; }

  uint32_t command_count() const;   ///< recorded commands, those of nested buffers not counted
  uint64_t recorded_bytes() const;  ///< bytes of command data
  std::span<const SlotInfo> slots() const;
  std::span<const ConstantInfo> constants() const;
  std::optional<SlotId> find_slot(std::string_view name) const;
  std::optional<ConstantId> find_constant(std::string_view name) const;

  /// One line a command.
  std::string to_string() const;

  struct Data;
  explicit CommandBuffer(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  const std::shared_ptr<const Data>& data() const { return data_; }
  bool is_same(const CommandBuffer& other) const { return data_ == other.data_; }

 private:
  std::shared_ptr<const Data> data_;
};

}  // namespace pianola
