// SPDX-License-Identifier: Apache-2.0
// Push state and dispatches. State is resolved here, so that a recorded dispatch is complete in itself.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "record/recorder_impl.hpp"

namespace pianola {

Recorder& Recorder::push_constants(uint32_t offset, std::span<const std::byte> bytes) {
  if (!impl_) return *this;
  impl_->guarded([&] {
    if (offset % 4 != 0 || bytes.size() % 4 != 0) {
      return impl_->fail(Errc::misaligned, fmt::format("push_constants: {} bytes at offset {}; both are multiples of 4",
                                                       bytes.size(), offset));
    }
    if (offset > max_constant_bytes || bytes.size() > max_constant_bytes - offset) {
      return impl_->fail(Errc::limit_exceeded,
                         fmt::format("push_constants: {} bytes at offset {} end past the limit of {}", bytes.size(),
                                     offset, max_constant_bytes));
    }
    if (bytes.empty()) return;
    std::memcpy(impl_->pushed_bytes.data() + offset, bytes.data(), bytes.size());
    for (size_t word = offset / 4; word < (offset + bytes.size()) / 4; ++word) impl_->pushed_words.set(word);
  });
  return *this;
}

Recorder& Recorder::push_descriptor_set(uint32_t set, std::span<const Descriptor> descriptors) {
  if (!impl_) return *this;
  impl_->guarded([&] {
    if (set >= max_descriptor_sets) {
      return impl_->fail(Errc::limit_exceeded,
                         fmt::format("push_descriptor_set: set {}; sets are below {}", set, max_descriptor_sets));
    }
    for (const Descriptor& descriptor : descriptors) {
      if (!impl_->check(descriptor.buffer, "push_descriptor_set")) return;
      impl_->pushed[{set, descriptor.binding}] = descriptor.buffer;
    }
  });
  return *this;
}

namespace {

/// Checks one dispatch's arguments and gathers them; then writes the record.
class DispatchWriter {
 public:
  DispatchWriter(Recorder::Impl& impl, const Kernel& kernel, const Dispatch& arguments)
      : impl_(impl), kernel_(kernel), arguments_(arguments) {}

  void write(const BufferRef* counts) {
    if (!check_kernel() || !gather_bindings() || !gather_constants() || !check_uses()) return;
    if (counts != nullptr ? !check_counts(*counts) : !check_groups()) return;
    if (!check_overlaps(counts)) return;
    const size_t range_count = (counts != nullptr ? 1 : 0) + bindings_.size() + arguments_.uses.size();
    const auto named = arguments_.constants.named();
    const uint32_t library = impl_.library_index(kernel_.library());
    auto* record = impl_.append<DispatchCommand>(
        counts != nullptr ? Op::dispatch_indirect : Op::dispatch,
        range_count * sizeof(Range) + named.size() * sizeof(NamedConstant) + constants_.size());
    if (record == nullptr) return;
    record->library = library;
    record->entry = kernel_.entry();
    record->header.count = static_cast<uint16_t>(bindings_.size());
    record->use_count = static_cast<uint16_t>(arguments_.uses.size());
    record->named_count = static_cast<uint16_t>(named.size());
    record->constant_bytes = static_cast<uint16_t>(constants_.size());
    record->expected_us = std::chrono::duration<float, std::micro>(arguments_.expected_time).count();
    if (counts == nullptr) write_groups(*record);
    write_arrays(*record, counts);
  }

 private:
  const KernelInfo& info() const { return kernel_.info(); }

  bool check_kernel() {
    if (kernel_.is_present()) return true;
    impl_.fail(Errc::missing_kernel, fmt::format("the kernel library '{}' has no kernel '{}'", kernel_.library().name(),
                                                 kernel_.missing_name()));
    return false;
  }

