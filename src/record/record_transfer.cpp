// SPDX-License-Identifier: Apache-2.0
// Fill, update, copy, discard and barriers.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "record/recorder_impl.hpp"

namespace pianola {

Recorder& Recorder::fill(const BufferRef& destination, const Pattern& pattern) {
  if (!impl_) return *this;
  impl_->guarded([&] {
    const uint32_t size = pattern.size();
    if (size == 0 || size > 16 || !std::has_single_bit(size)) {
      return impl_->fail(Errc::invalid_argument,
                         fmt::format("fill: a pattern has 1, 2, 4, 8 or 16 bytes, not {}", size));
    }
    if (!impl_->check(destination, "fill")) return;
    if ((destination.size & (size - 1)) != 0) {
      return impl_->fail(Errc::misaligned,
                         fmt::format("fill: {} bytes are no multiple of the pattern's {}", destination.size, size));
    }
    Fill* record = impl_->append<Fill>(Op::fill);
    if (record == nullptr) return;
    record->destination = to_range(destination, size);
    record->pattern = pattern.bytes();
    impl_->use(record->destination, SlotUsage::transfer_destination, true);
  });
  return *this;
}

Recorder& Recorder::update(const BufferRef& destination, std::span<const std::byte> bytes) {
  if (!impl_) return *this;
  impl_->guarded([&] {
    if (!impl_->check(destination, "update")) return;
    if (bytes.size() != destination.size) {
      return impl_->fail(Errc::mismatch,
                         fmt::format("update: {} bytes given for a range of {}", bytes.size(), destination.size));
    }
    Update* record = impl_->append<Update>(Op::update, bytes.size());
    if (record == nullptr) return;
    record->destination = to_range(destination);
    if (!bytes.empty()) std::memcpy(record + 1, bytes.data(), bytes.size());
    impl_->use(record->destination, SlotUsage::transfer_destination, true);
  });
  return *this;
}

Recorder& Recorder::copy(const BufferRef& destination, const BufferRef& source) {
  if (!impl_) return *this;
  impl_->guarded([&] {
    if (!impl_->check(destination, "copy destination") || !impl_->check(source, "copy source")) return;
    if (destination.size != source.size) {
      return impl_->fail(Errc::mismatch, fmt::format("copy: the destination has {} bytes, the source {}",
                                                     destination.size, source.size));
    }
    const Range to = to_range(destination);
    const Range from = to_range(source);
    if (overlaps(to, from)) {
      return impl_->fail(Errc::overlap, fmt::format("copy: {} bytes at offsets {} and {} of slot '{}' overlap", to.size,
                                                    to.offset, from.offset, impl_->slot(to.slot).name));
    }
    Copy* record = impl_->append<Copy>(Op::copy);
    if (record == nullptr) return;
    record->destination = to;
    record->source = from;
    impl_->use(to, SlotUsage::transfer_destination, true);
    impl_->use(from, SlotUsage::transfer_source, false);
  });
  return *this;
}

Recorder& Recorder::discard(const BufferRef& range) {
  if (!impl_) return *this;
  impl_->guarded([&] {
    if (!impl_->check(range, "discard")) return;
    Discard* record = impl_->append<Discard>(Op::discard);
    if (record == nullptr) return;
    record->range = to_range(range);
    impl_->use(record->range, SlotUsage::none, true);
  });
  return *this;
}

Recorder& Recorder::barrier() {
  if (!impl_) return *this;
  impl_->guarded([&] {
    if (impl_->append<Barrier>(Op::barrier) != nullptr) ++impl_->data->barrier_count;
  });
  return *this;
}

Recorder& Recorder::barrier(std::span<const BufferRef> ranges) {
  if (!impl_) return *this;
  impl_->guarded([&] {
    if (ranges.size() > UINT16_MAX) {
      return impl_->fail(Errc::limit_exceeded,
                         fmt::format("barrier: {} ranges; at most {} are allowed", ranges.size(), UINT16_MAX));
    }
    for (const BufferRef& ref : ranges) {
      if (!impl_->check(ref, "barrier")) return;
    }
    Barrier* record = impl_->append<Barrier>(Op::barrier, ranges.size() * sizeof(Range));
    if (record == nullptr) return;
    record->header.flags = Barrier::narrowed;
    record->header.count = static_cast<uint16_t>(ranges.size());
    auto* at = reinterpret_cast<Range*>(record + 1);
    for (const BufferRef& ref : ranges) *at++ = to_range(ref);
    ++impl_->data->barrier_count;
  });
  return *this;
}

}  // namespace pianola
