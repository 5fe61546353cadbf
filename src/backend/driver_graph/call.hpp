// SPDX-License-Identifier: Apache-2.0
// A driver's functions: found in its library by their symbols, called through typed objects that know their names.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "base/dynamic_library.hpp"

namespace pianola::driver_graph {

class Symbols {
 public:
  explicit Symbols(const DynamicLibrary& library) : library_(library) {}
  /// Null if the library has no such function; a required one is then remembered.
  void* find(const char* name, bool is_required) {
    void* address = library_.symbol(name);
    if (address == nullptr && is_required) missing_ += (missing_.empty() ? "" : ", ") + std::string(name);
    return address;
  }
  /// The names of all required functions that were not found.
  const std::string& missing() const { return missing_; }

 private:
  DynamicLibrary library_;
  std::string missing_;
};

template <class Signature>
class Call;

template <class Return, class... Parameters>
class Call<Return(Parameters...)> {
 public:
  enum class Need { required, optional };
  Call(Symbols& symbols, const char* symbol, Need need = Need::required) : symbol_(symbol) {
    void* address = symbols.find(symbol, need == Need::required);
    std::memcpy(static_cast<void*>(&function_), static_cast<const void*>(&address), sizeof function_);
  }
  explicit operator bool() const { return function_ != nullptr; }
  /// The symbol without its version: what the driver's documentation calls it.
  std::string_view name() const {
    const std::string_view text(symbol_);
    const bool is_versioned = text.size() > 3 && text[text.size() - 3] == '_' && text[text.size() - 2] == 'v';
    return text.substr(0, text.size() - (is_versioned ? 3 : 0));
  }
  // A driver's functions are called through this project's own declarations of them, whose enumerations have names of
  // their own. That is the same binary interface, but not the same type to -fsanitize=function.
#if defined(__clang__)
  __attribute__((no_sanitize("function")))
#endif
  Return
  operator()(Parameters... arguments) const {
    return function_(arguments...);
  }

 private:
  const char* symbol_;
  Return (*function_)(Parameters...) = nullptr;
};

}  // namespace pianola::driver_graph