  bool gather_bindings() {
    const auto& declared = info().bindings;
    const size_t given = arguments_.bindings.size();
    if (declared.size() > max_bindings || given > max_bindings) {
      impl_.fail(Errc::limit_exceeded, fmt::format("kernel '{}': {} bindings; at most {} are allowed", info().name,
                                                   std::max(declared.size(), given), max_bindings));
      return false;
    }
    if (given != 0 && given != declared.size()) {
      impl_.fail(Errc::mismatch,
                 fmt::format("kernel '{}' takes {} bindings, {} were given", info().name, declared.size(), given));
      return false;
    }
    impl_.scratch.resize(declared.size());
    for (size_t i = 0; i < declared.size(); ++i) {
      const BufferRef* ref = given != 0 ? &arguments_.bindings[i] : pushed(declared[i]);
      if (ref == nullptr) {
        impl_.fail(Errc::unbound, fmt::format("kernel '{}': binding {} of set {} ('{}') was never set", info().name,
                                              declared[i].binding, declared[i].set, declared[i].name));
        return false;
      }
      if (!impl_.check(*ref, info().name)) return false;
      impl_.scratch[i] = to_range(*ref, static_cast<uint32_t>(declared[i].access));
    }
    bindings_ = impl_.scratch;
    return true;
  }

  const BufferRef* pushed(const KernelBinding& wanted) const {
    const auto found = impl_.pushed.find({wanted.set, wanted.binding});
    return found == impl_.pushed.end() ? nullptr : &found->second;
  }

  bool gather_constants() {
    const uint32_t size = info().constant_bytes;
    constants_ = arguments_.constants.bytes();
    if (size > max_constant_bytes || constants_.size() > max_constant_bytes) {
      impl_.fail(Errc::limit_exceeded,
                 fmt::format("kernel '{}': {} bytes of constants; at most {} are allowed", info().name,
                             std::max<size_t>(size, constants_.size()), max_constant_bytes));
      return false;
    }
    if (constants_.empty() && size != 0) return take_pushed_constants(size);
    if (constants_.size() != size) {
      impl_.fail(Errc::mismatch, fmt::format("kernel '{}' takes {} bytes of constants, {} were given", info().name,
                                             size, constants_.size()));
      return false;
    }
    for (const auto& named : arguments_.constants.named()) {
      if (!impl_.check(named.constant, info().name)) return false;
    }
    return true;
  }

  bool take_pushed_constants(uint32_t size) {
    for (const KernelConstant& constant : info().constants) {
      for (uint32_t byte = constant.offset; byte < constant.offset + constant.size; ++byte) {
        if (impl_.pushed_words.test(byte / 4)) continue;
        impl_.fail(Errc::unbound, fmt::format("kernel '{}': byte {} of the constants ('{}') was never set", info().name,
                                              byte, constant.name));
        return false;
      }
    }
    constants_ = std::span<const std::byte>(impl_.pushed_bytes).first(size);
    return true;
  }

  bool check_uses() {
    if (arguments_.uses.size() > UINT16_MAX) {
      impl_.fail(Errc::limit_exceeded, fmt::format("kernel '{}': {} uses; at most {} are allowed", info().name,
                                                   arguments_.uses.size(), UINT16_MAX));
      return false;
    }
    return std::all_of(arguments_.uses.begin(), arguments_.uses.end(),
                       [&](const Use& use) { return impl_.check(use.range, "uses"); });
  }

  bool check_counts(const BufferRef& counts) {
    if (!impl_.check(counts, "indirect counts")) return false;
    if (counts.offset % 4 != 0) {
      impl_.fail(Errc::misaligned,
                 fmt::format("indirect counts at offset {}; a multiple of 4 is needed", counts.offset));
      return false;
    }
    if (const SlotInfo& slot = impl_.slot(counts.slot); slot.alignment % 4 != 0) {
      impl_.fail(Errc::misaligned,
                 fmt::format("indirect counts in slot '{}' of alignment {}; a multiple of 4 is needed", slot.name,
                             slot.alignment));
      return false;
    }
    if (counts.size < 12) {
      impl_.fail(Errc::out_of_range, fmt::format("indirect counts need 12 bytes, the range has {}", counts.size));
      return false;
    }
    return true;
  }

  bool check_groups() {
    for (const GroupCount* group : {&arguments_.groups.x, &arguments_.groups.y, &arguments_.groups.z}) {
      if (group->is_constant) {
        if (!impl_.check(group->constant, "groups")) return false;
        if (group->constant.size != 4) {
          impl_.fail(Errc::mismatch,
                     fmt::format("groups: a named constant of {} bytes; 4 are needed", group->constant.size));
          return false;
        }
      } else if (group->value > UINT32_MAX) {
        impl_.fail(Errc::limit_exceeded,
                   fmt::format("groups: {} workgroups; the limit is {}", group->value, UINT32_MAX));
        return false;
      }
    }
    return true;
  }

