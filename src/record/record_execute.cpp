// SPDX-License-Identifier: Apache-2.0
// Nested command buffers: inner slots and constants are mapped to outer ones, and the map is checked.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "record/overlap.hpp"
#include "record/recorder_impl.hpp"

namespace pianola {

namespace {

class ExecuteWriter {
 public:
  ExecuteWriter(Recorder::Impl& impl, Recorder& recorder, const CommandBuffer& inner, const ExecuteArguments& arguments)
      : impl_(impl), recorder_(recorder), inner_(inner), arguments_(arguments) {}

  void write() {
    if (!inner_) return impl_.fail(Errc::invalid_argument, "execute: the command buffer is empty");
    if (!map_slots() || !check_slots() || !check_overlaps() || !map_constants()) return;
    const uint32_t nested = adopt();
    auto* record = impl_.append<Execute>(
        Op::execute, ranges_.size() * sizeof(Range) + constants_.size() * sizeof(ExecuteConstant) + values_.size());
    if (record == nullptr) return;
    record->nested = nested;
    record->slot_count = static_cast<uint32_t>(ranges_.size());
    record->constant_count = static_cast<uint32_t>(constants_.size());
    record->value_bytes = static_cast<uint32_t>(values_.size());
    auto* at = reinterpret_cast<std::byte*>(record + 1);
    for (const Range& range : ranges_) std::memcpy(std::exchange(at, at + sizeof range), &range, sizeof range);
    for (const auto& entry : constants_) std::memcpy(std::exchange(at, at + sizeof entry), &entry, sizeof entry);
    if (!values_.empty()) std::memcpy(at, values_.data(), values_.size());
    for (size_t i = 0; i < ranges_.size(); ++i) impl_.use(ranges_[i], slots()[i].usage, slots()[i].written);
  }

 private:
  std::span<const SlotInfo> slots() const { return inner_.slots(); }

  bool map_slots() {
    std::vector<std::optional<BufferRef>> mapped(slots().size());
    for (const auto& [inner, outer] : arguments_.bindings) {
      const auto index = static_cast<uint32_t>(inner);
      if (index >= mapped.size()) {
        impl_.fail(Errc::invalid_argument,
                   fmt::format("execute: inner slot {} of a command buffer with {} slots", index, mapped.size()));
        return false;
      }
      if (slots()[index].direct || mapped[index]) {
        impl_.fail(Errc::invalid_argument,
                   fmt::format("execute: inner slot '{}' is bound already", slots()[index].name));
        return false;
      }
      mapped[index] = outer;
    }
    for (size_t i = 0; i < mapped.size(); ++i) {
      if (slots()[i].direct) mapped[i] = recorder_.buffer(inner_.data()->direct[i]);
      if (!mapped[i]) {
        impl_.fail(Errc::unbound, fmt::format("execute: inner slot '{}' has no outer range", slots()[i].name));
        return false;
      }
      if (!impl_.check(*mapped[i], "execute")) return false;
      ranges_.push_back(to_range(*mapped[i]));
    }
    return true;
  }

  bool check_slots() {
    for (size_t i = 0; i < ranges_.size(); ++i) {
      const SlotInfo& inner = slots()[i];
      SlotInfo& outer = impl_.slot(ranges_[i].slot);
      if (ranges_[i].size < inner.size) {
        impl_.fail(Errc::out_of_range, fmt::format("execute: inner slot '{}' needs {} bytes, its outer range has {}",
                                                   inner.name, inner.size, ranges_[i].size));
        return false;
      }
      if (outer.alignment < inner.alignment || ranges_[i].offset % inner.alignment != 0) {
        impl_.fail(Errc::misaligned,
                   fmt::format("execute: inner slot '{}' needs an alignment of {}; offset {} of slot '{}', which is "
                               "aligned to {}, does not have it",
                               inner.name, inner.alignment, ranges_[i].offset, outer.name, outer.alignment));
        return false;
      }
      if (!inner.kind) continue;
      if (!outer.kind) outer.kind = inner.kind;
      if (outer.kind != inner.kind) {
        impl_.fail(Errc::mismatch, fmt::format("execute: inner slot '{}' and outer slot '{}' ask for different memory "
                                               "kinds",
                                               inner.name, outer.name));
        return false;
      }
    }
    return true;
  }

