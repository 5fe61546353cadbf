// SPDX-License-Identifier: Apache-2.0
// A shared library loaded at run time. It stays loaded for the life of the process: drivers start threads and
// register handlers that must not lose their code.
#pragma once

#include <string>

#include "pianola/error.hpp"

namespace pianola {

class DynamicLibrary {
 public:
  /// A path, or a name for the loader's search path. Errors: no_device, with the loader's text.
  static Result<DynamicLibrary> open(const std::string& path);

  /// Null if the library has no such symbol.
  void* symbol(const char* name) const;

 private:
  explicit DynamicLibrary(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace pianola
