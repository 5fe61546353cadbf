// SPDX-License-Identifier: Apache-2.0
// Keeps exceptions of the standard library inside: running out of memory becomes an error value.
#pragma once

#include <new>
#include <stdexcept>
#include <utility>

#include "pianola/error.hpp"

namespace pianola {

/// The text is short enough to need no allocation itself.
inline Error out_of_memory() {
  return Error{.code = Errc::out_of_memory, .message = "out of memory"};
}

/// Where nothing may be thrown: `out_of_memory` if there is no memory for the copy.
inline Error copy_of(const Error& error) noexcept {
  try {
    return error;
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

/// Calls `body`, which gives a Result; a failed allocation in it gives `out_of_memory`.
template <class F>
auto guarded(F&& body) -> decltype(body()) {
  try {
    return std::forward<F>(body)();
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::length_error&) {
    return out_of_memory();
  }
}

}  // namespace pianola
