// SPDX-License-Identifier: Apache-2.0
// Slots, named constants, events and channels of a recording, and its end.
#include "pianola/recorder.hpp"

#include <fmt/format.h>

#include <atomic>
#include <bit>

#include "base/guarded.hpp"
#include "record/recorder_impl.hpp"

namespace pianola {

namespace {

std::unique_ptr<Recorder::Impl> make_impl() {
  static std::atomic<uint32_t> next_id{1};
  try {
    auto impl = std::make_unique<Recorder::Impl>();
    impl->data = std::make_shared<CommandBuffer::Data>();
    impl->id = next_id.fetch_add(1, std::memory_order_relaxed);
    impl->data->recorder = impl->id;
    return impl;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

/// The alignment that memory at this address has, at most what slots ask for by default.
uint32_t alignment_of(const void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer) | default_slot_alignment;
  return uint32_t{1} << std::countr_zero(address);
}

}  // namespace

Recorder::Recorder() : impl_(make_impl()), is_out_of_memory_(impl_ == nullptr) {}
Recorder::~Recorder() = default;
Recorder::Recorder(Recorder&&) noexcept = default;
Recorder& Recorder::operator=(Recorder&&) noexcept = default;

void Recorder::Impl::fail(Errc code, std::string message) {
  if (error) return;
  error = Error{.code = code, .message = std::move(message), .command = data->count};
}

bool Recorder::Impl::check(const BufferRef& ref, std::string_view what) {
  if (ref.recorder != id || static_cast<uint32_t>(ref.slot) >= data->slots.size()) {
    fail(Errc::invalid_argument, fmt::format("{}: the buffer reference is not of this recorder", what));
    return false;
  }
  const SlotInfo& info = slot(ref.slot);
  if (!ref.in_bounds || ref.offset > info.size || ref.size > info.size - ref.offset) {
    fail(Errc::out_of_range, fmt::format("{}: {} bytes at offset {} end past slot '{}' of {} bytes or past the view "
                                         "they were taken from",
                                         what, ref.size, ref.offset, info.name, info.size));
    return false;
  }
  return true;
}

bool Recorder::Impl::check(ConstantRef ref, std::string_view what) {
  const auto index = static_cast<uint32_t>(ref.id);
  if (ref.recorder == id && index < data->constants.size() && data->constants[index].size == ref.size) return true;
  fail(Errc::invalid_argument, fmt::format("{}: the named constant is not of this recorder", what));
  return false;
}

bool Recorder::Impl::check(EventRef ref) {
  if (ref.recorder == id && static_cast<uint32_t>(ref.id) < signals.size()) return true;
  fail(Errc::invalid_argument, "the event is not of this recorder");
  return false;
}

void Recorder::Impl::use(const Range& range, SlotUsage usage, bool written) {
  SlotInfo& info = slot(range.slot);
  info.usage = info.usage | usage;
  info.written = info.written || written;
}

uint32_t Recorder::Impl::library_index(const KernelLibrary& library) {
  auto& libraries = data->libraries;
  for (size_t i = libraries.size(); i-- > 0;) {
    if (libraries[i].is_same(library)) return static_cast<uint32_t>(i);
  }
  libraries.push_back(library);
  return static_cast<uint32_t>(libraries.size() - 1);
}

ChannelId Recorder::Impl::channel_id(std::string_view name) {
  if (const auto found = channel_ids.find(name); found != channel_ids.end()) return found->second;
  const ChannelId channel{static_cast<uint32_t>(data->channels.size())};
  channel_ids.emplace(name, channel);
  data->channels.emplace_back(name);
  return channel;
}

BufferRef Recorder::buffer(std::string_view name, uint64_t size, const SlotOptions& options) {
  BufferRef ref{.recorder = 0, .size = size};
  if (!impl_) return ref;
  impl_->guarded([&] {
    if (name.empty()) return impl_->fail(Errc::invalid_argument, "a slot needs a name");
    if (!std::has_single_bit(options.alignment) || options.alignment > default_slot_alignment) {
      return impl_->fail(Errc::invalid_argument, fmt::format("slot '{}': alignment {} is no power of two up to {}",
                                                             name, options.alignment, default_slot_alignment));
    }
    if (size == whole_size) return impl_->fail(Errc::limit_exceeded, fmt::format("slot '{}': no size given", name));
    const SlotId id{static_cast<uint32_t>(impl_->data->slots.size())};
    impl_->data->direct.emplace_back();
    if (!impl_->data->slot_ids.emplace(name, id).second) {
      return impl_->fail(Errc::invalid_argument, fmt::format("two slots are named '{}'", name));
    }
    impl_->data->slots.push_back({.name = std::string(name),
                                  .size = size,
                                  .alignment = options.alignment,
                                  .kind = options.kind,
                                  .may_alias = options.may_alias});
    ref.recorder = impl_->id;
    ref.slot = id;
  });
  return ref;
}

BufferRef Recorder::buffer(const BufferView& view) {
  BufferRef ref{.recorder = 0, .offset = view.offset(), .size = view.size()};
  if (!impl_) return ref;
  impl_->guarded([&] {
    const Buffer& memory = view.buffer();
    if (!memory) return impl_->fail(Errc::invalid_argument, "the buffer is empty");
    if (ref.offset > memory.size() || ref.size > memory.size() - ref.offset) {
      return impl_->fail(Errc::out_of_range,
                         fmt::format("view of {} bytes at offset {} ends past its buffer of {} bytes", ref.size,
                                     ref.offset, memory.size()));
    }
    ref.recorder = impl_->id;
    ref.slot = SlotId{static_cast<uint32_t>(impl_->data->slots.size())};
    const auto [found, is_new] = impl_->direct_slots.emplace(memory.impl().get(), ref.slot);
    ref.slot = found->second;
    if (!is_new) return;
    std::string name = fmt::format("buffer#{}", static_cast<uint32_t>(ref.slot));
    while (!impl_->data->slot_ids.emplace(name, ref.slot).second) name += '\'';
    impl_->data->direct.push_back(memory);
    impl_->data->slots.push_back({.name = std::move(name),
                                  .size = memory.size(),
                                  .alignment = alignment_of(memory.native_pointer()),
                                  .kind = memory.kind(),
                                  .direct = true});
  });
  return ref;
}

ConstantRef Recorder::constant(std::string_view name, uint32_t size, uint32_t alignment) {
  ConstantRef ref;
  if (!impl_) return ref;
  impl_->guarded([&] {
    if (name.empty()) return impl_->fail(Errc::invalid_argument, "a named constant needs a name");
    if (size == 0 || size > max_constant_bytes) {
      return impl_->fail(Errc::limit_exceeded, fmt::format("named constant '{}' has {} bytes; 1 to {} are allowed",
                                                           name, size, max_constant_bytes));
    }
    if (alignment != 4 && alignment != 8) {
      return impl_->fail(
          Errc::invalid_argument,
          fmt::format("named constant '{}' has an alignment of {}; 4 and 8 are possible", name, alignment));
    }
    const ConstantId id{static_cast<uint32_t>(impl_->data->constants.size())};
    if (!impl_->data->constant_ids.emplace(name, id).second) {
      return impl_->fail(Errc::invalid_argument, fmt::format("two constants are named '{}'", name));
    }
    impl_->data->constants.push_back({std::string(name), size});
    ref = {.recorder = impl_->id, .id = id, .size = size, .alignment = alignment};
  });
  return ref;
}

EventRef Recorder::event() {
  EventRef ref;
  if (!impl_) return ref;
  impl_->guarded([&] {
    ref = {impl_->id, EventId{static_cast<uint32_t>(impl_->signals.size())}};
    impl_->signals.emplace_back();
    ++impl_->data->event_count;
  });
  return ref;
}

ChannelRef Recorder::channel(std::string_view name) {
  ChannelRef ref;
  if (!impl_) return ref;
  impl_->guarded([&] {
    if (name.empty()) return impl_->fail(Errc::invalid_argument, "a channel needs a name");
    ref = {impl_->id, impl_->channel_id(name)};
  });
  return ref;
}

Result<CommandBuffer> Recorder::finish() {
  if (is_out_of_memory_) return out_of_memory();
  return guarded([&]() -> Result<CommandBuffer> {
    if (!impl_) return Error{.code = Errc::invalid_state, .message = "the recorder was moved from"};
    if (impl_->finished) return Error{.code = Errc::invalid_state, .message = "the recorder is finished"};
    if (!impl_->error && impl_->open_groups > 0) {
      impl_->fail(Errc::invalid_state, fmt::format("{} debug groups are still open", impl_->open_groups));
    }
    if (impl_->error) return *impl_->error;
    impl_->finished = true;
    impl_->data->records.shrink();
    return CommandBuffer(std::move(impl_->data));
  });
}

}  // namespace pianola
