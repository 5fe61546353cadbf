// SPDX-License-Identifier: Apache-2.0
// Host objects of a kernel library, loaded as a test's own, so that kernels are tested without a backend.
#pragma once

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "pianola/kernel_abi.h"
#include "pianola/kernel_library.hpp"

namespace pianola {

class HostObject {
 public:
  HostObject(const KernelLibrary& library, std::string_view arch) {
    for (const CodeObject& object : library.objects()) {
      if (object.format == ObjectFormat::host && object.arch == arch) load(object.bytes);
    }
  }
  HostObject(const HostObject&) = delete;
  HostObject& operator=(const HostObject&) = delete;
  ~HostObject() {
    if (handle_ != nullptr) dlclose(handle_);
  }

  bool is_loaded() const { return handle_ != nullptr; }

  /// False if the object lacks the kernel.
  bool run(const std::string& name, std::array<uint32_t, 3> groups, std::vector<void*> buffers,
           const std::vector<uint32_t>& constants) const {
    const auto kernel = reinterpret_cast<pianola_host_kernel>(dlsym(handle_, name.c_str()));
    if (kernel == nullptr) return false;
    const pianola_host_launch launch{.buffers = buffers.data(),
                                     .constants = constants.data(),
                                     .groups = {groups[0], groups[1], groups[2]},
                                     .reserved = 0,
                                     .begin = 0,
                                     .end = uint64_t{groups[0]} * groups[1] * groups[2]};
    kernel(&launch);
    return true;
  }

 private:
  void load(std::span<const std::byte> bytes) {
    const int file = memfd_create("kernels", 0);
    if (file < 0) return;
    if (write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size())) {
      handle_ = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    close(file);
  }

  void* handle_ = nullptr;
};

/// Architectures of host objects that this machine runs.
inline std::vector<std::string> runnable_archs() {
#if defined(__x86_64__)
  std::vector<std::string> archs = {"x86-64"};
  if (__builtin_cpu_supports("x86-64-v3")) archs.emplace_back("x86-64-v3");
  if (__builtin_cpu_supports("x86-64-v4")) archs.emplace_back("x86-64-v4");
  return archs;
#else
  return {"aarch64"};
#endif
}

}  // namespace pianola
