// SPDX-License-Identifier: Apache-2.0
// Modules: the kernels' names are read from PTX text or from an ELF object's symbols; the code itself is not.
#include <elf.h>

#include <cctype>
#include <cstring>
#include <string_view>

#include "world.hpp"

namespace sim {
namespace {

constexpr int compute_capability = 90;
constexpr uint32_t gfx90a = 0x3f;  // EF_AMDGPU_MACH_AMDGCN_GFX90A

/// The number after ".target sm_", or 0.
int ptx_target(std::string_view text) {
  const size_t at = text.find(".target sm_");
  return at == std::string_view::npos ? 0 : std::atoi(text.data() + at + 11);
}

void read_ptx_names(std::string_view text, Module& module) {
  for (size_t at = text.find(".entry"); at != std::string_view::npos; at = text.find(".entry", at)) {
    at += 6;
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0) ++at;
    const size_t begin = at;
    while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_')) ++at;
    module.names.emplace(text.substr(begin, at - begin));
  }
}

/// AMD's kernels have a descriptor symbol "NAME.kd", NVIDIA's a section ".text.NAME".
void read_elf_names(const std::byte* image, Module& module) {
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(image);
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(image + header->e_shoff);
  const auto* names = reinterpret_cast<const char*>(image + sections[header->e_shstrndx].sh_offset);
  for (int i = 0; i < header->e_shnum; ++i) {
    const std::string_view section = names + sections[i].sh_name;
    if (section.starts_with(".text.")) module.names.emplace(section.substr(6));
  }
  each_symbol(image, [&](std::string_view name, const Elf64_Sym&) {
    if (name.ends_with(".kd")) module.names.emplace(name.substr(0, name.size() - 3));
  });
}

}  // namespace

Module::~Module() {
  for (const auto& [name, function] : functions) World::instance().live_functions.erase(function.get());
}

Status World::load_module(const void* image, int device, Module** module) {
  if (image == nullptr) return complain("module without an image");
  auto made = std::make_shared<Module>(device);
  const auto* bytes = static_cast<const std::byte*>(image);
  if (std::memcmp(bytes, ELFMAG, SELFMAG) == 0) {
    const auto* header = reinterpret_cast<const Elf64_Ehdr*>(bytes);
    if (amd && (header->e_flags & 0xffU) != gfx90a) return Status::no_binary;
    read_elf_names(bytes, *made);
  } else {
    // AMD's loaders crash on anything that is no code object.
    if (amd) return complain("module is not a code object", Status::invalid_image);
    const std::string_view text = static_cast<const char*>(image);
    if (text.find(".version") == std::string_view::npos) return Status::invalid_image;
    if (ptx_target(text) > compute_capability) return Status::no_binary;
    read_ptx_names(text, *made);
  }
  *module = add(std::move(made));
  return Status::ok;
}

Status World::get_function(Module* module, const char* name, Function** function) {
  if (module->names.count(name) == 0) return Status::not_found;
  auto& made = module->functions[name];
  if (made == nullptr) {
    const auto kernel = kernels.find(name);
    made = std::make_unique<Function>(module->device);
    if (kernel != kernels.end()) {
      made->kernel = kernel->second;
    } else {
      // Graphs can be built of it; it runs as nothing.
      complain(std::string("no host function is registered for kernel ") + name);
      auto unknown = std::make_shared<Kernel>();
      unknown->name = name;
      made->kernel = std::move(unknown);
    }
    live_functions.insert(made.get());
  }
  *function = made.get();
  return Status::ok;
}

Status World::set_dynamic_shared(void* handle, int bytes) {
  auto* function = static_cast<Function*>(handle);
  if (live_functions.count(function) == 0) return complain("function is not alive", Status::invalid_handle);
  const uint32_t fixed = function->kernel->shared_bytes;
  if (bytes < 0 || uint64_t{fixed} + static_cast<uint32_t>(bytes) > most_shared)
    return complain("shared memory over what a function can ask for");
  function->shared_limit = fixed + static_cast<uint32_t>(bytes);
  return Status::ok;
}

}  // namespace sim
