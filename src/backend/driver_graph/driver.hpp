// SPDX-License-Identifier: Apache-2.0
// One opened device: its table, and the handles that give themselves back.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "backend/driver_graph/driver_table.hpp"

namespace pianola::driver_graph {

/// Shared by everything that is made on the device; the context goes when the last of them has gone.
class Driver {
 public:
  explicit Driver(DriverTable table) : table_(std::move(table)) {}
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  const DriverTable& table() const { return table_; }
  const DeviceFacts& facts() const { return table_.facts; }

  /// The first error that lost the device, or none.
  std::optional<Error> lost() const noexcept;
  /// Remembers an error that loses the device; gives it back.
  Error note(Error error) const noexcept;

 private:
  DriverTable table_;
  mutable std::atomic<bool> is_lost_{false};
  mutable std::mutex mutex_;
  mutable std::optional<Error> lost_;
};
using DriverRef = std::shared_ptr<Driver>;

/// Makes the device current on this thread and restores the one before.
class ContextScope {
 public:
  explicit ContextScope(const Driver& driver);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  const Result<>& status() const { return status_; }

 private:
  const Driver& driver_;
  Context before_ = nullptr;
  Result<> status_;
};

/// A driver object that releases itself. The device must be current when it does; ContextScope sees to it.
template <class Handle, auto Release>
class Unique {
 public:
  Unique() = default;
  Unique(DriverRef driver, Handle handle) : driver_(std::move(driver)), handle_(handle) {}
  Unique(Unique&& other) noexcept : driver_(std::move(other.driver_)), handle_(std::exchange(other.handle_, nullptr)) {}
  Unique& operator=(Unique&& other) noexcept {
    Unique moved(std::move(other));
    std::swap(driver_, moved.driver_);
    std::swap(handle_, moved.handle_);
    return *this;
  }
  ~Unique() {
    if (handle_ == nullptr) return;
    const ContextScope scope(*driver_);
    // A release may report an older failure; the object is gone all the same.
    (void)(driver_->table().*Release)(driver_->table().api, handle_);
  }
  Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  DriverRef driver_;
  Handle handle_ = nullptr;
};

using UniqueStream = Unique<Stream, &DriverTable::stream_destroy>;
using UniqueEvent = Unique<Event, &DriverTable::event_destroy>;
using UniqueModule = Unique<Module, &DriverTable::module_unload>;
using UniqueGraph = Unique<GraphObject, &DriverTable::graph_destroy>;
using UniqueExec = Unique<Exec, &DriverTable::exec_destroy>;
using UniqueMemory = Unique<void*, &DriverTable::free>;
using UniqueHostMemory = Unique<void*, &DriverTable::free_host>;

}  // namespace pianola::driver_graph
