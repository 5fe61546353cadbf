// SPDX-License-Identifier: Apache-2.0
// A recording in progress: the data that becomes a command buffer, the push state, and the first error.
#pragma once

#include <array>
#include <bitset>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "pianola/recorder.hpp"
#include "record/command_buffer_data.hpp"

namespace pianola {

struct Recorder::Impl {
  uint32_t id = 0;
  bool finished = false;
  std::optional<Error> error;
  std::shared_ptr<CommandBuffer::Data> data;

  std::unordered_map<const void*, SlotId> direct_slots;
  std::unordered_map<const CommandBuffer::Data*, uint32_t> nested_ids;
  std::map<std::string, ChannelId, std::less<>> channel_ids;
  std::vector<std::optional<uint32_t>> signals;  ///< one an event: the command that signalled it last
  uint32_t open_groups = 0;

  std::array<std::byte, max_constant_bytes> pushed_bytes{};
  std::bitset<max_constant_bytes / 4> pushed_words;
  std::map<std::pair<uint32_t, uint32_t>, BufferRef> pushed;  ///< by set and binding
  std::vector<Range> scratch;                                 ///< bindings of the dispatch being recorded

  bool is_recording() const { return !error && !finished; }

  /// Keeps the first error, with the index of the command that would have come next.
  void fail(Errc code, std::string message);
  /// Runs `body` unless an error stands; memory running out in it becomes the error.
  template <class Body>
  void guarded(Body body) {
    if (!is_recording()) return;
    try {
      body();
    } catch (const std::bad_alloc&) {
      fail(Errc::out_of_memory, "out of memory");  // short enough to need none
    }
  }

  SlotInfo& slot(SlotId slot_id) { return data->slots[static_cast<uint32_t>(slot_id)]; }

  /// True if the reference is this recorder's and inside its slot; else the error says what is wrong.
  bool check(const BufferRef& ref, std::string_view what);
  bool check(ConstantRef ref, std::string_view what);
  bool check(EventRef ref);

  /// Room for a record of type T and `tail` bytes after it, header filled in; null on an error.
  template <class T>
  T* append(Op op, size_t tail = 0);
  void use(const Range& range, SlotUsage usage, bool written);
  uint32_t library_index(const KernelLibrary& library);
  ChannelId channel_id(std::string_view name);
};

inline Range to_range(const BufferRef& ref, uint32_t tag = 0) {
  return {ref.slot, tag, ref.offset, ref.size};
}

inline bool overlaps(const Range& a, const Range& b) {
  return a.slot == b.slot && a.offset < b.offset + b.size && b.offset < a.offset + a.size && a.size > 0 && b.size > 0;
}

template <class T>
T* Recorder::Impl::append(Op op, size_t tail) {
  static_assert(are_records<T>);
  constexpr size_t most = size_t{8} * UINT32_MAX;
  const size_t size = (sizeof(T) + tail + 7) & ~size_t{7};
  std::byte* at = tail < most - sizeof(T) && data->count < UINT32_MAX ? data->records.append(size) : nullptr;
  if (at == nullptr) {
    fail(Errc::out_of_memory, "out of memory");
    return nullptr;
  }
  T* record = new (at) T{};
  record->header.op = op;
  record->header.words = static_cast<uint32_t>(size / 8);
  ++data->count;
  return record;
}

}  // namespace pianola
