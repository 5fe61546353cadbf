// SPDX-License-Identifier: Apache-2.0
// Host objects of one architecture, loaded into this process without a backend.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>

#include "pianola/kernel_abi.h"
#include "runner.hpp"

namespace pianola::kernel_test {
namespace {

bool runs_here(const std::string& arch) {
#if defined(__x86_64__)
  if (arch == "x86-64-v4") return __builtin_cpu_supports("x86-64-v4") != 0;
  if (arch == "x86-64-v3") return __builtin_cpu_supports("x86-64-v3") != 0;
  return arch == "x86-64";
#else
  return arch == "aarch64";
#endif
}

class HostRunner : public Runner {
 public:
  HostRunner(std::string arch, KernelLibrary library) : arch_(std::move(arch)), library_(std::move(library)) {}
  HostRunner(const HostRunner&) = delete;
  HostRunner& operator=(const HostRunner&) = delete;
  ~HostRunner() override {
    for (const auto& [object, handle] : handles_) dlclose(handle);
  }

  Result<> run(const Launch& launch) override {
    const auto object = find_object(library_, ObjectFormat::host, arch_, launch.kernel);
    if (!object) return object.error();
    void*& handle = handles_[*object];
    if (handle == nullptr) handle = load((*object)->bytes);
    if (handle == nullptr) return Error{.code = Errc::corrupt, .message = dlerror()};
    const auto kernel = reinterpret_cast<pianola_host_kernel>(dlsym(handle, launch.kernel.c_str()));
    if (kernel == nullptr) return Error{.code = Errc::missing_kernel, .message = launch.kernel};
    std::vector<void*> buffers;
    for (const auto& buffer : launch.buffers) buffers.push_back(buffer.data());
    const auto& groups = launch.groups;
    const pianola_host_launch call{.buffers = buffers.data(),
                                   .constants = launch.constants.data(),
                                   .groups = {groups[0], groups[1], groups[2]},
                                   .reserved = 0,
                                   .begin = 0,
                                   .end = uint64_t{groups[0]} * groups[1] * groups[2]};
    kernel(&call);
    return {};
  }

 private:
  static void* load(std::span<const std::byte> bytes) {
    const int file = memfd_create("kernels", 0);
    if (file < 0) return nullptr;
    void* handle = nullptr;
    if (write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size())) {
      handle = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    files_.push_back(file);  // kept open: the loader takes two objects of one path for the same
    return handle;
  }

  static inline std::vector<int> files_;
  std::string arch_;
  KernelLibrary library_;
  std::map<const CodeObject*, void*> handles_;
};

}  // namespace

Result<std::unique_ptr<Runner>> make_host_runner(const std::string& arch, const KernelLibrary& library) {
  if (!runs_here(arch)) return Error{.code = Errc::no_device, .message = "this processor does not run " + arch};
  return std::unique_ptr<Runner>(new HostRunner(arch, library));
}

}  // namespace pianola::kernel_test