  /// Different inner slots must not share memory where either is written, unless both may alias.
  bool check_overlaps() {
    std::vector<uint32_t> order(ranges_.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto outer_slot = [&](uint32_t inner) { return ranges_[inner].slot; };
    std::ranges::sort(order, {}, outer_slot);
    for (auto first = order.begin(); first != order.end();) {
      const auto last = std::ranges::upper_bound(first, order.end(), outer_slot(*first), {}, outer_slot);
      if (!check_overlaps({first, last})) return false;
      first = last;
    }
    return true;
  }

  /// Of inner slots that lie in one outer slot.
  bool check_overlaps(std::span<const uint32_t> inner) {
    if (inner.size() == 1) return true;
    std::vector<SlotInterval> intervals;
    for (const uint32_t i : inner) {
      const SlotInfo& slot = slots()[i];
      intervals.push_back({.begin = ranges_[i].offset,
                           .end = ranges_[i].offset + ranges_[i].size,
                           .slot = i,
                           .written = slot.written,
                           .may_alias = slot.may_alias});
    }
    const auto overlap = find_overlap(std::move(intervals));
    if (!overlap) return true;
    impl_.fail(Errc::overlap, fmt::format("execute: inner slots '{}' and '{}' overlap in outer slot '{}'",
                                          slots()[overlap->first].name, slots()[overlap->second].name,
                                          impl_.slot(ranges_[overlap->first].slot).name));
    return false;
  }

  bool map_constants() {
    const auto declared = inner_.constants();
    std::vector<const Constants::Value*> mapped(declared.size());
    for (const auto& [inner, outer] : arguments_.constants) {
      const auto index = static_cast<uint32_t>(inner);
      if (index >= mapped.size()) {
        impl_.fail(Errc::invalid_argument,
                   fmt::format("execute: inner constant {} of a command buffer with {}", index, mapped.size()));
        return false;
      }
      if (mapped[index] != nullptr) {
        impl_.fail(Errc::invalid_argument,
                   fmt::format("execute: inner constant '{}' is given twice", declared[index].name));
        return false;
      }
      mapped[index] = &outer;
    }
    for (size_t i = 0; i < mapped.size(); ++i) {
      if (mapped[i] == nullptr) {
        impl_.fail(Errc::unbound, fmt::format("execute: inner constant '{}' has no value", declared[i].name));
        return false;
      }
      const Constants::Value& value = *mapped[i];
      if (value.size != declared[i].size) {
        impl_.fail(Errc::mismatch, fmt::format("execute: inner constant '{}' has {} bytes, {} were given",
                                               declared[i].name, declared[i].size, value.size));
        return false;
      }
      if (value.is_constant) {
        if (!impl_.check(value.constant, "execute")) return false;
        constants_.push_back({.outer = static_cast<uint32_t>(value.constant.id)});
      } else {
        constants_.push_back({.offset = static_cast<uint32_t>(values_.size())});
        values_.insert(values_.end(), value.bytes.begin(), value.bytes.begin() + value.size);
      }
    }
    return true;
  }

  /// Takes over what the inner commands refer to; gives the inner command buffer's number.
  uint32_t adopt() {
    for (const KernelLibrary& library : inner_.data()->libraries) impl_.library_index(library);
    for (const std::string& channel : inner_.data()->channels) impl_.channel_id(channel);
    auto& nested = impl_.data->nested;
    const auto [found, is_new] = impl_.nested_ids.emplace(inner_.data().get(), static_cast<uint32_t>(nested.size()));
    if (is_new) nested.push_back(inner_);
    return found->second;
  }

  Recorder::Impl& impl_;
  Recorder& recorder_;
  const CommandBuffer& inner_;
  const ExecuteArguments& arguments_;
  std::vector<Range> ranges_;
  std::vector<ExecuteConstant> constants_;
  std::vector<std::byte> values_;
};

}  // namespace

Recorder& Recorder::execute(const CommandBuffer& inner, const ExecuteArguments& arguments) {
  if (impl_) impl_->guarded([&] { ExecuteWriter(*impl_, *this, inner, arguments).write(); });
  return *this;
}

}  // namespace pianola
