// SPDX-License-Identifier: Apache-2.0
// Loads host kernel objects: once a library and device, from memory, the best code this machine can run.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/recently_used.hpp"
#include "pianola/kernel_abi.h"
#include "pianola/kernel_library.hpp"

namespace pianola::backend::cpu {

/// Architectures of host objects that this machine can run, the best first.
std::vector<std::string_view> host_architectures();

/// A shared object that was given as bytes. Stays loaded as long as this lives.
class HostObject {
 public:
  /// Errors: mismatch (another interface version), io, corrupt (the loader refuses it).
  static Result<std::unique_ptr<HostObject>> load(std::span<const std::byte> bytes, std::string_view name);
  ~HostObject();
  HostObject(const HostObject&) = delete;
  HostObject& operator=(const HostObject&) = delete;
  void* find(const std::string& symbol) const;

 private:
  HostObject(void* handle, int file) : handle_(handle), file_(file) {}
  void* handle_;
  int file_;  ///< kept open: the loader takes two objects of one path for the same
};

/// One library's kernels as functions.
class LoadedLibrary {
 public:
  explicit LoadedLibrary(KernelLibrary library) : library_(std::move(library)) {}
  /// Errors: missing_kernel (no code for this machine, or not under the stated symbol), those of HostObject::load.
  Result<pianola_host_kernel> function(uint32_t kernel);

 private:
  Result<HostObject*> object(size_t index);
  KernelLibrary library_;
  std::mutex mutex_;
  std::map<size_t, std::unique_ptr<HostObject>> objects_;
};

/// A device's loaded libraries. Executables keep theirs, and the cache the last few; a library nobody keeps is unloaded
/// and forgotten.
class KernelCache {
 public:
  std::shared_ptr<LoadedLibrary> get(const KernelLibrary& library);

 private:
  std::shared_ptr<LoadedLibrary> find_or_make(const KernelLibrary& library);
  struct Known {
    std::mutex mutex;
    std::map<const void*, std::weak_ptr<LoadedLibrary>> libraries;
  };
  std::shared_ptr<Known> known_ = std::make_shared<Known>();
  std::mutex mutex_;  ///< of `recent_`; what leaves that ends outside
  RecentlyUsed<LoadedLibrary, kept_libraries> recent_;
};

}  // namespace pianola::backend::cpu
