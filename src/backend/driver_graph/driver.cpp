// SPDX-License-Identifier: Apache-2.0
#include "backend/driver_graph/driver.hpp"

#include "base/guarded.hpp"

namespace pianola::driver_graph {

Driver::~Driver() {
  (void)table_.release_context(table_.api, table_.context);
}

std::optional<Error> Driver::lost() const noexcept {
  if (!is_lost_.load(std::memory_order_acquire)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return copy_of(*lost_);
}

Error Driver::note(Error error) const noexcept {
  if (error.code == Errc::execution_failed) {
    const std::lock_guard lock(mutex_);
    if (!lost_) {
      const auto described = guarded([&]() -> Result<> {
        lost_ = error;
        lost_->message = "the device failed earlier: " + error.message;
        return {};
      });
      if (!described) lost_ = Error{.message = "device lost"};
      lost_->code = Errc::device_lost;
      is_lost_.store(true, std::memory_order_release);
    }
  }
  return error;
}

ContextScope::ContextScope(const Driver& driver) : driver_(driver) {
  Result<Context> before = driver.table().swap_context(driver.table().api, driver.table().context);
  if (before) {
    before_ = *before;
  } else {
    status_ = driver.note(std::move(before.error()));
    before_ = driver.table().context;
  }
}

ContextScope::~ContextScope() {
  if (before_ == driver_.table().context) return;
  (void)driver_.table().swap_context(driver_.table().api, before_);
}

}  // namespace pianola::driver_graph
