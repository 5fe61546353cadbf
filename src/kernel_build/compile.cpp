// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/compile.hpp"

#include <fmt/format.h>

#include <utility>

#include "kernel_build/files.hpp"
#include "kernel_build/process.hpp"

namespace pianola::kernel_build {
namespace {

/// What the rule that clang writes is for.
constexpr std::string_view rule_target = "object";

/// What all runs of one target share, but for names of files and folders.
std::vector<std::string> options_of(const std::vector<std::string>& extra) {
  std::vector<std::string> options = {"-std=c++20", "-O3", "-ffp-contract=fast"};
  options.insert(options.end(), extra.begin(), extra.end());
  // A phase that does not vectorise, or an empty block of constants, is no mistake of the user's.
  options.insert(options.end(), {"-Wall", "-Wextra", "-Wno-extern-c-compat", "-Wno-pass-failed", "-Werror"});
  return options;
}

Result<ClangOutput> run(const Source& source, const Target& target, const Toolchain& tools,
                        const std::vector<std::string>& extra) {
  const auto folder = TemporaryFolder::make();
  if (!folder) return folder.error();
  std::vector<std::string> command = options_of(extra);
  command.insert(command.begin(), tools.programs.clang);
  for (const std::string& include : tools.include_dirs) command.push_back("-I" + include);
  command.insert(command.end(), {"-MD", "-MF", folder->file("rule.d"), "-MT", std::string(rule_target), "-o",
                                 folder->file("object"), source.path});
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

/// The whole text that is compiled, without the names of its files: two folders with the same text have one object.
Result<ClangOutput> whole_text(const Source& source, const Target& target, const Toolchain& tools,
                               const std::vector<std::string>& extra) {
  std::vector<std::string> only = extra;
  only.insert(only.end(), {"-P", "-Wno-unused-command-line-argument"});
  return preprocess(source, target, tools, only);
}

std::string_view text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::vector<std::string> parse_rule(std::string_view rule) {
  std::vector<std::string> files;
  std::string word;
  const size_t start = rule.find(": ");
  for (size_t i = start == std::string_view::npos ? rule.size() : start + 2; i < rule.size(); ++i) {
    const char next = i + 1 < rule.size() ? rule[i + 1] : '\0';
    if (rule[i] == '\\' && (next == ' ' || next == '#')) {
      word += rule[++i];
    } else if (rule[i] == '$' && next == '$') {
      word += rule[++i];
    } else if (rule[i] == ' ' || rule[i] == '\n') {
      if (!word.empty()) files.push_back(std::exchange(word, {}));
    } else if (rule[i] != '\\' || next != '\n') {
      word += rule[i];
    }
  }
  return files;
}

Result<ClangOutput> preprocess(const Source& source, const Target& target, const Toolchain& tools,
                               const std::vector<std::string>& extra) {
  std::vector<std::string> only = extra;
  only.emplace_back("-E");
  return run(source, target, tools, only);
}

Result<ClangOutput> run_clang(const Source& source, const Target& target, const Toolchain& tools,
                              const std::vector<std::string>& extra) {
  if (!tools.cache.is_on()) return run(source, target, tools, extra);
  const auto text = whole_text(source, target, tools, extra);
  if (!text) return text.error();
  const std::vector<std::string> options = options_of(extra);
  if (auto found = tools.cache.find(options, text_of(text->bytes)); found) {
    return ClangOutput{.bytes = std::move(*found), .dependencies = text->dependencies};
  }
  auto made = run(source, target, tools, extra);
  if (!made) return made;
  // A file that was saved meanwhile may be in the object or not.
  const auto text_now = whole_text(source, target, tools, extra);
  if (text_now && text_now->bytes == text->bytes) tools.cache.keep(options, text_of(text->bytes), made->bytes);
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
