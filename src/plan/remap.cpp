// SPDX-License-Identifier: Apache-2.0
// Commands of a nested command buffer, rewritten to the slots and constants of the outermost one.
#include "plan/remap.hpp"

#include <algorithm>
#include <cstring>

namespace pianola::plan {
namespace {

template <class T>
T& as_mutable(CommandHeader& header) {
  return reinterpret_cast<T&>(header);
}

/// Positions of `inner`'s elements in `outer`, by `same`. The recorder makes sure that they are all there, and mostly
/// in the same order: each is looked for behind the one before.
template <class T, class Same>
std::vector<uint32_t> positions(const std::vector<T>& inner, const std::vector<T>& outer, Same same) {
  std::vector<uint32_t> result;
  result.reserve(inner.size());
  auto next = outer.begin();
  for (const T& element : inner) {
    const auto is_same = [&](const T& other) { return same(element, other); };
    auto found = std::find_if(next, outer.end(), is_same);
    if (found == outer.end()) found = std::find_if(outer.begin(), next, is_same);
    result.push_back(static_cast<uint32_t>(found - outer.begin()));
    next = found + 1;
  }
  return result;
}

}  // namespace

Mapping::Mapping(const CommandBuffer::Data& root, const CommandBuffer::Data& inner, const Execute& execute,
                 const Mapping* outer) {
  slots_.reserve(execute.slots().size());
  for (const Range& range : execute.slots()) slots_.push_back(outer != nullptr ? outer->map(range) : range);
  constants_.reserve(execute.constants().size());
  for (const ExecuteConstant& constant : execute.constants()) {
    if (constant.outer == ExecuteConstant::by_value) {
      constants_.push_back({ExecuteConstant::by_value, execute.values().data() + constant.offset});
    } else {
      constants_.push_back(outer != nullptr ? outer->constants_[constant.outer] : Constant{constant.outer, nullptr});
    }
  }
  libraries_ = positions(inner.libraries, root.libraries,
                         [](const KernelLibrary& a, const KernelLibrary& b) { return a.is_same(b); });
  channels_ = positions(inner.channels, root.channels, std::equal_to<>());
}

Range Mapping::map(const Range& range) const {
  const Range& outer = slots_[static_cast<uint32_t>(range.slot)];
  return {outer.slot, range.tag, outer.offset + range.offset, range.size};
}

const CommandHeader* Mapping::copy(const CommandHeader& command, Pool& records) const {
  const size_t size = size_t{8} * command.words;
  auto* bytes = static_cast<std::byte*>(records.allocate(size, 8));
  std::memcpy(bytes, &command, size);
  auto& header = *reinterpret_cast<CommandHeader*>(bytes);
  const auto map_array = [this](const Range* first, size_t count) {
    for (size_t i = 0; i < count; ++i) const_cast<Range&>(first[i]) = map(first[i]);
  };
  switch (command.op) {
    case Op::fill: map_array(&as<Fill>(header).destination, 1); break;
    case Op::update: map_array(&as<Update>(header).destination, 1); break;
    case Op::discard: map_array(&as<Discard>(header).range, 1); break;
    case Op::copy:
      map_array(&as<Copy>(header).destination, 1);
      map_array(&as<Copy>(header).source, 1);
      break;
    case Op::barrier: map_array(as<Barrier>(header).ranges().data(), as<Barrier>(header).ranges().size()); break;
    case Op::dispatch:
    case Op::dispatch_indirect:
      rewrite_dispatch(as_mutable<DispatchCommand>(header), as<DispatchCommand>(command));
      break;
    case Op::collective: {
      auto& collective = as_mutable<CollectiveCommand>(header);
      collective.channel = ChannelId{channels_[static_cast<uint32_t>(collective.channel)]};
      collective.send = map(collective.send);
      collective.receive = map(collective.receive);
      break;
    }
    case Op::execute:
    case Op::signal_event:
    case Op::wait_event:
    case Op::reset_event:
    case Op::begin_group:
    case Op::end_group: break;
  }
  return &header;
}

/// Named constants that have a value here become plain bytes, so that fewer of them may remain.
void Mapping::rewrite_dispatch(DispatchCommand& dispatch, const DispatchCommand& from) const {
  dispatch.library = libraries_[from.library];
  auto* range = reinterpret_cast<Range*>(&dispatch + 1);
  for (const Range& inner : from.all_ranges()) *range++ = map(inner);

  auto* named = reinterpret_cast<NamedConstant*>(range);
  for (const NamedConstant& inner : from.named()) {
    const Constant& constant = constants_[static_cast<uint32_t>(inner.constant)];
    if (constant.value == nullptr) *named++ = {ConstantId{constant.id}, inner.offset, inner.size};
  }
  dispatch.named_count = static_cast<uint16_t>(named - reinterpret_cast<NamedConstant*>(range));

  auto* bytes = reinterpret_cast<std::byte*>(named);
  if (from.constant_bytes != 0) std::memcpy(bytes, from.constants().data(), from.constant_bytes);
  for (const NamedConstant& inner : from.named()) {
    const Constant& constant = constants_[static_cast<uint32_t>(inner.constant)];
    if (constant.value != nullptr) std::memcpy(bytes + inner.offset, constant.value, inner.size);
  }

  for (size_t i = 0; i < 3; ++i) {
    const uint8_t flag = DispatchCommand::group_is_constant[i];
    if ((from.header.flags & flag) == 0) continue;
    const Constant& constant = constants_[from.groups[i]];
    if (constant.value == nullptr) {
      dispatch.groups[i] = constant.id;
    } else {
      std::memcpy(&dispatch.groups[i], constant.value, sizeof(uint32_t));
      dispatch.header.flags = static_cast<uint8_t>(dispatch.header.flags & ~flag);
    }
  }
}

}  // namespace pianola::plan
