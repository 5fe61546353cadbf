// SPDX-License-Identifier: Apache-2.0
#include "backend/driver_graph/kernels.hpp"

#include <algorithm>

namespace pianola::driver_graph {
namespace {

const CodeObject::Entry* find_entry(const CodeObject& object, uint32_t kernel) {
  const auto at = std::find_if(object.entries.begin(), object.entries.end(),
                               [&](const CodeObject::Entry& entry) { return entry.kernel == kernel; });
  return at == object.entries.end() ? nullptr : &*at;
}

std::string targets_of(const KernelLibrary& library, uint32_t kernel) {
  std::string text;
  for (const CodeObject& object : library.objects()) {
    if (find_entry(object, kernel) == nullptr) continue;
    text += (text.empty() ? "" : ", ") + object.arch;
  }
  return text.empty() ? "nothing" : text;
}

/// Entries over one symbol share the driver's function, which is allowed what any of them needs, up to the limit.
uint32_t dynamic_bytes(const KernelLibrary& library, const CodeObject& object, std::string_view symbol,
                       uint32_t limit) {
  uint32_t most = 0;
  for (const CodeObject::Entry& entry : object.entries) {
    if (entry.symbol == symbol) most = std::max(most, library.kernels()[entry.kernel].dynamic_shared_bytes);
  }
  return std::min(most, limit);
}

}  // namespace

Result<size_t> choose_object(const DriverTable& table, const KernelLibrary& library, uint32_t entry) {
  int best = 0;
  size_t chosen = 0;
  for (size_t i = 0; i < library.objects().size(); ++i) {
    const CodeObject& object = library.objects()[i];
    if (find_entry(object, entry) == nullptr) continue;
    const int rank = table.code_rank(table.facts, object);
    if (rank <= best) continue;
    best = rank;
    chosen = i;
  }
  if (best > 0) return chosen;
  return Error{Errc::missing_kernel, "kernel '" + library.kernels()[entry].name + "' of library '" +
                                         std::string(library.name()) + "' has code for " + targets_of(library, entry) +
                                         ", not for " + table.facts.arch};
}

LoadedLibrary::LoadedLibrary(DriverRef driver, KernelLibrary library)
    : driver_(std::move(driver)),
      library_(std::move(library)),
      modules_(library_.objects().size()),
      functions_(library_.kernels().size()) {}

Result<Module> LoadedLibrary::module(size_t object) {
  UniqueModule& module = modules_[object];
  if (module) return module.get();
  const CodeObject& code = library_.objects()[object];
  const DriverTable& table = driver_->table();
  Result<Module> loaded = table.module_load(table.api, code.bytes, code.format);
  if (!loaded) {
    loaded.error().message += " (loading the " + code.arch + " code of library '" + std::string(library_.name()) + "')";
    return driver_->note(std::move(loaded.error()));
  }
  module = UniqueModule(driver_, *loaded);
  return *loaded;
}

Result<Function> LoadedLibrary::function(uint32_t entry) {
  const std::lock_guard lock(mutex_);
  Function& function = functions_[entry];
  if (function != nullptr) return function;
  const DriverTable& table = driver_->table();
  Result<size_t> object = choose_object(table, library_, entry);
  if (!object) return object.error();
  const ContextScope scope(*driver_);
  if (!scope.status()) return scope.status().error();
  Result<Module> loaded = module(*object);
  if (!loaded) return loaded.error();
  const CodeObject::Entry* found = find_entry(library_.objects()[*object], entry);
  Result<Function> made = table.module_function(table.api, *loaded, found->symbol);
  if (!made) {
    made.error().message += " (looking for kernel '" + found->symbol + "')";
    return driver_->note(std::move(made.error()));
  }
  const uint32_t dynamic =
      dynamic_bytes(library_, library_.objects()[*object], found->symbol, table.facts.limits.max_dynamic_shared_bytes);
  if (dynamic > 0 && table.allow_dynamic_shared != nullptr) {
    if (auto allowed = table.allow_dynamic_shared(table.api, *made, dynamic); !allowed) {
      allowed.error().message +=
          " (" + std::to_string(dynamic) + " bytes of dynamic workgroup memory for kernel '" + found->symbol + "')";
      return driver_->note(std::move(allowed.error()));
    }
  }
  function = *made;
  return function;
}

std::shared_ptr<LoadedLibrary> LibraryCache::get(const KernelLibrary& library) {
  std::shared_ptr<LoadedLibrary> dropped;  // unloads its modules outside the lock
  const std::lock_guard lock(mutex_);
  std::shared_ptr<LoadedLibrary> result = loaded_[library.data()].lock();
  if (result == nullptr) {
    // Entries of libraries that are gone would gather otherwise.
    std::erase_if(loaded_, [&](const auto& item) { return item.first != library.data() && item.second.expired(); });
    result = std::make_shared<LoadedLibrary>(driver_, library);
    loaded_[library.data()] = result;
  }
  dropped = recent_.use(result);
  return result;
}

}  // namespace pianola::driver_graph
