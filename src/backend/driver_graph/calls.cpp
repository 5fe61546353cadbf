// SPDX-License-Identifier: Apache-2.0
#include "backend/driver_graph/calls.hpp"

#include <algorithm>
#include <cstring>

#include "format/builtin_kernels.hpp"

namespace pianola::driver_graph {

Values Values::of(const backend::Bindings& bindings) {
  Values values;
  values.address.reserve(bindings.slots.size());
  values.on_host.reserve(bindings.slots.size());
  for (const backend::BoundSlot& slot : bindings.slots) {
    values.address.push_back(slot.address);
    values.on_host.push_back(slot.memory != nullptr && slot.memory->host() != nullptr ? 1 : 0);
  }
  values.constants = bindings.constants;
  values.constant_offset = bindings.constant_offset;
  return values;
}

std::byte* CallMaker::address(uint32_t index) const {
  const Address& at = lowered_.addresses[index];
  return values_.address[static_cast<uint32_t>(at.slot)] + at.offset;
}

std::byte* CallMaker::source_of(const Operation& operation) const {
  if (!operation.is_upload) return address(operation.first_address + 1);
  return static_cast<std::byte*>(lowered_.uploads.get()) + operation.upload;
}

std::array<uint32_t, 3> CallMaker::groups(const Operation& operation) const {
  std::array<uint32_t, 3> groups = operation.groups;
  for (size_t d = 0; d < 3; ++d) {
    if ((operation.group_is_constant & DispatchCommand::group_is_constant[d]) == 0) continue;
    std::memcpy(&groups[d], values_.constant(groups[d]).data(), sizeof groups[d]);
  }
  return groups;
}

KernelCall CallMaker::kernel(const Operation& operation) {
  if (operation.kind != OperationKind::kernel && operation.kind != OperationKind::indirect) return builtin(operation);
  const LoadedKernel& kernel = lowered_.kernels[operation.kernel];
  const KernelInfo& info = *kernel.info;
  const uint32_t first = operation.first_address + (operation.kind == OperationKind::indirect ? 1 : 0);
  pointers_.clear();
  for (uint32_t i = 0; i < info.bindings.size(); ++i) pointers_.push_back(address(first + i));
  const auto block = std::span(lowered_.constants).subspan(operation.first_constant, info.constant_bytes);
  constants_.assign(block.begin(), block.end());
  for (const NamedConstant& named : lowered_.named_of(operation)) {
    const std::span<const std::byte> bytes = values_.constant(static_cast<uint32_t>(named.constant));
    std::memcpy(constants_.data() + named.offset, bytes.data(), std::min<size_t>(named.size, bytes.size()));
  }
  return finish(kernel, groups(operation));
}

KernelCall CallMaker::finish(const LoadedKernel& kernel, std::array<uint32_t, 3> groups) {
  arguments_.clear();
  for (std::byte*& pointer : pointers_) arguments_.push_back(static_cast<void*>(&pointer));
  for (const KernelConstant& constant : kernel.info->constants) {
    arguments_.push_back(constants_.data() + constant.offset);
  }
  if (const auto& order = kernel.info->argument_order; !order.empty()) {
    const std::vector<void*> listed = arguments_;
    for (size_t i = 0; i < order.size(); ++i) arguments_[i] = listed[order[i]];
  }
  return {kernel.function, groups, kernel.info->workgroup, kernel.info->dynamic_shared_bytes, arguments_.data()};
}

KernelCall CallMaker::builtin(const Operation& operation) {
  std::byte* destination = address(operation.first_address);
  std::byte* source = operation.kind == OperationKind::builtin_copy ? source_of(operation) : nullptr;
  const auto number = [](const std::byte* at) { return reinterpret_cast<uintptr_t>(at); };
  const std::byte* kept = lowered_.constants.data() + operation.first_constant;
  BuiltinDispatch dispatch;
  switch (operation.kind) {
    case OperationKind::builtin_fill:
      dispatch = builtin_fill(number(destination), operation.size, {kept, operation.value});
      break;
    case OperationKind::builtin_copy:
      dispatch = builtin_copy(number(destination), number(source), operation.size);
      break;
    default: dispatch = builtin_update(number(destination), {kept, operation.size}); break;
  }
  uint32_t kernel = operation.kernel;
  if (source != nullptr && lowered_.kernels[kernel].info->name != dispatch.kernel) ++kernel;
  pointers_.clear();
  if (source != nullptr) pointers_.insert(pointers_.end(), {source, source + dispatch.source_block_offset});
  pointers_.insert(pointers_.end(), {destination, destination + dispatch.block_offset});
  const auto bytes = std::as_bytes(std::span(dispatch.constants));
  constants_.assign(bytes.begin(), bytes.end());
  // The driver copies the whole block, also where the kernel reads only its beginning.
  constants_.resize(std::max<size_t>(constants_.size(), lowered_.kernels[kernel].info->constant_bytes));
  return finish(lowered_.kernels[kernel], {dispatch.groups, 1, 1});
}

FillCall CallMaker::fill(const Operation& operation) const {
  return {address(operation.first_address), operation.value, operation.element, operation.size / operation.element};
}

CopyCall CallMaker::copy(const Operation& operation) const {
  CopyCall call;
  const auto is_on_host = [&](uint32_t index) {
    return values_.on_host[static_cast<uint32_t>(lowered_.addresses[index].slot)] != 0;
  };
  call.destination = address(operation.first_address);
  call.destination_on_host = is_on_host(operation.first_address);
  call.size = operation.size;
  call.source = source_of(operation);
  call.source_on_host = operation.is_upload || is_on_host(operation.first_address + 1);
  return call;
}

bool has_empty_dispatch(const Lowered& lowered, const Values& values) {
  if (lowered.operations_of_constant.empty()) return false;
  const CallMaker calls(lowered, values);
  return std::any_of(lowered.operations_of_constant.begin(), lowered.operations_of_constant.end(), [&](uint32_t at) {
    const auto groups = calls.groups(lowered.operations[at]);
    return groups[0] == 0 || groups[1] == 0 || groups[2] == 0;
  });
}

}  // namespace pianola::driver_graph
