// SPDX-License-Identifier: Apache-2.0
#include "api/bindings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "api/limits.hpp"
#include "record/overlap.hpp"

namespace pianola {
namespace {

/// A draft of bindings: what they are, and which named constants have a value.
struct Draft {
  const Device::Impl& device;
  const CommandBuffer::Data& commands;
  backend::Bindings bindings;
  std::vector<bool> constant_given;
};

Error invalid(std::string message) {
  return Error{.code = Errc::invalid_argument, .message = std::move(message)};
}

template <class Key>
bool is_foreign(const CommandBuffer& commands, const Key& key) {
  return key.by_reference && key.recorder != commands.data()->recorder;
}

Result<uint32_t> index_of(const CommandBuffer& commands, const SlotKey& key) {
  if (is_foreign(commands, key)) return invalid("a binding's buffer reference is of another recorder");
  if (key.by_name) {
    const std::optional<SlotId> slot = commands.find_slot(key.name);
    if (!slot) return invalid(fmt::format("no slot is named '{}'", key.name));
    return static_cast<uint32_t>(*slot);
  }
  const auto index = static_cast<uint32_t>(key.id);
  if (index >= commands.slots().size()) {
    return invalid(fmt::format("no slot {}; the recording has {}", index, commands.slots().size()));
  }
  return index;
}

Result<uint32_t> index_of(const CommandBuffer& commands, const ConstantKey& key) {
  if (is_foreign(commands, key)) return invalid("a named constant's reference is of another recorder");
  if (key.by_name) {
    const std::optional<ConstantId> constant = commands.find_constant(key.name);
    if (!constant) return invalid(fmt::format("no constant is named '{}'", key.name));
    return static_cast<uint32_t>(*constant);
  }
  const auto index = static_cast<uint32_t>(key.id);
  if (index >= commands.constants().size()) {
    return invalid(fmt::format("no constant {}; the recording has {}", index, commands.constants().size()));
  }
  return index;
}

std::string_view name_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::device: return "device";
    case MemoryKind::upload: return "upload";
    case MemoryKind::readback: return "readback";
  }
  return "unknown";
}

Result<> check_memory(const Draft& draft, const SlotInfo& slot, const BufferView& view) {
  const std::shared_ptr<Buffer::Impl>& buffer = view.buffer().impl();
  if (!buffer) return invalid(fmt::format("slot '{}': the buffer is empty", slot.name));
  if (buffer->device.get() != &draft.device) {
    return invalid(
        fmt::format("slot '{}': the buffer belongs to another device ({})", slot.name, buffer->device->spec));
  }
  if (view.offset() > buffer->size || view.size() > buffer->size - view.offset()) {
    return Error{.code = Errc::out_of_range,
                 .message = fmt::format("slot '{}': a view of {} bytes at {} ends past its buffer of {} bytes",
                                        slot.name, view.size(), view.offset(), buffer->size)};
  }
  if (view.size() < slot.size) {
    return Error{.code = Errc::out_of_range,
                 .message = fmt::format("slot '{}' needs {} bytes, not {}", slot.name, slot.size, view.size())};
  }
  if (slot.kind && *slot.kind != buffer->kind) {
    return Error{.code = Errc::mismatch,
                 .message = fmt::format("slot '{}' needs {} memory, not {}", slot.name, name_of(*slot.kind),
                                        name_of(buffer->kind))};
  }
  const auto address = reinterpret_cast<uintptr_t>(buffer->memory->native()) + view.offset();
  if (address % slot.alignment != 0) {
    return Error{.code = Errc::misaligned,
                 .message = fmt::format("slot '{}' needs an alignment of {}; offset {} lies {} bytes past one",
                                        slot.name, slot.alignment, view.offset(), address % slot.alignment)};
  }
  return {};
}

Result<> bind(Draft& draft, uint32_t index, const BufferView& view) {
  if (auto fits = check_memory(draft, draft.commands.slots[index], view); !fits) return fits.error();
  const std::shared_ptr<Buffer::Impl>& buffer = view.buffer().impl();
  draft.bindings.slots[index] = {.memory = buffer->memory.get(),
                                 .offset = view.offset(),
                                 .size = view.size(),
                                 .address = static_cast<std::byte*>(buffer->memory->native()) + view.offset()};
  draft.bindings.keep_alive[index] = buffer;
  return {};
}

Result<> give(Draft& draft, uint32_t index, std::span<const std::byte> bytes) {
  const ConstantInfo& constant = draft.commands.constants[index];
  if (bytes.size() != constant.size) {
    return Error{
        .code = Errc::mismatch,
        .message = fmt::format("constant '{}' has {} bytes, not {}", constant.name, constant.size, bytes.size())};
  }
  std::memcpy(draft.bindings.constants.data() + draft.bindings.constant_offset[index], bytes.data(), bytes.size());
  draft.constant_given[index] = true;
  return {};
}

