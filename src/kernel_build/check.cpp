// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernel_build/architecture.hpp"

namespace pianola::kernel_build {
namespace {

using Lines = std::vector<std::string>;

constexpr uint32_t pointer_size = 8;

std::string_view to_text(Access access) {
  return access == Access::in ? "in" : access == Access::out ? "out" : "inout";
}

/// A file may know that less is done than is declared, never that more is.
bool allows(Access declared, Access found) {
  return (static_cast<uint8_t>(found) & ~static_cast<uint8_t>(declared)) == 0;
}

void compare_sizes(const KernelInfo& kernel, const Reflection& file, Lines& lines) {
  if (file.constant_bytes && *file.constant_bytes != kernel.constant_bytes) {
    lines.push_back(
        fmt::format("{} bytes of constants, the library says {}", *file.constant_bytes, kernel.constant_bytes));
  }
  if (file.constants_buffer && *file.constants_buffer != constants_place(kernel)) {
    const DescriptorPlace right = constants_place(kernel);
    lines.push_back(fmt::format("a buffer '{}' at ({}, {}), right behind the library's last binding is ({}, {})",
                                constants_block, file.constants_buffer->set, file.constants_buffer->binding, right.set,
                                right.binding));
  }
  if (file.workgroup && *file.workgroup != kernel.workgroup) {
    const auto& [x, y, z] = *file.workgroup;
    lines.push_back(fmt::format("workgroups of {} x {} x {}, the library says {} x {} x {}", x, y, z,
                                kernel.workgroup[0], kernel.workgroup[1], kernel.workgroup[2]));
  }
  const uint32_t threads = kernel.workgroup[0] * kernel.workgroup[1] * kernel.workgroup[2];
  if (file.threads && *file.threads < threads) {
    lines.push_back(fmt::format("at most {} threads in a workgroup, the library says {}", *file.threads, threads));
  }
  if (file.takes_dynamic_shared && kernel.dynamic_shared_bytes == 0) {
    lines.emplace_back("dynamic shared memory, the library says none");
  }
  // A compiler may drop arrays that a kernel does not use, and pad those that it keeps.
  if (file.shared_bytes && *file.shared_bytes > kernel.shared_bytes + 64) {
    lines.push_back(
        fmt::format("{} bytes of shared memory, the library says {}", *file.shared_bytes, kernel.shared_bytes));
  }
}

void compare_bindings(const KernelInfo& kernel, const Reflection& file, Lines& lines) {
  for (const NumberedBinding& found : *file.bindings) {
    const auto same_place = [&](const KernelBinding& each) {
      return each.set == found.set && each.binding == found.binding;
    };
    const auto declared = std::ranges::find_if(kernel.bindings, same_place);
    if (declared == kernel.bindings.end()) {
      lines.push_back(fmt::format("a binding ({}, {}) that the library lacks", found.set, found.binding));
      continue;
    }
    if (found.access && !allows(declared->access, *found.access)) {
      lines.push_back(fmt::format("binding '{}' is {}, the library says {}", declared->name, to_text(*found.access),
                                  to_text(declared->access)));
    }
    if (found.element_size && *found.element_size != declared->element_size) {
      lines.push_back(fmt::format("elements of binding '{}' have {} bytes, the library says {}", declared->name,
                                  *found.element_size, declared->element_size));
    }
  }
}

/// What only a record of the dialect tells.
void compare_record(const KernelInfo& kernel, const KernelInfo& record, Lines& lines) {
  if (record.bindings.size() < kernel.bindings.size()) {
    lines.push_back(fmt::format("{} bindings, the library says {}", record.bindings.size(), kernel.bindings.size()));
  }
  // A manifest may state several constants as one block.
  if (record.constants.size() == kernel.constants.size()) {
    for (size_t i = 0; i < kernel.constants.size(); ++i) {
      const KernelConstant& found = record.constants[i];
      const KernelConstant& declared = kernel.constants[i];
      if (found.offset == declared.offset && found.size == declared.size) continue;
      lines.push_back(fmt::format("constant '{}' has {} bytes at {}, the library says {} at {}", declared.name,
                                  found.size, found.offset, declared.size, declared.offset));
    }
  }
  const auto compare_flag = [&](bool found, bool declared, std::string_view name) {
    const auto text = [](bool is_set) { return is_set ? "" : "not "; };
    if (found != declared)
      lines.push_back(fmt::format("it is {}{}, the library says {}{}", text(found), name, text(declared), name));
  };
  compare_flag(record.opaque, kernel.opaque, "opaque");
  compare_flag(record.may_alias, kernel.may_alias, "may_alias");
}

/// The parameters that the library's description leads to: bindings' addresses in order, then the constants; or in the
/// order that the kernel has, where the offsets are the compiler's affair.
std::vector<Parameter> expected_parameters(const KernelInfo& kernel) {
  std::vector<Parameter> all;
  for (const KernelBinding& binding : kernel.bindings) {
    const auto offset = static_cast<uint32_t>(all.size()) * pointer_size;
    all.push_back({.offset = offset, .size = pointer_size, .is_buffer = true, .access = binding.access});
  }
  const auto start = static_cast<uint32_t>(all.size()) * pointer_size;
  for (const KernelConstant& constant : kernel.constants) {
    all.push_back({.offset = start + constant.offset, .size = constant.size, .is_buffer = false, .access = {}});
  }
  if (kernel.argument_order.empty()) return all;
  std::vector<Parameter> ordered;
  ordered.reserve(kernel.argument_order.size());
  for (const uint32_t place : kernel.argument_order) ordered.push_back(all[place]);
  return ordered;
}

void compare_parameters(const KernelInfo& kernel, const Reflection& file, Lines& lines) {
  const std::vector<Parameter> expected = expected_parameters(kernel);
  if (expected.size() != file.parameters->size()) {
    lines.push_back(fmt::format("{} parameters, the library says {}", file.parameters->size(), expected.size()));
    return;
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const Parameter& found = (*file.parameters)[i];
    const Parameter& declared = expected[i];
    const bool is_moved = kernel.argument_order.empty() && found.offset != declared.offset;
    if (is_moved || found.size != declared.size) {
      lines.push_back(fmt::format("parameter {} has {} bytes at {}, the library says {} at {}", i, found.size,
                                  found.offset, declared.size, declared.offset));
    } else if (found.is_buffer && *found.is_buffer != *declared.is_buffer) {
      lines.push_back(fmt::format("parameter {} is {}, the library says {}", i,
                                  *found.is_buffer ? "a buffer" : "a value",
                                  *declared.is_buffer ? "a buffer" : "a value"));
    } else if (found.access && declared.access && !allows(*declared.access, *found.access)) {
      lines.push_back(
          fmt::format("parameter {} is {}, the library says {}", i, to_text(*found.access), to_text(*declared.access)));
    }
  }
}

/// Formats that may say nothing at all; cubins do where they are fat binaries.
bool is_silent(ObjectFormat format) {
  return format == ObjectFormat::msl || format == ObjectFormat::metallib || format == ObjectFormat::host ||
         format == ObjectFormat::cubin;
}

}  // namespace

Lines compare(const KernelInfo& kernel, const Reflection& reflection) {
  Lines lines;
  compare_sizes(kernel, reflection, lines);
  if (reflection.bindings) compare_bindings(kernel, reflection, lines);
  if (reflection.parameters) compare_parameters(kernel, reflection, lines);
  if (reflection.record) compare_record(kernel, *reflection.record, lines);
  return lines;
}

Lines find_disagreements(std::span<const KernelInfo> kernels, const ObjectView& object) {
  const std::string target = fmt::format("{} for {}", to_string(object.format), object.arch);
  const auto reflections = reflect(object.format, object.bytes);
  if (!reflections) return {fmt::format("{}: {}", target, reflections.error().message)};
  Lines lines;
  const std::string architecture = architecture_of(object.format, object.bytes);
  if (!architecture.empty() && !suits(object.format, architecture, object.arch)) {
    lines.push_back(fmt::format("{}: the file is for {}", target, architecture));
  }
  if (reflections->empty() && is_silent(object.format)) {
    const std::string_view text(reinterpret_cast<const char*>(object.bytes.data()), object.bytes.size());
    for (const CodeObject::Entry& entry : object.entries) {
      if (object.format != ObjectFormat::msl || may_hold(text, entry.symbol)) continue;
      lines.push_back(
          fmt::format("kernel '{}', {}: the file has no '{}'", kernels[entry.kernel].name, target, entry.symbol));
    }
    return lines;
  }
  const auto by_symbol = reflections_by_symbol(*reflections);
  for (const CodeObject::Entry& entry : object.entries) {
    const std::string& name = kernels[entry.kernel].name;
    const auto found = by_symbol.find(entry.symbol);
    if (found == by_symbol.end()) {
      lines.push_back(fmt::format("kernel '{}', {}: the file has no '{}'", name, target, entry.symbol));
      continue;
    }
    if (object.format == ObjectFormat::spirv && kernels[entry.kernel].dynamic_shared_bytes > 0) {
      lines.push_back(fmt::format("kernel '{}', {}: SPIR-V has no dynamic workgroup memory, the library says {} bytes",
                                  name, target, kernels[entry.kernel].dynamic_shared_bytes));
    }
    for (const std::string& line : compare(kernels[entry.kernel], *found->second)) {
      lines.push_back(fmt::format("kernel '{}', {}: the file says {}", name, target, line));
    }
  }
  return lines;
}

}  // namespace pianola::kernel_build
