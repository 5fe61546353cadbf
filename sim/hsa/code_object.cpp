// SPDX-License-Identifier: Apache-2.0
// Code objects: the kernels' names and sizes are read from their descriptors ("Kernel Descriptor" in LLVM's user guide
// for AMDGPU); the code itself is not.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "state.hpp"

namespace sim::hsa {
namespace {

struct Reader {
  std::span<const std::byte> bytes;
};

struct Symbol {
  const KernelCode* kernel = nullptr;
  void* variable = nullptr;
  uint32_t size = 0;
};

struct Executable {
  std::vector<std::unique_ptr<KernelCode>> kernels;
  std::vector<std::unique_ptr<std::byte[]>> variables;
  std::map<std::string, Symbol, std::less<>> symbols;
};

/// Where the bytes at a virtual address stand in the file, or null if they are not in it.
const std::byte* at_address(const std::byte* image, uint64_t address) {
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(image);
  const auto* segments = reinterpret_cast<const Elf64_Phdr*>(image + header->e_phoff);
  for (int i = 0; i < header->e_phnum; ++i) {
    const Elf64_Phdr& segment = segments[i];
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
      continue;
    return image + segment.p_offset + (address - segment.p_vaddr);
  }
  return nullptr;
}

void add_kernel(Executable& executable, std::string_view symbol, const std::byte* descriptor) {
  auto kernel = std::make_unique<KernelCode>();
  kernel->name = symbol.substr(0, symbol.size() - 3);
  uint32_t sizes[3];
  std::memcpy(sizes, descriptor, sizeof sizes);
  kernel->shared_bytes = sizes[0];
  kernel->private_bytes = sizes[1];
  kernel->argument_bytes = sizes[2];
  Runtime::instance().kernel_codes.insert(kernel.get());
  executable.symbols[std::string(symbol)].kernel = kernel.get();
  executable.kernels.push_back(std::move(kernel));
}

void add_variable(Executable& executable, std::string_view name, uint64_t size, const std::byte* contents) {
  auto variable = std::make_unique<std::byte[]>(size);
  if (contents != nullptr) std::memcpy(variable.get(), contents, size);
  executable.symbols[std::string(name)] = {nullptr, variable.get(), static_cast<uint32_t>(size)};
  executable.variables.push_back(std::move(variable));
}

template <class T>
hsa_status_t give(void* out, T value) {
  std::memcpy(out, &value, sizeof value);
  return HSA_STATUS_SUCCESS;
}

}  // namespace
}  // namespace sim::hsa

using namespace sim::hsa;  // NOLINT: every name below is the vendor's

extern "C" {

hsa_status_t hsa_code_object_reader_create_from_memory(const void* image, size_t size,
                                                       hsa_code_object_reader_t* reader) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  reader->handle = reinterpret_cast<uint64_t>(new Reader{{static_cast<const std::byte*>(image), size}});
  ++runtime.code_objects;
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_code_object_reader_destroy(hsa_code_object_reader_t reader) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  delete reinterpret_cast<Reader*>(reader.handle);
  --runtime.code_objects;
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_executable_create_alt(hsa_profile_t, hsa_default_float_rounding_mode_t, const char*,
                                       hsa_executable_t* executable) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  executable->handle = reinterpret_cast<uint64_t>(new Executable);
  ++runtime.code_objects;
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_executable_destroy(hsa_executable_t handle) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  auto* executable = reinterpret_cast<Executable*>(handle.handle);
  for (const auto& kernel : executable->kernels) runtime.kernel_codes.erase(kernel.get());
  delete executable;
  --runtime.code_objects;
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_executable_freeze(hsa_executable_t, const char*) {
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_executable_agent_global_variable_define(hsa_executable_t, hsa_agent_t, const char*, void*) {
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_executable_load_agent_code_object(hsa_executable_t handle, hsa_agent_t,
                                                   hsa_code_object_reader_t reader, const char*,
                                                   hsa_loaded_code_object_t*) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  auto& executable = *reinterpret_cast<Executable*>(handle.handle);
  const std::span<const std::byte> bytes = reinterpret_cast<const Reader*>(reader.handle)->bytes;
  if (bytes.size() < sizeof(Elf64_Ehdr) || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0) {
    return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
  }
  const std::byte* image = bytes.data();
  if ((reinterpret_cast<const Elf64_Ehdr*>(image)->e_flags & 0xffU) != isa_flags) {
    return HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS;
  }
  sim::each_symbol(image, [&](std::string_view name, const Elf64_Sym& symbol) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT) return;
    const std::byte* contents = at_address(image, symbol.st_value);
    if (!name.ends_with(".kd")) {
      add_variable(executable, name, symbol.st_size, contents);
    } else if (contents != nullptr) {
      add_kernel(executable, name, contents);
    }
  });
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_executable_get_symbol_by_name(hsa_executable_t handle, const char* name, const hsa_agent_t*,
                                               hsa_executable_symbol_t* symbol) {
  const std::lock_guard lock(Runtime::instance().mutex);
  const auto& symbols = reinterpret_cast<const Executable*>(handle.handle)->symbols;
  const auto at = symbols.find(name);
  if (at == symbols.end()) return HSA_STATUS_ERROR_INVALID_SYMBOL_NAME;
  symbol->handle = reinterpret_cast<uint64_t>(&at->second);
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_executable_symbol_get_info(hsa_executable_symbol_t handle, hsa_executable_symbol_info_t what,
                                            void* out) {
  const auto& symbol = *reinterpret_cast<const Symbol*>(handle.handle);
  if (what == HSA_EXECUTABLE_SYMBOL_INFO_TYPE) {
    return give(out, symbol.kernel != nullptr ? HSA_SYMBOL_KIND_KERNEL : HSA_SYMBOL_KIND_VARIABLE);
  }
  if (symbol.kernel == nullptr) {
    if (what == HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS) return give(out, symbol.variable);
    if (what == HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE) return give(out, symbol.size);
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  switch (what) {
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT: return give(out, symbol.kernel);
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE: return give(out, symbol.kernel->argument_bytes);
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT: return give(out, uint32_t{16});
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE: return give(out, symbol.kernel->shared_bytes);
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE: return give(out, symbol.kernel->private_bytes);
    default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
}

}  // extern "C"
