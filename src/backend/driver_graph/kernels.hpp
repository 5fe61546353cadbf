// SPDX-License-Identifier: Apache-2.0
// Kernel libraries loaded into a device: the best object for the device, once a library.
#pragma once

#include <map>
#include <vector>

#include "backend/driver_graph/driver.hpp"
#include "base/recently_used.hpp"
#include "pianola/kernel_library.hpp"

namespace pianola::driver_graph {

/// One library on one device. Its modules go with the last that keeps it.
class LoadedLibrary {
 public:
  LoadedLibrary(DriverRef driver, KernelLibrary library);

  const KernelLibrary& library() const { return library_; }
  /// Loads the object that holds the kernel if that has not happened yet.
  /// Errors: missing_kernel (no code for this device), corrupt, out_of_memory, device_lost.
  Result<Function> function(uint32_t entry);

 private:
  Result<Module> module(size_t object);
  DriverRef driver_;
  KernelLibrary library_;
  std::mutex mutex_;
  std::vector<UniqueModule> modules_;  ///< one an object, empty until it is needed
  std::vector<Function> functions_;    ///< one a kernel
};

/// A device's loaded libraries. Executables keep theirs, and the cache the last few.
class LibraryCache {
 public:
  explicit LibraryCache(DriverRef driver) : driver_(std::move(driver)) {}
  std::shared_ptr<LoadedLibrary> get(const KernelLibrary& library);

 private:
  DriverRef driver_;
  std::mutex mutex_;
  std::map<const KernelLibrary::Data*, std::weak_ptr<LoadedLibrary>> loaded_;
  RecentlyUsed<LoadedLibrary, kept_libraries> recent_;
};

/// The index of the object with the best code for a kernel. Errors: missing_kernel.
Result<size_t> choose_object(const DriverTable& table, const KernelLibrary& library, uint32_t entry);

}  // namespace pianola::driver_graph
