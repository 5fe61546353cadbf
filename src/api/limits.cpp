// SPDX-License-Identifier: Apache-2.0
#include "api/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace pianola {
namespace {

constexpr std::string_view axis = "xyz";

Error at(const PlanNode& node, Errc code, std::string message) {
  return Error{.code = code, .message = std::move(message), .command = node.source};
}

Result<> check_kernel(const PlanNode& node, const KernelInfo& kernel, const DeviceLimits& limits) {
  uint64_t threads = 1;
  for (size_t i = 0; i < 3; ++i) {
    threads *= kernel.workgroup[i];
    if (kernel.workgroup[i] > limits.max_workgroup[i]) {
      return at(node, Errc::limit_exceeded,
                fmt::format("kernel '{}' has workgroups of {} threads in {}; the device takes {}", kernel.name,
                            kernel.workgroup[i], axis[i], limits.max_workgroup[i]));
    }
  }
  if (threads > limits.max_workgroup_threads) {
    return at(node, Errc::limit_exceeded,
              fmt::format("kernel '{}' has workgroups of {} threads; the device takes {}", kernel.name, threads,
                          limits.max_workgroup_threads));
  }
  if (kernel.shared_bytes > limits.max_shared_bytes) {
    return at(node, Errc::limit_exceeded,
              fmt::format("kernel '{}' needs {} bytes of workgroup memory; the device has {}", kernel.name,
                          kernel.shared_bytes, limits.max_shared_bytes));
  }
  const uint64_t total = uint64_t{kernel.shared_bytes} + kernel.dynamic_shared_bytes;
  if (kernel.dynamic_shared_bytes > 0 && total > limits.max_dynamic_shared_bytes) {
    return at(node, Errc::limit_exceeded,
              fmt::format("kernel '{}' needs {} bytes of workgroup memory, {} of them dynamic; the device has {}",
                          kernel.name, total, kernel.dynamic_shared_bytes, limits.max_dynamic_shared_bytes));
  }
  return {};
}

/// Elements are aligned to the largest power of two that divides their size: 12 bytes to 4.
constexpr uint64_t natural_alignment(uint64_t element_size) {
  return element_size == 0 ? 1 : element_size & (~element_size + 1);
}

Result<> check_alignment(const PlanNode& node, const DispatchCommand& dispatch, const KernelInfo& kernel,
                         const CommandBuffer::Data& commands, const DeviceLimits& limits) {
  const auto bindings = dispatch.bindings();
  for (size_t i = 0; i < bindings.size() && i < kernel.bindings.size(); ++i) {
    const uint64_t needed =
        limits.dispatch_alignment != 0 ? limits.dispatch_alignment : natural_alignment(kernel.bindings[i].element_size);
    const SlotInfo& slot = commands.slots[static_cast<uint32_t>(bindings[i].slot)];
    if (bindings[i].offset % needed == 0 && slot.alignment % needed == 0) continue;
    return at(node, Errc::misaligned,
              fmt::format("kernel '{}', binding '{}': offset {} in slot '{}' of alignment {}; the device needs "
                          "multiples of {}",
                          kernel.name, kernel.bindings[i].name, bindings[i].offset, slot.name, slot.alignment, needed));
  }
  return {};
}

}  // namespace

Result<> check_named_groups(const NamedGroups& groups, uint32_t count, const DeviceLimits& limits) {
  const uint32_t limit = limits.max_groups[groups.dimension];
  if (count <= limit) return {};
  return Error{.code = Errc::limit_exceeded,
               .message = fmt::format("{} workgroups in {}; the device takes {}", count, axis[groups.dimension], limit),
               .command = groups.command};
}

Result<std::vector<NamedGroups>> check_limits(const Plan& plan, const DeviceLimits& limits) {
  const Plan::Data& data = *plan.data();
  const CommandBuffer::Data& commands = *data.commands.data();
  std::vector<NamedGroups> named;
  for (const PlanNode& node : data.nodes) {
    if (node.command->op != Op::dispatch && node.command->op != Op::dispatch_indirect) continue;
    const auto& dispatch = as<DispatchCommand>(*node.command);
    const KernelInfo& kernel = commands.libraries[dispatch.library].kernels()[dispatch.entry];
    if (auto fits = check_kernel(node, kernel, limits); !fits) return fits.error();
    if (auto fits = check_alignment(node, dispatch, kernel, commands, limits); !fits) return fits.error();
    if (dispatch.is_indirect()) continue;
    for (uint32_t i = 0; i < 3; ++i) {
      NamedGroups groups{.dimension = i, .command = node.source};
      if ((dispatch.header.flags & DispatchCommand::group_is_constant[i]) != 0) {
        groups.constant = ConstantId{dispatch.groups[i]};
        named.push_back(groups);
      } else if (auto fits = check_named_groups(groups, dispatch.groups[i], limits); !fits) {
        return fits.error();
      }
    }
  }
  // Commands that share a constant have one limit: the first of them is named.
  const auto key = [](const NamedGroups& groups) {
    return std::tuple(groups.constant, groups.dimension, groups.command);
  };
  std::ranges::sort(named, {}, key);
  const auto same = [](const NamedGroups& a, const NamedGroups& b) {
    return a.constant == b.constant && a.dimension == b.dimension;
  };
  const auto rest = std::ranges::unique(named, same);
  named.erase(rest.begin(), rest.end());
  return named;
}

}  // namespace pianola
