// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/facts.hpp"

#include <charconv>
#include <cstring>
#include <map>
#include <mutex>

namespace pianola::cuda {
namespace {

using driver_graph::Context;
using driver_graph::DeviceFacts;

/// The primary context is released by device, not by handle.
struct Devices {
  std::mutex mutex;
  std::map<std::pair<const void*, Context>, DeviceNumber> of_context;
};
Devices& devices() {
  static Devices all;
  return all;
}

/// The number in "sm_90" or "sm_90a", or 0.
int architecture(std::string_view arch) {
  if (!arch.starts_with("sm_")) return 0;
  int number = 0;
  std::from_chars(arch.data() + 3, arch.data() + arch.size(), number);
  return number;
}

Result<DeviceFacts> read_facts(const Api& api, DeviceNumber device) {
  DeviceFacts facts;
  facts.driver_version = api.version;
  char name[256] = {};
  Result<> done = api.call(api.f.device_name, name, static_cast<int>(sizeof name - 1), device);
  if (!done) return done.error();
  Result<size_t> bytes = api.make(api.f.device_memory, device);
  if (!bytes) return bytes.error();
  facts.name = name;
  const auto read = [&](DeviceAttribute attribute) {
    Result<int> value = api.make(api.f.device_attribute, attribute, device);
    if (!value && done) done = value.error();
    return static_cast<uint32_t>(value ? *value : 0);
  };
  using A = DeviceAttribute;
  facts.arch = "sm_" + std::to_string(read(A::capability_major) * 10 + read(A::capability_minor));
  DeviceLimits& limits = facts.limits;
  limits.max_groups = {read(A::max_grid_x), read(A::max_grid_y), read(A::max_grid_z)};
  limits.max_workgroup = {read(A::max_block_x), read(A::max_block_y), read(A::max_block_z)};
  limits.max_workgroup_threads = read(A::max_threads_per_block);
  // Static shared memory cannot be over this even where more can be asked for.
  limits.max_shared_bytes = read(A::max_shared_per_block);
  limits.max_dynamic_shared_bytes = read(A::max_shared_per_block_optin);
  limits.dispatch_alignment = 0;
  limits.max_buffer_size = *bytes;
  limits.native_indirect = false;
  if (!done) return done.error();
  return facts;
}

}  // namespace

Result<Retained> retain(const Api& api, int ordinal) {
  Result<DeviceNumber> device = api.make(api.f.device_get, ordinal);
  if (!device) return device.error();
  Result<DeviceFacts> facts = read_facts(api, *device);
  if (!facts) return facts.error();
  Result<Context> context = api.make(api.f.context_retain, *device);
  if (!context) return context.error();
  const std::lock_guard lock(devices().mutex);
  devices().of_context[{&api, *context}] = *device;
  return Retained{*context, std::move(*facts)};
}

Result<> release(const void* self, Context context) {
  const Api& api = *static_cast<const Api*>(self);
  DeviceNumber device = 0;
  {
    const std::lock_guard lock(devices().mutex);
    device = devices().of_context[{&api, context}];
  }
  return api.call(api.f.context_release, device);
}

int code_rank(const DeviceFacts& facts, const CodeObject& object) {
  const int device = architecture(facts.arch);
  const int code = architecture(object.arch);
  if (code == 0 || code > device) return 0;
  // Code for one architecture's own features runs nowhere else.
  const bool is_specific = object.arch.ends_with('a') || object.arch.ends_with('f');
  if (is_specific && code != device) return 0;
  if (object.format == ObjectFormat::ptx) return 2 * code;
  if (object.format == ObjectFormat::cubin && code / 10 == device / 10) return 2 * code + 1;
  return 0;
}

Result<> check_image(std::span<const std::byte> image, ObjectFormat format) {
  const std::string_view text(reinterpret_cast<const char*>(image.data()), image.size());
  const bool is_elf = text.starts_with(
      "\x7f"
      "ELF");
  const bool is_fat = text.starts_with("\x50\xed\x55\xba");
  if (format == ObjectFormat::ptx ? text.find(".version") != std::string_view::npos : is_elf || is_fat) return {};
  Error error;
  error.code = Errc::corrupt;
  error.message = "a module of " + std::to_string(image.size()) + " bytes is no " + std::string(to_string(format));
  return error;
}

}  // namespace pianola::cuda
