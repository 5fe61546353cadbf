// SPDX-License-Identifier: Apache-2.0
// Device handles: which devices there are, opening one.
#include "pianola/device.hpp"

#include <fmt/format.h>

#include <charconv>

#include "api/impl.hpp"
#include "base/guarded.hpp"

namespace pianola {
namespace {

/// "cuda:1" in parts.
struct Spec {
  std::string_view backend;
  uint32_t index = 0;
};

std::string known_names() {
  std::string names = "auto";
  for (const backend::Entry& entry : backend::registry()) {
    names += fmt::format(", {}{}", entry.name, entry.indexed ? ":0" : "");
  }
  return names;
}

Error no_such(std::string_view spec) {
  return Error{.code = Errc::invalid_argument,
               .message = fmt::format("'{}' names no device of this build; it knows {}", spec, known_names())};
}

Error not_built(std::string_view spec, std::string_view backend) {
  return Error{.code = Errc::no_device,
               .message = fmt::format("'{}': this build has no {} backend; it knows {}", spec, backend, known_names())};
}

Result<Spec> parse(std::string_view text) {
  Spec spec{.backend = text.substr(0, text.find(':'))};
  if (spec.backend.size() == text.size()) return spec;
  const std::string_view digits = text.substr(spec.backend.size() + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), spec.index);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) return no_such(text);
  return spec;
}

std::string spec_of(const backend::Entry& entry, uint32_t index) {
  return entry.indexed || index > 0 ? fmt::format("{}:{}", entry.name, index) : std::string(entry.name);
}

Result<std::shared_ptr<Device::Impl>> open_entry(const backend::Entry& entry, uint32_t index,
                                                 const DeviceOptions& options) {
  const Result<uint32_t> count = entry.count(options);
  if (!count) return count.error();
  if (index >= *count) {
    return Error{.code = Errc::no_device,
                 .message = fmt::format("{}:{} does not exist; there are {}", entry.name, index, *count)};
  }
  auto opened = entry.open(index, options);
  if (!opened) return opened.error();
  auto impl = std::make_shared<Device::Impl>();
  impl->options = options;
  impl->spec = spec_of(entry, index);
  impl->backend = std::move(*opened);
  for (uint32_t i = 0; i < impl->backend->queue_count(); ++i) {
    Queue::Impl& queue = impl->queues.emplace_back();
    queue.device = impl.get();
    queue.backend = &impl->backend->queue(i);
  }
  return impl;
}

Result<std::shared_ptr<Device::Impl>> open_automatic(const DeviceOptions& options) {
  std::string reasons;
  for (const backend::Entry& entry : backend::registry()) {
    if (!entry.automatic) continue;
    auto opened = open_entry(entry, 0, options);
    if (opened) return opened;
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", entry.name, opened.error().message);
  }
  return Error{.code = Errc::no_device, .message = "no backend has a device: " + reasons};
}

void describe(const backend::Entry& entry, std::vector<DeviceDescription>& list) {
  const DeviceOptions options;
  const Result<uint32_t> count = entry.count(options);
  if (!count || *count == 0) {
    list.push_back({.spec = std::string(entry.name), .reason = count ? "no device found" : count.error().message});
    return;
  }
  for (uint32_t i = 0; i < *count; ++i) {
    DeviceDescription line{.spec = spec_of(entry, i)};
    const auto opened = entry.open(i, options);
    line.available = opened.has_value();
    if (opened) {
      line.name = (*opened)->name();
    } else {
      line.reason = opened.error().message;
    }
    list.push_back(std::move(line));
  }
}

}  // namespace

std::vector<DeviceDescription> list_devices() {
  std::vector<DeviceDescription> list;
  try {
    for (const backend::Entry& entry : backend::registry()) describe(entry, list);
  } catch (const std::bad_alloc&) {
    return {};
  }
  return list;
}

Result<Device> Device::open(std::string_view text, const DeviceOptions& options) {
  return guarded([&]() -> Result<Device> {
    auto opened = [&]() -> Result<std::shared_ptr<Impl>> {
      if (text == "auto") return open_automatic(options);
      const Result<Spec> spec = parse(text);
      if (!spec) return spec.error();
      for (const backend::Entry& entry : backend::registry()) {
        if (entry.name == spec->backend) return open_entry(entry, spec->index, options);
      }
      return backend::may_be_absent(spec->backend) ? not_built(text, spec->backend) : no_such(text);
    }();
    if (!opened) return opened.error();
    return Device(std::move(*opened));
  });
}

std::string_view Device::spec() const {
  return impl_->spec;
}

std::string_view Device::name() const {
  return impl_->backend->name();
}

const DeviceLimits& Device::limits() const {
  return impl_->backend->limits();
}

const DeviceProfile& Device::profile() const {
  return impl_->backend->profile();
}

uint32_t Device::queue_count() const {
  return static_cast<uint32_t>(impl_->queues.size());
}

Queue Device::queue(uint32_t index) const {
  return Queue(std::shared_ptr<Queue::Impl>(impl_, &impl_->queues[index]));
}

}  // namespace pianola
