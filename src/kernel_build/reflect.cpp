// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/reflect.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "kernel_build/elf.hpp"
#include "kernel_build/host_records.hpp"

namespace pianola::kernel_build {
namespace {

bool is_mach_o(std::span<const std::byte> bytes) {
  constexpr uint32_t magic = 0xfeedfacf;
  return bytes.size() >= sizeof(magic) && std::memcmp(bytes.data(), &magic, sizeof(magic)) == 0;
}

/// A host object of another make: its names are all that it tells.
Result<std::vector<Reflection>> reflect_exports(const ElfFile& elf) {
  constexpr std::string_view version = "pianola_host_abi";
  std::vector<Reflection> all;
  bool is_host_object = false;
  for (const std::string_view name : defined_symbols(elf)) {
    is_host_object = is_host_object || name == version;
    all.push_back({.symbol = std::string(name)});
  }
  if (is_host_object) return all;
  return Error{.code = Errc::corrupt, .message = fmt::format("this is no host object: it does not export {}", version)};
}

/// Nothing is read but what Apple's files begin with: "MTLB", or the magic of several in one.
Result<std::vector<Reflection>> reflect_metallib(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const std::string_view magic : {"MTLB", "\xcb\xfe\xba\xbe", "\xca\xfe\xba\xbe"}) {
    if (text.starts_with(magic)) return std::vector<Reflection>();
  }
  return Error{.code = Errc::corrupt, .message = "this is no metallib: it does not begin with MTLB"};
}

}  // namespace

std::unordered_map<std::string_view, const Reflection*> reflections_by_symbol(std::span<const Reflection> all) {
  std::unordered_map<std::string_view, const Reflection*> found;
  for (const Reflection& each : all) found.try_emplace(each.symbol, &each);
  return found;
}

uint32_t number_of(std::string_view text) {
  uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Result<std::vector<Reflection>> reflect(ObjectFormat format, std::span<const std::byte> bytes) {
  switch (format) {
    case ObjectFormat::host: return reflect_host(bytes);
    case ObjectFormat::ptx: return reflect_ptx(bytes);
    case ObjectFormat::cubin: return reflect_cubin(bytes);
    case ObjectFormat::hsaco: return reflect_hsaco(bytes);
    case ObjectFormat::spirv: return reflect_spirv(bytes);
    case ObjectFormat::msl: return reflect_msl(bytes);
    case ObjectFormat::metallib: return reflect_metallib(bytes);
  }
  return std::vector<Reflection>();
}

Result<std::vector<Reflection>> reflect_host(std::span<const std::byte> bytes) {
  if (is_mach_o(bytes)) return std::vector<Reflection>();
  const auto elf = read_elf(bytes);
  if (!elf) return elf.error();
  if (elf->find(host_record_section) == nullptr) return reflect_exports(*elf);
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
