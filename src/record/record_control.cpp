// SPDX-License-Identifier: Apache-2.0
// Events, debug groups and collectives.
#include <fmt/format.h>

#include <cstring>

#include "record/recorder_impl.hpp"

namespace pianola {

namespace {

EventCommand* append_event(Recorder::Impl& impl, Op op, EventRef event) {
  auto* record = impl.append<EventCommand>(op);
  if (record != nullptr) record->event = event.id;
  return record;
}

uint32_t size_of(ElementType type) {
  switch (type) {
    case ElementType::i8:
    case ElementType::u8: return 1;
    case ElementType::f16:
    case ElementType::bf16: return 2;
    case ElementType::i32:
    case ElementType::u32:
    case ElementType::f32: return 4;
    case ElementType::i64:
    case ElementType::u64:
    case ElementType::f64: return 8;
  }
  return 0;
}

}  // namespace

Recorder& Recorder::signal_event(EventRef event) {
  if (!impl_) return *this;
  impl_->guarded([&] {
    if (!impl_->check(event)) return;
    const uint32_t index = impl_->data->count;
    if (append_event(*impl_, Op::signal_event, event) != nullptr) {
      impl_->signals[static_cast<uint32_t>(event.id)] = index;
    }
  });
  return *this;
}

Recorder& Recorder::wait_event(EventRef event) {
  if (!impl_) return *this;
  impl_->guarded([&] {
    if (!impl_->check(event)) return;
    const auto signal = impl_->signals[static_cast<uint32_t>(event.id)];
    if (!signal) {
      return impl_->fail(Errc::invalid_state,
                         fmt::format("wait_event: event {} has no earlier signal", static_cast<uint32_t>(event.id)));
    }
    if (auto* record = append_event(*impl_, Op::wait_event, event); record != nullptr) {
      record->signal = *signal;
      ++impl_->data->barrier_count;
    }
  });
  return *this;
}

Recorder& Recorder::reset_event(EventRef event) {
  if (!impl_) return *this;
  impl_->guarded([&] {
    if (!impl_->check(event)) return;
    if (append_event(*impl_, Op::reset_event, event) != nullptr) {
      impl_->signals[static_cast<uint32_t>(event.id)].reset();
    }
  });
  return *this;
}

Recorder& Recorder::begin_debug_group(std::string_view label, uint32_t rgba) {
  if (!impl_) return *this;
  impl_->guarded([&] {
    if (label.size() > UINT16_MAX) {
      return impl_->fail(Errc::limit_exceeded, fmt::format("debug group: a label of {} bytes; at most {} are allowed",
                                                           label.size(), UINT16_MAX));
    }
    auto* record = impl_->append<BeginGroup>(Op::begin_group, label.size());
    if (record == nullptr) return;
    record->rgba = rgba;
    record->header.count = static_cast<uint16_t>(label.size());
    if (!label.empty()) std::memcpy(record + 1, label.data(), label.size());
    ++impl_->open_groups;
  });
  return *this;
}

Recorder& Recorder::end_debug_group() {
  if (!impl_) return *this;
  impl_->guarded([&] {
    if (impl_->open_groups == 0) return impl_->fail(Errc::invalid_state, "end_debug_group: no group is open");
    if (impl_->append<EndGroup>(Op::end_group) != nullptr) --impl_->open_groups;
  });
  return *this;
}

Recorder& Recorder::collective(const Collective& arguments) {
  if (!impl_) return *this;
  impl_->guarded([&] {
    const ChannelRef channel = arguments.channel;
    if (channel.recorder != impl_->id || static_cast<uint32_t>(channel.id) >= impl_->data->channels.size()) {
      return impl_->fail(Errc::invalid_argument, "collective: the channel is not of this recorder");
    }
    if (!impl_->check(arguments.send, "collective send") || !impl_->check(arguments.receive, "collective receive"))
      return;
    const uint64_t least = std::min(arguments.send.size, arguments.receive.size);
    const uint32_t size = size_of(arguments.type);
    if (size == 0 || arguments.kind > CollectiveKind::all_to_all || arguments.op > ReduceOp::max) {
      return impl_->fail(Errc::invalid_argument,
                         fmt::format("collective: kind {}, element type {} or operation {} is none of those declared",
                                     static_cast<uint32_t>(arguments.kind), static_cast<uint32_t>(arguments.type),
                                     static_cast<uint32_t>(arguments.op)));
    }
    if (arguments.count > least / size) {
      return impl_->fail(Errc::out_of_range,
                         fmt::format("collective: {} elements of {} bytes do not fit ranges of {} and "
                                     "{} bytes",
                                     arguments.count, size, arguments.send.size, arguments.receive.size));
    }
    auto* record = impl_->append<CollectiveCommand>(Op::collective);
    if (record == nullptr) return;
    record->kind = arguments.kind;
    record->type = arguments.type;
    record->reduce = arguments.op;
    record->channel = channel.id;
    record->count = arguments.count;
    record->root = arguments.root;
    record->send = to_range(arguments.send, static_cast<uint32_t>(Access::in));
    record->receive = to_range(arguments.receive, static_cast<uint32_t>(Access::out));
    impl_->use(record->send, SlotUsage::collective, false);
    impl_->use(record->receive, SlotUsage::collective, true);
  });
  return *this;
}

}  // namespace pianola