Result<> apply(Draft& draft, const CommandBuffer& commands, std::span<const SlotBinding> slots,
               std::span<const ConstantBinding> constants) {
  for (const SlotBinding& binding : slots) {
    const Result<uint32_t> index = index_of(commands, binding.slot);
    if (!index) return index.error();
    if (auto bound = bind(draft, *index, binding.buffer); !bound) return bound.error();
  }
  for (const ConstantBinding& binding : constants) {
    const Result<uint32_t> index = index_of(commands, binding.constant);
    if (!index) return index.error();
    if (auto given = give(draft, *index, binding.bytes); !given) return given.error();
  }
  return {};
}

/// Among the slots bound so far, over the bytes that the recording reaches.
Result<> check_overlap(const Draft& draft) {
  const auto& slots = draft.commands.slots;
  std::vector<SlotInterval> intervals;
  for (uint32_t i = 0; i < slots.size(); ++i) {
    const backend::BoundSlot& bound = draft.bindings.slots[i];
    if (bound.memory == nullptr) continue;
    const auto begin = reinterpret_cast<uintptr_t>(bound.address);
    intervals.push_back({.begin = begin,
                         .end = begin + slots[i].size,
                         .slot = i,
                         .written = slots[i].written,
                         .may_alias = slots[i].may_alias});
  }
  const auto overlap = find_overlap(std::move(intervals));
  if (!overlap) return {};
  const SlotInfo& first = slots[overlap->first];
  const SlotInfo& second = slots[overlap->second];
  return Error{.code = Errc::overlap,
               .message = fmt::format("slots '{}' and '{}' overlap in memory and '{}' is written; both would have to "
                                      "be recorded with may_alias",
                                      first.name, second.name, first.written ? first.name : second.name)};
}

Result<> check_groups(const Draft& draft, const Graph::Impl& graph) {
  for (const NamedGroups& groups : graph.named_groups) {
    const auto constant = static_cast<uint32_t>(groups.constant);
    if (!draft.constant_given[constant]) continue;
    uint32_t count = 0;
    std::memcpy(&count, draft.bindings.constants.data() + draft.bindings.constant_offset[constant], sizeof(count));
    if (auto fits = check_named_groups(groups, count, graph.device->backend->limits()); !fits) return fits.error();
  }
  return {};
}

Result<> check_complete(const Draft& draft) {
  for (size_t i = 0; i < draft.commands.slots.size(); ++i) {
    if (draft.bindings.slots[i].memory == nullptr) {
      return Error{.code = Errc::unbound,
                   .message = fmt::format("slot '{}' has no buffer", draft.commands.slots[i].name)};
    }
  }
  for (size_t i = 0; i < draft.commands.constants.size(); ++i) {
    if (!draft.constant_given[i]) {
      return Error{.code = Errc::unbound,
                   .message = fmt::format("constant '{}' has no value", draft.commands.constants[i].name)};
    }
  }
  return {};
}

Draft empty_draft(const Graph::Impl& graph) {
  Draft draft{.device = *graph.device, .commands = *graph.commands.data(), .bindings = {}, .constant_given = {}};
  const size_t slots = draft.commands.slots.size();
  draft.bindings.slots.resize(slots);
  draft.bindings.keep_alive.resize(slots);
  uint32_t offset = 0;
  for (const ConstantInfo& constant : draft.commands.constants) {
    draft.bindings.constant_offset.push_back(offset);
    offset += (constant.size + 7) / 8 * 8;
  }
  draft.bindings.constants.resize(offset);
  draft.constant_given.resize(draft.commands.constants.size());
  return draft;
}

}  // namespace

Result<> set_default_bindings(Graph::Impl& graph, const InstantiateOptions& options) {
  Draft draft = empty_draft(graph);
  for (uint32_t i = 0; i < draft.commands.direct.size(); ++i) {
    const Buffer& buffer = draft.commands.direct[i];
    if (!buffer) continue;
    if (auto bound = bind(draft, i, buffer); !bound) return bound.error();
  }
  if (auto given = apply(draft, graph.commands, options.bindings, options.constants); !given) return given.error();
  if (auto checked = check_overlap(draft); !checked) return checked.error();
  if (auto checked = check_groups(draft, graph); !checked) return checked.error();
  graph.complete = check_complete(draft).has_value();
  graph.constant_given = std::move(draft.constant_given);
  graph.defaults = std::make_shared<const backend::Bindings>(std::move(draft.bindings));
  return {};
}

Result<std::shared_ptr<const backend::Bindings>> resolve_bindings(const Graph::Impl& graph,
                                                                  std::span<const SlotBinding> slots,
                                                                  std::span<const ConstantBinding> constants) {
  if (slots.empty() && constants.empty() && graph.complete) return graph.defaults;
  Draft draft{.device = *graph.device,
              .commands = *graph.commands.data(),
              .bindings = *graph.defaults,
              .constant_given = graph.constant_given};
  if (auto given = apply(draft, graph.commands, slots, constants); !given) return given.error();
  if (auto checked = check_complete(draft); !checked) return checked.error();
  if (!slots.empty()) {
    if (auto checked = check_overlap(draft); !checked) return checked.error();
  }
  if (auto checked = check_groups(draft, graph); !checked) return checked.error();
  return std::make_shared<const backend::Bindings>(std::move(draft.bindings));
}

}  // namespace pianola
