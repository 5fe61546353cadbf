// SPDX-License-Identifier: Apache-2.0
// Host objects: clang makes a shared object that needs no library but the C library's memory functions.
#include <fmt/format.h>

#include <algorithm>

#include "kernel_build/compile.hpp"
#include "kernel_build/elf.hpp"
#include "kernel_build/files.hpp"
#include "kernel_build/process.hpp"

namespace pianola::kernel_build {
namespace {

std::vector<std::string> host_command(const std::string& source, const Target& target, const BuildOptions& options,
                                      const TemporaryFolder& folder) {
  std::vector<std::string> command = {options.clang, "-x", "c++", "-std=c++20", "-O3"};
  if (target.arch == "aarch64") {
    command.insert(command.end(), {"--target=aarch64-linux-gnu", "-fuse-ld=lld"});
  } else {
    command.insert(command.end(), {"--target=x86_64-linux-gnu", "-march=" + std::string(target.arch)});
    if (target.arch == "x86-64-v4") command.emplace_back("-mprefer-vector-width=512");
  }
  command.insert(command.end(), {"-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math", "-fvisibility=hidden",
                                 "-fPIC", "-shared", "-nostdlib", "-nostdlibinc", "-Wl,--build-id=none", "-s"});
  command.insert(command.end(), {"-Wall", "-Wextra", "-Wno-extern-c-compat", "-Wno-pass-failed", "-Werror"});
  for (const std::string& folder_name : options.include_dirs) command.push_back("-I" + folder_name);
  command.insert(command.end(), {"-MD", "-MF", folder.file("rule.d"), "-o", folder.file("object"), source});
  return command;
}

/// The prerequisites of a make rule as clang writes it.
std::vector<std::string> parse_rule(const std::string& rule) {
  std::vector<std::string> files;
  std::string word;
  const size_t start = rule.find(": ");
  for (size_t i = start == std::string::npos ? rule.size() : start + 2; i < rule.size(); ++i) {
    if (rule[i] == '\\' && i + 1 < rule.size()) {
      if (rule[i + 1] == ' ') word += ' ';
      ++i;
    } else if (rule[i] == ' ' || rule[i] == '\n') {
      if (!word.empty()) files.push_back(std::exchange(word, {}));
    } else {
      word += rule[i];
    }
  }
  return files;
}

Result<> check_imports(const std::string& source, const Target& target, std::span<const std::byte> object) {
  const auto elf = read_elf(object);
  if (!elf) return elf.error();
  for (const std::string& name : undefined_symbols(*elf)) {
    if (name == "memcpy" || name == "memset" || name == "memmove" || name == "memcmp") continue;
    return Error{.code = Errc::compile_failed,
                 .message = fmt::format("{} for {}: it calls '{}', which is no function of the dialect", source,
                                        target.arch, name)};
  }
  return {};
}

}  // namespace

Result<CompiledFile> compile_host(const std::string& source, const Target& target, const BuildOptions& options) {
  const auto folder = TemporaryFolder::make();
  if (!folder) return folder.error();
  const auto command = host_command(source, target, options, *folder);
  const auto result = run_process(command);
  if (!result) return result.error();
  if (result->status != 0) {
    return Error{.code = Errc::compile_failed,
                 .message = fmt::format("{} for {}: {} ended with {}\n{}", source, target.arch, options.clang,
                                        result->status, result->output)};
  }
  auto bytes = read_bytes(folder->file("object"));
  if (!bytes) return bytes.error();
  if (auto ok = check_imports(source, target, *bytes); !ok) return ok.error();
  const auto rule = read_text(folder->file("rule.d"));
  if (!rule) return rule.error();
  return CompiledFile{.bytes = std::move(*bytes), .dependencies = parse_rule(*rule)};
}

}  // namespace pianola::kernel_build
