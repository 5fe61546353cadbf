// SPDX-License-Identifier: Apache-2.0
// A plan as it is: there is nothing to lower it to.
#include <fmt/format.h>

#include "backend/null/device.hpp"
#include "base/guarded.hpp"

namespace pianola::backend::null {

std::string NullExecutable::describe() const {
  return fmt::format("null: {} nodes, none of them runs\n", plan_.data()->nodes.size());
}

Result<std::shared_ptr<Executable>> NullDevice::make_executable(const Plan& plan, const InstantiateOptions& /*options*/,
                                                                const std::shared_ptr<const Bindings>& /*defaults*/) {
  return guarded([&]() -> Result<std::shared_ptr<Executable>> { return std::make_shared<NullExecutable>(plan); });
}

}  // namespace pianola::backend::null
