// SPDX-License-Identifier: Apache-2.0
// Host objects: which one is taken, how long it stays loaded.
#include "backend/cpu/kernels.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "base/recently_used.hpp"
#include "format/builtin_kernels.hpp"
#include "format/kernel_library_writer.hpp"
#include "kernel_build/process.hpp"
#include "unit_kernel_image.hpp"

namespace pianola::backend::cpu {
namespace {

KernelLibrary load() {
  return *KernelLibrary::from_bytes(unit_kernel_image());
}

/// The kernel "numbers" writes first, first + 1, ...
uint32_t first_number(pianola_host_kernel function, uint32_t first) {
  std::array<uint32_t, 64> result{};
  const std::array<uint32_t, 2> constants = {first, 64};
  void* buffer = result.data();
  const pianola_host_launch launch{
      .buffers = &buffer, .constants = constants.data(), .groups = {1, 1, 1}, .reserved = 0, .begin = 0, .end = 1};
  function(&launch);
  return result[0];
}

TEST(CpuKernels, LibraryIsLoadedOnceWhileItIsKept) {
  KernelCache cache;
  const KernelLibrary library = load();
  const auto first = cache.get(library);
  EXPECT_EQ(cache.get(library), first);
  EXPECT_NE(cache.get(load()), first);
}

TEST(CpuKernels, TheLibrariesUsedLastStayLoadedUntilTheCacheEnds) {
  std::optional<KernelCache> cache(std::in_place);
  std::vector<KernelLibrary> libraries;
  std::vector<std::weak_ptr<LoadedLibrary>> watched;
  const auto get = [&](const KernelLibrary& library) {
    const auto kept = cache->get(library);
    ASSERT_TRUE(kept->function(*library.find("numbers")));
    watched.push_back(kept);
  };
  for (size_t i = 0; i < kept_libraries; ++i) get(libraries.emplace_back(load()));
  for (const auto& watch : watched) EXPECT_FALSE(watch.expired());
  get(libraries[0]);
  EXPECT_EQ(watched.back().lock(), watched[0].lock());
  get(load());  // takes the place of the one used longest ago
  for (size_t i = 0; i < watched.size(); ++i) EXPECT_EQ(watched[i].expired(), i == 1) << i;
  cache.reset();
  for (const auto& watch : watched) EXPECT_TRUE(watch.expired());
}

TEST(CpuKernels, LibraryThatNobodyKeepsAnyMoreIsLoadedAnew) {
  KernelCache cache;
  const KernelLibrary library = load();
  const std::weak_ptr<LoadedLibrary> watch = cache.get(library);
  for (size_t i = 0; i < kept_libraries; ++i) cache.get(load());
  EXPECT_TRUE(watch.expired());
  const auto function = cache.get(library)->function(*library.find("numbers"));
  ASSERT_TRUE(function);
  EXPECT_EQ(first_number(*function, 17), 17U);
}

TEST(CpuKernels, FunctionsOutliveTheCacheAndTheLibraryHandle) {
  std::optional<KernelCache> cache(std::in_place);
  std::optional<KernelLibrary> library = load();
  const uint32_t entry = *library->find("numbers");
  const auto kept = cache->get(*library);
  cache.reset();
  library.reset();
  const auto function = kept->function(entry);
  ASSERT_TRUE(function);
  EXPECT_EQ(first_number(*function, 3), 3U);
}

TEST(CpuKernels, LibrariesInMemoryAtTheSameTimeStayApart) {
  KernelCache cache;
  std::vector<std::shared_ptr<LoadedLibrary>> kept;
  std::set<pianola_host_kernel> functions;
  for (int i = 0; i < 4; ++i) {
    const KernelLibrary library = load();
    kept.push_back(cache.get(library));
    functions.insert(*kept.back()->function(*library.find("numbers")));
  }
  kept.push_back(cache.get(builtin_kernels()));
  functions.insert(*kept.back()->function(*builtin_kernels().find("pianola_fill")));
  EXPECT_EQ(functions.size(), 5U);
}

/// A host object that the loader can't unload, as C++ ones are whose inline functions have static variables. Its kernel
/// writes `value`.
KernelLibrary permanent_library(uint32_t value) {
  const std::string folder = testing::TempDir() + "pianola_permanent_" + std::to_string(getpid());
  const std::string source = folder + ".c";
  const std::string object = folder + ".so";
  std::ofstream(source) << "const unsigned pianola_host_abi = 1;\n"
                           "void value(unsigned* const** launch) { ***launch = "
                        << value << "; }\n";
  const auto built = kernel_build::run_process(
      {"clang-19", "-shared", "-fPIC", "-nostdlib", "-fuse-ld=bfd", "-Wl,-z,nodelete", "-o", object, source});
  EXPECT_TRUE(built && built->status == 0) << (built ? built->output : to_string(built.error()));
  std::ifstream file(object, std::ios::binary);
  const std::vector<char> text{std::istreambuf_iterator<char>(file), {}};
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  format::LibraryContents contents{.name = "permanent", .kernels = {}, .objects = {}};
  contents.kernels.push_back({.name = "value", .bindings = {{.name = "x", .element_size = 4}}});
  contents.objects.push_back({.format = ObjectFormat::host,
                              .arch = std::string(host_architectures().back()),
                              .bytes = {bytes, bytes + text.size()},
                              .entries = {{.kernel = 0, .symbol = "value"}}});
  std::filesystem::remove(source);
  std::filesystem::remove(object);
  return KernelLibrary::from_bytes(format::write_library(contents).value()).value();
}

TEST(CpuKernels, AnObjectThatStaysLoadedIsNotTakenForTheNext) {
  for (const uint32_t value : {1U, 2U, 3U}) {
    KernelCache cache;
    const auto kept = cache.get(permanent_library(value));
    const auto function = kept->function(0);
    ASSERT_TRUE(function) << to_string(function.error());
    EXPECT_EQ(first_number(*function, 0), value);
  }
}

TEST(CpuKernels, BestCodeForThisMachineComesFirst) {
  const auto architectures = host_architectures();
  ASSERT_FALSE(architectures.empty());
  EXPECT_TRUE(architectures.back() == "x86-64" || architectures.back() == "aarch64");
}

TEST(CpuKernelsThreads, ThreadsMayLoadAndForgetAtOnce) {
  KernelCache cache;
  std::vector<KernelLibrary> libraries;  // more than stay loaded by themselves
  for (size_t i = 0; i < kept_libraries + 2; ++i) libraries.push_back(load());
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < 20; ++i) {
        const KernelLibrary& library = libraries[(3 * t + i) % libraries.size()];
        const auto kept = cache.get(library);
        const auto function = kept->function(*library.find("numbers"));
        ASSERT_TRUE(function);
        ASSERT_EQ(first_number(*function, t + i), t + i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace pianola::backend::cpu
