// SPDX-License-Identifier: Apache-2.0
#include "format/kernel_library_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

namespace pianola::format {
namespace {

template <class... Args>
Error failure(Errc code, fmt::format_string<Args...> text, Args&&... args) {
  return {.code = code, .message = fmt::format(text, std::forward<Args>(args)...)};
}

Result<> check_bindings(const KernelInfo& kernel, Errc code) {
  if (kernel.bindings.size() > max_bindings) {
    return failure(code, "kernel '{}' has {} bindings, the limit is {}", kernel.name, kernel.bindings.size(),
                   max_bindings);
  }
  const KernelBinding* before = nullptr;
  for (const KernelBinding& binding : kernel.bindings) {
    const auto access = static_cast<uint8_t>(binding.access);
    if (access < 1 || access > 3) {
      return failure(code, "kernel '{}', binding '{}': access {} is none of in, out and inout", kernel.name,
                     binding.name, access);
    }
    if (binding.set >= max_descriptor_sets) {
      return failure(code, "kernel '{}', binding '{}': set {}, the limit is {}", kernel.name, binding.name, binding.set,
                     max_descriptor_sets - 1);
    }
    if (binding.element_size == 0 || binding.element_size > max_element_size) {
      return failure(code, "kernel '{}', binding '{}': elements of {} bytes, the limits are 1 and {}", kernel.name,
                     binding.name, binding.element_size, max_element_size);
    }
    if (before != nullptr && std::pair(binding.set, binding.binding) <= std::pair(before->set, before->binding)) {
      return failure(code, "kernel '{}': binding '{}' ({}, {}) stands after '{}' ({}, {})", kernel.name, binding.name,
                     binding.set, binding.binding, before->name, before->set, before->binding);
    }
    before = &binding;
  }
  return {};
}

Result<> check_constants(const KernelInfo& kernel, Errc code) {
  if (kernel.constant_bytes > max_constant_bytes) {
    return failure(code, "kernel '{}' takes {} bytes of constants, the limit is {}", kernel.name, kernel.constant_bytes,
                   max_constant_bytes);
  }
  uint64_t end = 0;
  for (const KernelConstant& constant : kernel.constants) {
    if (constant.size == 0 || constant.offset < end) {
      return failure(code, "kernel '{}', constant '{}': {} bytes at {}, but the one before it ends at {}", kernel.name,
                     constant.name, constant.size, constant.offset, end);
    }
    end = uint64_t{constant.offset} + constant.size;
  }
  if (end > kernel.constant_bytes) {
    return failure(code, "kernel '{}': constants end at {}, the block has {} bytes", kernel.name, end,
                   kernel.constant_bytes);
  }
  return {};
}

/// Empty, or each argument once.
Result<> check_order(const KernelInfo& kernel, Errc code) {
  if (kernel.argument_order.empty()) return {};
  std::vector<uint32_t> sorted = kernel.argument_order;
  std::ranges::sort(sorted);
  const size_t count = kernel.bindings.size() + kernel.constants.size();
  bool is_order = sorted.size() == count;
  for (size_t i = 0; i < count && is_order; ++i) is_order = sorted[i] == i;
  if (is_order) return {};
  return failure(code, "kernel '{}': its argument order does not hold each of its {} arguments once", kernel.name,
                 count);
}

Result<> check_kernel(const KernelInfo& kernel, Errc code) {
  if (kernel.name.empty()) return failure(code, "a kernel has no name");
  uint64_t threads = 1;
  for (const uint32_t side : kernel.workgroup) {
    if (side == 0 || side > 1024) {
      return failure(code, "kernel '{}': a workgroup of {} x {} x {}; each side has 1 to 1024 threads", kernel.name,
                     kernel.workgroup[0], kernel.workgroup[1], kernel.workgroup[2]);
    }
    threads *= side;
  }
  if (threads > 1024) {
    return failure(code, "kernel '{}': a workgroup has {} threads, the limit is 1024", kernel.name, threads);
  }
  if (auto ok = check_bindings(kernel, code); !ok) return ok;
  if (auto ok = check_constants(kernel, code); !ok) return ok;
  return check_order(kernel, code);
}

}  // namespace

Result<> check_kernels(std::span<const KernelInfo> kernels, Errc code) {
  std::unordered_set<std::string_view> names;
  for (const KernelInfo& kernel : kernels) {
    if (auto ok = check_kernel(kernel, code); !ok) return ok;
    if (!names.insert(kernel.name).second) return failure(code, "two kernels are named '{}'", kernel.name);
  }
  return {};
}

Result<> check_object(ObjectFormat format, std::string_view arch, std::span<const CodeObject::Entry> entries,
                      std::span<const KernelInfo> kernels, Errc code) {
  if (arch.empty()) return failure(code, "a {} object names no architecture", to_string(format));
  if (entries.empty()) return failure(code, "the {} object for {} holds no kernel", to_string(format), arch);
  std::unordered_set<uint32_t> seen;
  for (const CodeObject::Entry& entry : entries) {
    if (entry.kernel >= kernels.size()) {
      return failure(code, "the {} object for {} has an entry for kernel {}, the library has {}", to_string(format),
                     arch, entry.kernel, kernels.size());
    }
    const std::string& name = kernels[entry.kernel].name;
    if (entry.symbol.empty()) {
      return failure(code, "the {} object for {} has no symbol for kernel '{}'", to_string(format), arch, name);
    }
    if (!seen.insert(entry.kernel).second) {
      return failure(code, "the {} object for {} holds kernel '{}' twice", to_string(format), arch, name);
    }
  }
  return {};
}

}  // namespace pianola::format
