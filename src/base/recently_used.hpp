// SPDX-License-Identifier: Apache-2.0
// Keeps the few things that were used last, so that what is wanted again soon is still there.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <utility>

namespace pianola {

/// Not thread-safe: its owner has a lock.
template <class T, size_t most>
class RecentlyUsed {
 public:
  /// Gives what is kept no longer, if something is: its end may take time and locks that the caller holds now.
  [[nodiscard]] std::shared_ptr<T> use(std::shared_ptr<T> item) {
    const auto found = std::find(kept_.begin(), kept_.end(), item);
    if (found != kept_.end()) {
      std::rotate(kept_.begin(), found, found + 1);
      return nullptr;
    }
    std::rotate(kept_.begin(), kept_.end() - 1, kept_.end());
    return std::exchange(kept_.front(), std::move(item));
  }

 private:
  std::array<std::shared_ptr<T>, most> kept_;  ///< the latest first
};

/// Kernel libraries that a device keeps loaded for work that is run once and leaves nothing behind.
inline constexpr size_t kept_libraries = 8;

}  // namespace pianola
