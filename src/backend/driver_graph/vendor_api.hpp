// SPDX-License-Identifier: Apache-2.0
// A vendor's driver, loaded at run time. What the vendors do alike is written here once; a `Vendor` gives the rest:
//   Functions     the driver's functions, made from Symbols
//   name          "CUDA driver"
//   libraries     file names to look for, the best first
//   oldest        the oldest version that works, as the driver counts
//   version_text  a version for people
//   words         a status' name and text in the driver's own words
//   marker_*      the profiler's libraries, and what opens and closes a range in them
//   make_table    the DriverTable of a device
//   LaunchMutex   a mutex held while graphs and nodes are made, and kernels given arguments or launched; NoMutex if the
//   driver needs none
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "backend/driver_graph/abi.hpp"
#include "backend/driver_graph/call.hpp"
#include "backend/driver_graph/device.hpp"

namespace pianola::driver_graph {

struct NoMutex {
  void lock() {}
  void unlock() {}
};

template <class Vendor>
struct VendorApi {
  explicit VendorApi(Symbols& symbols) : f(symbols) {}
  typename Vendor::Functions f;
  int version = 0;  ///< as the driver counts
  mutable typename Vendor::LaunchMutex launch_mutex;
  Markers markers = Markers::load(Vendor::marker_libraries, Vendor::marker_push, Vendor::marker_pop);

  /// An Error for a call that did not succeed, with the driver's own words as far as there is memory for them.
  Error error(std::string_view call, abi::Status status) const noexcept {
    const auto [name, text] = Vendor::words(f, status);
    Error error;
    error.code = abi::code_of(status);
    error.native_code = status;
    try {
      error.native_call = call;
      error.message = error.native_call + " failed with " + (name != nullptr ? name : "an unknown error") + " (" +
                      std::to_string(status) + "): " + (text != nullptr ? text : "no text");
    } catch (const std::bad_alloc&) {
      return error;
    }
    return error;
  }
  /// Calls a function.
  template <class... Parameters, class... Arguments>
  Result<> call(const Call<abi::Status(Parameters...)>& function, Arguments&&... arguments) const {
    const abi::Status status = function(std::forward<Arguments>(arguments)...);
    if (status != abi::success) return error(function.name(), status);
    return {};
  }
  /// Calls a function that puts its result where the first argument points to; gives that result.
  template <class Made, class... Parameters, class... Arguments>
  Result<Made> make(const Call<abi::Status(Made*, Parameters...)>& function, Arguments&&... arguments) const {
    Made made{};
    const abi::Status status = function(&made, std::forward<Arguments>(arguments)...);
    if (status != abi::success) return error(function.name(), status);
    return made;
  }
};

template <class Vendor>
Result<DynamicLibrary> open_library(const std::string& path, std::string& file) {
  file = path;
  if (!path.empty()) return DynamicLibrary::open(path);
  std::string text;
  for (const char* name : Vendor::libraries) {
    file = name;
    Result<DynamicLibrary> library = DynamicLibrary::open(file);
    if (library) return library;
    text = library.error().message;
  }
  return Error{Errc::no_device, std::string("no ") + Vendor::name + " on the library search path: " + text, {}, {}, 0};
}

template <class Vendor>
Result<std::unique_ptr<VendorApi<Vendor>>> open_api(const std::string& path) {
  std::string file;
  Result<DynamicLibrary> library = open_library<Vendor>(path, file);
  if (!library) return library.error();
  Symbols symbols(*library);
  auto api = std::make_unique<VendorApi<Vendor>>(symbols);
  const auto refused = [&](const std::string& why) {
    return Error{Errc::no_device, "'" + file + "' " + why, {}, {}, 0};
  };
  const std::string needed = Vendor::version_text(Vendor::oldest) + " or later";
  const auto read_version = [&] {
    return api->f.driver_version && api->f.driver_version(&api->version) == abi::success && api->version != 0;
  };
  // The version comes first: an old driver lacks symbols because it is old.
  bool is_known = read_version();
  if (!is_known || api->version >= Vendor::oldest) {
    if (!symbols.missing().empty()) {
      return refused(std::string("is not a ") + Vendor::name + " of " + needed + ": it lacks " + symbols.missing());
    }
    // Without a GPU the first call may answer with one of several numbers.
    Result<> done = api->call(api->f.init, 0U);
    if (!done) {
      done.error().code = Errc::no_device;
      return done.error();
    }
    is_known = read_version();
  }
  if (is_known && api->version < Vendor::oldest) {
    return refused(std::string("is a ") + Vendor::name + " of version " + Vendor::version_text(api->version) + "; " +
                   needed + " is needed");
  }
  return api;
}

/// The driver at `path`, or that of the search path; loaded and initialised once.
/// Errors: no_device (no library, no driver, one that is too old, or without a GPU).
template <class Vendor>
Result<const VendorApi<Vendor>*> load(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<VendorApi<Vendor>>> loaded;
  const std::lock_guard lock(mutex);
  std::unique_ptr<VendorApi<Vendor>>& api = loaded[path];
  if (api == nullptr) {
    Result<std::unique_ptr<VendorApi<Vendor>>> opened = open_api<Vendor>(path);
    if (!opened) return opened.error();
    api = std::move(*opened);
  }
  return api.get();
}

template <class Vendor>
Result<uint32_t> count_devices(const DeviceOptions& options) {
  Result<const VendorApi<Vendor>*> api = load<Vendor>(options.driver_path);
  if (!api) return api.error();
  Result<int> number = (*api)->make((*api)->f.device_count);
  if (number) return static_cast<uint32_t>(*number);
  number.error().code = Errc::no_device;
  return number.error();
}

template <class Vendor>
Result<std::unique_ptr<backend::Device>> open_device(uint32_t index, const DeviceOptions& options) {
  Result<const VendorApi<Vendor>*> api = load<Vendor>(options.driver_path);
  if (!api) return api.error();
  Result<DriverTable> table = Vendor::make_table(**api, static_cast<int>(index));
  if (!table) return table.error();
  return GraphDevice::create(std::move(*table));
}

}  // namespace pianola::driver_graph
