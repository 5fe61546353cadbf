// SPDX-License-Identifier: Apache-2.0
#include "base/dynamic_library.hpp"

#include <dlfcn.h>

namespace pianola {

Result<DynamicLibrary> DynamicLibrary::open(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return DynamicLibrary(handle);
  const char* text = dlerror();
  return Error{Errc::no_device, text != nullptr ? text : "cannot load '" + path + "'"};
}

void* DynamicLibrary::symbol(const char* name) const {
  return dlsym(handle_, name);
}

}  // namespace pianola
