// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/reflect.hpp"

#include "kernel_build/host_records.hpp"

namespace pianola::kernel_build {

Result<std::vector<Reflection>> reflect(ObjectFormat format, std::span<const std::byte> bytes) {
  switch (format) {
    case ObjectFormat::host: return reflect_host(bytes);
    case ObjectFormat::ptx: return reflect_ptx(bytes);
    case ObjectFormat::cubin: return reflect_cubin(bytes);
    case ObjectFormat::hsaco: return reflect_hsaco(bytes);
    case ObjectFormat::spirv: return reflect_spirv(bytes);
    case ObjectFormat::msl: return reflect_msl(bytes);
    case ObjectFormat::metallib: break;
  }
  return std::vector<Reflection>();
}

Result<std::vector<Reflection>> reflect_host(std::span<const std::byte> bytes) {
  const auto kernels = read_host_records(bytes);
  if (!kernels) return kernels.error();
  std::vector<Reflection> all;
  for (const DialectKernel& kernel : *kernels) {
    Reflection reflection{.symbol = kernel.info.name};
    reflection.bindings.emplace();
    for (const KernelBinding& binding : kernel.info.bindings) {
      reflection.bindings->push_back({.set = binding.set,
                                      .binding = binding.binding,
                                      .access = binding.access,
                                      .element_size = binding.element_size});
    }
    reflection.constant_bytes = kernel.info.constant_bytes;
    reflection.workgroup = kernel.info.workgroup;
    reflection.shared_bytes = kernel.info.shared_bytes;
    reflection.record = kernel.info;
    all.push_back(std::move(reflection));
  }
  return all;
}

}  // namespace pianola::kernel_build
