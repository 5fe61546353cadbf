// SPDX-License-Identifier: Apache-2.0
#include "runner.hpp"

#include <algorithm>

namespace pianola::kernel_test {

Result<std::unique_ptr<Runner>> make_runner(const std::string& target, const KernelLibrary& library) {
#if defined(PIANOLA_WITHOUT_HOST)
  if (target == "aarch64" || target.starts_with("x86-64")) {
    return Error{.code = Errc::no_device, .message = "this system loads no ELF files"};
  }
#elif defined(__aarch64__)
  if (target == "aarch64") return make_host_runner(target, library);
#else
  if (target == "aarch64") return make_emulated_runner(target, library);
#endif
#if !defined(PIANOLA_WITHOUT_HOST)
  if (target.starts_with("x86-64")) return make_host_runner(target, library);
#endif
#if defined(PIANOLA_WITHOUT_VULKAN)
  if (target == "vulkan1.1") return Error{.code = Errc::no_device, .message = "built without Vulkan's headers"};
#else
  if (target == "vulkan1.1") return make_vulkan_runner(library);
#endif
  return make_device_runner(target, library);
}

Result<const CodeObject*> find_object(const KernelLibrary& library, ObjectFormat format, std::string_view arch,
                                      std::string_view kernel) {
  const std::optional<uint32_t> index = library.find(kernel);
  for (const CodeObject& object : library.objects()) {
    if (object.format != format || object.arch != arch) continue;
    for (const CodeObject::Entry& entry : object.entries) {
      if (entry.kernel == index) return &object;
    }
  }
  return Error{.code = Errc::missing_kernel, .message = std::string(kernel) + " for " + std::string(arch)};
}

BufferCopies::BufferCopies(const Launch& launch) : launch_(launch) {
  for (const auto& buffer : launch.buffers) copies_.emplace_back(buffer.begin(), buffer.end());
}

void BufferCopies::write_back(size_t index, std::span<const std::byte> after) const {
  const std::span<std::byte> into = launch_.buffers[index];
  for (size_t i = 0; i < into.size(); ++i) {
    if (after[i] != copies_[index][i]) into[i] = after[i];
  }
}

}  // namespace pianola::kernel_test
