// SPDX-License-Identifier: Apache-2.0
// What a command buffer tells of itself. An empty handle answers like an empty recording.
#include "pianola/command_buffer.hpp"

#include <new>

#include "record/command_buffer_data.hpp"

namespace pianola {
namespace {

template <class Id>
std::optional<Id> find(const std::map<std::string, Id, std::less<>>& ids, std::string_view name) {
  const auto found = ids.find(name);
  if (found == ids.end()) return std::nullopt;
  return found->second;
}

}  // namespace

/// Command buffers may hold one another in a chain of any length. One that ends while another ends on the same thread
/// leaves its own to that one, so that the length costs no stack.
CommandBuffer::Data::~Data() {
  using Nested = std::vector<CommandBuffer>;
  thread_local std::vector<Nested>* ending = nullptr;
  if (nested.empty()) return;
  if (ending != nullptr) {
    try {
      ending->push_back(std::move(nested));
    } catch (const std::bad_alloc&) {
      return;  // what was not moved ends as a member
    }
    return;
  }
  std::vector<Nested> left;
  ending = &left;
  nested.clear();
  while (!left.empty()) {
    Nested last = std::move(left.back());
    left.pop_back();
    last.clear();
  }
  ending = nullptr;
}

uint32_t CommandBuffer::command_count() const {
  return data_ ? data_->count : 0;
}
uint64_t CommandBuffer::recorded_bytes() const {
  return data_ ? data_->records.size() : 0;
}

std::span<const SlotInfo> CommandBuffer::slots() const {
  return data_ ? std::span<const SlotInfo>(data_->slots) : std::span<const SlotInfo>();
}

std::span<const ConstantInfo> CommandBuffer::constants() const {
  return data_ ? std::span<const ConstantInfo>(data_->constants) : std::span<const ConstantInfo>();
}

std::optional<SlotId> CommandBuffer::find_slot(std::string_view name) const {
  return data_ ? find(data_->slot_ids, name) : std::nullopt;
}

std::optional<ConstantId> CommandBuffer::find_constant(std::string_view name) const {
  return data_ ? find(data_->constant_ids, name) : std::nullopt;
}

}  // namespace pianola
