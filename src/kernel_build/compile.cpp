// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/compile.hpp"

#include <fmt/format.h>

#include <utility>

#include "kernel_build/files.hpp"
#include "kernel_build/process.hpp"

namespace pianola::kernel_build {
namespace {

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

Result<ClangOutput> run(const Source& source, const Target& target, const Toolchain& tools,
                        const std::vector<std::string>& extra) {
  const auto folder = TemporaryFolder::make();
  if (!folder) return folder.error();
  std::vector<std::string> command = {tools.programs.clang, "-std=c++20", "-O3", "-ffp-contract=fast"};
  command.insert(command.end(), extra.begin(), extra.end());
  // A phase that does not vectorise, or an empty block of constants, is no mistake of the user's.
  command.insert(command.end(), {"-Wall", "-Wextra", "-Wno-extern-c-compat", "-Wno-pass-failed", "-Werror"});
  for (const std::string& include : tools.include_dirs) command.push_back("-I" + include);
  command.insert(command.end(), {"-MD", "-MF", folder->file("rule.d"), "-o", folder->file("object"), source.path});
  const auto result = run_process(command);
  if (!result) return compile_error(source, target, result.error().message);
  if (result->status != 0) {
    return compile_error(source, target, fmt::format("the compiler ended with {}\n{}", result->status, result->output));
  }
  auto bytes = read_bytes(folder->file("object"));
  if (!bytes) return bytes.error();
  const auto rule = read_text(folder->file("rule.d"));
  if (!rule) return rule.error();
  return ClangOutput{.bytes = std::move(*bytes), .dependencies = parse_rule(*rule)};
}

}  // namespace

Result<ClangOutput> preprocess(const Source& source, const Target& target, const Toolchain& tools,
                               const std::vector<std::string>& extra) {
  std::vector<std::string> only = extra;
  only.emplace_back("-E");
  return run(source, target, tools, only);
}

Result<ClangOutput> run_clang(const Source& source, const Target& target, const Toolchain& tools,
                              const std::vector<std::string>& extra) {
  if (!tools.cache.is_on()) return run(source, target, tools, extra);
  const CacheInput input{.options = extra, .source = source.path, .include_dirs = tools.include_dirs};
  if (auto found = tools.cache.find(input); found) {
    return ClangOutput{.bytes = std::move(found->bytes), .dependencies = std::move(found->dependencies)};
  }
  auto made = run(source, target, tools, extra);
  if (made) tools.cache.keep(input, {.bytes = made->bytes, .dependencies = made->dependencies});
  return made;
}

Result<Compiled> compile(const Source& source, const Target& target, const Toolchain& tools) {
  switch (target.format) {
    case ObjectFormat::host: return compile_host(source, target, tools);
    case ObjectFormat::ptx:
    case ObjectFormat::hsaco: return compile_gpu(source, target, tools);
    case ObjectFormat::spirv: return compile_spirv(source, target, tools);
    case ObjectFormat::msl: return compile_msl(source, target, tools);
    case ObjectFormat::cubin:
    case ObjectFormat::metallib: break;
  }
  return Error{
      .code = Errc::unsupported,
      .message = fmt::format("{}: {} files are not made here, only packed", source.path, to_string(target.format))};
}

Error compile_error(const Source& source, const Target& target, std::string_view text) {
  return {.code = Errc::compile_failed, .message = fmt::format("{} for {}: {}", source.path, target.arch, text)};
}

format::ObjectContents whole_object(const Source& source, const Target& target, std::vector<std::byte> bytes) {
  format::ObjectContents object{
      .format = target.format, .arch = std::string(target.arch), .bytes = std::move(bytes), .entries = {}};
  for (uint32_t i = 0; i < source.kernels.size(); ++i) {
    object.entries.push_back({.kernel = i, .symbol = source.kernels[i].info.name});
  }
  return object;
}

}  // namespace pianola::kernel_build