  /// A written binding overlaps nothing unless the kernel says so; counts are never written.
  bool check_overlaps(const BufferRef* counts) {
    const Range count_range = counts != nullptr ? Range{counts->slot, 0, counts->offset, 12} : Range{};
    for (size_t i = 0; i < bindings_.size(); ++i) {
      if (!writes(static_cast<Access>(bindings_[i].tag))) continue;
      if (counts != nullptr && overlaps(bindings_[i], count_range)) {
        return fail_overlap(i, "the indirect counts of the same dispatch");
      }
      if (info().may_alias) continue;
      for (size_t j = 0; j < bindings_.size(); ++j) {
        if (i != j && overlaps(bindings_[i], bindings_[j])) {
          return fail_overlap(i, fmt::format("binding '{}'", info().bindings[j].name));
        }
      }
    }
    for (const Use& use : arguments_.uses) {
      if (counts != nullptr && writes(use.access) && overlaps(to_range(use.range), count_range)) {
        impl_.fail(Errc::overlap,
                   fmt::format("kernel '{}': a use writes the indirect counts of the same dispatch", info().name));
        return false;
      }
    }
    return true;
  }

  bool fail_overlap(size_t binding, std::string_view other) {
    const Range& range = bindings_[binding];
    impl_.fail(Errc::overlap, fmt::format("kernel '{}': written binding '{}' (slot '{}', {} bytes at {}) overlaps {}",
                                          info().name, info().bindings[binding].name, impl_.slot(range.slot).name,
                                          range.size, range.offset, other));
    return false;
  }

  void write_groups(DispatchCommand& record) {
    const std::array<const GroupCount*, 3> groups = {&arguments_.groups.x, &arguments_.groups.y, &arguments_.groups.z};
    for (size_t i = 0; i < 3; ++i) {
      if (groups[i]->is_constant) {
        record.groups[i] = static_cast<uint32_t>(groups[i]->constant.id);
        record.header.flags |= DispatchCommand::group_is_constant[i];
      } else {
        record.groups[i] = static_cast<uint32_t>(groups[i]->value);
      }
    }
  }

  void write_arrays(DispatchCommand& record, const BufferRef* counts) {
    auto* range = reinterpret_cast<Range*>(&record + 1);
    if (counts != nullptr) {
      *range = {counts->slot, static_cast<uint32_t>(Access::in), counts->offset, 12};
      impl_.use(*range++, SlotUsage::indirect, false);
    }
    for (const Range& binding : bindings_) *range++ = mark(binding);
    for (const Use& use : arguments_.uses) *range++ = mark(to_range(use.range, static_cast<uint32_t>(use.access)));
    auto* named = reinterpret_cast<NamedConstant*>(range);
    for (const auto& entry : arguments_.constants.named()) {
      *named++ = {entry.constant.id, static_cast<uint16_t>(entry.offset), static_cast<uint16_t>(entry.constant.size)};
    }
    if (!constants_.empty()) std::memcpy(named, constants_.data(), constants_.size());
  }

  Range mark(const Range& range) {
    const auto access = static_cast<Access>(range.tag);
    if (reads(access)) impl_.use(range, SlotUsage::kernel_read, false);
    if (writes(access)) impl_.use(range, SlotUsage::kernel_write, true);
    return range;
  }

  Recorder::Impl& impl_;
  const Kernel& kernel_;
  const Dispatch& arguments_;
  std::span<const Range> bindings_;
  std::span<const std::byte> constants_;
};

}  // namespace

Recorder& Recorder::dispatch(const Kernel& kernel, const Dispatch& arguments) {
  if (impl_) impl_->guarded([&] { DispatchWriter(*impl_, kernel, arguments).write(nullptr); });
  return *this;
}

Recorder& Recorder::dispatch_indirect(const Kernel& kernel, const BufferRef& counts, const Dispatch& arguments) {
  if (impl_) impl_->guarded([&] { DispatchWriter(*impl_, kernel, arguments).write(&counts); });
  return *this;
}

}  // namespace pianola
