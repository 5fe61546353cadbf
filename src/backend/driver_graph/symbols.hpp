// SPDX-License-Identifier: Apache-2.0
// Looks up a driver's functions and names all that are missing at once.
#pragma once

#include <cstring>
#include <string>

#include "base/dynamic_library.hpp"

namespace pianola::driver_graph {

class Symbols {
 public:
  explicit Symbols(const DynamicLibrary& library) : library_(library) {}

  template <class Pointer>
  void require(const char* name, Pointer& pointer) {
    if (!find(name, pointer)) missing_ += (missing_.empty() ? "" : ", ") + std::string(name);
  }
  /// False if the library has no such function; the pointer is then null.
  template <class Pointer>
  bool find(const char* name, Pointer& pointer) {
    void* address = library_.symbol(name);
    std::memcpy(&pointer, &address, sizeof pointer);
    return address != nullptr;
  }
  const std::string& missing() const { return missing_; }

 private:
  const DynamicLibrary& library_;
  std::string missing_;
};

}  // namespace pianola::driver_graph
