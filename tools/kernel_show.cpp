// SPDX-License-Identifier: Apache-2.0
// `pianola kernel show` and `pianola kernel check`.
#include <cstdio>

#include "exit_codes.hpp"
#include "kernel_build/check.hpp"
#include "kernel_command.hpp"
#include "pianola/kernel_library.hpp"
#include "report.hpp"

namespace tool {
namespace {

using namespace pianola;

const char* access_name(Access access) {
  return access == Access::in ? "in" : access == Access::out ? "out" : "inout";
}

void print_kernel(const KernelInfo& kernel) {
  std::printf("kernel %s: workgroup %u x %u x %u, %u bytes of constants, %u bytes shared", kernel.name.c_str(),
              kernel.workgroup[0], kernel.workgroup[1], kernel.workgroup[2], kernel.constant_bytes,
              kernel.shared_bytes);
  if (kernel.dynamic_shared_bytes > 0) std::printf(" and %u dynamic", kernel.dynamic_shared_bytes);
  std::printf("%s%s\n", kernel.opaque ? ", opaque" : "", kernel.may_alias ? ", may alias" : "");
  for (const KernelBinding& binding : kernel.bindings) {
    std::printf("  buffer   (%u, %u) %s: %s, elements of %u bytes\n", binding.set, binding.binding,
                binding.name.c_str(), access_name(binding.access), binding.element_size);
  }
  for (const KernelConstant& constant : kernel.constants) {
    std::printf("  constant %u %s: %u bytes\n", constant.offset, constant.name.c_str(), constant.size);
  }
  if (kernel.argument_order.empty()) return;
  std::printf("  in the order");
  for (const uint32_t place : kernel.argument_order) {
    const size_t constant = place - kernel.bindings.size();
    std::printf(
        " %s",
        (place < kernel.bindings.size() ? kernel.bindings[place].name : kernel.constants[constant].name).c_str());
  }
  std::printf("\n");
}

void print_object(const CodeObject& object, std::span<const KernelInfo> kernels) {
  std::printf("object %s for %s: %zu bytes\n", std::string(to_string(object.format)).c_str(), object.arch.c_str(),
              object.bytes.size());
  const auto reflections = kernel_build::reflect(object.format, object.bytes);
  for (const CodeObject::Entry& entry : object.entries) {
    std::printf("  %s", kernels[entry.kernel].name.c_str());
    if (entry.symbol != kernels[entry.kernel].name) std::printf(" as %s", entry.symbol.c_str());
    for (size_t i = 0; reflections && i < reflections->size(); ++i) {
      const kernel_build::Reflection& found = (*reflections)[i];
      if (found.symbol != entry.symbol) continue;
      if (found.registers) std::printf(", %u %sregisters", *found.registers, found.scalar_registers ? "vector " : "");
      if (found.scalar_registers) std::printf(", %u scalar registers", *found.scalar_registers);
      if (found.shared_bytes) std::printf(", %u bytes shared", *found.shared_bytes);
      if (found.spilled_bytes) std::printf(", %u bytes private", *found.spilled_bytes);
    }
    std::printf("\n");
  }
}

}  // namespace

int run_kernel_show(const KernelShowOptions& options) {
  const auto library = KernelLibrary::load(options.file);
  if (!library) return report(library.error());
  if (options.json) {
    std::puts(kernel_library_json(*library).c_str());
    return success;
  }
  std::printf("library %s, hash %016llx\n", std::string(library->name()).c_str(),
              static_cast<unsigned long long>(library->hash()));
  for (const KernelInfo& kernel : library->kernels()) print_kernel(kernel);
  for (const CodeObject& object : library->objects()) print_object(object, library->kernels());
  return success;
}

int run_kernel_check(const KernelCheckOptions& options) {
  const auto library = KernelLibrary::load(options.file);
  if (!library) return report(library.error());
  size_t count = 0;
  for (const CodeObject& object : library->objects()) {
    const kernel_build::ObjectView view{
        .format = object.format, .arch = object.arch, .bytes = object.bytes, .entries = object.entries};
    for (const std::string& line : kernel_build::find_disagreements(library->kernels(), view)) {
      std::printf("%s\n", line.c_str());
      ++count;
    }
  }
  std::printf("%zu kernels in %zu objects, %zu disagreements\n", library->kernels().size(), library->objects().size(),
              count);
  return count == 0 ? success : failed;
}

}  // namespace tool
