// SPDX-License-Identifier: Apache-2.0
// What both faces share: one call under the lock, with the failure that a test asked for.
#pragma once

#include "world.hpp"

namespace sim {

/// Runs `body(world, lock)` as the driver call `name`; `convert` turns its Status into the vendor's number.
template <class Convert, class Body>
int call(const char* name, Convert convert, Body body) {
  World& world = World::instance();
  std::unique_lock lock(world.mutex);
  if (const auto failure = world.enter(name)) return *failure;
  return convert(body(world, lock));
}

/// The same for a call that releases something: it does so even when it reports a failure.
template <class Convert, class Body>
int release_call(const char* name, Convert convert, Body body) {
  World& world = World::instance();
  std::unique_lock lock(world.mutex);
  const auto failure = world.enter(name);
  const Status status = body(world, lock);
  return failure.value_or(convert(status));
}

/// The handle's object if it is alive and of the device that is current; else an error in `status`.
template <class T>
std::shared_ptr<T> get(World& world, const void* handle, int current, Status& status) {
  status = world.device_status(current);
  auto object = world.find<T>(handle);
  if (object == nullptr) {
    status = world.complain("handle is not alive, or of another kind", Status::invalid_handle);
  } else if (object->device != current) {
    status = world.complain("object of device " + std::to_string(object->device) + " while device " +
                                std::to_string(current) + " is current",
                            Status::invalid_context);
  }
  return status == Status::ok ? object : nullptr;
}

}  // namespace sim
