// SPDX-License-Identifier: Apache-2.0
#include "sim_driver.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

#include "driver/control.h"
#include "format/builtin_kernels.hpp"

namespace pianola::sim {
namespace {

[[noreturn]] void give_up(const std::string& text) {
  std::fprintf(stderr, "software driver: %s\n", text.c_str());
  std::abort();
}

/// Loads a host object from memory; it stays for the life of the program.
void* load_object(std::span<const std::byte> bytes) {
  static std::map<const std::byte*, void*> loaded;
  void*& handle = loaded[bytes.data()];
  if (handle != nullptr) return handle;
  const int file = memfd_create("kernels", 0);
  if (file < 0 || write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    give_up("cannot write a kernel object to memory");
  }
  handle = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) give_up(dlerror());
  // The file stays open: the loader knows libraries by their names, and another would get the same number.
  return handle;
}

/// The object that runs everywhere on this architecture.
const CodeObject* host_object(const KernelLibrary& library, uint32_t kernel, std::string& symbol) {
  for (const CodeObject& object : library.objects()) {
    if (object.format != ObjectFormat::host || (object.arch != "x86-64" && object.arch != "aarch64")) continue;
    const auto entry = std::find_if(object.entries.begin(), object.entries.end(),
                                    [&](const CodeObject::Entry& item) { return item.kernel == kernel; });
    if (entry == object.entries.end()) continue;
    symbol = entry->symbol;
    return &object;
  }
  return nullptr;
}

}  // namespace

bool SimDriver::is_at(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  return handle != nullptr && dlsym(handle, "pianola_sim_register") != nullptr;
}

SimDriver::SimDriver(const std::string& path) : path_(path), handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) give_up(dlerror());
}

template <class Function>
Function SimDriver::find(const char* name) const {
  auto* found = reinterpret_cast<Function>(dlsym(handle_, name));
  if (found == nullptr) give_up("no function " + std::string(name));
  return found;
}

void SimDriver::add(const KernelInfo& info, pianola_host_kernel function) const {
  std::vector<pianola_sim_argument> arguments;
  for (size_t b = 0; b < info.bindings.size(); ++b) arguments.push_back({1, 0, 8});
  for (const KernelConstant& constant : info.constants) arguments.push_back({0, constant.offset, constant.size});
  if (!info.argument_order.empty()) {
    const std::vector<pianola_sim_argument> listed = arguments;
    for (size_t i = 0; i < listed.size(); ++i) arguments[i] = listed[info.argument_order[i]];
  }
  pianola_sim_kernel kernel{};
  kernel.symbol = info.name.c_str();
  kernel.function = function;
  kernel.arguments = arguments.data();
  kernel.argument_count = static_cast<uint32_t>(arguments.size());
  std::copy(info.workgroup.begin(), info.workgroup.end(), kernel.workgroup);
  kernel.constant_bytes = info.constant_bytes;
  kernel.shared_bytes = info.shared_bytes;
  kernel.dynamic_shared_bytes = info.dynamic_shared_bytes;
  find<decltype(&pianola_sim_register)>("pianola_sim_register")(&kernel);
}

void SimDriver::add(const KernelLibrary& library) const {
  for (uint32_t i = 0; i < library.kernels().size(); ++i) {
    const KernelInfo& info = library.kernels()[i];
    std::string symbol;
    const CodeObject* object = host_object(library, i, symbol);
    if (object == nullptr) continue;
    const auto function = reinterpret_cast<pianola_host_kernel>(dlsym(load_object(object->bytes), symbol.c_str()));
    if (function == nullptr) give_up("no host function for kernel " + info.name);
    add(info, function);
  }
}

void SimDriver::add_builtin() const {
  add(builtin_kernels());
}

void SimDriver::set_seed(uint64_t seed) const {
  find<decltype(&pianola_sim_set_seed)>("pianola_sim_set_seed")(seed);
}
void SimDriver::set_version(int version) const {
  find<decltype(&pianola_sim_set_version)>("pianola_sim_set_version")(version);
}
void SimDriver::fail_after(int64_t calls, int status) const {
  find<decltype(&pianola_sim_fail_after)>("pianola_sim_fail_after")(calls, status);
}
void SimDriver::fail_at(uint64_t site, int64_t calls, int status) const {
  find<decltype(&pianola_sim_fail_at)>("pianola_sim_fail_at")(site, calls, status);
}
void SimDriver::gather_sites(bool on) const {
  find<decltype(&pianola_sim_gather_sites)>("pianola_sim_gather_sites")(on ? 1 : 0);
}
std::vector<uint64_t> SimDriver::sites() const {
  const auto get = find<decltype(&pianola_sim_sites)>("pianola_sim_sites");
  std::vector<uint64_t> all(get(nullptr, 0));
  get(all.data(), all.size());
  return all;
}
void SimDriver::hold(const std::string& kernel) const {
  find<decltype(&pianola_sim_hold)>("pianola_sim_hold")(kernel.c_str());
}
int64_t SimDriver::held() const {
  return find<decltype(&pianola_sim_held)>("pianola_sim_held")();
}
void SimDriver::fault_after(int64_t pieces) const {
  find<decltype(&pianola_sim_fault_after)>("pianola_sim_fault_after")(pieces);
}
void SimDriver::revive() const {
  find<decltype(&pianola_sim_revive)>("pianola_sim_revive")();
}
void SimDriver::forget_complaints() const {
  find<decltype(&pianola_sim_forget_complaints)>("pianola_sim_forget_complaints")();
}
std::string SimDriver::failed_call() const {
  return find<decltype(&pianola_sim_failed_call)>("pianola_sim_failed_call")();
}
int64_t SimDriver::call_count() const {
  return find<decltype(&pianola_sim_call_count)>("pianola_sim_call_count")();
}
int64_t SimDriver::count(const std::string& call) const {
  return find<decltype(&pianola_sim_count)>("pianola_sim_count")(call.c_str());
}
int64_t SimDriver::live_objects() const {
  return find<decltype(&pianola_sim_live_objects)>("pianola_sim_live_objects")();
}
int64_t SimDriver::live_bytes() const {
  return find<decltype(&pianola_sim_live_bytes)>("pianola_sim_live_bytes")();
}
std::string SimDriver::complaints() const {
  std::string text(16384, 0);
  find<decltype(&pianola_sim_complaints)>("pianola_sim_complaints")(text.data(), text.size());
  text.resize(text.find('\0'));
  return text;
}

}  // namespace pianola::sim
