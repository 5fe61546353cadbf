// SPDX-License-Identifier: Apache-2.0
#include "backend/backend.hpp"

namespace pianola::backend {

std::span<const Entry> registry() {
  return {};
}

}  // namespace pianola::backend
