// SPDX-License-Identifier: Apache-2.0
// Compiles translated MSL with clang: first with address spaces, to check them, then instrumented, to run it.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>

#include "msl.hpp"

namespace sim_metal::msl {
namespace {

namespace fs = std::filesystem;

/// A folder that is gone when this is.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (fs::temp_directory_path() / "sim-metal-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  explicit operator bool() const { return !path_.empty(); }
  std::string operator/(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

struct Outcome {
  int status = -1;
  std::string text;
};
Outcome run(const std::string& command) {
  Outcome outcome;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  char block[4096];
  size_t size = 0;
  while ((size = fread(block, 1, sizeof block, pipe)) > 0) outcome.text.append(block, size);
  outcome.status = pclose(pipe);
  return outcome;
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (char c : text) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}
std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Expands the program's macros only: Apple's own headers come in empty, metal_stdlib later.
OrText<std::string> preprocess(const ScratchFolder& folder, const std::string& source, const Macros& macros) {
  write_file(folder / "program_source", source);
  fs::create_directory(folder / "empty");
  for (const char* header : {"metal_stdlib", "metal_atomic", "metal_compute", "metal_math"}) {
    write_file((folder / "empty") + "/" + header, "\n");
  }
  std::string command = SIM_METAL_CLANG " -E -x c++ -undef -nostdinc -I" + quoted(folder / "empty") +
                        " -D__METAL_VERSION__=300 -D__METAL_MACOS__=1";
  for (const auto& [name, value] : macros) command += " -D" + quoted(name + "=" + value);
  command += " " + quoted(folder / "program_source") + " -o " + quoted(folder / "program.ii");
  Outcome outcome = run(command);
  if (outcome.status != 0) return OrText<std::string>(std::in_place_index<1>, std::move(outcome.text));
  return OrText<std::string>(std::in_place_index<0>, read_file(folder / "program.ii"));
}

constexpr const char* common_flags = SIM_METAL_CLANG
    " -x c++ -std=c++17 -nostdinc -nostdinc++ -I" SIM_METAL_MSL_FOLDER
    " -include metal_stdlib -fno-exceptions -fno-rtti -Wall -Wno-unused -Wno-unknown-pragmas -Wno-unknown-attributes"
    " -Wno-main ";
// Every load and store becomes a call; -asan-opt-same-temp=0 keeps repeated accesses of one address apart.
constexpr const char* instrumented_flags =
    "-O1 -g1 -fPIC -shared -fno-builtin -ffp-contract=off -fno-vectorize -fno-slp-vectorize -fno-unroll-loops"
    " -fvisibility=hidden -fsanitize=kernel-address -mllvm -asan-instrumentation-with-call-threshold=0"
    " -mllvm -asan-memory-access-callback-prefix=sim_metal_ -mllvm -asan-stack=0 -mllvm -asan-globals=0"
    " -mllvm -asan-opt-same-temp=0 -mllvm -asan-kernel-mem-intrinsic-prefix=1 ";

OrText<std::shared_ptr<Library>> load(const std::string& path) {
  auto library = std::make_shared<Library>();
  library->handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library->handle == nullptr) return std::string(dlerror());
  const auto* kernel = static_cast<const Kernel*>(dlsym(library->handle, "sim_metal_kernels"));
  for (; kernel != nullptr && kernel->name != nullptr; ++kernel) library->kernels.push_back(kernel);
  return library;
}

/// Where the compiled code of this translation is kept from process to process: a file in the folder SIM_METAL_CACHE,
/// named after all that went into it. Empty without such a folder.
std::string cached_name(const Translation& translation) {
  const char* folder = std::getenv("SIM_METAL_CACHE");
  if (folder == nullptr || *folder == 0) return {};
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  std::string all = translation.code + translation.tables + common_flags + instrumented_flags;
  for (const char* header : {"/metal_stdlib", "/metal_functions"})
    all += read_file(SIM_METAL_MSL_FOLDER + std::string(header));
  char name[32];
  std::snprintf(name, sizeof name, "/%016zx.so", std::hash<std::string>()(all));
  return folder + std::string(name);
}

OrText<std::shared_ptr<Library>> build(const std::string& source, const Macros& macros) {
  const ScratchFolder folder;
  if (!folder) return std::string("no temporary folder could be made");
  auto expanded = preprocess(folder, source, macros);
  if (expanded.index() == 1) return std::get<1>(std::move(expanded));
  auto translated = translate(std::get<0>(expanded));
  if (translated.index() == 1) return std::get<1>(std::move(translated));
  const auto& translation = std::get<0>(translated);

  const std::string cached = cached_name(translation);
  if (!cached.empty() && fs::exists(cached)) return load(cached);
  write_file(folder / "check.cpp", translation.code);  // without the tables: they cast address spaces away
  Outcome outcome =
      run(common_flags + std::string("-DSIM_METAL_ADDRESS_SPACES -fsyntax-only ") + quoted(folder / "check.cpp"));
  if (outcome.status != 0) return std::move(outcome.text);
  write_file(folder / "kernels.cpp", translation.code + translation.tables);
  outcome = run(std::string(common_flags) + instrumented_flags + quoted(folder / "kernels.cpp") + " -o " +
                quoted(folder / "kernels.so"));
  if (outcome.status != 0) return std::move(outcome.text);
  if (cached.empty()) return load(folder / "kernels.so");
  std::error_code failed;  // under a name of its own first: others may read and write the same file now
  const std::string own = cached + std::to_string(getpid());
  fs::copy_file(folder / "kernels.so", own, failed);
  if (!failed) fs::rename(own, cached, failed);
  return load(failed ? folder / "kernels.so" : cached);
}

}  // namespace

Library::~Library() {
  if (handle != nullptr) dlclose(handle);
}

OrText<std::shared_ptr<Library>> compile(const std::string& source, const Macros& macros) {
  static auto* const mutex = new std::mutex;
  static auto* const cache = new std::map<std::pair<std::string, Macros>, std::shared_ptr<Library>>;
  const std::lock_guard lock(*mutex);
  auto& cached = (*cache)[{source, macros}];
  if (cached) return cached;
  auto built = build(source, macros);
  if (built.index() == 0) cached = std::get<0>(built);
  return built;
}

}  // namespace sim_metal::msl
