// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/kernels.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace pianola::backend::cpu {
namespace {

bool write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

Error loader_error(std::string_view name) {
  const char* text = dlerror();
  return Error{.code = Errc::corrupt,
               .message = fmt::format("host object '{}': {}", name, text != nullptr ? text : "not loadable"),
               .native_call = "dlopen"};
}

/// A file that exists in memory only; -1 where the system has none.
int memory_file(std::span<const std::byte> bytes) {
#if defined(__linux__)
  const int file = memfd_create("pianola-kernels", MFD_CLOEXEC);
  if (file < 0) return -1;
  if (write_all(file, bytes)) return file;
  ::close(file);
#else
  static_cast<void>(bytes);
#endif
  return -1;
}

/// Without allocating: it is needed while memory is let go.
struct MemoryFilePath {
  explicit MemoryFilePath(int file) { *fmt::format_to(text, "/proc/self/fd/{}", file) = '\0'; }
  char text[32];
};

/// For systems without memory files: written, loaded and removed at once.
void* load_through_temporary_file(std::span<const std::byte> bytes) {
  std::error_code failed;
  std::string path = (std::filesystem::temp_directory_path(failed) / "pianola-XXXXXX").string();
  if (failed) return nullptr;
  const int file = mkstemp(path.data());
  if (file < 0) return nullptr;
  void* handle = write_all(file, bytes) ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  ::unlink(path.c_str());
  ::close(file);
  return handle;
}

}  // namespace

std::vector<std::string_view> host_architectures() {
#if defined(__x86_64__) && defined(__APPLE__)
  return {"x86-64"};  // no Mac loads host objects, and its compilers do not know the levels' names
#elif defined(__x86_64__)
  std::vector<std::string_view> result;
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("x86-64-v3") != 0;
  const bool v4 = __builtin_cpu_supports("x86-64-v4") != 0;
  if (v4) result.emplace_back("x86-64-v4");
  if (v3) result.emplace_back("x86-64-v3");
  result.emplace_back("x86-64");
  return result;
#elif defined(__aarch64__)
  return {"aarch64"};
#else
  return {};
#endif
}

Result<std::unique_ptr<HostObject>> HostObject::load(std::span<const std::byte> bytes, std::string_view name) {
  int file = memory_file(bytes);
  void* handle = file < 0 ? nullptr : dlopen(MemoryFilePath(file).text, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const Error refused = loader_error(name);
    if (file >= 0) ::close(file);
    file = -1;
    handle = load_through_temporary_file(bytes);
    if (handle == nullptr) return refused;
  }
  std::unique_ptr<HostObject> object(new HostObject(handle, file));
  const auto* version = static_cast<const uint32_t*>(object->find("pianola_host_abi"));
  if (version == nullptr || *version != pianola_host_abi_version) {
    return Error{.code = Errc::mismatch,
                 .message = version == nullptr
                                ? fmt::format("host object '{}' does not export pianola_host_abi", name)
                                : fmt::format("host object '{}' has interface version {}, not {}", name, *version,
                                              static_cast<uint32_t>(pianola_host_abi_version))};
  }
  return object;
}

HostObject::~HostObject() {
  dlclose(handle_);
  if (file_ < 0) return;
  // What has to stay loaded (unique symbols of C++, DF_1_NODELETE) keeps its name. The file stays open then: the loader
  // would take the next file of that number for this one.
  void* remaining = dlopen(MemoryFilePath(file_).text, RTLD_NOW | RTLD_NOLOAD);
  if (remaining == nullptr) {
    ::close(file_);
  } else {
    dlclose(remaining);
  }
}

void* HostObject::find(const std::string& symbol) const {
  return dlsym(handle_, symbol.c_str());
}

Result<HostObject*> LoadedLibrary::object(size_t index) {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(index);
  if (found != objects_.end()) return found->second.get();
  auto loaded = HostObject::load(library_.objects()[index].bytes, library_.name());
  if (!loaded) return loaded.error();
  return objects_.emplace(index, std::move(*loaded)).first->second.get();
}

Result<pianola_host_kernel> LoadedLibrary::function(uint32_t kernel) {
  const std::vector<std::string_view> architectures = host_architectures();
  const std::span<const CodeObject> objects = library_.objects();
  for (const std::string_view arch : architectures) {
    for (size_t i = 0; i < objects.size(); ++i) {
      if (objects[i].format != ObjectFormat::host || objects[i].arch != arch) continue;
      const auto entry = std::ranges::find(objects[i].entries, kernel, &CodeObject::Entry::kernel);
      if (entry == objects[i].entries.end()) continue;
      const Result<HostObject*> code = object(i);
      if (!code) return code.error();
      void* address = (*code)->find(entry->symbol);
      if (address != nullptr) return reinterpret_cast<pianola_host_kernel>(address);
      return Error{.code = Errc::missing_kernel,
                   .message = fmt::format("library '{}': its {} object has no symbol '{}'", library_.name(), arch,
                                          entry->symbol)};
    }
  }
  return Error{.code = Errc::missing_kernel,
               .message = fmt::format("library '{}' has no code of kernel '{}' for this machine ({})", library_.name(),
                                      library_.kernels()[kernel].name, fmt::join(architectures, ", "))};
}

std::shared_ptr<LoadedLibrary> KernelCache::get(const KernelLibrary& library) {
  std::shared_ptr<LoadedLibrary> loaded = find_or_make(library);
  std::shared_ptr<LoadedLibrary> dropped;
  const std::lock_guard lock(mutex_);
  dropped = recent_.use(loaded);
  return loaded;
}

std::shared_ptr<LoadedLibrary> KernelCache::find_or_make(const KernelLibrary& library) {
  const void* key = library.data();
  {
    const std::lock_guard lock(known_->mutex);
    const auto found = known_->libraries.find(key);
    if (found != known_->libraries.end()) {
      if (auto loaded = found->second.lock()) return loaded;
    }
  }
  const auto forget = [known = known_, key](const LoadedLibrary* old) {
    {
      const std::lock_guard lock(known->mutex);
      const auto found = known->libraries.find(key);
      if (found != known->libraries.end() && found->second.expired()) known->libraries.erase(found);
    }
    delete old;
  };
  // Made outside the lock, which `forget` takes too.
  std::shared_ptr<LoadedLibrary> made(new LoadedLibrary(library), forget);
  const std::lock_guard lock(known_->mutex);
  std::weak_ptr<LoadedLibrary>& entry = known_->libraries[key];
  if (auto loaded = entry.lock()) return loaded;
  entry = made;
  return made;
}

}  // namespace pianola::backend::cpu
